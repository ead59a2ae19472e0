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
from opentelemetry.trace import TracerProvider

from otel_chloe.assembly import Tree
from otel_chloe.config import Rules, Settings, load_rules
from otel_chloe.conventions import is_foreign, is_named, kind_of, read, read_open, slim
from otel_chloe.errors import ConfigError
from otel_chloe.health import Health
from otel_chloe.part import AGENT, MODEL, OTHER, TOOL, Part
from otel_chloe.pipeline.scoring import Forbidden, Full, Pipeline, watched
from otel_chloe.scorers import outcomes_under
from otel_chloe.semconv import SCOPE
from otel_chloe.sinks import Sinks, mark_attributes, origin_of

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
        self._pipeline = Pipeline(self._rules, chosen, read_open, sinks)
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
            part = slim(span)
            if part is None:
                tree.open.pop(context.span_id, None)
                return
            self._assembler.ended(tree, part, part.size)
            if part.kind is not OTHER:
                self._ours(tree, part)
            elif not tree.open and not tree.ours:
                self._assembler.drop(tree)
            elif context.span_id == tree.root_id:
                self._pipeline.worker.hand_over(tree)
        except Exception as error:
            self._guard("on_end", error)

    def _ours(self, tree: Tree, part: Part) -> None:
        """A span that some convention knows has ended."""
        tree.ours = True
        pipeline = self._pipeline
        if not pipeline.awake:
            pipeline.wake()
        if part.span_id == tree.root_id or part.kind is AGENT or not tree.open:
            pipeline.worker.hand_over(tree)
        elif part.kind is TOOL or part.kind is MODEL:
            if tree.watched and part.parent_id != tree.root_id:
                self._hook_above(tree, part)
            if part.short_name in self._forbidden or part.name in self._forbidden:
                pipeline.worker.hand_over(Forbidden(tree, part))
            if tree.unhooked:
                self._write_live(tree)
        if len(tree.parts) > self._settings.max_spans or tree.bytes > self._settings.max_bytes:
            pipeline.worker.hand_over(Full(tree))

    # --- the marks on the span ---------------------------------------------------------------------------------------

    def _first(self, span: Span, parent_context: Context | None) -> None:
        """A span with no open span of ours above it: the root of a tree, or nothing of ours."""
        scope = span.instrumentation_scope
        if scope is not None and scope.name == SCOPE:
            return
        attributes = span.attributes or {}
        kind, convention = kind_of(attributes, span.name, scope.name if scope is not None else "")
        if convention is None and is_foreign(attributes, span.kind):
            return
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
        if self._scores:
            # An agent below is a run of its own where the root is none, or where the rules name it.
            tree.watched = self._names_agents or kind is not AGENT or not is_named(attributes)
            self._hook(span, tree)

    def _hook_above(self, tree: Tree, part: Part) -> None:
        """Hook the open spans above a tool or model span: one of them may turn out to be an agent only at its end."""
        parent_id = part.parent_id
        for _ in range(MOST_DEPTH):
            span = tree.open.get(parent_id)
            if span is None or parent_id == tree.root_id:
                return
            if "end" not in span.__dict__:
                self._hook(span, tree)
            parent_id = span.parent.span_id if span.parent is not None else None

    def _hook(self, span: Span, tree: Tree) -> None:
        """Have :meth:`_write` called when the span's own ``end()`` is, while it still takes attributes.

        The hook holds the span weakly: held by its own attribute, the span would be a cycle that only the garbage
        collector frees.
        """
        weak = weakref.ref(span)
        inner = span.__dict__.get("end")
        once = [None]

        def end(*args: Any, **kwargs: Any) -> None:
            ending = weak()
            if ending is None:
                return
            try:
                try:
                    once.pop()
                except IndexError:
                    pass
                else:
                    self._write(ending, tree)
            except Exception as error:
                self._guard("end", error)
            finally:
                if ending.__dict__.get("end") is end:
                    if inner is None:
                        del ending.__dict__["end"]
                    else:
                        ending.__dict__["end"] = inner
                if inner is None:
                    type(ending).end(ending, *args, **kwargs)
                else:
                    inner(*args, **kwargs)

        try:
            span.__dict__["end"] = end
        except AttributeError:
            tree.unhooked = True

    def _write(self, span: Span, tree: Tree) -> None:
        """Score the run that hangs on the span, as far as it is known now, and write its marks on the span."""
        if tree.closed or not span.is_recording():
            return
        part = read(span)
        if part is None or (part.kind is not AGENT and part.span_id != tree.root_id):
            return
        found = self._assembler.runs_at(tree, part, time_ns())
        if found is None:
            return
        run, top = found
        held = self._rules.for_run(run.agent) if top else self._rules.named(run.agent)
        said = list(outcomes_under(run, held, run.trace_id))
        if not said:
            return
        attributes, whole = mark_attributes(said, reasons=self._settings.reasons, room=_room(span))
        if not whole:
            self._pipeline.health.count(NO_ROOM)
        if attributes:
            span.set_attributes(attributes)

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


def _room(span: Span) -> int | None:
    """How many attributes the span still takes; None: any number, or unknown."""
    limits = getattr(span, "_limits", None)
    most = getattr(limits, "max_span_attributes", None)
    return None if most is None else max(0, most - len(span.attributes or ()))
