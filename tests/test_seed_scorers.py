"""The second seed's behaviour, case by case. The ids are those of the cases; where we differ on purpose, a word why."""

from __future__ import annotations

import functools
from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import pytest

from otel_chloe import ConfigError, DeferredScore, Run, Score, Scorer, ScorerContext, score

RUN = Run(prompt="P", output="o")


def scored(*scorers: Any, **given: Any) -> dict[str, tuple[Any, ...]]:
    """Each outcome's name: its state, and its value or its error."""
    outcomes = score(RUN, scorers, **given)
    return {one.name: (one.state, getattr(one, "value", None), getattr(one, "error", None)) for one in outcomes}


def returning(value: Any) -> Any:
    def fn(ctx):
        return value

    return fn


RETURNS = [
    pytest.param(True, {"fn": ("scored", True, None)}, id="tr-return-01"),
    pytest.param("billing", {"fn": ("scored", "billing", None)}, id="tr-return-03"),
    # No score, not zero, not an error: here that is an outcome of its own, so that nothing vanishes from the counts.
    pytest.param(None, {"fn": ("unscored", None, "not_scored")}, id="tr-return-04"),
    pytest.param(
        [Score("a", 1), Score("b", True)],
        {"a": ("scored", 1, None), "b": ("scored", True, None)},
        id="tr-return-06",
    ),
    pytest.param(
        {"a": 1, "b": False, "c": "z"},
        {"a": ("scored", 1, None), "b": ("scored", False, None), "c": ("scored", "z", None)},
        id="tr-return-07",
    ),
    pytest.param({"value": 1}, {"fn": ("failed", None, "ValueError")}, id="tr-return-09"),
    pytest.param({"name": "n", "value": 1, "reason": "r"}, {"fn": ("failed", None, "ValueError")}, id="tr-return-10"),
    # Only that score fails; with the original, all of the scorer's.
    pytest.param(
        {"a": None, "b": 1}, {"a": ("failed", None, "TypeError"), "b": ("scored", 1, None)}, id="tr-return-12"
    ),
    pytest.param(DeferredScore("human", "wait"), {"human": ("pending", None, None)}, id="tr-return-13"),
    pytest.param([], {"fn": ("unscored", None, "not_scored")}, id="tr-return-15"),
    pytest.param({}, {"fn": ("unscored", None, "not_scored")}, id="tr-return-15 map"),
    pytest.param(Decimal(1), {"fn": ("failed", None, "TypeError")}, id="tr-return-16"),
    pytest.param({1, 2}, {"fn": ("failed", None, "TypeError")}, id="tr-return-16 set"),
]


@pytest.mark.parametrize(("said", "outcomes"), RETURNS)
def test_a_return_value(said, outcomes):
    assert scored(returning(said)) == outcomes


VERDICTS = [
    pytest.param(0.8, None, 0.8, True, id="tr-verdict-01"),
    pytest.param(0.8, None, 0.79, False, id="tr-verdict-02"),
    pytest.param(0.8, "lower_is_better", 0.8, True, id="tr-verdict-03 inclusive"),
    pytest.param(0.8, "lower_is_better", 0.81, False, id="tr-verdict-04"),
    pytest.param(0.8, "none", 1.0, None, id="tr-verdict-05"),
    pytest.param(1.0, "lower_is_better", True, True, id="tr-verdict-07"),
    pytest.param(1.0, None, False, False, id="tr-verdict-08"),
    pytest.param(None, None, 1.0, None, id="no threshold, no verdict"),
    pytest.param(0, None, 0, True, id="tr-verdict-11"),
    pytest.param(0.5, None, "good", None, id="a label has no verdict"),
]


@pytest.mark.parametrize(("threshold", "direction", "value", "passed"), VERDICTS)
def test_a_verdict(threshold, direction, value, passed):
    [mark] = score(RUN, [Scorer.code(returning(value), threshold=threshold, direction=direction)])

    assert mark.passed is passed


def test_a_deferred_score_has_no_verdict():
    """tr-verdict-10, tr-deferred-01: pending is a state of its own, and no number."""
    [pending] = score(RUN, [Scorer.code(returning(DeferredScore("human", "wait")), threshold=0.5)])

    assert (pending.state, pending.name, pending.reason) == ("pending", "human", "wait")
    assert not hasattr(pending, "score")


def test_the_only_score_of_the_only_scorer_is_the_thresholds():
    """tr-owner-02. It is logged."""
    [mark] = score(RUN, [Scorer.code(returning(Score("other", 0.9)), threshold=0.5)])

    assert (mark.name, mark.passed) == ("other", True)


@pytest.mark.parametrize("key", [None, "other"], ids=["tr-owner-03", "tr-owner-05: names match, never keys"])
def test_beside_another_scorer_a_threshold_is_for_the_score_of_its_scorers_name(key):
    def plain(ctx):
        return True

    one, two = score(RUN, [Scorer.code(returning(Score("other", 0.9)), threshold=0.5, key=key), plain])

    assert (one.name, one.passed) == ("other", None)
    assert (two.name, two.passed) == ("plain", True)


def test_two_scorers_of_one_name_are_refused_before_anything_runs():
    """tr-owner-06."""
    ran: list[Any] = []

    with pytest.raises(ConfigError, match="<lambda>: two scorers have this name"):
        score(RUN, [lambda ctx: ran.append(ctx), lambda ctx: ran.append(ctx)])  # noqa: PLW0108

    assert not ran


def all_four(input, output, expected=None, metadata=None):
    return [Score("said", f"{input}|{output}|{expected}|{metadata}")]


def test_parts_are_passed_by_name():
    """tr-call-01."""
    assert scored(all_four, expected="e", metadata={"m": 1}) == {"said": ("scored", "P|o|e|{'m': 1}", None)}


def test_a_part_that_is_not_known_is_none():
    """tr-call-02."""
    assert scored(lambda output, expected: f"{output} {expected}")["<lambda>"][1] == "o None"


def test_expected_alone_is_the_expected():
    """tr-call-04: the original passes it the whole context, and the score is silently wrong."""
    assert scored(lambda expected: expected, expected="e")["<lambda>"][1] == "e"


def test_parts_may_be_keyword_only():
    """tr-call-05: the original refuses them."""

    def fn(*, input, output):
        return f"{input}{output}"

    assert scored(fn)["fn"][1] == "Po"


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda input, output, foo: 1, id="tr-call-07"),
        pytest.param(lambda a, b: 1, id="tr-call-08"),
        pytest.param(lambda: 1, id="nothing at all"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused_before_anything_runs(function):
    with pytest.raises(ConfigError, match="Take ctx, or any of input, output, expected, metadata, run"):
        score(RUN, [function])


def test_other_parameters_keep_their_defaults():
    """tr-call-10."""
    assert scored(lambda ctx, cfg=1: f"{ctx.output}{cfg}")["<lambda>"][1] == "o1"


def test_a_partial_function_is_called_by_what_it_leaves_open():
    """tr-call-11: the original passes the context as the input."""
    fn = functools.partial(all_four, metadata="mine")

    assert scored(fn, expected="e", metadata="theirs")["said"][1] == "P|o|e|mine"


def test_the_context_is_frozen_and_holds_the_run():
    """tr-ctx-01. The original's has no run."""
    context = ScorerContext("i", "o")

    assert (context.input, context.output, context.expected, context.metadata, context.run) == (
        "i",
        "o",
        None,
        None,
        None,
    )
    with pytest.raises(FrozenInstanceError):
        context.input = "other"  # type: ignore[misc]


def test_what_a_scorer_changes_no_other_sees():
    """tr-ctx-01: with the original, it does."""

    def spoils(input):
        input["cities"].clear()
        return True

    given = {"cities": ["Rome"]}
    spoiled, kept = score(RUN, [spoils, lambda input: len(input["cities"])], input=given)

    assert (spoiled.passed, kept.value) == (True, 1)
    assert given == {"cities": ["Rome"]}


def test_a_scorer_that_raises_is_alone_with_it():
    """tr-error-01."""

    def bad(ctx):
        raise RuntimeError("down")

    failed, plain = score(RUN, [bad, returning(True)])

    assert (failed.state, failed.name, failed.reason, failed.error) == (
        "failed",
        "bad",
        "RuntimeError: down",
        "RuntimeError",
    )
    assert plain.passed is True


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_what_cannot_be_averaged_is_no_score(value):
    """tr-agg-01 takes a NaN and leaves it out of the mean; here it has failed."""
    [failed, other] = score(RUN, [returning({"a": value, "b": 1})])

    assert (failed.state, failed.name) == ("failed", "a")
    assert other.score == 1
