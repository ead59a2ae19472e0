"""Plays spans into a RunAssembler as the processor's hooks do, on the SDK's own spans, with a clock that is stepped."""

from __future__ import annotations

from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanKind
from replay import Replay
from span_builders import id_of

from otel_chloe.assembly import Closed, Limits, RunAssembler, Tree
from otel_chloe.conventions import FOREIGN_KEYS, expand, is_silent, kind_of, read_open, slim, usual
from otel_chloe.part import AGENT, OTHER, Kind
from otel_chloe.processor.logs import ContentLogs
from otel_chloe.recording.span import RecordedSpan
from otel_chloe.run import Run
from otel_chloe.sinks import origin_of

SECOND = 1_000_000_000


class Hooks(SpanProcessor):
    """The hooks of a processor that keeps and closes runs, and does nothing else."""

    def __init__(self, limits: Limits) -> None:
        self.late = 0
        self.full: list[Tree] = []
        self.assembler = RunAssembler(limits, read_open, expand, self._count)

    def _count(self, name: str, times: int) -> None:
        assert name == "spans_late"
        self.late += times

    def log_records(self) -> ContentLogs:
        return ContentLogs(self.assembler, self._count, self._failed)

    def _failed(self, where: str, error: Exception) -> None:
        raise AssertionError(where) from error

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        tree = self.assembler.tree_of.get(span.parent.span_id) if span.parent is not None else None
        if tree is not None:
            self.assembler.started(tree, span.context.span_id, span)
            return
        kind = _kind_at_start(span)
        if kind is None:
            return
        local = span.parent is not None and not span.parent.is_remote
        orphan = local and not trace.get_current_span(parent_context).is_recording()
        if orphan and kind is not AGENT:
            waiting = self.assembler.tree_with(span.context.trace_id, span.parent.span_id)
            if waiting is not None:
                self.assembler.started(waiting, span.context.span_id, span)
                return
        tree = self.assembler.began(span.context, span, orphan=orphan)
        tree.origin = origin_of(span)

    def on_end(self, span: ReadableSpan) -> None:
        tree = self.assembler.tree_of.pop(span.context.span_id, None)
        if tree is None:
            return
        record = usual(span)
        if record is not None:
            full = self.assembler.recorded(tree, record)
            closes = record[0] is AGENT or not tree.open
        else:
            full, closes = self._part(tree, span)
        if closes:
            self.assembler.closing(tree)
        if full:
            self.full.append(tree)

    def _part(self, tree: Tree, span: ReadableSpan) -> tuple[bool, bool]:
        """Whether the tree is over a limit, and whether it may be at its end."""
        part = slim(span)
        full = self.assembler.ended(tree, part)
        is_root = part.span_id == tree.root_id
        if part.kind is not OTHER:
            return full, part.kind is AGENT or is_root or not tree.open
        if is_root and not tree.ours and not tree.open:
            self.assembler.drop(tree)
        return False, is_root and tree.ours


def _kind_at_start(span: Span) -> Kind | None:
    """What a span with nothing of ours above it says of itself; None: it is of another trade."""
    attributes, scope = dict(span.attributes), span.instrumentation_scope.name
    if not is_silent(attributes, span.name, scope):
        return kind_of(attributes, span.name, scope)[0]
    foreign = span.kind is not SpanKind.INTERNAL or not FOREIGN_KEYS.isdisjoint(attributes)
    return None if foreign else OTHER


class Live:
    """A process with an assembler: spans start and end in it, and time passes."""

    def __init__(self, **limits: Any) -> None:
        self.hooks = Hooks(Limits(**limits))
        self.assembler = self.hooks.assembler
        self.replay = Replay(self.hooks)
        self.now_ns = SECOND
        self.closed: list[Closed] = []

    @property
    def now(self) -> float:
        return self.now_ns / SECOND

    @property
    def runs(self) -> list[Run]:
        return [closed.run for closed in self.closed]

    def start(self, *spans: RecordedSpan, telling: bool = True) -> None:
        """Start spans; ``telling``: with the attributes that they will have."""
        for span in spans:
            self.now_ns += 1000
            span.start_time = self.now_ns
            self.replay.start(span, list(span.attributes) if telling else ())

    def end(self, *spans: RecordedSpan) -> None:
        """End spans, and do what the worker does with trees that went over a limit."""
        for span in spans:
            self.now_ns += 1000
            span.end_time = self.now_ns
            self.replay.end(span)
        while self.hooks.full:
            tree = self.hooks.full.pop()
            if not tree.closed:
                self.closed += self.assembler.full(tree, self.now_ns)

    def whole(self, *spans: RecordedSpan) -> None:
        """Start and end spans, one after the other."""
        for span in spans:
            self.start(span)
            self.end(span)

    def is_open(self, span: RecordedSpan) -> bool:
        return id_of(span) in self.replay.live and self.replay.live[id_of(span)].is_recording()

    def wait(self, seconds: float) -> list[Run]:
        """Let time pass, the worker looking as often as it should; the runs that close in it."""
        before, until = len(self.closed), self.now + seconds
        while self.now < until:
            step = min(self.assembler.next_due(self.now), until) - self.now
            self.now_ns += max(1, round(step * SECOND))
            self.look()
        return self.runs[before:]

    def look(self) -> list[Closed]:
        found = list(self.assembler.due(self.now, self.now_ns))
        self.closed += found
        return found

    def flush(self) -> list[Run]:
        found = list(self.assembler.flush(self.now_ns))
        self.closed += found
        return [closed.run for closed in found]

    def close_all(self) -> list[Run]:
        found = list(self.assembler.close_all(self.now_ns))
        self.closed += found
        return [closed.run for closed in found]
