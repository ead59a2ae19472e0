"""What an application gives the processor: its own scorers as rules, and what the hooks look for by the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from otel_chloe.config import Rules, ScorerRule
from otel_chloe.errors import ConfigError
from otel_chloe.scorers import EXPECTATIONS

OF_RULES: Final = frozenset({"calls", EXPECTATIONS})
"""Names of scores that are of the rules."""


def scorer_rules(scorers: Sequence[object]) -> tuple[ScorerRule, ...]:
    """The user's own scorers as rules. Raises :class:`~otel_chloe.errors.ConfigError` where one is wrong."""
    from otel_chloe.kit import as_scorers  # only for who has scorers of their own

    found = as_scorers(scorers)
    for each in found:
        if each.name in OF_RULES:
            raise ConfigError(
                f"scorers: {each.name}: a score of the rules has this name. Give the scorer one of its own: "
                'Scorer.code(function, name="...").'
            )
    return tuple(ScorerRule(scorer=each) for each in found)


def forbidden_names(rules: Rules) -> frozenset[str]:
    """The tools that some rule forbids."""
    held = [rules.everyone, *rules.alone.values()]
    return frozenset(name for each in held if each and each.calls for name in each.calls.must_not_call)
