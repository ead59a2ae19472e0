"""The agents below a run's own: their spans, and chains that stand for one."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from otel_chloe.assembly.far import told_above
from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.runs import Group
from otel_chloe.part import AGENT, CHAIN, TOOL, WORKFLOW, Part


def sub_agents(forest: Forest, group: Group, names: Collection[str | None]) -> Iterator[tuple[Part, str | None]]:
    """Each with its name, in the order in which they started; ``names`` are those of the run's own."""
    own = {id(agent) for agent in group.agents}
    for part in sorted(group.parts, key=lambda p: (p.start, -p.end, p.span_id)):
        name = _agent_name(part, forest.parent(part))
        if (name or part.kind is AGENT) and id(part) not in own and name not in names and not told_above(forest, part):
            yield part, name


def _agent_name(part: Part, parent: Part | None) -> str | None:
    """The agent that a span is of. A chain is one's where a tool started it, and it says so itself."""
    if part.kind is AGENT:
        return part.name
    started = part.kind in (CHAIN, WORKFLOW) and parent is not None and parent.kind is TOOL
    return part.reader.agent(part).name if started else None
