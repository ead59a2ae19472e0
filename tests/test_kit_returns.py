"""The scorer kit: what scorers may return, and what comes of it."""

from __future__ import annotations

import logging
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_chloe import (
    DeferredScore,
    Failed,
    Mark,
    Pending,
    Run,
    Score,
    Scorer,
    ToolCall,
    Unscored,
    score,
)
from otel_chloe.kit import as_scorer, outcomes_of

RUN = Run(prompt="P", output="o", tool_calls=[ToolCall("look", {"site": "a"}, ok=True)])


def test_a_scorer_may_return_an_outcome_of_ours():
    from otel_chloe import calls

    def used(run):
        return calls(run, {"mustCall": ["look"]})

    outcomes = score(
        RUN,
        [
            used,
            Scorer.code(lambda ctx: Unscored("no"), name="u"),
            Scorer.code(lambda ctx: Pending("later"), name="p"),
            Scorer.code(lambda ctx: Failed("bad"), name="f"),
        ],
    )

    assert [(one.name, one.state) for one in outcomes] == [
        ("used", "scored"),
        ("u", "unscored"),
        ("p", "pending"),
        ("f", "failed"),
    ]
    assert outcomes[0].reason == "Used: look."


def test_deferred_scores_may_stand_in_lists_and_maps():
    in_list, in_map = (
        score(RUN, [lambda ctx, said=said: said])
        for said in ([Score("a", 1), DeferredScore("h", "wait")], {"a": 1, "h": DeferredScore("h", "wait")})
    )

    for outcomes in (in_list, in_map):
        assert [(one.name, one.state) for one in outcomes] == [("a", "scored"), ("h", "pending")]


SPOILED = [
    pytest.param([Score("a", 1), Score("bad", None)], "bad", id="None"),
    pytest.param([Score("a", 1), Score("bad", 1), Score("bad", 2)], "bad", id="twice"),
    pytest.param([Score("a", 1), Score("bad", math.nan)], "bad", id="NaN"),
    pytest.param([Score("a", 1), Score("bad", object())], "bad", id="an object"),
    pytest.param([Score("a", 1), Score("bad", " ")], "bad", id="an empty text"),
    pytest.param([Score("a", 1), 5], "s", id="no name"),
    pytest.param([Score("a", 1), Score(5, 1)], "s", id="a number for a name"),
    pytest.param({"a": 1, 5: 1}, "s", id="a number for a key"),
    pytest.param({"a": 1, "bad": {"b": 1}}, "bad", id="nested"),
    pytest.param([Score("a", 1), Mark(math.nan, "", name="bad")], "bad", id="a mark that is none"),
]


@pytest.mark.parametrize(("said", "name"), SPOILED)
def test_one_wrong_score_spoils_no_other(said, name):
    good, bad = score(RUN, [Scorer.code(lambda ctx: said, name="s")])

    assert (good.name, good.score) == ("a", 1)
    assert (bad.name, bad.state) == (name, "failed")


def test_two_scorers_that_give_one_name_are_told_apart():
    first, second = score(
        RUN, [Scorer.code(lambda ctx: {"q": 1}, name="one"), Scorer.code(lambda ctx: {"q": 0}, name="two")]
    )

    assert (first.name, first.score) == ("q", 1)
    assert (second.name, second.state) == ("q", "failed")
    assert "scorer one gives a score of this name, too" in second.reason


def test_a_threshold_that_is_for_no_score_is_warned_about_once(caplog):
    scorer = Scorer.code(lambda ctx: {"a": 0.1, "b": 0.2}, name="s", threshold=0.5)

    with caplog.at_level(logging.WARNING, "otel_chloe"):
        marks = [mark for _ in range(3) for mark in score(RUN, [scorer])]

    assert {mark.passed for mark in marks} == {None}
    assert len(caplog.records) == 1
    assert "its threshold is for no score" in caplog.text


def test_a_threshold_that_is_taken_for_the_only_score_is_logged_once(caplog):
    scorer = Scorer.code(lambda ctx: Score("a", 0.1), name="s", threshold=0.5)

    with caplog.at_level(logging.WARNING, "otel_chloe"):
        marks = [mark for _ in range(3) for mark in score(RUN, [scorer])]

    assert {mark.passed for mark in marks} == {False}
    assert len(caplog.records) == 1


def test_of_several_scores_the_threshold_is_for_the_one_of_its_name():
    marks = score(RUN, [Scorer.code(lambda ctx: {"s": 0.1, "b": 0.2}, name="s", threshold=0.5)])

    assert [(mark.name, mark.passed) for mark in marks] == [("s", False), ("b", None)]


def test_numpys_scalars_are_numbers():
    class Scalar:
        shape = ()

        def item(self):
            return 0.25

    Scalar.__module__ = "numpy"

    [mark] = score(RUN, [lambda ctx: Scalar()])

    assert mark.value == 0.25


SAID = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(object()),
    lambda inner: (
        st.lists(inner | st.builds(Score, st.text(), inner) | st.builds(DeferredScore, st.text()))
        | st.dictionaries(st.text() | st.integers(), inner | st.builds(DeferredScore, st.text()))
        | st.builds(Score, st.text(max_size=2), inner)
    ),
    max_leaves=6,
)


@given(SAID, st.booleans())
def test_whatever_a_scorer_returns_there_are_outcomes_with_names_of_their_own(said, alone):
    scorer = as_scorer(Scorer.code(lambda ctx: said, name="s", threshold=0.5))
    outcomes = outcomes_of(scorer, said, alone=alone)

    names = [one.name for one in outcomes]
    assert names
    assert len(names) == len(set(names))
    assert all(name.strip() for name in names)
    for one in outcomes:
        assert isinstance(one, Mark | Unscored | Pending | Failed)
        assert isinstance(one, Pending) or one.reason
        if isinstance(one, Mark):
            assert one.score is None or math.isfinite(one.score)
