"""Whose a span is: the agent that made a call, and the model calls that are an agent's own.

Ancestors are gone through once, not once for every span below them: a trace may be ten thousand levels deep.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from otel_chloe.assembly.beside import chain_name
from otel_chloe.assembly.forest import Forest
from otel_chloe.part import AGENT, CHAIN, TOOL, WORKFLOW, Part

_DEFAULT: Final = ""
"""Stands for the run's own agent."""


class Belonging:
    """Answers for the spans of one forest. What was found out of the spans above one is remembered."""

    __slots__ = ("_agents", "_barriers", "_forest", "_levels", "_own")

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._agents: dict[int, str] = {}
        self._barriers: dict[int, Part | None] = {}
        self._levels: dict[int, int] = {}
        self._own: dict[int, dict[int, bool | None]] = {}

    def agent_of(self, part: Part, default: str | None) -> str | None:
        """The agent that made a call: the nearest agent span above, or the sub-agent that a chain is."""

        def name(above: Part, higher: str | None) -> str:
            if above.kind is AGENT and above.name:
                return above.name
            if above.kind in (CHAIN, WORKFLOW):
                over = self._forest.parent(above)
                if over is not None and over.kind is TOOL:
                    return chain_name(above) or _DEFAULT
            return higher or _DEFAULT

        return self._forest.above_as(part, self._agents, name) or default

    def is_own(self, part: Part, agent: Part) -> bool | None:
        """Whether a model call is an agent's own, not one of the agents or tools below it. None: it is not below it."""
        if agent.kind is AGENT:
            return self._is_agents_own(part, agent)

        def own(above: Part, higher: bool | None) -> bool | None:  # noqa: FBT001 - what is known of those above
            if above is agent:
                return True
            return False if above.kind is TOOL or (above.kind is AGENT and above.name != agent.name) else higher

        return self._forest.above_as(part, self._own.setdefault(id(agent), {}), own)

    def _is_agents_own(self, part: Part, agent: Part) -> bool | None:
        for above in self._agents_and_tools(part):
            if above is agent:
                return True
            if above.kind is TOOL or above.name != agent.name:
                return False
        return None

    def _agents_and_tools(self, part: Part) -> Iterator[Part]:
        """The agents and tools above a span, nearest first."""
        seen: set[int] = set()
        current = self._nearest(part)
        while current is not None and id(current) not in seen:
            yield current
            seen.add(id(current))
            current = self._nearest(current)

    def _nearest(self, part: Part) -> Part | None:
        return self._forest.above_as(part, self._barriers, _barrier)

    def call_above(self, part: Part) -> Part | None:
        """The tool span above with no agent and no other tool between."""
        found = self._nearest(part)
        return found if found is not None and found.kind is TOOL else None

    def levels(self, part: Part) -> int:
        """How many agents stand above a span."""
        return self._forest.above_as(part, self._levels, _level) or 0


def _barrier(above: Part, higher: Part | None) -> Part | None:
    return above if above.kind in (AGENT, TOOL) else higher


def _level(above: Part, higher: int | None) -> int:
    return (higher or 0) + (above.kind is AGENT)
