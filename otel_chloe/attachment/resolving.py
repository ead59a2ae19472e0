"""Final marks for runs that are long over: what a person, or another system, says of them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, Final, cast

from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource

from otel_chloe.errors import ConfigError, SendError
from otel_chloe.expected import checked_text
from otel_chloe.health import Health
from otel_chloe.kit.definition import Definition, Direction
from otel_chloe.kit.returns import LONGEST_LABEL, words
from otel_chloe.kit.verdict import passed
from otel_chloe.mark import Mark
from otel_chloe.run import End, Run
from otel_chloe.scorers import mark_id
from otel_chloe.sinks import Sinks, is_real

from .exporting import checked_url

ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
SPANS: Final = "spans"
EVENTS: Final = "events"
METRICS: Final = "metrics"
AT_A_TIME: Final = 500
"""Marks whose spans are sent together: as many as are tried again where the receiver fails."""
_DIGITS: Final = frozenset("0123456789abcdef")
_ADDRESS: Final = f"Write otlp=URL, the address of an OTLP/HTTP receiver, or set {ENDPOINT}."


def resolve(
    *,
    trace_id: str,
    span_id: str,
    name: str,
    score: bool | float | str,
    reason: str | None = None,
    otlp: str | None = None,
    key: str | None = None,
    version: str | None = None,
    id: str | None = None,  # noqa: A002 - the mark's own word
    revision: int = 1,
    agent: str | None = None,
    end_ns: int | None = None,
    threshold: float | None = None,
    direction: Direction | None = None,
) -> Mark:
    """Give a run its final score: send a mark as evaluation span, event and metric into the run's trace.

    It resolves a ``DeferredScore`` of that name; a run that waits for none takes it too. A receiver keeps what it has:
    of several marks with one ``chloe.mark.id``, the one with the highest ``chloe.mark.revision`` counts.

    Args:
        trace_id: Of the run: 32 hex digits.
        span_id: The agent span that the run's marks stand on: 16 hex digits.
        name: Of the score.
        score: A number, True or False, or a text, which is a label.
        reason: Why, in the words of who gives it.
        otlp: Where to, by OTLP over HTTP. Without it the application's own providers take it, and where there are none,
            ``OTEL_EXPORTER_OTLP_ENDPOINT`` says where to.
        key: The scorer's key, as ``chloe.scorer.key`` on the pending mark says it; the name, if not given.
        version: The scorer's, as ``chloe.scorer.version`` says it. With both, the mark has the pending one's id.
        id: The pending mark's ``chloe.mark.id``, in place of key and version.
        revision: 1 more than the pending mark's. 0 for a score that nothing waited for: metrics count it as a mark.
        agent: The run's agent, for the metrics.
        end_ns: When the run ended, nanoseconds since the epoch; now, if not given.
        threshold: The number that passes, inclusive: as the scorer has it that the run was to have. Without it a number
            neither passes nor fails.
        direction: ``higher_is_better`` (the default), ``lower_is_better`` or ``none``.

    Raises :class:`~otel_chloe.errors.ConfigError` where an argument is wrong, :class:`~otel_chloe.errors.SendError`
    where the receiver did not take it.
    """
    found = resolved(
        trace_id=trace_id, span_id=span_id, name=name, score=score, reason=reason, key=key, version=version, id=id,
        revision=revision, agent=agent, end_ns=end_ns, threshold=threshold, direction=direction,
    )  # fmt: skip
    providers = _own_providers() if otlp is None else None
    if providers is not None:
        _emit([found], **providers).write_log()  # says what provider is missing, if one is
        return found[1]
    (refused,) = send([found], otlp)
    if refused:
        raise SendError(
            f"resolve: {', '.join(refused)} could not be sent. Is the receiver there, and does it take them?"
        )
    return found[1]


def resolved(
    *,
    trace_id: object,
    span_id: object,
    name: object,
    score: object,
    reason: object = None,
    key: object = None,
    version: object = None,
    id: object = None,  # noqa: A002 - see resolve
    revision: object = 1,
    agent: object = None,
    end_ns: object = None,
    threshold: object = None,
    direction: object = None,
) -> tuple[Run, Mark]:
    """The run, as far as it is known, and its mark. Raises ConfigError where a value is wrong."""
    trace, span = _hex(trace_id, 32, "trace_id"), _hex(span_id, 16, "span_id")
    said = {"name": words(checked_text(name, "name")), "key": _text(key, "key"), "version": _text(version, "version")}
    if not _is_count(revision):
        raise ConfigError(f"revision: {revision!r} is no whole number from 0. Write 1 more than the pending mark's.")
    if end_ns is not None and not _is_count(end_ns):
        raise ConfigError(f"end_ns: {end_ns!r} is no time. Write nanoseconds since the epoch.")
    known = _text(id, "id") or mark_id(
        trace, span, cast("str", said["name"]), said["version"] or "", said["key"] or cast("str", said["name"])
    )
    mark = _mark(score, _text(reason, "reason") or "", _passing(cast("str", said["name"]), threshold, direction))
    # How the run ended is not known, and nothing is said of it.
    run = Run(
        agent=_text(agent, "agent"),
        trace_id=trace,
        span_id=span,
        end_ns=cast("int | None", end_ns),
        end=cast("End", None),
        complete=True,
    )
    key = said["key"] or said["name"]
    return run, replace(mark, key=key, version=said["version"], id=known, revision=cast("int", revision))


def send(marks: Sequence[tuple[Run, Mark]], otlp: str | None = None) -> list[list[str]]:
    """Send marks by OTLP over HTTP; gives for each what the receiver did not take, of spans, events and metrics.

    Spans go first: of marks whose spans are not taken nothing else is sent, and they can be tried again.
    """
    address = otlp if otlp is not None else os.environ.get(ENDPOINT) or None
    if address is None:
        raise ConfigError(f"resolve: there is nowhere to send to. {_ADDRESS}")
    base = checked_url(address)
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        raise ConfigError("resolve: OTEL_SDK_DISABLED=true, so nothing can be sent. Leave it out.")
    sending = _Sending(base)
    refused: list[list[str]] = []
    for i in range(0, len(marks), AT_A_TIME):
        refused += sending.told(marks[i : i + AT_A_TIME])
    if not sending.counted():
        refused = [each if SPANS in each else [*each, METRICS] for each in refused]
    return refused


class _Sending:
    """Sends marks to one receiver: spans and events group by group, metrics once at the end."""

    def __init__(self, base: str) -> None:
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        self._base = base
        resource = _resource()
        self._spans, self._records, self._reader = _Kept(), _Kept(), InMemoryMetricReader()
        tracers = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
        tracers.add_span_processor(SimpleSpanProcessor(cast("Any", self._spans)))
        loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
        loggers.add_log_record_processor(SimpleLogRecordProcessor(cast("Any", self._records)))
        meters = MeterProvider([self._reader], resource=resource, shutdown_on_exit=False)
        self._providers: dict[str, Any] = {
            "tracer_provider": tracers, "logger_provider": loggers, "meter_provider": metrics.NoOpMeterProvider(),
        }  # fmt: skip
        self._counting: dict[str, Any] = {
            "meter_provider": meters, "logger_provider": _logs.NoOpLoggerProvider(), "tracer_provider": tracers,
            "evaluation_spans": False,
        }  # fmt: skip

    def told(self, marks: Sequence[tuple[Run, Mark]]) -> list[list[str]]:
        """Sends their spans and events, and counts those that were taken."""
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        _emit(marks, **self._providers)
        spans, records = self._spans.taken(), self._records.taken()
        if not _taken(OTLPSpanExporter(endpoint=f"{self._base}/v1/traces"), spans):
            return [[SPANS, EVENTS, METRICS] for _ in marks]
        _emit(marks, **self._counting)
        events = _taken(OTLPLogExporter(endpoint=f"{self._base}/v1/logs"), records)
        return [[] if events else [EVENTS] for _ in marks]

    def counted(self) -> bool:
        """Sends the metrics of all that was taken. True where there are none."""
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        data = self._reader.get_metrics_data()
        return data is None or _taken(OTLPMetricExporter(endpoint=f"{self._base}/v1/metrics"), data)


class _Kept:
    """An exporter that keeps what it is given, to be sent in one go."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def export(self, batch: Sequence[Any]) -> None:
        self.items.extend(batch)

    def taken(self) -> list[Any]:
        """What it has, which it has no longer then."""
        found, self.items = self.items, []
        return found

    def shutdown(self) -> None:
        """Nothing to end."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - the SDK's own signature
        return True


def _taken(exporter: Any, batch: Any) -> bool:
    try:
        return bool(exporter.export(batch).name == "SUCCESS")
    except Exception:  # noqa: BLE001 - an exporter may raise whatever its HTTP client does; it is told as not taken
        return False
    finally:
        exporter.shutdown()


def _emit(marks: Sequence[tuple[Run, Mark]], **providers: Any) -> Health:
    health = Health(monotonic)
    sinks = Sinks(health, **providers)
    for run, mark in marks:
        sinks.emit(run, [(run, mark)], completed=False)
    return health


def _own_providers() -> dict[str, Any] | None:
    """The application's own providers, where it has one for spans."""
    tracers = trace.get_tracer_provider()
    if not hasattr(tracers, "add_span_processor"):
        return None
    meters, loggers = metrics.get_meter_provider(), _logs.get_logger_provider()
    return {
        "tracer_provider": tracers,
        "meter_provider": meters if is_real(meters) else None,
        "logger_provider": loggers if is_real(loggers) else None,
    }


def _resource() -> Resource:
    """What the environment says of this process; a service's name of its own where that has none."""
    found = Resource.create()
    named = not str(found.attributes.get(SERVICE_NAME, "unknown_service")).startswith("unknown_service")
    return found if named else found.merge(Resource({SERVICE_NAME: "otel_chloe"}))


def _passing(name: str, threshold: object, direction: object) -> Definition:
    """Which number passes."""
    chosen: Any = direction or "higher_is_better"
    return Definition(name=name, threshold=cast("float | None", threshold), direction=chosen)


def _mark(score: object, reason: str, passing: Definition) -> Mark:
    """The mark of a score that somebody gave: a bool is its own verdict, a text a label."""
    if isinstance(score, str) and score.strip():
        label = words(score)
        if any(each.isdigit() for each in label) and not any(each.isalpha() for each in label):
            raise ConfigError(f"score: {score!r} is neither a number, such as 0.8, nor a label, which has letters.")
        return Mark(None, reason, name=passing.name, value=label, label=label[:LONGEST_LABEL])
    number = _finite(score)
    if number is None:
        raise ConfigError(f"score: {score!r} is no score. Write a finite number, true or false, or a text.")
    return Mark(number, reason, name=passing.name, value=score, passed=passed(score, passing))


def _finite(score: object) -> float | None:
    if not isinstance(score, int | float):
        return None
    try:
        return float(score) if math.isfinite(score) else None
    except OverflowError:
        return None


def _is_count(value: object) -> bool:
    """Whether it is a whole number that OTLP can carry."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _hex(value: object, digits: int, key: str) -> str:
    text = value.lower() if isinstance(value, str) else ""
    if len(text) != digits or not _DIGITS.issuperset(text) or not text.strip("0"):
        raise ConfigError(f"{key}: {value!r} is no id. Write its {digits} hex digits.")
    return text


def _text(value: object, key: str) -> str | None:
    return None if value is None else words(checked_text(value, key))
