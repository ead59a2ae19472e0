"""`calls`: which calls count, what breaks a rule, what cannot be told, and how the reason reads."""

from __future__ import annotations

from typing import Any

import pytest

from otel_chloe import gaps
from otel_chloe.errors import ConfigError
from otel_chloe.expected import ExpectedCalls
from otel_chloe.mark import Mark, Unscored, Violation
from otel_chloe.run import Gap, Run, ToolCall
from otel_chloe.scorers import calls


def run(*names: str, **more: Any) -> Run:
    """A run of calls of which nothing but the name is known."""
    return Run(tool_calls=tuple(ToolCall(name) for name in names), **more)


# What the original scorer does, case by case. It repeats a name that a list repeats ("never called a, a"); here each
# name of a list stands once, which changes no score.
ORIGINAL = [
    pytest.param(["a", "b"], {}, 1, "Used: a, b.", id="no rules: every rule is kept"),
    pytest.param([], {}, 1, "Used: nothing.", id="no rules, no calls"),
    pytest.param(["b"], {"mustCall": ["a", "c"]}, 0, "never called a, c. Used: b.", id="all missing tools are named"),
    pytest.param(
        ["a", "b", "a"],
        {"mustNotCall": ["a", "z"]},
        0,
        "called a, which it must not. Used: a, b, a.",
        id="only the forbidden tools that were used are named",
    ),
    pytest.param([], {"atMostOnce": ["a"]}, 1, "Used: nothing.", id="never is at most once"),
    pytest.param(["a"], {"atMostOnce": ["a"]}, 1, "Used: a.", id="once is at most once"),
    pytest.param(
        ["a"],
        {"mustCall": ["a"], "mustNotCall": ["a"]},
        0,
        "called a, which it must not. Used: a.",
        id="contradictory lists fail when the tool was called",
    ),
    pytest.param(
        [],
        {"mustCall": ["a"], "mustNotCall": ["a"]},
        0,
        "never called a. Used: nothing.",
        id="contradictory lists fail when it was not",
    ),
    pytest.param(
        ["a", "a"],
        {"mustNotCall": ["a"], "atMostOnce": ["a"]},
        0,
        "called a, which it must not; called a more than once in one run. Used: a, a.",
        id="every broken rule is named",
    ),
    pytest.param([], {"mustCall": ["a", "a"]}, 0, "never called a. Used: nothing.", id="a repeated name counts once"),
    pytest.param(["q"], {"mustCall": [], "mustNotCall": [], "atMostOnce": []}, 1, "Used: q.", id="empty lists"),
]


@pytest.mark.parametrize(("names", "expected", "score", "reason"), ORIGINAL)
def test_the_original_scorer(names: list[str], expected: dict[str, object], score: int, reason: str) -> None:
    """Scores and reasons are those of the scorer that this one follows."""
    mark = calls(run(*names), expected)

    assert isinstance(mark, Mark)
    assert (mark.score, mark.reason) == (score, reason)
    assert (mark.name, mark.state, mark.value, mark.passed) == ("calls", "scored", score, score == 1)


def test_a_call_that_failed_was_called() -> None:
    """By default a call counts whatever came of it."""
    failed = Run(tool_calls=(ToolCall("send", ok=False, error="timeout"),))

    assert calls(failed, ExpectedCalls(["send"])) == Mark(1.0, "Used: send.", value=1.0, passed=True)


def test_a_request_that_never_started_is_no_call() -> None:
    """A run holds the calls that the loop reached: what waits for a person is not among them, and breaks nothing."""
    mark = calls(run(), {"mustNotCall": ["refund"]})

    assert isinstance(mark, Mark)
    assert (mark.score, mark.reason) == (1, "Used: nothing.")


def test_violations_name_each_broken_rule_and_tool() -> None:
    """Metrics count violations by the names that stand in the rules."""
    mark = calls(run("b", "b", "c"), ExpectedCalls(["a"], ["c", "d"], ["b"]))

    assert isinstance(mark, Mark)
    assert mark.violations == (
        Violation("must_call", "a"),
        Violation("must_not_call", "c"),
        Violation("at_most_once", "b"),
    )
    assert mark.reason == (
        "never called a; called c, which it must not; called b more than once in one run. Used: b, b, c."
    )


class TestNames:
    """A rule matches a call by either of its names, and by nothing else."""

    LONG = Run(tool_calls=(ToolCall("delete", raw_name="mcp__prod__delete"),))

    @pytest.mark.parametrize("name", ["delete", "mcp__prod__delete"])
    def test_a_rule_in_either_form_matches(self, name: str) -> None:
        """The reason prints the short name, the violation the name in the rules."""
        mark = calls(self.LONG, ExpectedCalls(must_not_call=[name]))

        assert isinstance(mark, Mark)
        assert mark.reason == "called delete, which it must not. Used: delete."
        assert mark.violations == (Violation("must_not_call", name),)

    @pytest.mark.parametrize("name", ["Delete", "prod__delete", "delete*", "del", " delete"])
    def test_nothing_else_matches(self, name: str) -> None:
        """Names are exact and case-sensitive."""
        mark = calls(self.LONG, ExpectedCalls(must_not_call=[name]))

        assert isinstance(mark, Mark)
        assert mark.score == 1

    def test_one_tool_named_in_both_forms_is_printed_once(self) -> None:
        """Two entries of one tool are two violations of one name."""
        mark = calls(self.LONG, ExpectedCalls(must_not_call=["delete", "mcp__prod__delete"]))

        assert isinstance(mark, Mark)
        assert mark.reason == "called delete, which it must not. Used: delete."
        assert len(mark.violations) == 2

    def test_a_call_counts_once_under_both_names(self) -> None:
        """A rule that equals both names of a call has seen one call."""
        mark = calls(self.LONG, ExpectedCalls(at_most_once=["delete", "mcp__prod__delete"]))

        assert isinstance(mark, Mark)
        assert mark.score == 1


class TestCount:
    """`count` says which calls count."""

    TRIED = (ToolCall("a", ran=False, ok=False), ToolCall("a", ran=True, ok=False), ToolCall("a", ran=True, ok=True))

    @pytest.mark.parametrize(
        ("count", "reason"),
        [
            ("attempted", "called a more than once in one run. Used: a, a, a. a 3 times: 2 failed."),
            ("executed", "executed a more than once in one run. Used: a, a, a. a 3 times: 2 failed."),
            ("succeeded", "Used: a, a, a. a 3 times: 2 failed."),
        ],
    )
    def test_at_most_once(self, count: Any, reason: str) -> None:
        """Three attempts, two of which ran, one of which succeeded."""
        mark = calls(Run(tool_calls=self.TRIED), ExpectedCalls(at_most_once=["a"], count=count))

        assert isinstance(mark, Mark)
        assert mark.reason == reason

    @pytest.mark.parametrize(
        ("count", "call", "reason"),
        [
            ("executed", ToolCall("a", ran=False), "never executed a. Used: a."),
            ("succeeded", ToolCall("a", ok=False), "never succeeded in calling a. Used: a."),
        ],
    )
    def test_must_call(self, count: Any, call: ToolCall, reason: str) -> None:
        """A call that does not count does not meet `must_call`."""
        mark = calls(Run(tool_calls=(call,)), ExpectedCalls(["a"], count=count))

        assert isinstance(mark, Mark)
        assert (mark.score, mark.reason) == (0, reason)

    @pytest.mark.parametrize("lists", [{"must_call": ["a"]}, {"must_not_call": ["a"]}])
    @pytest.mark.parametrize(("count", "done"), [("executed", "executed"), ("succeeded", "succeeded in calling")])
    def test_a_call_that_does_not_tell_leaves_its_rule_undecided(self, lists: Any, count: Any, done: str) -> None:
        """None is neither True nor False."""
        outcome = calls(run("a"), ExpectedCalls(**lists, count=count))

        assert outcome == Unscored(f"cannot tell whether it {done} a: the spans do not say. Used: a.")
        assert isinstance(outcome, Unscored)
        assert outcome.error == "gap"

    def test_a_call_that_does_not_tell_decides_nothing_elsewhere(self) -> None:
        """Unscored only where the unknown decides the result."""
        made = Run(tool_calls=(ToolCall("a", ran=True), ToolCall("a"), ToolCall("b")))

        assert isinstance(calls(made, ExpectedCalls(["a"], ["c"], count="executed")), Mark)
        assert isinstance(calls(made, ExpectedCalls(at_most_once=["b"], count="executed")), Mark)

    def test_a_second_call_that_perhaps_counts(self) -> None:
        """One call that ran and one that does not tell may be two."""
        made = Run(tool_calls=(ToolCall("a", ran=True), ToolCall("a")))

        assert calls(made, ExpectedCalls(at_most_once=["a"], count="executed")) == Unscored(
            "cannot tell whether it executed a more than once: the spans do not say. Used: a, a."
        )

    def test_a_broken_rule_outweighs_an_undecided_one(self) -> None:
        """What is certain is said; nothing unknown can mend it."""
        made = Run(tool_calls=(ToolCall("a"), ToolCall("b", ran=True)))
        mark = calls(made, ExpectedCalls(["a"], ["b"], count="executed"))

        assert isinstance(mark, Mark)
        assert mark.reason == "executed b, which it must not. Used: a, b."


class TestRepeats:
    """Where a tool is repeated that may be called once, the reason ends with what is known of the repeats."""

    @pytest.mark.parametrize(
        ("made", "known"),
        [
            ([ToolCall("a"), ToolCall("a")], ""),
            ([ToolCall("a", {"x": 1}), ToolCall("a")], ""),
            ([ToolCall("a", {"x": 1}), ToolCall("a", {"x": 1})], " a 2 times: the same arguments."),
            ([ToolCall("a", {"x": 1}), ToolCall("a", {"x": 2})], " a 2 times: different arguments."),
            ([ToolCall("a", ok=True), ToolCall("a", ok=True)], " a 2 times: none failed."),
            ([ToolCall("a", ok=False), ToolCall("a")], " a 2 times: 1 failed."),
            ([ToolCall("a", {}, ok=False), ToolCall("a", {}, ok=True)], " a 2 times: the same arguments, 1 failed."),
        ],
    )
    def test_what_is_known_is_appended(self, made: list[ToolCall], known: str) -> None:
        """Nothing is added where nothing is known."""
        mark = calls(Run(tool_calls=tuple(made)), ExpectedCalls(at_most_once=["a"]))

        assert mark.reason == "called a more than once in one run. Used: a, a." + known

    def test_each_tool_has_its_own_words(self) -> None:
        """Two repeated tools, one of which has known arguments."""
        made = Run(tool_calls=(ToolCall("a", {}), ToolCall("b"), ToolCall("a", {}), ToolCall("b")))
        mark = calls(made, ExpectedCalls(at_most_once=["b", "a"]))

        assert mark.reason == (
            "called b, a more than once in one run. Used: a, b, a, b. a 2 times: the same arguments."
        )


INCOMPLETE = [
    pytest.param({"complete": False, "end": "settled"}, "cut short, end settled", id="cut short"),
    pytest.param({"complete": False, "gaps": (Gap(gaps.CUT_SHORT),)}, "cut_short", id="with its gap"),
    *(pytest.param({"gaps": (Gap(code, "x"),)}, f"{code}: x", id=code) for code in sorted(gaps.MAY_HIDE_CALLS)),
]


@pytest.mark.parametrize(("more", "why"), INCOMPLETE)
class TestIncomplete:
    """A run of which calls may be missing is 0 or 1 only where no missing call could change that."""

    def test_a_broken_rule_stays_broken(self, more: dict[str, Any], why: str) -> None:
        """Of the other rules only those that are certain are named."""
        del why
        mark = calls(run("b", "c", "c", **more), ExpectedCalls(["a"], ["b"], ["c"]))

        assert isinstance(mark, Mark)
        assert mark.reason == "called b, which it must not; called c more than once in one run. Used: b, c, c."
        assert [violation.rule for violation in mark.violations] == ["must_not_call", "at_most_once"]

    def test_must_call_alone_can_be_met(self, more: dict[str, Any], why: str) -> None:
        """Nothing that was not seen could break it."""
        del why

        assert calls(run("a", **more), ExpectedCalls(["a"])) == Mark(1.0, "Used: a.", value=1.0, passed=True)
        assert isinstance(calls(run(**more), {}), Mark)

    def test_a_tool_that_was_not_seen_may_have_been_called(self, more: dict[str, Any], why: str) -> None:
        """The reason names the gap and the tool."""
        outcome = calls(run("b", **more), ExpectedCalls(["a"]))

        reason = f"the run is incomplete ({why}), so calls may be missing from it. Not seen: a. Used: b."
        assert outcome == Unscored(reason, error="incomplete")

    @pytest.mark.parametrize("lists", [{"must_not_call": ["x"]}, {"at_most_once": ["a"]}])
    def test_a_rule_that_more_calls_could_break(self, more: dict[str, Any], why: str, lists: Any) -> None:
        """Kept so far is not kept."""
        outcome = calls(run("a", **more), ExpectedCalls(["a"], **lists))

        reason = f"the run is incomplete ({why}), so calls may be missing from it. Used: a."
        assert outcome == Unscored(reason, error="incomplete")


def test_a_gap_that_hides_no_call_changes_nothing() -> None:
    """A missing prompt or a result that was cut leaves the calls as they are."""
    harmless = run("a", gaps=(Gap(gaps.NO_PROMPT), Gap(gaps.TRUNCATED), Gap(gaps.CALL_ONLY_IN_MESSAGE)))

    assert isinstance(calls(harmless, ExpectedCalls(["a"], ["b"], ["a"])), Mark)


@pytest.mark.parametrize("expected", [None, ["a"], "a", 1, {"must": ["a"]}, {"mustCall": "a"}])
def test_only_a_wrong_expected_raises(expected: Any) -> None:
    """It is the user's mistake, not the run's."""
    with pytest.raises(ConfigError):
        calls(run("a"), expected)
