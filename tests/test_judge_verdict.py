"""From checks to a mark: the share, what counts for it, what passes, and how the reason reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_chloe.config import Expectations
from otel_chloe.expected import ExpectedOutcome
from otel_chloe.judge.answer import Check
from otel_chloe.judge.verdict import verdict
from otel_chloe.mark import Judged, Mark, Unscored

MET = st.lists(st.booleans() | st.none(), min_size=1, max_size=8)


class Nothing:
    """A transcript of a run without calls and words."""

    calls = 0

    def holds(self, quote):
        return False


def weigh(met, *, missing=False, **shares):
    """The verdict over as many lines as there are checks: ``line 1`` and so on, the last of them a should-not."""
    lines = [f"line {number}" for number in range(1, len(met) + 1)]
    outcome = ExpectedOutcome(should=lines[:-1], should_not=lines[-1:])
    expected = Expectations(outcome=outcome, model="M", **shares)
    checks = [Check(each, "why") for each in met]
    return verdict(checks, Nothing(), expected, missing=missing, redact=str.strip, judged=Judged(calls=1))


@given(MET)
def test_on_a_whole_run_the_score_is_the_share_of_all_lines(met):
    mark = weigh(met)

    assert mark.score == mark.value == met.count(True) / len(met)
    assert [line.met for line in mark.lines] == [each is True for each in met]
    assert mark.passed == (mark.score >= 0.8)


@given(MET)
def test_where_a_part_is_missing_it_is_the_share_of_the_decided_lines(met):
    outcome = weigh(met, missing=True)
    decided = [each for each in met if each is not None]

    if decided:
        assert isinstance(outcome, Mark)
        assert outcome.score == decided.count(True) / len(decided)
        assert [line.met for line in outcome.lines] == met
        assert (f"{len(decided)} of {len(met)} lines decided" in outcome.reason) == (None in met)
        assert not (outcome.passed and None in met)
    else:
        assert isinstance(outcome, Unscored)


@given(MET, st.booleans())
def test_the_reason_names_every_line_that_counts_against_the_run_and_no_other(met, missing):
    outcome = weigh(met, missing=missing)

    for number, each in enumerate(met, 1):
        assert (f"line {number} (why)" in outcome.reason) == (each is not True)


@given(MET, st.booleans())
def test_every_outcome_has_a_name_a_reason_and_what_it_took(met, missing):
    outcome = weigh(met, missing=missing)

    assert outcome.name == "expectations"
    assert outcome.reason
    assert outcome.judged == Judged(calls=1)


@pytest.mark.parametrize(
    ("met", "threshold", "passed"),
    [
        ([True] * 4 + [False], 0.8, True),
        ([True] * 3 + [False], 0.8, False),
        ([True] * 3 + [False], 0.75, True),
        ([True, False], 0.5, True),
        ([False], 0.0, True),
        ([True] * 9 + [False], 1.0, False),
    ],
)
def test_the_threshold_is_inclusive(met, threshold, passed):
    assert weigh(met, threshold=threshold).passed is passed


@pytest.mark.parametrize(("min_decided", "passed"), [(1.0, False), (0.8, False), (0.75, True), (0.0, True)])
def test_lines_that_could_not_be_decided_pass_only_where_the_rule_says_so(min_decided, passed):
    mark = weigh([True, True, True, None], missing=True, min_decided=min_decided)

    assert (mark.score, mark.passed) == (1, passed)


@pytest.mark.parametrize(
    ("met", "missing", "reason"),
    [
        ([True, True], False, "Met every expectation."),
        ([True, True], True, "Met every expectation."),
        ([True] + [False] * 7, False, "0.13. Missed: " + " ".join(f"line {number} (why)" for number in range(2, 9))),
        ([False, True, None], False, "0.33. Missed: line 1 (why) line 3 (why)"),
        (
            [False, True, None],
            True,
            "0.50. 2 of 3 lines decided. Missed: line 1 (why) Undecided: line 3 (why)",
        ),
        ([False, None], True, "0.00. 1 of 2 lines decided. Missed: line 1 (why) Undecided: line 2 (why)"),
        ([None, True], True, "Met every line that could be decided. 1 of 2 lines decided. Undecided: line 1 (why)"),
        ([None, None], True, "No line could be decided: line 1 (why) line 2 (why)"),
    ],
)
def test_reasons(met, missing, reason):
    assert weigh(met, missing=missing).reason == reason
