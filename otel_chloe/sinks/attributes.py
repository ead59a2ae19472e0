"""The marks as attributes of the agent span that they stand on. Runs in that span's end(): nothing slow here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from otel_chloe.mark import Failed, Mark, Outcome
from otel_chloe.semconv import CHLOE_PASSED, REASON_LIMIT, mark_keys

Value: TypeAlias = bool | float | str

_PER_MARK: Final = 5
"""The most attributes that one mark takes."""


def passed(outcomes: Sequence[Outcome]) -> bool | None:
    """The verdict on a span: False if a mark failed, True if one passed and none is undecided, else None."""
    verdict: bool | None = None
    decided = True
    for outcome in outcomes:
        if not isinstance(outcome, Mark):
            decided = False
        elif outcome.passed is False:
            return False
        elif outcome.passed:
            verdict = True
    return verdict if decided else None


def mark_attributes(
    outcomes: Sequence[Outcome], *, reasons: bool = True, room: int | None = None
) -> tuple[dict[str, Value], bool]:
    """The attributes of an agent span for its outcomes, and whether all of them had room.

    `room` is how many the span can still take (None: any number). Without room for all, only `chloe.passed` is
    written, and without room for that, none: an attribute over the SDK's limit would evict one of the user's.
    """
    if len(outcomes) > 1:
        outcomes = _one_of_each_name(outcomes)
    attributes: dict[str, Value] = {}
    verdict = passed(outcomes)
    if verdict is not None:
        attributes[CHLOE_PASSED] = verdict
    if room is not None and room < _PER_MARK * len(outcomes) + 1:
        full = _add_all(dict(attributes), outcomes, reasons=reasons)
        if len(full) <= room:
            return full, True
        return (attributes if room >= len(attributes) else {}), False
    return _add_all(attributes, outcomes, reasons=reasons), True


def _one_of_each_name(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes without those that failed because another's score has their name."""
    found: dict[str, Outcome] = {}
    for outcome in outcomes:
        if isinstance(found.setdefault(outcome.name, outcome), Failed):
            found[outcome.name] = outcome
    return list(found.values())


def calls_kept(reason: str | None) -> dict[str, Value]:
    """What :func:`mark_attributes` gives for one mark of `calls` that passed, in the time that a hook has."""
    attributes: dict[str, Value] = {CHLOE_PASSED: True, _CALLS.state: "scored", _CALLS.score: 1.0, _CALLS.passed: True}
    if reason is not None:
        attributes[_CALLS.reason] = reason[:REASON_LIMIT]
    return attributes


_CALLS: Final = mark_keys("calls")


def _add_all(attributes: dict[str, Value], outcomes: Sequence[Outcome], *, reasons: bool) -> dict[str, Value]:
    for outcome in outcomes:
        keys = mark_keys(outcome.name)
        attributes[keys.state] = outcome.state
        if isinstance(outcome, Mark):
            if outcome.score is not None:
                attributes[keys.score] = float(outcome.score)
            if outcome.passed is not None:
                attributes[keys.passed] = outcome.passed
            if outcome.label is not None:
                attributes[keys.label] = outcome.label
        if reasons and outcome.reason:
            attributes[keys.reason] = outcome.reason[:REASON_LIMIT]
    return attributes
