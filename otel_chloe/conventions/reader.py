"""Reads a part's content through every convention that speaks on it, the first word of each fact winning."""

from __future__ import annotations

from dataclasses import fields
from typing import TypeVar

from otel_chloe.conventions.convention import Convention
from otel_chloe.part import ERROR, AgentFacts, ModelFacts, Part, ToolFacts

Facts = TypeVar("Facts", AgentFacts, ModelFacts, ToolFacts)


class TableReader:
    """The reader of every part. A convention that stumbles over a span says nothing of it, and harms no other."""

    __slots__ = ("_conventions",)

    def __init__(self, conventions: tuple[Convention, ...]) -> None:
        self._conventions = conventions

    def tool(self, part: Part) -> ToolFacts:
        found = merged(ToolFacts, [c.tool(part) for c in self._conventions])
        failed = part.status == ERROR or found.ok is False
        return ToolFacts(
            arguments=found.arguments,
            result=found.result,
            ok=not failed,
            error=found.error or part.message if failed else None,
            ran=found.ran,
            call_id=found.call_id,
            gaps=found.gaps,
        )

    def model(self, part: Part) -> ModelFacts:
        return merged(ModelFacts, [c.model(part) for c in self._conventions])

    def agent(self, part: Part) -> AgentFacts:
        return merged(AgentFacts, [c.agent(part) for c in self._conventions])


def merged(kind: type[Facts], found: list[Facts | None]) -> Facts:
    """One set of facts from several; the first that is not None wins, field by field. Gaps add up."""
    spoken = [facts for facts in found if facts is not None]
    if len(spoken) == 1:
        return spoken[0]
    values: dict[str, object] = {}
    for field in fields(kind):
        if field.name == "gaps":
            continue
        values[field.name] = next((v for f in spoken if (v := getattr(f, field.name)) is not None), None)
    codes = tuple(dict.fromkeys(code for facts in spoken for code in facts.gaps))
    return kind(**values, gaps=codes)  # type: ignore[arg-type]  # the names are the fields' own
