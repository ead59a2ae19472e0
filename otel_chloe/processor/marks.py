"""Marks on the agent span itself: written in the last moment before it ends."""

# pyright: reportPrivateUsage=false
# The SDK's own slots are read on purpose: the public ways take a lock and check or copy what is known to be right.

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace import Span
from opentelemetry.trace import SpanKind

from otel_chloe.assembly import RunAssembler, Tree, plain_calls
from otel_chloe.config import AgentRules, Rules, Settings
from otel_chloe.conventions import AGENT_NAME, PLACEHOLDER_NAMES, plain, read
from otel_chloe.health import Health
from otel_chloe.names import short_name
from otel_chloe.part import AGENT
from otel_chloe.processor.endhook import AskingEndHook, EndHook
from otel_chloe.run import Run
from otel_chloe.scorers import calls, kept, outcomes_under, rules_of, used_names
from otel_chloe.semconv import CHLOE_EXPECTED, CHLOE_PASSED
from otel_chloe.sinks import Value, calls_kept, mark_attributes

if TYPE_CHECKING:
    from otel_chloe.pipeline.own import OwnScorers

NO_ROOM: Final = "no_room_on_span"
BUSY: Final = "span_busy"
"""Marks that were not written on a span because somebody else was writing on it all the time."""
FAR: Final = 32
"""Free places on a span that nobody can fill in the moment between a look and a write."""
PATIENCE_S: Final = 0.1
"""How long another thread may write on the span that a run's marks go on."""
MOST_WAYS: Final = 1_000
"""Ways through a run, each an agent's name and the calls that it made, of which the marks are remembered."""
MOST_STEPS: Final = 32
_NEW: Final[dict[str, Value]] = {"": ""}
CLIENT: Final = SpanKind.CLIENT
MOST_DEPTH: Final = 64
"""Open spans above a tool span that are looked at for an agent."""


class SpanMarks:
    """Scores the run that hangs on a span when the span ends, as far as it is known, and writes its marks on it.

    ``rules`` are those that hold for the trees that begin while this is the newest; ``scores`` says whether they hold
    for anybody, ``names_agents`` whether for somebody by name.
    """

    __slots__ = (
        "_assembler",
        "_health",
        "_hooks",
        "_own",
        "_reasons",
        "_ways",
        "failed",
        "names_agents",
        "rules",
        "scores",
    )

    def __init__(
        self,
        rules: Rules,
        settings: Settings,
        assembler: RunAssembler,
        health: Health,
        failed: Callable[[str, Exception], None],
        own: OwnScorers | None = None,
    ) -> None:
        self.rules = rules
        self.names_agents = bool(rules.agents)
        self.scores = rules.everyone is not None or self.names_agents
        self._reasons = settings.reasons
        self._assembler = assembler
        self._health = health
        self.failed = failed
        self._own = own
        self._hooks = EndHook if own is None else AskingEndHook
        self._ways: dict[tuple[str, ...], dict[str, Value] | None] = {}

    def hook(self, span: Span, tree: Tree) -> None:
        """Have :meth:`write` called when the span's own ``end()`` is, while it still takes attributes."""
        inner: Any = span.end
        if getattr(inner, "__func__", None) is type(span).end:
            inner = None  # the span's own method: held by the hook, it would hold the span
        try:
            span.end = self._hooks(self, span, tree, inner)  # type: ignore[method-assign]
        except AttributeError:
            tree.unhooked = tree.watched = True

    def hook_above(self, tree: Tree, parent_id: int | None) -> None:
        """Hook the open spans above a tool or model span: one of them may turn out to be an agent only at its end."""
        for _ in range(MOST_DEPTH):
            span = tree.open.get(parent_id) if parent_id != tree.root_id else None  # type: ignore[arg-type]  # None: none
            if span is None:
                return
            if getattr(span.end, "__func__", None) is type(span).end:  # pyright: ignore[reportUnknownMemberType] - any span
                self.hook(span, tree)
            parent_id = span.parent.span_id if span.parent is not None else None

    def write_live(self, tree: Tree) -> None:
        """The last resort, for a root that takes no hook: marks so far, at the end of each tool."""
        root = tree.open.get(tree.root_id)
        if root is not None:
            self.write(root, tree, live=True)

    def write(self, span: Span, tree: Tree, *, live: bool = False, ended_ns: int | None = None) -> None:
        """Write the marks of the span's run on the span.

        ``live``: the span goes on, and does not end. ``ended_ns``: when it ends, where that is not now.
        """
        if tree.closed or not span.is_recording():
            return
        store: Any = getattr(span, "_attributes", None)
        try:
            known: Mapping[str, Any] = store._dict
        except AttributeError:
            known = plain(span.attributes)  # else the public way is taken
        attributes = self._plain(span, tree, known) if tree.plain_root else None
        if attributes is None:
            attributes = self._whole(span, tree, live=live, ended_ns=ended_ns)
        if not attributes:
            return
        self._put(span, store, known, attributes)

    def _put(self, span: Span, store: Any, held: Any, attributes: dict[str, Value]) -> None:
        """Set attributes that need no cleaning, as many as there is room for, in one operation on the SDK's own store.

        ``set_attributes`` checks each value, a fifth of all that a run costs here. The store is private: where it looks
        any different, and where values are cut, the public way is taken.

        The store's lock guards its limit: where that is far and nobody holds the lock, one operation needs none. It is
        waited for a moment only: this thread itself may hold it, interrupted while it reads or writes the attributes
        by a signal handler that ends the span.
        """
        try:
            most = store.maxlen
            lock = store._lock
            cuts = store.max_value_len is not None or store._immutable
            far = most is None or most - len(held) - len(attributes) >= FAR
            if far and not cuts and not lock.locked():
                held.update(attributes)
                return
            if not lock.acquire(timeout=PATIENCE_S):
                self._health.count(BUSY)
                return
        except AttributeError:
            limits = getattr(span, "_limits", None)
            if limits is not None and limits.max_span_attributes is not None:
                attributes = self._fitting(attributes, held, limits.max_span_attributes)
            span.set_attributes(attributes)
            return
        try:
            if most is not None and most - len(held) < len(attributes):
                attributes = self._fitting(attributes, held, most)
            if not cuts:
                held.update(attributes)
        finally:
            lock.release()
        if cuts:
            span.set_attributes(attributes)

    def _fitting(self, attributes: dict[str, Value], held: Mapping[str, Any], most: int) -> dict[str, Value]:
        """What there is room for: all, the verdict, or nothing. One attribute too many evicts one of the user's."""
        room = most - sum(key not in attributes for key in held)
        if room >= len(attributes):
            return attributes  # most are there already
        self._health.count(NO_ROOM)
        verdict = attributes.get(CHLOE_PASSED)
        return {CHLOE_PASSED: verdict} if room > 0 and verdict is not None else {}

    def _plain(self, span: Span, tree: Tree, known: Mapping[str, Any]) -> dict[str, Value] | None:
        """The attributes of a plain run that keeps its rules: the usual case, and short. None where it takes more."""
        root_id = tree.root_id
        if len(tree.open) != 1 or root_id not in tree.open:
            return None
        agent: Any = known.get(AGENT_NAME)
        if agent.__class__ is not str or agent in PLACEHOLDER_NAMES or CHLOE_EXPECTED in known:
            return None
        names = plain_calls(tree.parts, root_id, span.instrumentation_scope.name)  # type: ignore[union-attr]  # a Tracer's
        if names is None or (not names and not tree.parts and span.kind is CLIENT):
            return None  # the last: an agent that ran elsewhere
        # An agent mostly goes one of few ways.
        way = (agent, *names)
        attributes = self._ways.get(way, _NEW)
        if attributes is not _NEW and attributes is not None:
            return attributes
        held = self.rules.for_run(agent)
        if attributes is _NEW:
            attributes = self._kept(held, names)
            if len(way) <= MOST_STEPS:
                if len(self._ways) >= MOST_WAYS:
                    self._ways.clear()
                self._ways[way] = attributes
        return self._broken(tree, agent, held) if attributes is None else attributes

    def _broken(self, tree: Tree, agent: str, held: AgentRules | None) -> dict[str, Value] | None:
        """The attributes of a plain run that may break a rule: its calls suffice, and no message is read for them."""
        if held is None or held.calls is None or _takes_more(held):
            return None
        made = self._assembler.calls_at(tree, agent, held.calls.at_most_once)
        if made is None:
            return None
        return mark_attributes([calls(Run(agent=agent, tool_calls=made), held.calls)], reasons=self._reasons)[0]

    def _kept(self, held: AgentRules | None, names: list[str]) -> dict[str, Value] | None:
        """The attributes of a run with these calls and no others, if it keeps its rules."""
        if held is None:
            return {}
        if held.calls is None or _takes_more(held):
            return None
        short = [short_name(name) for name in names]
        if not kept(held.calls, short if short == names else short + names):
            return None
        return calls_kept(used_names(short) if self._reasons else None)

    def _whole(self, span: Span, tree: Tree, *, live: bool, ended_ns: int | None) -> dict[str, Value]:
        """The attributes of any run, from all that its spans tell."""
        part = read(span)
        if part is None or (part.kind is not AGENT and part.span_id != tree.root_id):
            return {}
        part.sampled = tree.sampled
        found = self._assembler.runs_at(tree, part, time_ns() if ended_ns is None else ended_ns)
        if found is None:
            return {}
        run, top = found
        held = rules_of(run, self.rules) if top else self.rules.of_sub_run(run)
        # What a judge is to say comes when the span is long gone.
        said = list(outcomes_under(run, held, run.trace_id, judging=True))
        if self._own is not None and not live:
            said += self._own.at_end(run, held)
        return mark_attributes(said, reasons=self._reasons)[0] if said else {}


def _takes_more(held: AgentRules) -> bool:
    """Whether a mark beside that of ``calls`` may stand on the span."""
    return bool(held.scorers) or (held.expectations is not None and not held.expectations.has_lines)
