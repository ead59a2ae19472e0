"""The SpanProcessor that is attached to an instrumented agent: what the SDK calls, on the application's threads.

The hooks never raise, wait for scorers of the user's alone, and take no lock: a garbage-collection finaliser or a
signal handler may end another span while a hook runs, on the same thread.
"""

# pyright: reportPrivateUsage=false
# The SDK's own slots are read on purpose: its properties cost half the time that a hook takes, on the agent's thread.

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from opentelemetry import trace
from opentelemetry._logs import LoggerProvider
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanContext, SpanKind, TracerProvider

from otel_chloe.assembly import Tree
from otel_chloe.config import Rules, load_rules
from otel_chloe.config.settings import positive_seconds
from otel_chloe.config.table import chosen as settings_that_hold
from otel_chloe.conventions import (
    FOREIGN_KEYS,
    expand,
    is_named,
    is_silent,
    is_usual,
    kind_of,
    read_open,
    slim,
    usual,
)
from otel_chloe.names import short_name
from otel_chloe.part import AGENT, OTHER, TOOL, Kind
from otel_chloe.pipeline.context import ours
from otel_chloe.pipeline.glance import Glance
from otel_chloe.pipeline.scoring import Forbidden, Full, OnMark, Pipeline
from otel_chloe.processor import block
from otel_chloe.processor.given import TOO_MANY, forbidden_names, looks_like_agent, scorer_rules, sinks_of
from otel_chloe.processor.logs import ContentLogs
from otel_chloe.processor.marks import SpanMarks
from otel_chloe.semconv import SCOPE
from otel_chloe.sinks import Origin, origin_of

if TYPE_CHECKING:
    from otel_chloe.judge.ask import Complete

_FOREIGN_KINDS: Final = frozenset({SpanKind.SERVER, SpanKind.PRODUCER, SpanKind.CONSUMER})
"""Kinds of spans that are of another trade where they say nothing at their start. A CLIENT may yet be a model call."""
MOST_NAMES: Final = 10_000
"""Names of harmless tools that are remembered."""

_raises = "OTEL_CHLOE_RAISE" in os.environ
"""Our own tests ask hooks to raise what they would count."""


class ScoringSpanProcessor(SpanProcessor):
    """Rebuilds agent runs from the spans of a TracerProvider, scores them, and sends the marks out.

    ``provider.add_span_processor(ScoringSpanProcessor("rules.yaml"))``, before or after the exporters.

    Args:
        rules: The rules file's path, a mapping of the same shape, or ``Rules``. None takes the path from the variable
            ``OTEL_CHLOE_RULES``; where that is not set, runs are rebuilt and counted, and nothing is scored.
        scorers: Scorers of your own for every agent's runs: functions, ``Scorer.code`` and ``Scorer.llm_judge``.
        complete: A way of your own to the judge's model, ``complete(model, messages) -> str``, sync or async; None
            for litellm in a process of its own.
        redact: A function of your own that gets each text of a run, already redacted, before the judge sees it, and
            gives what may be shown of it. A text on which it raises is withheld.
        on_mark: Called with each run and each of its outcomes, on the worker; what it raises is counted.
        tracer_provider: Takes the evaluation spans; else they go where the run's own span goes.
        meter_provider: Takes the metrics; else the global one does.
        logger_provider: Takes the events; else the global one does.
        settings: Limits and switches by name (see ``Settings``); they win over variables and over the rules file.

    Raises :class:`~otel_chloe.errors.ConfigError` where rules or settings are wrong.
    """

    def __init__(
        self,
        rules: str | os.PathLike[str] | Mapping[str, object] | Rules | None = None,
        *,
        scorers: Sequence[object] = (),
        complete: Complete | None = None,
        redact: Callable[[str], str] | None = None,
        on_mark: OnMark | None = None,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self._given = load_rules(rules)
        self._scorers = scorer_rules(scorers) if scorers else ()
        held = self._given.with_scorers(self._scorers)
        self._chosen = chosen = settings_that_hold(held.settings, settings)
        self._pipeline = Pipeline(
            held,
            chosen,
            read_open,
            expand,
            partial(sinks_of, held, chosen, (tracer_provider, meter_provider, logger_provider)),
            complete=complete,
            redact=redact,
            on_mark=on_mark,
            on_rules=self._renew,
        )
        self._assembler = self._pipeline.assembler
        self._tree_of = self._assembler.tree_of
        self._recorded = self._assembler.recorded
        self._origin: Origin | None = None
        self._shut = False
        block.follow(self._assembler, baggage=chosen.baggage)
        self._follow(held)

    # --- hooks -------------------------------------------------------------------------------------------------------

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        try:
            # Slots, not properties, and the place in a SpanContext (a tuple), not its name: half the time of it all.
            parent = span._parent
            tree = self._tree_of.get(parent[1]) if parent is not None else None
            if tree is None:
                self._first(span, parent_context)
                return
            span_id = span._context[1]  # type: ignore[index]  # never None while it starts
            tree.open[span_id] = span
            self._tree_of[span_id] = tree
            if tree.watched:
                if block.used:
                    block.mark_started(span)
                if looks_like_agent(span):
                    tree.scored_by.hook(span, tree)
        except Exception as error:  # noqa: BLE001 - a guard: the agent goes on, whatever scoring it does
            self._guard("on_start", error)

    def _on_ending(self, span: Span) -> None:
        try:
            if not span.is_recording():
                # This SDK freezes a span before it asks: never to be asked again.
                # Of this processor alone, and a function that does nothing at once.
                self._on_ending = callable  # type: ignore[method-assign, assignment]
                return
            span_id = span.context.span_id  # pyright: ignore[reportOptionalMemberAccess] - a live span has one
            tree = self._tree_of.get(span_id)
            if tree is not None and span_id == tree.root_id:
                tree.scored_by.write(span, tree)
        except Exception as error:  # noqa: BLE001 - see on_start
            self._guard("_on_ending", error)

    def on_end(self, span: ReadableSpan) -> None:
        try:
            tree = self._tree_of.pop(span._context[1], None)  # type: ignore[index]  # an SDK's span has one
            if tree is None:
                return
            record = usual(span)
            if record is None:
                self._part(tree, span)
                return
            full = self._recorded(tree, record)
            if record[0] is TOOL and record[6] not in self._harmless:
                self._tool(tree, record[1], record[6])
            if tree.watched:
                self._watch(tree, record[2])
            if not tree.open or record[0] is AGENT:
                self._closing(tree)
            if full:
                self._pipeline.worker.hand_over(Full(tree))
        except Exception as error:  # noqa: BLE001 - see on_start
            self._guard("on_end", error)

    def _part(self, tree: Tree, span: ReadableSpan) -> None:
        """A span that is not usual has ended: the same with a part of it."""
        part = slim(span)
        if part is None:
            return
        full = self._assembler.ended(tree, part)
        if part.kind is OTHER:
            self._other(tree, part.span_id)
            return
        if part.kind is TOOL and part.name is not None and part.name not in self._harmless:
            self._tool(tree, part.span_id, part.name)
        if tree.watched:
            self._watch(tree, part.parent_id)
        if part.kind is AGENT or part.span_id == tree.root_id or not tree.open:
            self._closing(tree)
        if full:
            self._pipeline.worker.hand_over(Full(tree))

    def _tool(self, tree: Tree, span_id: int, name: str) -> None:
        """A call of a tool has ended that some rule forbids, or that was not seen before."""
        short = short_name(name)
        harmless = self._harmless  # before what is forbidden is looked at: both may be exchanged meanwhile
        if name in self._forbidden or short in self._forbidden:
            self._pipeline.worker.hand_over(Forbidden(tree, span_id, (short, name)))
        elif len(harmless) < MOST_NAMES:
            harmless.add(name)

    def _watch(self, tree: Tree, parent_id: int | None) -> None:
        """A span has ended in a tree whose agents may be known only at their ends."""
        tree.scored_by.hook_above(tree, parent_id)
        if tree.unhooked:
            tree.scored_by.write_live(tree)

    def _closing(self, tree: Tree) -> None:
        """What may be the end of a run was seen: the worker looks when nothing more comes."""
        self._assembler.closing(tree)
        if not self._pipeline.awake:
            self._pipeline.wake()

    def _other(self, tree: Tree, span_id: int) -> None:
        """A span that no convention knows has ended, below or as the root of what may be a run."""
        if span_id != tree.root_id:
            return
        if tree.ours:
            self._closing(tree)
        elif not tree.open:
            self._assembler.drop(tree)

    def _first(self, span: Span, parent_context: Context | None) -> None:  # noqa: C901 - each split is a call more
        """A span with no open span of ours above it: the root of a tree, or nothing of ours."""
        scope = span._instrumentation_scope
        scope_name = scope.name if scope is not None else ""
        if scope_name == SCOPE or self._shut or span._context[1] in self._tree_of:  # type: ignore[index]
            return  # our own, after the shutdown, or told twice: the processor was added twice
        attributes = span._attributes._dict  # type: ignore[union-attr]  # nobody else has the span yet
        kind: Kind = OTHER
        plain_root = is_usual(attributes, AGENT)
        if plain_root:
            kind = AGENT
        elif not is_silent(attributes, span._name, scope_name):
            kind, _ = kind_of(attributes, span._name, scope_name)
        elif span._kind in _FOREIGN_KINDS or not FOREIGN_KEYS.isdisjoint(attributes):
            return
        marked = block.used and block.mark_started(span, parent_context, root=True)
        parent = span._parent
        orphan = False
        if parent is not None and not parent.is_remote:
            orphan = not trace.get_current_span(parent_context).is_recording()
            if orphan and kind is not AGENT and self._joined(span, parent):
                return
        if self._assembler.is_full:
            self._pipeline.health.error(TOO_MANY)
            return
        tree = self._assembler.began(span._context, span, orphan=orphan)
        origin = self._origin
        if origin is None or origin.processor is not span._span_processor:
            origin = self._origin = origin_of(span)
        tree.origin, tree.plain_root = origin, plain_root and not marked
        if kind is not OTHER and not self._pipeline.awake:
            self._pipeline.wake()
        # An agent below is a run of its own where the root is none, or where the rules name it.
        marks = tree.scored_by = self._marks
        if marks.scores or block.used:
            tree.watched = marks.names_agents or kind is not AGENT or not is_named(attributes)
            marks.hook(span, tree)

    def _first_of_others(self, span: Span, parent_context: Context | None = None) -> None:
        """The same of spans that are not of a scorer, a judge or an ``on_mark`` at work."""
        if not ours.get():
            ScoringSpanProcessor._first(self, span, parent_context)

    def _joined(self, span: Span, parent: SpanContext) -> bool:
        """Whether a span whose parent is over belongs to a tree that still waits to be closed."""
        waiting = self._assembler.tree_with(parent.trace_id, parent.span_id)
        if waiting is None:
            return False
        self._assembler.started(waiting, span._context.span_id, span)  # type: ignore[union-attr]  # see on_start
        return True

    def _guard(self, where: str, error: Exception) -> None:
        self._pipeline.health.failed(where, error)
        if _raises:
            raise error

    # --- called by the worker ----------------------------------------------------------------------------------------

    def _renew(self, given: Rules) -> None:
        """The rules file has changed. A run is scored by the rules that it began under."""
        self._pipeline.renew(held := given.with_scorers(self._scorers))
        self._given = given
        self._follow(held)

    def _follow(self, rules: Rules) -> None:
        """Has the hooks go by these rules, for the trees that begin from now on."""
        pipeline = self._pipeline
        self._marks = SpanMarks(rules, self._chosen, self._assembler, pipeline.health, self._guard, pipeline.own)
        going = {tree.scored_by for tree in self._assembler.trees.copy().values() if tree.scored_by is not None}
        self._forbidden = forbidden_names(rules).union(*(forbidden_names(each.rules) for each in going))
        self._harmless: set[str | None] = set()
        if pipeline.asks:
            self._first = self._first_of_others  # type: ignore[method-assign]  # others pay nothing for the question

    # --- the application's calls -------------------------------------------------------------------------------------

    def hold(self, next_processor: SpanProcessor, seconds: float = 10.0) -> SpanProcessor:
        """A processor to add in place of ``next_processor``: it hands on a run's own span with the judge's marks on it.

        ``seconds`` is how long such a span is held at most (more than 0); every other span goes on at once.
        """
        from .hold import HoldProcessor  # only for who holds

        longest = positive_seconds(seconds, "hold: seconds")
        return HoldProcessor(next_processor, longest, self._pipeline, failed=self._guard)

    def log_records(self) -> ContentLogs:
        """A processor for the LoggerProvider: it reads content that is sent as log records. ``attach`` adds it."""
        return ContentLogs(self._assembler, self._pipeline.health.count, self._guard)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Close every run whose root has ended, and hand its marks to the providers. False if that took too long."""
        return self._pipeline.flush(timeout_millis / 1000)

    def shutdown(self) -> None:
        """Close all runs and hand their marks to the providers, within ``shutdown_s``. Later spans are left alone."""
        self._shut = True
        self._pipeline.shutdown()

    @property
    def rules(self) -> Rules:
        """The rules as they were given, without the scorers that were given beside them."""
        return self._given

    @property
    def held_rules(self) -> Rules:
        """The rules that runs are scored by: those, and the scorers."""
        return self._pipeline.rules

    def follows(self, rules: Rules) -> bool:
        """Whether these rules are of the file that is looked after, whatever it says by now."""
        return rules.file is not None and rules.file.path == self._pipeline.reloading.path

    @property
    def slow_scorers(self) -> list[str]:
        """The scorers that took too long for the end of a span, by name."""
        return self._pipeline.own.slow if self._pipeline.own is not None else []

    @property
    def last_runs(self) -> list[Glance]:
        """What the last runs have shown: the names of agents and tools, and the gaps."""
        return self._pipeline.last_runs.all()

    def stats(self) -> dict[str, int]:
        """What was counted since the start: runs, marks, late spans, errors by type, and the runs open now."""
        return self._pipeline.stats()
