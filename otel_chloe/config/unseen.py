"""The names in the rules that no run has shown: a mistyped name in a list of bans is kept by every run, for ever."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from otel_chloe.config.rules import AgentRules, Rules
from otel_chloe.expected import nearest

CALL_LISTS: Final = (("mustCall", "must_call"), ("mustNotCall", "must_not_call"), ("atMostOnce", "at_most_once"))
"""The lists of tools in the rules: as the file spells them, and as they are called here."""


def entries(rules: Rules) -> list[AgentRules]:
    """The entries as they were written, those of named agents first."""
    return [*rules.alone.values(), *([rules.everyone] if rules.everyone is not None else [])]


class Unseen(NamedTuple):
    """A name in the rules that no run has shown. Its text is what to say of it."""

    what: str
    near: str | None
    """What runs have shown and may be meant."""
    is_called_rightly_never: bool = False
    """Whether it is a tool that good runs need not call: one that is forbidden, or allowed once."""

    def __str__(self) -> str:
        return self.what + (f"; the nearest that is: {self.near}" if self.near else "")


def never_seen(rules: Rules, agents: Collection[str], tools: Collection[str]) -> Iterator[Unseen]:
    """Each agent and tool that the rules name and that is not among those seen."""
    for agent in rules.agents:
        if agent not in agents:
            yield Unseen(f"agent {agent}", nearest(agent, sorted(agents)))
    for entry in entries(rules):
        for label, key in CALL_LISTS:
            names: tuple[str, ...] = getattr(entry.calls, key) if entry.calls is not None else ()
            for name in names:
                if name not in tools:
                    what = f"tool {name} ({label} of {entry.agent})"
                    yield Unseen(what, nearest(name, sorted(tools)), key != "must_call")
