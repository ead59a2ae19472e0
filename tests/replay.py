"""Plays a recording back through a real TracerProvider: the same ids, times, scopes, and order of starts and ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry._logs import LogRecord
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadWriteLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from otel_chloe.recording import RecordedSpan, read_spans
from otel_chloe.recording.logs import log_file
from otel_chloe.recording.values import any_value, attributes_of

SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class RecordedIds(IdGenerator):
    """Gives the ids of the span that is replayed next."""

    def __init__(self) -> None:
        self.trace_id = self.span_id = 1

    def generate_span_id(self) -> int:
        return self.span_id

    def generate_trace_id(self) -> int:
        return self.trace_id


class Replay:
    """A provider with the given processors, and the spans of recordings played into it."""

    def __init__(
        self, *processors: SpanProcessor, attribute_limit: int | None = None, resource: Mapping[str, str] | None = None
    ) -> None:
        self.ids = RecordedIds()
        resource = Resource(resource or {})
        limits = trace_limits(attribute_limit)
        self.provider = TracerProvider(
            id_generator=self.ids, resource=resource, shutdown_on_exit=False, span_limits=limits
        )
        for processor in processors:
            self.provider.add_span_processor(processor)
        self.live: dict[str, Span] = {}
        self.readers = [each.log_records() for each in processors if hasattr(each, "log_records")]
        self.logs: dict[int, list[LogRecord]] = {}

    def play(self, recording: Path) -> None:
        """Play a recording: in the order of its ``.events.jsonl``, else in the order of the spans' times.

        Log records that stand beside it are emitted at the end of their span, as instrumentations do.
        """
        self.logs = logs_of(recording)
        spans = {f"{s.context.span_id:016x}": s for s in read_spans(recording)}
        for what, span_id, event in events_of(recording, spans.values()):
            span = spans.get(span_id)
            if span is None:
                if what == "start":
                    self.start_for_ever(event)
            elif what == "start":
                self.start(span, list(event.get("attributes") or ()))
            elif span_id in self.live:
                self.end(span)

    def start(self, span: RecordedSpan, at_start: Sequence[str]) -> None:
        """Start a span with the attributes that its instrumentation gave at the start."""
        span_id = f"{span.context.span_id:016x}"
        self.ids.trace_id, self.ids.span_id = span.context.trace_id, span.context.span_id
        tracer = self.provider.get_tracer(span.instrumentation_scope.name or "unknown")
        self.live[span_id] = tracer.start_span(
            span.name,
            context=self.parent_of(span),
            kind=SpanKind(span.kind.value),
            attributes={
                **{f"lost.{number}": "" for number in range(span.dropped_attributes)},  # the oldest go first
                **{key: span.attributes[key] for key in at_start if key in span.attributes},
            },
            links=[Link(SpanContext(k.context.trace_id, k.context.span_id, is_remote=False)) for k in span.links],
            start_time=span.start_time,
        )

    def start_for_ever(self, event: dict[str, Any]) -> None:
        """Start a span that its framework never ended, so that no recording of it exists."""
        self.ids.trace_id, self.ids.span_id = int(event["trace_id"], 16), int(event["span_id"], 16)
        parent = event.get("parent_id")
        context = self.context_of(self.ids.trace_id, int(parent, 16)) if parent else Context()
        tracer = self.provider.get_tracer(event["scope"])
        self.live[event["span_id"]] = tracer.start_span(event["name"], context=context, attributes=event["attributes"])

    def parent_of(self, span: RecordedSpan) -> Context:
        return self.context_of(span.context.trace_id, span.parent.span_id) if span.parent is not None else Context()

    def context_of(self, trace_id: int, parent_id: int) -> Context:
        live = self.live.get(f"{parent_id:016x}")
        if live is not None:
            return trace.set_span_in_context(live, Context())
        gone = SpanContext(trace_id, parent_id, is_remote=False, trace_flags=SAMPLED)
        return trace.set_span_in_context(NonRecordingSpan(gone), Context())

    def end(self, span: RecordedSpan) -> None:
        """Give a span the rest of what it said, and end it."""
        live = self.live[f"{span.context.span_id:016x}"]
        for record in self.logs.get(span.context.span_id, ()):
            for reader in self.readers:
                reader.on_emit(ReadWriteLogRecord(record))
        live.set_attributes(dict(span.attributes))
        for event in span.events:
            live.add_event(event.name, dict(event.attributes or {}), timestamp=event.timestamp)
        code = StatusCode(getattr(span.status.status_code, "value", span.status.status_code))
        if code is not StatusCode.UNSET:
            live.set_status(Status(code, span.status.description if code is StatusCode.ERROR else None))
        live.end(end_time=span.end_time)


def kept_attributes(recording: Path) -> int | None:
    """How many attributes the spans of a recording kept, where some of them lost others."""
    full = [len(span.attributes) for span in read_spans(recording) if span.dropped_attributes]
    return max(full, default=None)


def outlived(recording: Path) -> set[int]:
    """The spans of a recording that ended before one below them did."""
    spans = list(read_spans(recording))
    above = {span.context.span_id: span.parent.span_id for span in spans if span.parent is not None}
    ended: list[int] = []
    found: set[int] = set()
    for what, span_id, _ in events_of(recording, spans):
        if what == "end":
            ended.append(int(span_id, 16))
            parent = above.get(ended[-1])
            while parent is not None:
                found |= {parent} & {*ended}
                parent = above.get(parent)
    return found


def never_ended(recording: Path) -> bool:
    """Whether a span of a recording never ended: in process it is seen open, and in the file it is missing."""
    steps = list(events_of(recording, ()))
    started = {span_id for what, span_id, _ in steps if what == "start"}
    return bool(started - {span_id for what, span_id, _ in steps if what == "end"})


def logs_of(recording: Path) -> dict[int, list[LogRecord]]:
    """The log records beside a recording, by the span that they name."""
    beside = log_file(str(recording))
    found: dict[int, list[LogRecord]] = {}
    lines = beside.read_text("utf-8").splitlines() if beside is not None else ()
    for line in lines:
        for raw in json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
            record = LogRecord(
                timestamp=int(raw.get("timeUnixNano") or raw["observedTimeUnixNano"]),
                trace_id=int(raw["traceId"], 16),
                span_id=int(raw["spanId"], 16),
                event_name=raw.get("eventName"),
                body=any_value(raw.get("body")),
                attributes=attributes_of(raw.get("attributes")),
            )
            found.setdefault(record.span_id or 0, []).append(record)
    return found


def trace_limits(attribute_limit: int | None) -> Any:
    from opentelemetry.sdk.trace import SpanLimits

    return SpanLimits(max_span_attributes=attribute_limit or 2_000, max_attributes=2_000)


def events_of(recording: Path, spans: Iterable[RecordedSpan]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Starts and ends in order: ``("start" | "end", span id, what was recorded of the event)``."""
    beside = recording.with_name(recording.name.replace(".otlp.jsonl", ".events.jsonl"))
    if beside.exists():
        for line in beside.read_text().splitlines():
            event = json.loads(line)
            yield event["event"], event["span_id"], event
        return
    steps = []
    for number, span in enumerate(spans):
        span_id = f"{span.context.span_id:016x}"
        steps.append((span.start_time, 0, -number, "start", span_id))
        steps.append((span.end_time, 1, number, "end", span_id))
    for _, _, _, what, span_id in sorted(steps):
        yield what, span_id, {}
