"""Hold mode: a run's span goes to its exporter when the judge's marks are on it, or when that takes too long.

Spans are held on the application's threads and let go on the worker's: each changes a dict by single operations, and
who is first to put itself in as a span's owner is the only one to hand it on.
"""

# pyright: reportPrivateUsage=false
# An ended span takes no attributes, so a copy of it is handed on; the SDK has no public way to make one whole.

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any, Final

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from otel_chloe.assembly import Tree
from otel_chloe.mark import Outcome
from otel_chloe.pipeline.scoring import Pipeline
from otel_chloe.run import Run
from otel_chloe.semconv import CHLOE_PASSED, mark_keys
from otel_chloe.sinks import mark_attributes

MOST_HELD: Final = 256
"""Spans that wait at one time; with one more, the oldest goes."""


class _Held:
    """A span that waits: for how many judgements, and the outcomes that will stand on it."""

    __slots__ = ("by_s", "outcomes", "owner", "span", "tree", "waiting")

    def __init__(self, span: ReadableSpan, tree: Tree, by_s: float) -> None:
        self.span = span
        self.tree = tree
        self.by_s = by_s
        self.outcomes: list[Outcome] = []
        self.owner: dict[int, object] = {}  # who hands it on: the first to put itself in
        self.waiting: int | None = None  # None: its run is still open


class HoldProcessor(SpanProcessor):
    """Stands in place of the processor that exports, and hands it every span: a run's own a little later.

    Args:
        inner: The processor that exports.
        seconds: How long a span is held at most.
        pipeline: Knows which spans marks are to come for, and when they are there.
        failed: Takes what goes wrong.
        clock: The time, in seconds.
    """

    def __init__(
        self,
        inner: SpanProcessor,
        seconds: float,
        pipeline: Pipeline,
        *,
        failed: Callable[[str, Exception], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._inner = inner
        self._seconds = seconds
        self._pipeline = pipeline
        self._failed = failed
        self._reasons = pipeline.settings.reasons
        self._clock = clock
        self._held: dict[int, _Held] = {}
        self._shut = False
        pipeline.holders.append(self)

    # --- what the SDK calls ------------------------------------------------------------------------------------------

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self._inner.on_start(span, parent_context)

    def _on_ending(self, span: Span) -> None:
        self._inner._on_ending(span)  # noqa: SLF001 - the SDK's own hook

    def on_end(self, span: ReadableSpan) -> None:
        if not self._hold(span):
            self._inner.on_end(span)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Have runs judged, and hand on whatever is held then."""
        deadline = self._clock() + timeout_millis / 1000
        try:
            judged = self._pipeline.flush(timeout_millis / 1000)
        finally:
            self._release(list(self._held))
        return self._inner.force_flush(max(1, int((deadline - self._clock()) * 1000))) and judged

    def shutdown(self) -> None:
        self._shut = True
        try:
            self._pipeline.flush(self._seconds)
        finally:  # also of a wait that Ctrl-C ended
            try:
                self._release(list(self._held))
            finally:
                self._inner.shutdown()

    def _hold(self, span: ReadableSpan) -> bool:
        held = False
        try:
            tree = self._tree_of(span) if not self._shut else None
            if tree is None or span.context is None:
                return False
            self._held[span.context.span_id] = _Held(span, tree, self._clock() + self._seconds)
            held = True  # from here on somebody hands it on
            if len(self._held) > MOST_HELD:
                self._release(list(self._held)[:-MOST_HELD])
            if self._shut:  # meanwhile: nobody looks after what is held any more
                self._release([span.context.span_id])
            self._pipeline.wake()
        except Exception as error:  # noqa: BLE001 - a guard: the span must reach its exporter, held or not
            self._failed("holding a span", error)
        return held

    def _tree_of(self, span: ReadableSpan) -> Tree | None:
        """The tree of a span that has ended and that later marks will stand on, as far as can be told."""
        if span.context is None or not self._pipeline.marks_later:
            return None
        tree = self._pipeline.assembler.trees.get(span.context.span_id)
        return tree if tree is not None and tree.ours else None

    # --- what the worker calls ---------------------------------------------------------------------------------------

    def scored(self, tree: Tree, found: Iterable[tuple[Run, Outcome]], due: Sequence[Run]) -> None:
        """A run of this tree was closed: these are its outcomes, and these are still to be judged."""
        for run, outcome in found:
            if held := self._of(run):
                held.outcomes.append(outcome)
                held.waiting = held.waiting or 0
        for run in due:
            if held := self._of(run):
                held.waiting = (held.waiting or 0) + 1
        here = [(span_id, held) for span_id, held in list(self._held.items()) if held.tree is tree]
        self._release([span_id for span_id, held in here if held.waiting == 0 or (tree.closed and not held.waiting)])

    def answered(self, run: Run, outcomes: Sequence[Outcome]) -> None:
        """A scorer has answered."""
        held = self._of(run)
        if held is None:
            return
        held.outcomes += outcomes
        held.waiting = (held.waiting or 1) - 1
        if not held.waiting:
            self._release([int(run.mark_span_id or "0", 16)])

    def late(self, now: float) -> bool:
        """Hands on what was held for long enough. Whether anything is still held."""
        self._release([span_id for span_id, held in list(self._held.items()) if held.by_s <= now])
        return bool(self._held)

    def forked(self) -> None:
        """In a forked process: what is held is the parent's."""
        self._held.clear()

    def _of(self, run: Run) -> _Held | None:
        return self._held.get(int(run.mark_span_id, 16)) if run.mark_span_id else None

    def _release(self, span_ids: Iterable[int]) -> None:
        interrupted: BaseException | None = None
        for span_id in span_ids:
            try:
                self._let_go(span_id)
            except BaseException as error:  # noqa: BLE001, PERF203 - Ctrl-C: the others must not stay behind
                interrupted = error
        if interrupted is not None:
            raise interrupted

    def _let_go(self, span_id: int) -> None:
        """Hands a span on, if nobody else does. Ctrl-C on the way costs it its marks at most."""
        held = self._held.get(span_id)
        if held is None:
            return
        mine, span = object(), held.span
        try:
            if held.owner.setdefault(0, mine) is mine:
                span = marked(span, held.outcomes, reasons=self._reasons)
        except Exception as error:  # noqa: BLE001 - see _hold
            self._failed("marking a held span", error)
        finally:
            # No call that could be interrupted stands before the one that hands it on.
            if 0 in held.owner and held.owner[0] is mine:
                try:
                    self._inner.on_end(span)
                except Exception as error:  # noqa: BLE001 - it is anybody's code, and others are to be handed on
                    self._failed("handing on a held span", error)
                finally:
                    self._held.pop(span_id, None)


def marked(span: ReadableSpan, outcomes: Sequence[Outcome], *, reasons: bool) -> ReadableSpan:
    """A copy of an ended span with these marks in place of its own. The span is kept where it has no room."""
    if not outcomes:
        return span
    known: Any = span._attributes  # noqa: SLF001 - see above
    attributes = dict(span.attributes or {})
    attributes.pop(CHLOE_PASSED, None)
    for outcome in outcomes:
        for key in mark_keys(outcome.name):
            attributes.pop(key, None)
    most = getattr(known, "maxlen", None)
    room = most - len(attributes) if most is not None else None
    said, _ = mark_attributes(outcomes, reasons=reasons, room=room)
    bounded = BoundedAttributes(most, {**attributes, **said}, True, getattr(known, "max_value_len", None))
    bounded.dropped = getattr(known, "dropped", 0)
    made = copy.copy(span)
    made._attributes = bounded  # noqa: SLF001 - see above
    return made
