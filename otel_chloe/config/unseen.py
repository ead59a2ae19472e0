"""The names in the rules that no run has shown: a mistyped name in a list of bans is kept by every run, for ever."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from otel_chloe.config.rules import AgentRules, Rules
from otel_chloe.expected import nearest

CALL_LISTS: Final = (("mustCall", "must_call"), ("mustNotCall", "must_not_call"), ("atMostOnce", "at_most_once"))
"""The lists of tools in the rules: as the file spells them, and as they are called here."""


def entries(rules: Rules) -> list[AgentRules]:
    """The entries as they were written, those of named agents first."""
    return [*rules.alone.values(), *([rules.everyone] if rules.everyone is not None else [])]


def never_seen(rules: Rules, agents: Collection[str], tools: Collection[str]) -> Iterator[str]:
    """A line for each agent and tool that the rules name and that is not among those seen."""
    for agent in rules.agents:
        if agent not in agents:
            yield _never(f"agent {agent}", agent, agents)
    for entry in entries(rules):
        for label, key in CALL_LISTS:
            names: tuple[str, ...] = getattr(entry.calls, key) if entry.calls is not None else ()
            for name in names:
                if name not in tools:
                    yield _never(f"tool {name} ({label} of {entry.agent})", name, tools)


def _never(what: str, name: str, shown: Collection[str]) -> str:
    close = nearest(name, sorted(shown))
    return what + (f"; the nearest that is: {close}" if close else "")
