"""The agents that the rules name: their metrics start at 0 before anything happens."""

from __future__ import annotations

from dataclasses import dataclass

from otel_chloe.config import AgentRules, Rules
from otel_chloe.mark import Violation


@dataclass(frozen=True, slots=True)
class Watched:
    """An agent that the rules name, and what can be said of it: its series start at 0 before anything happens."""

    agent: str
    scorers: tuple[str, ...] = ("calls",)
    violations: tuple[Violation, ...] = ()
    severity: str | None = None


def watched(rules: Rules) -> tuple[Watched, ...]:
    """The agents that the rules name, with what may be said of each, whatever ``where`` makes of it."""
    return tuple(_watched(name, rules.joined.get(name, own)) for name, own in rules.alone.items())


def _watched(agent: str, rules: AgentRules) -> Watched:
    expected = rules.calls
    violations = (
        [
            *(Violation("must_call", name) for name in expected.must_call),
            *(Violation("must_not_call", name) for name in expected.must_not_call),
            *(Violation("at_most_once", name) for name in expected.at_most_once),
        ]
        if expected is not None
        else []
    )
    names = dict.fromkeys([*rules.digests, *(each.scorer.name for each in rules.scorers)])
    return Watched(agent, tuple(names), tuple(violations), rules.severity)
