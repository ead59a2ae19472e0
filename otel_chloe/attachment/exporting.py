"""Providers of our own for metrics and events, for an application that has none: they send to one OTLP address."""

from __future__ import annotations

import logging
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from opentelemetry import _logs, metrics
from opentelemetry._logs import LoggerProvider
from opentelemetry.metrics import MeterProvider

from otel_chloe.errors import ConfigError
from otel_chloe.sinks import is_real

_logger = logging.getLogger("otel_chloe.attachment")

_SIGNALS: Final = ("/v1/traces", "/v1/metrics", "/v1/logs")
GRPC_PORT: Final = 4317
_EXAMPLE: Final = "Write the address of an OTLP/HTTP receiver, such as http://localhost:4318."


class Exporting(NamedTuple):
    """The providers that were made here, each only where the application had none."""

    meters: Any = None
    loggers: Any = None

    def flush(self, timeout_s: float) -> bool:
        """Have them send what they hold. False if one of them could not."""
        millis = max(1, int(timeout_s * 1000))
        said = [each.force_flush(millis) for each in self if each is not None]
        return False not in said

    def shutdown(self) -> None:
        """Have them send what they hold, and end."""
        for each in self:
            if each is not None:
                each.shutdown()


def exporting(
    url: str | None, resource: Any, meter_provider: MeterProvider | None, logger_provider: LoggerProvider | None
) -> Exporting:
    """Make a provider for each signal that has none: neither given, nor set by the application.

    They are not made global: what the application sets later is not in its way.
    """
    if url is None:
        return Exporting()
    base = checked_url(url)
    meters = meter_provider is None and not is_real(metrics.get_meter_provider())
    loggers = logger_provider is None and not is_real(_logs.get_logger_provider())
    return Exporting(_meters(base, resource) if meters else None, _loggers(base, resource) if loggers else None)


def checked_url(url: object) -> str:
    """The address without the path of a signal, if it is one of OTLP over HTTP."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        port = parts.port if parts else None
    except ValueError:
        parts, port = None, None
    if not isinstance(url, str) or parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"otlp: {url!r} is no such address. {_EXAMPLE}")
    base = url.rstrip("/")
    signal = next((signal for signal in _SIGNALS if base.endswith(signal)), None)
    if signal is not None:
        raise ConfigError(
            f"otlp: {url!r} is the address of one signal. Write it without {signal}: {base.removesuffix(signal)!r}."
        )
    if port == GRPC_PORT:
        _logger.warning("otlp: %s is mostly the port of OTLP over gRPC, and this is sent over HTTP. %s", port, _EXAMPLE)
    return base


def _meters(base: str, resource: Any) -> Any:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider as SDKMeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{base}/v1/metrics"))
    return SDKMeterProvider([reader], **_resource(resource))


def _loggers(base: str, resource: Any) -> Any:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider as SDKLoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    provider = SDKLoggerProvider(**_resource(resource))
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint=f"{base}/v1/logs")))
    return provider


def _resource(resource: Any) -> dict[str, Any]:
    """The application's own resource, so that scores carry its service's name."""
    return {} if resource is None else {"resource": resource}
