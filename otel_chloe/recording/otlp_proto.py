"""OTLP protobuf: the spans of an ExportTraceServiceRequest in binary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped,unused-ignore]  # see below
from google.protobuf.message import DecodeError  # type: ignore[import-untyped,unused-ignore]  # unless its stubs are there
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from .otlp_json import kind_of, shown, status_of
from .problems import Problems
from .span import RecordedContext, RecordedEvent, RecordedLink, RecordedResource, RecordedScope, RecordedSpan, is_remote


class OtlpProto:
    """Reads the spans of binary requests, one after the other."""

    __slots__ = ("_problems",)

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def spans(self, message: bytes) -> list[RecordedSpan]:
        """Read one request. One that is none is reported; one of another signal is only remembered."""
        try:
            groups = ExportTraceServiceRequest.FromString(message).resource_spans
        except DecodeError:
            groups = ()
        found = [span for group in groups for span in _spans(group)]
        usable = [span for span in found if isinstance(span, RecordedSpan)]
        if not usable and message and self._not_traces(message, len(groups)):
            return []
        self._problems.traces = self._problems.traces or bool(groups)
        for span in found:
            if not isinstance(span, RecordedSpan):
                self._problems.add(
                    "a span has no usable ids",
                    f"The span {shown(span.name)} is skipped; expected a trace id of 16 bytes and a span id of 8.",
                )
        return usable

    def _not_traces(self, message: bytes, groups: int) -> bool:
        """Look again at a message without usable spans: all three signals are field 1 of their request."""
        logs = log_groups(message)
        signal = "log records" if logs is not None else _metrics(message)
        if signal:
            self._problems.other_signals.add(signal)
        if logs is not None:
            self._problems.take_logs(logs)
        elif not groups:
            self._problems.add(
                "not an OTLP trace request", "Expected an ExportTraceServiceRequest in protobuf; was the file changed?"
            )
        return bool(signal) or not groups


def log_groups(message: bytes) -> list[Any] | None:
    """The ResourceLogs of a binary ExportLogsServiceRequest as OTLP/JSON has them; None where it is none."""
    try:
        request = ExportLogsServiceRequest.FromString(message)
    except DecodeError:
        return None
    records = (r for group in request.resource_logs for scoped in group.scope_logs for r in scoped.log_records)
    if any(record.time_unix_nano or record.observed_time_unix_nano for record in records):
        return MessageToDict(request)["resourceLogs"]  # type: ignore[no-any-return,unused-ignore]
    return None


def _metrics(message: bytes) -> str | None:
    try:
        measured = ExportMetricsServiceRequest.FromString(message).resource_metrics
    except DecodeError:
        return None
    metrics = (metric for group in measured for scoped in group.scope_metrics for metric in scoped.metrics)
    return "metrics" if any(metric.WhichOneof("data") for metric in metrics) else None


def _spans(group: ResourceSpans) -> Iterator[RecordedSpan | Span]:
    """Read the spans of one resource; one without usable ids comes as it is."""
    resource = RecordedResource(_attributes(group.resource.attributes))
    for scoped in group.scope_spans:
        scope = _scope(scoped.scope) if scoped.HasField("scope") else None
        for raw in scoped.spans:
            yield _span(raw, resource, scope) or raw


def _span(raw: Span, resource: RecordedResource, scope: RecordedScope | None) -> RecordedSpan | None:
    context = _context(raw.trace_id, raw.span_id)
    if context is None:
        return None
    parent_id = int.from_bytes(raw.parent_span_id, "big") if len(raw.parent_span_id) == 8 else 0
    return RecordedSpan(
        raw.name,
        context,
        RecordedContext(context.trace_id, parent_id, is_remote(raw.flags)) if parent_id else None,
        raw.start_time_unix_nano or None,
        raw.end_time_unix_nano or None,
        _attributes(raw.attributes),
        status_of({"code": raw.status.code, "message": raw.status.message}),
        kind_of(raw.kind),
        scope,
        resource,
        raw.dropped_attributes_count,
        tuple(RecordedEvent(e.name, e.time_unix_nano, _attributes(e.attributes)) for e in raw.events),
        tuple(_links(raw.links)),
    )


def _links(links: Iterable[Span.Link]) -> Iterator[RecordedLink]:
    for link in links:
        context = _context(link.trace_id, link.span_id)
        if context is not None:
            context.is_remote = is_remote(link.flags)
            yield RecordedLink(context, _attributes(link.attributes))


def _context(trace_id: bytes, span_id: bytes) -> RecordedContext | None:
    usable = len(trace_id) == 16 and len(span_id) == 8 and any(trace_id) and any(span_id)
    return RecordedContext(int.from_bytes(trace_id, "big"), int.from_bytes(span_id, "big")) if usable else None


def _scope(raw: InstrumentationScope) -> RecordedScope:
    return RecordedScope(raw.name, raw.version or None)


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    """Read one AnyValue. Recursion is safe here: protobuf's parser refuses more than 100 levels."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(element) for element in value.array_value.values]
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    return None if kind is None else getattr(value, kind)
