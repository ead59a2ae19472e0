"""Whether a run is over, and whole: what can be told of a tree whose spans have not all ended."""

from __future__ import annotations

from collections.abc import Sequence

from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.runs import Group, hands_over
from otel_chloe.part import MODEL, OTHER, TOOL, Part


def is_over(forest: Forest, group: Group, unfinished: set[int]) -> bool:
    """Whether a run of a tree that goes on is over: its root ended, and nothing open above may hold it.

    ``unfinished`` holds the ``id()`` of the parts that are open spans.
    """
    root = group.root
    if root is None or id(root) in unfinished or any(id(agent) in unfinished for agent in group.agents):
        return False
    scopes = {part.scope for part in group.parts if part.vocabulary}
    return not any(
        id(above) in unfinished and (above.vocabulary or above.scope in scopes) for above in forest.above(root)
    )


def is_whole(forest: Forest, group: Group, unfinished: set[int]) -> bool:
    """Whether a run was seen to its end: every span of it ended, and it does not go on in another agent."""
    if group.root is None or any(id(part) in unfinished for part in (group.root, *group.parts)):
        return False
    return not _goes_on(forest, group, unfinished)


def _goes_on(forest: Forest, group: Group, unfinished: set[int]) -> bool:
    """Whether a run handed over to an agent that has not started, below a span that is still open."""
    if not group.agents or not hands_over(group, group.agents[-1]):
        return False
    return any(id(above) in unfinished for above in forest.above(group.agents[-1]))


def works(above: Part, parts: Sequence[Part]) -> bool:
    """Whether an open span that does not tell its kind yet acts like an agent: models or tools ran right below it."""
    if above.kind is not OTHER or above.foreign:
        return False
    return any(p.parent_id == above.span_id and p.scope == above.scope and p.kind in (MODEL, TOOL) for p in parts)
