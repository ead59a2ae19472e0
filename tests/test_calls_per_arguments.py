"""`per="arguments"`: a tool may be called again with other arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from otel_chloe import gaps
from otel_chloe.expected import ExpectedCalls
from otel_chloe.mark import Mark, Unscored
from otel_chloe.run import Gap, Run, ToolCall
from otel_chloe.scorers import calls


def twice(first: object, second: object, **more: Any) -> Run:
    """Two calls of one tool, with these arguments."""
    return Run(tool_calls=(ToolCall("a", first), ToolCall("a", second)), **more)


class TestPerArguments:
    """`per="arguments"` allows a tool again with other arguments."""

    ONCE = ExpectedCalls(at_most_once=["a"], per="arguments")

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ({"x": 1, "y": [2]}, {"y": [2], "x": 1}),
            ({"x": 1}, {"x": 1.0}),
            ("free text", "free text"),
            ({}, {}),
            ({"x": None}, {"x": None}),
        ],
    )
    def test_equal_arguments_break_it(self, first: object, second: object) -> None:
        """Keys have no order."""
        mark = calls(twice(first, second), self.ONCE)

        assert isinstance(mark, Mark)
        assert mark.score == 0
        assert mark.reason == (
            "called a more than once in one run with the same arguments. Used: a, a. a 2 times: the same arguments."
        )

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ({"x": 1}, {"x": 2}),
            ({"x": 1}, {"x": True}),
            ({"x": [1, 2]}, {"x": [2, 1]}),
            ({"x": 1}, {}),
            ({"x": 1}, "x=1"),
            ({"x": {"y": 1}}, {"x": {"y": "1"}}),
        ],
    )
    def test_different_arguments_keep_it(self, first: object, second: object) -> None:
        """JSON's true is not 1, and lists have an order."""
        mark = calls(twice(first, second), self.ONCE)

        assert isinstance(mark, Mark)
        assert (mark.score, mark.reason) == (1, "Used: a, a. a 2 times: different arguments.")

    def test_unknown_arguments_leave_it_undecided(self) -> None:
        """They may be those of another call."""
        assert calls(twice({"x": 1}, None), self.ONCE) == Unscored(
            "cannot tell whether it called a more than once with the same arguments: the spans do not say. Used: a, a."
        )

    def test_unknown_arguments_of_a_single_call_decide_nothing(self) -> None:
        """There is no other call that it could repeat."""
        assert isinstance(calls(Run(tool_calls=[ToolCall(name) for name in "abb"]), self.ONCE), Mark)

    def test_two_equal_calls_are_enough_beside_an_unknown_one(self) -> None:
        """What is certain is said."""
        made = Run(tool_calls=(ToolCall("a"), ToolCall("a", {"x": 1}), ToolCall("a", {"x": 1})))
        mark = calls(made, self.ONCE)

        assert isinstance(mark, Mark)
        assert mark.reason.endswith("Used: a, a, a. a 3 times: some with the same arguments.")

    def test_texts_that_may_have_been_cut_are_unknown(self) -> None:
        """Two cut texts look the same whatever stood behind the cut."""
        cut = twice('{"q": "aaa', '{"q": "aaa', gaps=(Gap(gaps.TRUNCATED),))

        assert isinstance(calls(cut, self.ONCE), Unscored)

    def test_arguments_nested_too_deeply_are_unknown(self) -> None:
        """Hostile arguments cost a mark, never an exception."""
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]

        assert isinstance(calls(twice(deep, deep), self.ONCE), Unscored)

    def test_only_calls_that_count_are_compared(self) -> None:
        """A failed attempt may be made again."""
        made = Run(tool_calls=(ToolCall("a", {"x": 1}, ok=False), ToolCall("a", {"x": 1}, ok=True)))

        mark = calls(made, replace(self.ONCE, count="succeeded"))

        assert isinstance(mark, Mark)
        assert (mark.score, mark.reason) == (1, "Used: a, a. a 2 times: the same arguments, 1 failed.")
