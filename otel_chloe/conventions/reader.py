"""Reads a part's content through every convention that speaks on it, the first word of each fact winning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeVar

from otel_chloe import gaps
from otel_chloe.conventions.convention import Convention, nothing
from otel_chloe.conventions.values import too_deep
from otel_chloe.part import ERROR, AgentFacts, ModelFacts, Part, ToolFacts

Facts = TypeVar("Facts", AgentFacts, ModelFacts, ToolFacts)


class TableReader:
    """The reader of parts: each fact is read once, then remembered on the part.

    A convention that stumbles over a span says nothing of it, and harms no other: a span may hold anything.
    """

    __slots__ = ("_agents", "_models", "_tools")

    def __init__(self, conventions: tuple[Convention, ...]) -> None:
        self._tools = tuple(c.tool for c in conventions if c.tool is not nothing)
        self._models = tuple(c.model for c in conventions if c.model is not nothing)
        self._agents = tuple(c.agent for c in conventions if c.agent is not nothing)

    def tool(self, part: Part) -> ToolFacts:
        known = part.facts
        if known.__class__ is ToolFacts:
            return known
        part.facts = facts = merged(ToolFacts, _said(self._tools, part))
        if too_deep(facts.arguments) or too_deep(facts.result):
            facts.arguments, facts.result = _shallow(facts.arguments), _shallow(facts.result)
            facts.gaps = (*facts.gaps, gaps.TRUNCATED)
        failed = part.status == ERROR or facts.ok is False
        facts.ok = False if failed else (True if part.ended else None)
        facts.error = facts.error or part.message if failed else None
        return facts

    def model(self, part: Part) -> ModelFacts:
        known = part.facts
        if known.__class__ is ModelFacts:
            return known
        part.facts = facts = merged(ModelFacts, _said(self._models, part))
        return facts

    def agent(self, part: Part) -> AgentFacts:
        known = part.facts
        if known.__class__ is AgentFacts:
            return known
        facts = merged(AgentFacts, _said(self._agents, part))
        if too_deep(facts.input):
            facts = replace(facts, input=None, gaps=(*facts.gaps, gaps.TRUNCATED))
        part.facts = facts
        return facts


def _shallow(value: Any) -> Any:
    return None if too_deep(value) else value


def _said(readers: tuple[Callable[[Part], Facts | None], ...], part: Part) -> list[Facts]:
    """What each convention says of a part."""
    found: list[Facts] = []
    for read in readers:
        try:
            facts = read(part)
        except Exception:  # noqa: BLE001 - a guard: what stands on a span is anybody's, and may be of any shape
            facts = None
        if facts is not None:
            found.append(facts)
    return found


def merged(kind: type[Facts], spoken: list[Facts]) -> Facts:
    """One set of facts from several; the first that is not None wins, field by field. Gaps add up."""
    if len(spoken) == 1:
        return spoken[0]
    values: dict[str, object] = {}
    for field in fields(kind):
        if field.name == "gaps":
            continue
        values[field.name] = next((v for f in spoken if (v := getattr(f, field.name)) is not None), None)
    if "source" in values:  # where the output that won was read from
        values["source"] = next((getattr(f, "source", None) for f in spoken if getattr(f, "output", None)), None)
    codes = tuple(dict.fromkeys(code for facts in spoken for code in facts.gaps))
    return kind(**values, gaps=codes)  # type: ignore[arg-type]  # the names are the fields' own
