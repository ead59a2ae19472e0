"""Where marks go out: which tracer, meter provider and logger provider there are, and what to add where none is."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from opentelemetry import _logs, metrics, trace
from opentelemetry._logs import Logger, LoggerProvider
from opentelemetry.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import DEFAULT_ON, Sampler
from opentelemetry.trace import Tracer

from otel_chloe.semconv import SCOPE

_MAX_TRACERS: Final = 16
"""Sets of processors that tracers are kept for. An application has one, seldom two."""

_ADD_METERS: Final = """
    from opentelemetry import metrics
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())]))"""
_ADD_LOGGERS: Final = """
    from opentelemetry import _logs
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    logger_provider = LoggerProvider()
    logger_provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    _logs.set_logger_provider(logger_provider)"""


@lru_cache(maxsize=1)
def package_version() -> str:
    """The version of otel_chloe, which its instrumentation scope carries."""
    from importlib.metadata import PackageNotFoundError, version  # the worker's first span pays, not the start

    try:
        return version("otel-chloe")
    except PackageNotFoundError:  # a source tree that was never installed
        return ""


def is_real(provider: object) -> bool:
    """False for the API's own proxies and no-ops, which stand where nobody set a provider."""
    return not type(provider).__module__.startswith(("opentelemetry.metrics", "opentelemetry._logs"))


class Origin(NamedTuple):
    """What a span's own tracer was made of: enough to send another span the same way, without the span."""

    processor: Any
    resource: Any
    sampler: Any
    limits: Any


def origin_of(span: object) -> Origin | None:
    """What a live SDK span was made of; None for any other span.

    The SDK offers no public way from a span to the processors that it goes to: `_span_processor`, `_sampler` and
    `_limits` are private, so each may be missing, and whoever gets None falls back to the global provider. A hook may
    call it: it only reads attributes, and what they are worth is looked at when a tracer is made of them.
    """
    processor = getattr(span, "_span_processor", None)
    if processor is None:
        return None
    return Origin(
        processor, getattr(span, "resource", None), getattr(span, "_sampler", None), getattr(span, "_limits", None)
    )


class Tracers:
    """Tracers of our scope: of the given provider, else of a run's own span, else of the global provider.

    Used by the worker alone: to make a tracer, the SDK takes a lock.
    """

    def __init__(self, provider: trace.TracerProvider | None = None) -> None:
        self._provider = provider
        self._by_origin: dict[tuple[int, int], tuple[Origin, Tracer]] = {}

    def tracer(self, origin: Origin | None = None) -> Tracer:
        """The tracer for the evaluation spans of a run."""
        if self._provider is None and origin is not None:
            return self._of(origin)
        return (self._provider or trace.get_tracer_provider()).get_tracer(SCOPE, package_version())

    def _of(self, origin: Origin) -> Tracer:
        key = (id(origin.processor), id(origin.resource))
        known = self._by_origin.get(key)
        if known is None:
            while len(self._by_origin) >= _MAX_TRACERS:
                del self._by_origin[next(iter(self._by_origin))]
            # Not shut down at exit: the processors belong to the provider of the span, which does that.
            provider = TracerProvider(
                sampler=origin.sampler if isinstance(origin.sampler, Sampler) else DEFAULT_ON,
                resource=origin.resource if isinstance(origin.resource, Resource) else None,
                shutdown_on_exit=False,
                active_span_processor=origin.processor,
                span_limits=origin.limits if isinstance(origin.limits, SpanLimits) else None,
            )
            # The origin is kept beside its tracer, so that its ids stay its own.
            known = self._by_origin[key] = (origin, provider.get_tracer(SCOPE, package_version()))
        return known[1]


class Providers:
    """The meter and logger provider in use, looked for again as long as there is none.

    Args:
        meter_provider: Used instead of the global one.
        logger_provider: Used instead of the global one.
        on_found: Called when a provider is first seen, so that the exit handler can be put after its own.
    """

    def __init__(
        self,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        *,
        on_found: Callable[[], None] | None = None,
    ) -> None:
        self._meters = meter_provider
        self._loggers = logger_provider
        self._logger: Logger | None = None
        self._on_found = on_found

    def look(self) -> None:
        """Takes up providers that the application has set since the last look."""
        found = False
        if self._meters is None and is_real(meters := metrics.get_meter_provider()):
            self._meters = meters
            found = True
        if self._loggers is None and is_real(loggers := _logs.get_logger_provider()):
            self._loggers = loggers
            found = True
        if found and self._on_found is not None:
            self._on_found()

    def meters(self) -> MeterProvider | None:
        """The meter provider, if there is one."""
        return self._meters

    def logger(self) -> Logger | None:
        """The logger of our scope, if there is a logger provider."""
        if self._logger is None and self._loggers is not None:
            self._logger = self._loggers.get_logger(SCOPE, package_version())
        return self._logger

    def missing(self) -> str | None:
        """What is missing and the lines that add it, as one log message; None if nothing is."""
        lacking = [
            (what, lost, lines)
            for provider, what, lost, lines in (
                (self._meters, "MeterProvider", "score metrics", _ADD_METERS),
                (self._loggers, "LoggerProvider", "evaluation events", _ADD_LOGGERS),
            )
            if provider is None
        ]
        if not lacking:
            return None
        return (
            f"otel_chloe: no {' and no '.join(what for what, _, _ in lacking)} is set, so "
            f"{' and '.join(lost for _, lost, _ in lacking)} go nowhere; marks on spans and evaluation spans still go "
            f"out. To have them, add:{''.join(lines for _, _, lines in lacking)}"
        )
