"""Where runs begin and end among the spans, and which spans belong to which run (design: what is a run)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.modelcalls import stopped_to_ask
from otel_chloe.part import AGENT, CHAIN, HANDOFF, MODEL, TOOL, WORKFLOW, Kind, Part

_WORK = (MODEL, TOOL, HANDOFF)
_FRAME = (CHAIN, WORKFLOW)


@dataclass(slots=True, eq=False, repr=False)
class Group:
    """The spans of one run: its first agent span, the agents that were handed over to, and everything below.

    ``root`` is None where the root never ended; then ``parts`` are the spans that name it as their missing parent.
    ``roots`` are the roots of all groups that were joined to this one. ``bare``: a model call with nothing above it
    that tells no messages. ``unseen``: a run of such calls that do tell them, some of which are of calls not seen.
    ``unclear`` says why other spans under the same workflow may belong to this run; None where none do.
    """

    root: Part | None
    agents: list[Part]
    parts: list[Part]
    bare: bool = False
    roots: list[Part] = field(default_factory=list[Part])
    unclear: str | None = None
    unseen: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Delimited:
    """The runs among some spans, and the model and tool spans that belong to none of them yet."""

    groups: list[Group]
    bare_models: list[Part]
    orphan_tools: list[Part]


def delimit(forest: Forest) -> Delimited:
    """Cut a forest into runs."""
    kinds = _effective_kinds(forest)
    of = _Roots(forest, kinds)
    owner = {id(part): of.of(part) for part in forest.parts if kinds[id(part)] in (*_WORK, AGENT)}
    roots: dict[int, Part] = {}
    loose: list[Part] = []
    for part in forest.parts:
        root = owner.get(id(part))
        if root is not None:
            roots[id(root)] = root
        elif id(part) in owner:
            loose.append(part)
    groups = [_group(forest, root, owner) for root in roots.values()]
    groups = _link_siblings(forest, groups, kinds, of)
    groups = _same_missing_parent(forest, groups, kinds)
    rootless = list(_rootless(loose, forest))
    inside = {id(part) for group in rootless for part in group.parts}
    groups = [group for group in groups if id(group.root) not in inside] + rootless
    taken = {id(part) for group in groups for part in group.parts}
    left = [part for part in loose if id(part) not in taken]
    return Delimited(
        groups=groups,
        bare_models=[p for p in left if p.kind is MODEL],
        orphan_tools=[p for p in left if p.kind is TOOL],
    )


def _effective_kinds(forest: Forest) -> dict[int, Kind]:
    """The kinds, where an agent span without a name above named agents is the workflow that it is."""
    kinds: dict[int, Kind] = {id(part): part.kind for part in forest.parts}
    passed: set[int] = set()
    for part in forest.parts:
        above = forest.parent(part) if part.kind is AGENT and part.named else None
        while above is not None and above.kind is not TOOL and id(above) not in passed:
            passed.add(id(above))
            if above.kind is AGENT and not above.named:
                kinds[id(above)] = WORKFLOW
            above = forest.parent(above)
    return kinds


class _Roots:
    """The spans that the runs of parts hang on. The ancestors of a part are gone through once, whatever is below."""

    def __init__(self, forest: Forest, kinds: dict[int, Kind]) -> None:
        self._forest = forest
        self._kinds = kinds
        self._agents: dict[int, tuple[Part, int] | None] = {}
        self._frames: dict[int, Part | None] = {}
        self._locals: dict[int, Part | None] = {}

    def of(self, part: Part) -> Part | None:
        """The outermost agent above, else the outermost frame, else the local root."""
        above = self._forest.above_as(part, self._agents, self._agent)
        if self._kinds[id(part)] is AGENT:
            above = self._agent(part, above)
        if above is not None:
            return above[0]
        return self.frame_of(part) or self._forest.above_as(part, self._locals, self._local)

    def frame_of(self, part: Part) -> Part | None:
        """The outermost workflow or chain above."""
        return self._forest.above_as(part, self._frames, self._frame)

    def _agent(self, above: Part, higher: tuple[Part, int] | None) -> tuple[Part, int] | None:
        """The agent that a run of what is below hangs on, and when the first of the spans up to the next agent ended.

        A leaked context: an agent that started after something above it was over is not of the run above.
        """
        if self._kinds[id(above)] is not AGENT:
            return (higher[0], min(higher[1], above.end)) if higher is not None else None
        if higher is None or higher[1] < above.start:
            return above, above.end
        return higher[0], above.end

    def _frame(self, above: Part, higher: Part | None) -> Part | None:
        return higher or (above if self._kinds[id(above)] in _FRAME else None)

    def _local(self, above: Part, higher: Part | None) -> Part | None:
        return higher or (above if not above.foreign and above.kind not in _WORK else None)


def _group(forest: Forest, root: Part, owner: dict[int, Part | None]) -> Group:
    parts = [root, *(p for p in forest.below(root) if owner.get(id(p), root) is root)]
    return Group(root, [root], parts, roots=[root])


def _rootless(loose: list[Part], forest: Forest) -> Iterable[Group]:
    """Spans that name the same missing parent: a root that never ended. One run each."""
    orphans: defaultdict[tuple[int, int], list[Part]] = defaultdict(list)
    for part in loose:
        if part.parent_id is not None and not part.remote_parent and forest.parent(part) is None:
            orphans[part.trace_id, part.parent_id].append(part)
    for parts in orphans.values():
        if any(part.kind is MODEL for part in parts):
            whole = [p for part in parts for p in (part, *forest.below(part))]
            yield Group(None, [], whole)


def _same_missing_parent(forest: Forest, groups: list[Group], kinds: dict[int, Kind]) -> list[Group]:
    """Frames that name the same missing parent, one after the other, are steps of a run whose root never ended."""
    steps: defaultdict[tuple[int, int], list[Group]] = defaultdict(list)
    for group in groups:
        root = group.root
        if root is None or kinds[id(root)] is AGENT or root.parent_id is None or root.remote_parent:
            continue
        if forest.parent(root) is None:
            steps[root.trace_id, root.parent_id].append(group)
    gone: set[int] = set()
    for found in steps.values():
        found.sort(key=lambda g: g.root.start if g.root else 0)
        one_by_one = all(a.root and b.root and a.root.end <= b.root.start for a, b in pairwise(found))
        if len(found) > 1 and one_by_one:
            gone.update(id(group) for group in found[1:])
            found[0].root, found[0].agents = None, []
            found[0].parts = [part for group in found for part in group.parts]
    return [group for group in groups if id(group) not in gone]


def _link_siblings(forest: Forest, groups: list[Group], kinds: dict[int, Kind], of: _Roots) -> list[Group]:
    """Join agents under one workflow that a handoff, or an open tool span, links."""
    agents = [g for g in groups if g.root is not None and kinds[id(g.root)] is AGENT]
    if len(agents) < 2:
        return _absorb_frames(groups, kinds, of)
    agents.sort(key=lambda g: g.root.start if g.root else 0)
    shared: defaultdict[int, list[Group]] = defaultdict(list)
    for group in agents:
        frame = of.frame_of(group.root) if group.root is not None else None
        shared[id(frame) if frame is not None else -id(group)].append(group)
    gone: set[int] = set()
    for siblings in shared.values():
        for index, later in enumerate(siblings):
            earlier = _linked_to(forest, later, siblings[:index])
            if earlier is not None:
                _join(earlier, later)
                siblings[index] = earlier
                gone.add(id(later))
        _mark_unclear(list({id(group): group for group in siblings}.values()))
    return _absorb_frames([g for g in groups if id(g) not in gone], kinds, of)


def _mark_unclear(siblings: Sequence[Group]) -> None:
    """Mark the runs that may go on in an agent that started after them, under the same workflow."""
    for index, group in enumerate(siblings[:-1]):
        agent = group.agents[-1]
        if may_hand_over(group, agent):
            later = next((g.agents[0] for g in siblings[index + 1 :] if g.agents[0].start >= agent.end), None)
            if later is not None:
                group.unclear = f"{_words(agent)} may have handed over to {_words(later)}"


def mark_if_unclear(forest: Forest, group: Group, agent: Part) -> None:
    """Mark a run of which an agent ends now, and which may go on in an agent that is still to start."""
    going_on = [above for above in forest.above(agent) if above.kind in _FRAME and not above.ended]
    if any(above.scope in _SENDING for above in going_on) or (going_on and may_hand_over(group, agent)):
        group.unclear = f"{_words(agent)} may hand over to another agent"


def _words(part: Part) -> str:
    return part.name or part.span_name


def _linked_to(forest: Forest, later: Group, earlier: list[Group]) -> Group | None:
    root = later.root
    for group in reversed(earlier):
        if (
            root is not None
            and root is not group.root
            and (_runs_inside_tool(group, root) or _handed(forest, group, root))
        ):
            return group
    return None


def _runs_inside_tool(group: Group, root: Part) -> bool:
    """Whether an agent ran while one of the group's tool spans was open: an agent used as a tool, flattened."""
    return any(p.kind is TOOL and p.start <= root.start and root.end <= p.end for p in group.parts)


_TRANSFER = ("transfer_to_", "handoff", "transfer_", "hand_off", "agent_handoff", "delegate")


_SENDING = ("agent_framework",)
"""Scopes of frameworks whose steps send messages to other agents once the agent in them is over."""


def _message_edge(forest: Forest, group: Group, root: Part) -> bool:
    """Whether a span over ``root`` links to a message that was sent beside one of the group's agents."""
    if not forest.linked:
        return False
    linked = {span_id for above in forest.above(root) for span_id in above.links}
    if not linked:
        return False
    around = {above.span_id for agent in group.agents for above in forest.above(agent)}
    return any(p.span_id in linked and p.parent_id in around for p in forest.parts if p.trace_id == root.trace_id)


def hands_over(group: Group, agent: Part) -> bool:
    """Whether the last thing an agent did was to hand over, so that its run goes on in another agent."""
    last, newest = _last_steps(group)
    if last is not None and (newest is None or last.start >= newest.start):
        return last.kind is HANDOFF or (last.name or "").startswith(_TRANSFER)
    if newest is None or newest.parent_id is None or agent.end < newest.end:
        return False
    told = newest.reader.model(newest).output or ()
    return any(request.name.startswith(_TRANSFER) for message in told for request in message.requests)


def may_hand_over(group: Group, agent: Part) -> bool:
    """Whether the last thing an agent did was to ask for a tool that nothing tells of: it may have been a transfer."""
    last, newest = _last_steps(group)
    if newest is None or (last is not None and last.start >= newest.start) or agent.end < newest.end:
        return False
    shown = any(message.requests for message in newest.reader.model(newest).output or ())
    return not shown and stopped_to_ask(newest)


def _last_steps(group: Group) -> tuple[Part | None, Part | None]:
    """The newest tool or handoff of a run, and its newest model call."""
    tools = (p for p in group.parts if p.kind in (TOOL, HANDOFF))
    models = (p for p in group.parts if p.kind is MODEL)
    return max(tools, key=lambda p: p.start, default=None), max(models, key=lambda p: p.start, default=None)


def _handed(forest: Forest, group: Group, root: Part) -> bool:
    """Whether the group's last agent handed over to ``root``: by a handoff span, a transfer tool, or a message."""
    if group.agents and group.agents[-1].end > root.start:
        return False
    if _message_edge(forest, group, root):
        return True
    for part in group.parts:
        if part.kind is HANDOFF and part.start <= root.start:
            return True
        if part.kind is TOOL and part.name and part.name.startswith(_TRANSFER) and part.start <= root.start:
            return True
    models = [p for p in group.parts if p.kind is MODEL and p.start <= root.start]
    if not models:
        return False
    last = max(models, key=lambda p: p.start)
    told = last.reader.model(last).output or ()
    return any(request.name.startswith(_TRANSFER) for message in told for request in message.requests)


def _join(earlier: Group, later: Group) -> None:
    inside = later.root is not None and _runs_inside_tool(earlier, later.root)
    earlier.parts.extend(later.parts)
    earlier.roots.extend(later.roots)
    if not inside:
        earlier.agents.extend(later.agents)


def _absorb_frames(groups: list[Group], kinds: dict[int, Kind], of: _Roots) -> list[Group]:
    """Work directly under a workflow that has one run below it belongs to that run."""
    frames = {id(g.root): g for g in groups if g.root is not None and kinds[id(g.root)] is not AGENT}
    gone: set[int] = set()
    for frame_id, inner in _runs_below(groups, frames, of).items():
        frame = frames[frame_id]
        own = [p for p in frame.parts if p.kind in _WORK]
        if len(inner) == 1:
            inner[0].parts.extend(own)
            gone.add(id(frame))
        elif not any(p.kind is TOOL for p in own):
            gone.add(id(frame))
        else:
            for group in inner:
                if not any(p.kind in _WORK for p in group.parts):
                    group.unclear = f"the work under {_words(frame.roots[0])} may be that of {_words(group.agents[0])}"
    return [g for g in groups if id(g) not in gone]


def _runs_below(groups: list[Group], frames: Mapping[int, Group], of: _Roots) -> dict[int, list[Group]]:
    """The runs that hang under each of the frames, each of which is the outermost one where it stands."""
    held: defaultdict[int, dict[int, Group]] = defaultdict(dict)
    for group in groups:
        if group.root is None or id(group.root) in frames:
            continue
        for root in group.roots:
            frame = of.frame_of(root)
            if frame is not None and id(frame) in frames:
                held[id(frame)][id(group)] = group
    return {frame: list(found.values()) for frame, found in held.items()}
