"""The SpanProcessor that is attached to an instrumented agent: what the SDK calls, on the application's threads.

The hooks never raise, never wait, and take no lock: a garbage-collection finaliser or a signal handler may end another
span while a hook runs, on the same thread.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from time import time_ns
from typing import Any, Final

from opentelemetry import trace
from opentelemetry._logs import LoggerProvider
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanKind, TracerProvider

from otel_chloe.assembly import Tree, plain_calls
from otel_chloe.config import Rules, Settings, load_rules
from otel_chloe.conventions import (
    AGENT_NAME,
    FOREIGN_KEYS,
    PLACEHOLDER_NAMES,
    expand,
    is_named,
    is_silent,
    is_usual,
    keep,
    kind_of,
    read,
    read_open,
)
from otel_chloe.errors import ConfigError
from otel_chloe.health import Health
from otel_chloe.names import short_name
from otel_chloe.part import AGENT, MODEL, OTHER, TOOL, Kind
from otel_chloe.pipeline.scoring import Forbidden, Full, Pipeline, watched
from otel_chloe.record import IDENT, KIND, PARENT_ID, SPAN_ID
from otel_chloe.scorers import kept, outcomes_under, used_names
from otel_chloe.semconv import CHLOE_PASSED, SCOPE
from otel_chloe.sinks import Sinks, Value, calls_kept, mark_attributes, origin_of

RULES: Final = "OTEL_CHLOE_RULES"
NO_ROOM: Final = "no_room_on_span"

MOST_DEPTH: Final = 64
"""Open spans above a tool span that are looked at for an agent."""

_raises = "OTEL_CHLOE_RAISE" in os.environ
"""Our own tests ask hooks to raise what they would count."""


class ScoringSpanProcessor(SpanProcessor):
    """Rebuilds agent runs from the spans of a TracerProvider, scores them, and sends the marks out.

    ``provider.add_span_processor(ScoringSpanProcessor("rules.yaml"))``, before or after the exporters.

    Args:
        rules: The rules file's path, a mapping of the same shape, or ``Rules``. None takes the path from the variable
            ``OTEL_CHLOE_RULES``; where that is not set, runs are rebuilt and counted, and nothing is scored.
        scorers: Not in this version.
        complete: Not in this version.
        on_mark: Not in this version.
        tracer_provider: Takes the evaluation spans; else they go where the run's own span goes.
        meter_provider: Takes the metrics; else the global one does.
        logger_provider: Takes the events; else the global one does.
        settings: Limits and switches by name (see ``Settings``); they win over those in the rules file.

    Raises :class:`~otel_chloe.errors.ConfigError` where rules or settings are wrong.
    """

    def __init__(
        self,
        rules: str | os.PathLike[str] | Mapping[str, object] | Rules | None = None,
        *,
        scorers: Sequence[object] = (),
        complete: Callable[..., object] | None = None,
        on_mark: Callable[..., object] | None = None,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        _refuse(scorers=scorers, complete=complete, on_mark=on_mark)
        self._rules = load_rules(rules)
        chosen = Settings.from_mapping(settings, base=self._rules.settings) if settings else self._rules.settings

        def sinks(health: Health, on_provider: Callable[[], None]) -> Sinks:
            return Sinks(
                health,
                watched=watched(self._rules),
                tracer_provider=tracer_provider,
                meter_provider=meter_provider,
                logger_provider=logger_provider,
                reasons=chosen.reasons,
                evaluation_spans=chosen.evaluation_spans,
                remembered=chosen.remembered_runs,
                on_provider=on_provider,
            )

        self._settings = chosen
        self._max_bytes, self._max_spans = chosen.max_bytes, chosen.max_spans
        self._pipeline = Pipeline(self._rules, chosen, read_open, expand, sinks)
        self._assembler = self._pipeline.assembler
        self._tree_of = self._assembler.tree_of
        self._forbidden = _forbidden_names(self._rules)
        self._names_agents = bool(self._rules.agents)
        self._scores = self._rules.everyone is not None or self._names_agents
        self._shut = False

    # --- hooks -------------------------------------------------------------------------------------------------------

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        try:
            parent = span.parent
            context = span.context
            tree = None
            if parent is not None and not parent.is_remote:
                tree = self._tree_of.get(parent.span_id)
            if tree is None:
                self._first(span, parent_context)
            else:
                span_id = context.span_id
                tree.open[span_id] = span
                self._tree_of[span_id] = tree
                if tree.watched and _looks_like_agent(span):
                    self._hook(span, tree)
        except Exception as error:
            self._guard("on_start", error)

    def _on_ending(self, span: Span) -> None:
        try:
            tree = self._tree_of.get(span.context.span_id)
            if tree is not None and span.is_recording():
                self._write(span, tree)
        except Exception as error:
            self._guard("_on_ending", error)

    def on_end(self, span: ReadableSpan) -> None:
        try:
            context = span.context
            if context is None:
                return
            tree = self._tree_of.pop(context.span_id, None)
            if tree is None:
                return
            held = keep(span, context)
            if held.__class__ is list:
                self._assembler.recorded(tree, held)
                self._ours(tree, held[KIND], held[SPAN_ID], held[PARENT_ID], held[IDENT])
            elif held.kind is not OTHER:
                self._assembler.ended(tree, held)
                self._ours(tree, held.kind, held.span_id, held.parent_id, held.name)
            else:
                self._assembler.ended(tree, held)
                self._other(tree, held.span_id)
        except Exception as error:
            self._guard("on_end", error)

    def _ours(self, tree: Tree, kind: str, span_id: int, parent_id: int | None, name: str | None) -> None:
        """A span that some convention knows has ended."""
        tree.ours = True
        pipeline = self._pipeline
        if not pipeline.awake:
            pipeline.wake()
        if kind is TOOL:
            if tree.watched and parent_id != tree.root_id:
                self._hook_above(tree, parent_id)
            if self._forbidden and name is not None:
                self._look_forbidden(tree, span_id, name)
            if tree.unhooked:
                self._write_live(tree)
        elif kind is MODEL:
            if tree.watched and parent_id != tree.root_id:
                self._hook_above(tree, parent_id)
        if kind is AGENT or span_id == tree.root_id or not tree.open:
            pipeline.worker.hand_over(tree)
        if tree.bytes > self._max_bytes or len(tree.parts) > self._max_spans:
            pipeline.worker.hand_over(Full(tree))

    def _other(self, tree: Tree, span_id: int) -> None:
        """A span that no convention knows has ended, below or as the root of what may be a run."""
        if span_id != tree.root_id:
            return
        if tree.ours:
            self._pipeline.worker.hand_over(tree)
        elif not tree.open:
            self._assembler.drop(tree)

    def _look_forbidden(self, tree: Tree, span_id: int, name: str) -> None:
        short = short_name(name)
        if name in self._forbidden or short in self._forbidden:
            self._pipeline.worker.hand_over(Forbidden(tree, span_id, (short, name)))

    # --- the marks on the span ---------------------------------------------------------------------------------------

    def _first(self, span: Span, parent_context: Context | None) -> None:
        """A span with no open span of ours above it: the root of a tree, or nothing of ours."""
        scope = span.instrumentation_scope
        if scope is not None and scope.name == SCOPE:
            return
        attributes = _plain(span.attributes)
        scope_name = scope.name if scope is not None else ""
        if is_silent(attributes, span.name, scope_name):
            if span.kind is not SpanKind.INTERNAL or not FOREIGN_KEYS.isdisjoint(attributes):
                return
            kind: Kind = OTHER
        else:
            kind, _ = kind_of(attributes, span.name, scope_name)
        parent = span.parent
        orphan = False
        if parent is not None and not parent.is_remote:
            orphan = not trace.get_current_span(parent_context).is_recording()
        if orphan and parent is not None and kind is not AGENT:
            waiting = self._assembler.tree_with(span.context.trace_id, parent.span_id)
            if waiting is not None:
                self._assembler.started(waiting, span.context.span_id, span)
                return
        tree = self._assembler.began(span.context.trace_id, span.context.span_id, span, orphan=orphan)
        tree.origin = origin_of(span)
        tree.resource = span.resource
        tree.sampled = span.context.trace_flags.sampled
        if self._scores:
            # An agent below is a run of its own where the root is none, or where the rules name it.
            tree.watched = self._names_agents or kind is not AGENT or not is_named(attributes)
            self._hook(span, tree)

    def _hook_above(self, tree: Tree, parent_id: int | None) -> None:
        """Hook the open spans above a tool or model span: one of them may turn out to be an agent only at its end."""
        for _ in range(MOST_DEPTH):
            span = tree.open.get(parent_id)
            if span is None or parent_id == tree.root_id:
                return
            if getattr(span.end, "__func__", None) is type(span).end:
                self._hook(span, tree)
            parent_id = span.parent.span_id if span.parent is not None else None

    def _hook(self, span: Span, tree: Tree) -> None:
        """Have :meth:`_write` called when the span's own ``end()`` is, while it still takes attributes.

        The hook holds the span weakly: held by its own attribute, the span would be a cycle that only the garbage
        collector frees.
        """
        weak = weakref.ref(span)
        inner = span.end
        if getattr(inner, "__func__", None) is type(span).end:
            inner = None  # the span's own method: held here, it would hold the span
        once = [self._write]

        def end(*args: Any, **kwargs: Any) -> None:
            ending = weak()
            if ending is None:
                return
            try:
                if once:
                    once.pop()(ending, tree)
            except Exception as error:
                if not isinstance(error, IndexError) or once:
                    self._guard("end", error)
            finally:
                _unhook(ending, end, inner)
                if inner is None:
                    type(ending).end(ending, *args, **kwargs)
                else:
                    inner(*args, **kwargs)

        try:
            span.end = end  # type: ignore[method-assign]
        except AttributeError:
            tree.unhooked = True

    def _write(self, span: Span, tree: Tree) -> None:
        """Score the run that hangs on the span, as far as it is known now, and write its marks on the span."""
        if tree.closed or not span.is_recording():
            return
        attributes = self._plain_marks(span, tree)
        if attributes is None:
            attributes = self._whole_marks(span, tree)
        if attributes:
            room = _room(span)
            if room is not None and room < len(attributes):
                self._pipeline.health.count(NO_ROOM)
                verdict = attributes.get(CHLOE_PASSED)
                attributes = {CHLOE_PASSED: verdict} if room and verdict is not None else {}
            span.set_attributes(attributes)

    def _plain_marks(self, span: Span, tree: Tree) -> dict[str, Value] | None:
        """The attributes of a plain run that keeps its rules: the usual case, and short. None where it takes more."""
        span_id = span.context.span_id
        if len(tree.open) != 1 or span_id != tree.root_id:
            return None
        attributes = _plain(span.attributes)
        agent = attributes.get(AGENT_NAME)
        if agent.__class__ is not str or agent in PLACEHOLDER_NAMES or not is_usual(attributes, AGENT):
            return None
        held = self._rules.for_run(agent)
        if held is None or held.expectations is not None or held.calls is None:
            return None if held is not None else {}
        names = plain_calls(tree.parts, span_id, span.instrumentation_scope.name)
        if names is None:
            return None
        short = [short_name(name) for name in names]
        if not kept(held.calls, short if short == names else short + names):
            return None
        return calls_kept(used_names(short) if self._settings.reasons else None)

    def _whole_marks(self, span: Span, tree: Tree) -> dict[str, Value]:
        """The attributes of any run, from all that its spans tell."""
        part = read(span)
        if part is None or (part.kind is not AGENT and part.span_id != tree.root_id):
            return {}
        part.sampled = tree.sampled
        found = self._assembler.runs_at(tree, part, time_ns())
        if found is None:
            return {}
        run, top = found
        held = self._rules.for_run(run.agent) if top else self._rules.named(run.agent)
        said = list(outcomes_under(run, held, run.trace_id))
        return mark_attributes(said, reasons=self._settings.reasons)[0] if said else {}

    def _write_live(self, tree: Tree) -> None:
        """The last resort, for a root that takes no hook: marks so far, at the end of each tool."""
        root = tree.open.get(tree.root_id)
        if root is not None:
            self._write(root, tree)

    def _guard(self, where: str, error: Exception) -> None:
        self._pipeline.health.failed(where, error)
        if _raises:
            raise error

    # --- the application's calls -------------------------------------------------------------------------------------

    def hold(self, next_processor: SpanProcessor, seconds: float = 10.0) -> SpanProcessor:
        """Not in this version: holds root spans back until a judge's marks are on them."""
        del next_processor, seconds
        raise ConfigError("hold is not in this version. Marks of calls are written on the span without it.")

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Close every run whose root has ended, and hand its marks to the providers. False if that took too long."""
        return self._pipeline.flush(timeout_millis / 1000)

    def shutdown(self) -> None:
        """Close all runs and hand their marks to the providers, within ``shutdown_s``. Later spans are left alone."""
        self._pipeline.shutdown()

    def stats(self) -> dict[str, int]:
        """What was counted since the start: runs, marks, late spans, errors by type, and the runs open now."""
        return self._pipeline.stats()


def _refuse(**given: object) -> None:
    for name, value in given.items():
        if value:
            raise ConfigError(f"{name} is not in this version. Leave it out; calls needs only rules.")


def _forbidden_names(rules: Rules) -> frozenset[str]:
    held = [rules.everyone, *rules.alone.values()]
    return frozenset(name for each in held if each and each.calls for name in each.calls.must_not_call)


def _looks_like_agent(span: Span) -> bool:
    """Whether a span says from its start that it is an agent's."""
    scope = span.instrumentation_scope
    kind, _ = kind_of(span.attributes or {}, span.name, scope.name if scope is not None else "")
    return kind is AGENT


def _plain(attributes: Any) -> Mapping[str, Any]:
    """A span's attributes as a plain mapping: its own lookups take a lock each."""
    try:
        return attributes.copy()  # type: ignore[no-any-return]
    except AttributeError:
        return dict(attributes or {})


def _unhook(span: Span, end: object, inner: Any) -> None:
    """Take the hook off, where no other wrapper came on top of it."""
    if span.end is not end:
        return
    if inner is None:
        del span.end
    else:
        span.end = inner  # type: ignore[method-assign]


def _room(span: Span) -> int | None:
    """How many attributes the span still takes; None: any number, or unknown."""
    limits = getattr(span, "_limits", None)
    most = getattr(limits, "max_span_attributes", None)
    return None if most is None else max(0, most - len(span.attributes or ()))
