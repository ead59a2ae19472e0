"""Each name of a score is one scorer's: what another gives under it is Failed."""

from __future__ import annotations

from collections.abc import Iterable

from otel_chloe.kit.definition import Definition
from otel_chloe.mark import Failed, Outcome


def owners_of(scorers: Iterable[Definition]) -> dict[str, str | None]:
    """Whose each name is, by the scorers' keys: each scorer has its own."""
    return {scorer.name: scorer.key for scorer in scorers}


def without_double(outcome: Outcome, key: str | None, owners: dict[str, str | None]) -> Outcome:
    """The outcome of the scorer with this key; failed where its name is another's.

    ``owners`` tells whose each name is, None for the rules; a name that nobody had is this scorer's from here on.
    """
    owner = owners.setdefault(outcome.name, key)
    if owner == key:
        return outcome
    whose = "the rules" if owner is None else f"scorer {owner}"
    return Failed(
        f"ValueError: {whose} gives a score of this name, too. Give each one of its own.",
        name=outcome.name,
        error="ValueError",
        key=outcome.key,
        version=outcome.version,
        metadata=outcome.metadata,
    )
