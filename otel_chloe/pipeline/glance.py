"""What the last runs have shown, by name alone: for ``doctor()``."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from otel_chloe.run import Run

LAST_RUNS: Final = 200
"""Runs whose names and gaps are remembered."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What a closed run has shown, by name alone."""

    agents: frozenset[str]
    tools: frozenset[str]
    gaps: tuple[str, ...]


def glance(run: Run) -> Glance:
    """The names in a run, of its agents and of its tools, and the codes of its gaps."""
    agents, waiting = set[str](), [run]
    while waiting:
        each = waiting.pop()
        waiting += each.sub_runs
        agents |= {each.agent} if each.agent else set()
    tools = {name for call in run.tool_calls for name in (call.name, call.raw_name) if name}
    return Glance(frozenset(agents), frozenset(tools), tuple(dict.fromkeys(gap.code for gap in run.gaps)))


class LastRuns:
    """The last runs, in one copy where many show the same."""

    def __init__(self) -> None:
        self._held: deque[Glance] = deque(maxlen=LAST_RUNS)
        self._known: dict[Glance, Glance] = {}

    def add(self, run: Run) -> None:
        """Remembers what a run has shown."""
        shown = glance(run)
        if len(self._known) >= LAST_RUNS:
            self._known.clear()
        self._held.append(self._known.setdefault(shown, shown))

    def all(self) -> list[Glance]:
        """The last ones, the newest last. Any thread may ask."""
        return list(self._held.copy())
