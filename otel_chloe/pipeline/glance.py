"""What the last runs have shown, by name alone: for ``doctor()``."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from otel_chloe.expected import nearest
from otel_chloe.run import Run

LAST_RUNS: Final = 200
"""Runs whose names and gaps are remembered."""
MOST_AGENTS: Final = 200
"""Agents whose names are looked at for likeness."""
LIKENESS: Final = 0.88
"""From which on two names are taken for one, mistyped: one letter of nine, but not the number of two workers."""


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


class Strangers:
    """Agents that run, and that no rules name but nearly: by a mistyped name nothing is ever broken, or paged."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def look(self, named: Sequence[str], agents: frozenset[str]) -> Iterator[str]:
        """What to warn of, once for each agent. ``named`` are those of the rules."""
        new = agents - self.seen
        if not new or not named or len(self.seen) >= MOST_AGENTS:
            return
        self.seen |= new
        absent = [name for name in named if name not in self.seen]
        for agent in sorted(new.difference(named)):
            close = nearest(agent, absent, likeness=LIKENESS)
            if close is not None:
                yield (
                    f"no rules name the agent {agent!r}, which has run; they name {close!r}, which has not. "
                    f"Write {agent} in the rules, if it is meant."
                )


class LastRuns:
    """The last runs, in one copy where many show the same."""

    def __init__(self) -> None:
        self._held: deque[Glance] = deque(maxlen=LAST_RUNS)
        self._known: dict[Glance, Glance] = {}

    def add(self, run: Run) -> Glance:
        """Remembers what a run has shown, and gives it."""
        shown = glance(run)
        if len(self._known) >= LAST_RUNS:
            self._known.clear()
        shown = self._known.setdefault(shown, shown)
        self._held.append(shown)
        return shown

    def all(self) -> list[Glance]:
        """The last ones, the newest last. Any thread may ask."""
        return list(self._held.copy())
