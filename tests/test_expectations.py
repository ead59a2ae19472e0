"""`expectations`: what is asked of the judge's model, how often, and what becomes of what it answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from otel_chloe import ConfigError, ExpectedOutcome, Failed, Gap, Mark, Run, ToolCall, Unscored, expectations, gaps
from otel_chloe.alone import patient
from otel_chloe.config import Expectations
from otel_chloe.judge.expectations import judged
from otel_chloe.testing import JudgeError, ScriptedJudge, SteppingClock, checks

RESULT = {"calls": [{"tool": "a", "input": {}, "output": "ok"}], "text": "done"}
OF_TWO = {"should": ["x", "y"]}
OF_ONE = {"should": ["x"]}


def ask(answers: Any, expected: Any = OF_ONE, result: Any = RESULT, **more: Any) -> tuple[Any, ScriptedJudge]:
    """The outcome, and the judge that was asked."""
    judge = ScriptedJudge(answers)
    return asyncio.run(expectations("P", result, expected, "M", complete=judge, **more)), judge


def said(*checks: dict[str, Any]) -> str:
    """An answer in the original's shape, without ids and evidence."""
    return json.dumps({"checks": [{"expectation": "…", "why": "q", **check} for check in checks]})


MET, NOT_MET = said({"met": True}), said({"met": False})

# What the original scorer does, case by case.
ORIGINAL = [
    pytest.param({}, [], 1, "Nothing was expected.", id="no lines, no call"),
    pytest.param(OF_TWO, [said({"met": True}, {"met": True})], 1, "Met every expectation.", id="every line met"),
    pytest.param(
        {"should": ["x", "y"], "shouldNot": ["z"]},
        [said({"met": True}, {"met": False, "why": "no y"}, {"met": False, "why": "no z"})],
        1 / 3,
        "0.33. Missed: y (no y) z (no z)",
        id="the share of the lines that are met",
    ),
    pytest.param(OF_ONE, [said({"met": False, "why": "why"})], 0, "0.00. Missed: x (why)", id="no line met"),
    pytest.param(OF_ONE, [f"Sure:\n```json\n{MET}\n```"], 1, "Met every expectation.", id="fences and prose are fine"),
    pytest.param(OF_ONE, ['{"checks":[}', NOT_MET], 0, "0.00. Missed: x (q)", id="asked again: no JSON"),
    pytest.param(OF_ONE, ['{"result":1}', MET], 1, "Met every expectation.", id="asked again: no list of checks"),
    pytest.param(
        OF_ONE, ['{"checks":[{"met":false}]}'], 0, "0.00. Missed: x (no reason given)", id="a reason that is missing"
    ),
]


@pytest.mark.parametrize(("expected", "answers", "score", "reason"), ORIGINAL)
def test_the_original_scorer(expected, answers, score, reason):
    """Scores and numbers of calls are those of the scorer that this one follows, and the reasons say the same."""
    mark, judge = ask(answers, expected)

    assert isinstance(mark, Mark)
    assert (mark.score, mark.reason) == (score, reason)
    assert (mark.name, mark.state, mark.value, mark.passed) == ("expectations", "scored", score, score >= 0.8)
    assert len(judge.asks) == len(answers)


# Where the original takes a judge that does not judge for a verdict: a second call here, and never a score without one.
BETTER = [
    pytest.param('{"checks":[]}', "it has 0 checks for 1 line", id="original: 1, for no check failed"),
    pytest.param(said({"met": True}, {"met": True}, {"met": False}), "it has 3 checks for 1 line", id="original: 0.67"),
    pytest.param(
        said({"met": "false"}),
        "met of line 1 is a text, not true, false or null",
        id='original: 1, for "false" is true',
    ),
    pytest.param('{"checks":[null]}', "check 1 is null, not an object", id="original: crashes"),
    pytest.param("b" * 300, "it holds no JSON object", id="original: 0 after the second"),
]


@pytest.mark.parametrize(("answer", "problem"), BETTER)
def test_an_answer_that_is_no_verdict_is_asked_for_again(answer, problem):
    mark, judge = ask([answer, MET])

    assert isinstance(mark, Mark)
    assert (mark.score, mark.judged.calls) == (1, 2)
    assert judge.messages[1][:2] == judge.messages[0]
    assert judge.messages[1][2] == {"role": "assistant", "content": answer}
    assert problem in judge.messages[1][3]["content"]


@pytest.mark.parametrize(("answer", "problem"), BETTER)
def test_a_judge_that_gives_no_verdict_twice_has_failed(answer, problem):
    """The original gives 0 or 1: it holds the judge's failure against the agent, or for it."""
    failed, judge = ask([answer, answer])

    assert isinstance(failed, Failed)
    assert (failed.name, failed.error) == ("expectations", "invalid_answer")
    assert failed.reason == f'The judge\'s answer could not be used, twice: {problem}. It began: "{answer[:200]}"'
    assert len(judge.asks) == failed.judged.calls == 2


def test_checks_are_counted_against_the_lines():
    """The original divides by the checks that came: here one check too many is asked for again."""
    mark, _ = ask([said({"met": True}, {"met": True}, {"met": False}), said({"met": True}, {"met": False})], OF_TWO)

    assert mark.score == 0.5


def test_a_judge_that_cannot_be_reached_has_failed():
    """The original lets the error out, and there is no mark at all."""
    failed, judge = ask([ConnectionError("no route to the gateway")])

    assert isinstance(failed, Failed)
    assert failed.error == "ConnectionError"
    assert failed.reason == "complete= raised ConnectionError: no route to the gateway"
    assert len(judge.asks) == 1


def test_the_words_of_a_judges_error_are_kept():
    failed, _ = ask([JudgeError("Set ANTHROPIC_API_KEY, or pass complete=.", error="authentication", lasting=True)])

    assert failed == Failed(
        "Set ANTHROPIC_API_KEY, or pass complete=.", name="expectations", error="authentication", judged=failed.judged
    )


def test_an_error_at_the_second_call_is_that_error():
    failed, _ = ask(["nothing", JudgeError("Too many.", error="rate_limit")])

    assert (failed.error, failed.judged.calls) == ("rate_limit", 2)


def test_a_situation_alone_expects_nothing():
    mark, judge = ask([], {"situation": "The site is down."})

    assert (mark.score, mark.passed, judge.asks) == (1, True, [])


@pytest.mark.parametrize(
    "expected", [{"shoud": ["x"]}, {"should": "x"}, {"should": [""]}, {"should": ["x"], "situation": 3}]
)
def test_only_a_wrong_expected_is_raised(expected):
    with pytest.raises(ConfigError):
        ask([], expected)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("done", "result is of type str."),
        ({"text": 3}, "The text of result is of type int."),
        ({"calls": {"tool": "a"}}, "The calls of result are of type dict."),
        ({"calls": [{"input": {}}]}, "A call of result has no tool's name."),
        ({"calls": ["a"]}, "A call of result has no tool's name."),
    ],
)
def test_a_wrong_result_is_an_outcome_that_says_what_to_pass(result, said):
    failed, judge = ask([], result=result)

    assert isinstance(failed, Failed)
    assert failed.reason.startswith(f"TypeError: {said}")
    assert failed.reason.endswith('{"text": "Restarted.", "calls": [{"tool": "restart", "input": {}}]}.')
    assert not judge.asks


def test_both_spellings_and_the_class_are_the_same():
    seen = [
        ask([checks(True, True)], expected)[0]
        for expected in (
            {"should": ["x"], "shouldNot": ["z"]},
            {"should": ["x"], "should_not": ["z"]},
            ExpectedOutcome(should=["x"], should_not=["z"]),
        )
    ]

    assert {mark.lines for mark in seen} == {seen[0].lines}
    assert [line.text for line in seen[0].lines] == ["x", "z"]


def test_a_run_is_judged_as_asked():
    """The prompt that is given stands for the run's own, so that it is missing no more."""
    run = Run(output="done", tool_calls=(ToolCall("a"),), gaps=(Gap(gaps.NO_PROMPT),))

    mark, judge = ask([checks(None)], result=run)

    assert mark.score == 0
    assert "\nP\n" in judge.messages[0][1]["content"]


class TestUndecided:
    """`null` is "cannot be decided" only where a part of the run is not there to see."""

    GAPPED = Run(output="done", gaps=(Gap(gaps.TRUNCATED),))

    def test_on_a_whole_run_it_is_not_met(self):
        mark, _ = ask([checks(True, None)], OF_TWO)

        assert (mark.score, mark.reason, mark.lines[1].met) == (0.5, "0.50. Missed: y (because)", False)

    def test_the_line_leaves_the_share(self):
        mark, _ = ask([checks(True, None, True)], {"should": ["x", "y", "z"]}, self.GAPPED)

        assert isinstance(mark, Mark)
        assert (mark.score, mark.lines[1].met) == (1, None)
        assert mark.reason == "Met every line that could be decided. 2 of 3 lines decided. Undecided: y (because)"

    def test_such_a_mark_does_not_pass(self):
        mark, _ = ask([checks(True, None)], OF_TWO, self.GAPPED)

        assert (mark.score, mark.passed) == (1, False)

    @pytest.mark.parametrize("run", [GAPPED, Run(complete=False), Run(gaps=(Gap("one of a later version"),))])
    def test_nothing_decided_is_unscored(self, run):
        unscored, _ = ask([checks(None)], result=run)

        assert isinstance(unscored, Unscored)
        assert (unscored.name, unscored.error) == ("expectations", "undecided")
        assert unscored.reason == "No line could be decided: x (because)"
        assert unscored.judged.calls == 1


class TestEvidence:
    """What the judge points to is looked up."""

    @pytest.mark.parametrize(
        ("evidence", "found"),
        [
            ({"call": 1}, True),
            ({"call": 2}, False),
            ({"call": 0}, False),
            ({"quote": "done"}, True),
            ({"quote": "never said"}, False),
            (None, None),
        ],
    )
    def test_it_stands_on_the_line_and_costs_nothing(self, evidence, found):
        mark, judge = ask([checks(True, evidence=evidence)])

        assert (mark.score, mark.lines[0].evidence, mark.lines[0].found) == (1, evidence, found)
        assert len(judge.asks) == 1

    def test_what_the_judge_pieced_together_is_redacted_again(self):
        answer = checks(False, why="It names bob@example.com.", evidence={"quote": "mail bob@example.com"})
        mark, _ = ask([answer], result={"text": "I wrote to amy@example.com."})

        assert mark.lines[0].why == "It names <email-2>."
        assert mark.lines[0].evidence == {"quote": "mail <email-2>"}
        assert mark.reason == "0.00. Missed: x (It names <email-2>.)"


def test_what_a_failure_quotes_is_redacted():
    failed, _ = ask(["The agent wrote to bob@example.com."] * 2)

    assert failed.reason.endswith('It began: "The agent wrote to <email-1>."')


def busy(**more):
    return JudgeError("Too many.", error="rate_limit", retry=True, retry_after_s=0, **more)


@pytest.mark.parametrize(
    ("answers", "asked", "error"),
    [
        ([busy(), checks(True)], 2, None),
        ([busy(), busy(), checks(True)], 3, None),
        ([busy()] * 3, 3, "rate_limit"),
        ([JudgeError("No key.", error="authentication", lasting=True)], 1, "authentication"),
    ],
)
def test_the_judges_own_process_is_asked_again_where_that_can_help(answers, asked, error):
    """Such tries are no answers: the one call of a judgement stays one."""
    judge = ScriptedJudge(answers)
    lines = Expectations(outcome=ExpectedOutcome(should=["x"]), model="M")
    found = asyncio.run(
        judged(Run(), lines, judge=patient(lambda: judge), nonce="0123456789abcdef", clock=SteppingClock())
    )

    assert len(judge.asks) == asked
    assert found.judged.calls == 1
    assert getattr(found, "error", None) == error


@pytest.mark.parametrize(("met", "passed"), [(79, False), (80, True)])
def test_it_passes_from_four_lines_of_five(met, passed):
    """chloe-eval-02: the case passes where calls is 1 and expectations 0.8 or more."""
    lines = [f"line {number}" for number in range(100)]
    mark, _ = ask([checks(*[True] * met, *[False] * (100 - met))], {"should": lines})

    assert (mark.score, mark.passed) == (met / 100, passed)


class Awkward:
    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __repr__


ROUND: list[object] = []
ROUND.append(ROUND)


@pytest.mark.parametrize(
    "value", [ROUND, {1: 2}, {"a": float("nan")}, b"\xff", 10**5_000, Awkward(), "\ud800", {"x"}, object()], ids=type
)
def test_whatever_a_call_was_given_it_can_be_judged(value):
    mark, judge = ask([checks(True)], result=Run(tool_calls=(ToolCall("a", value, value),)))

    assert isinstance(mark, Mark)
    judge.messages[0][1]["content"].encode()
