"""What is shown of odd values, and what may be quoted of what was shown."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shown_runs import BUDGET, seen

from otel_chloe import Run, ToolCall
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.shown import show


class TestOddValues:
    def test_they_are_shown_as_far_as_json_can(self):
        circle: list[Any] = [1]
        circle.append(circle)

        class Odd:
            def __repr__(self) -> str:
                raise RuntimeError

        values = [math.nan, math.inf, b"text", b"\xff\x00", circle, Odd(), 10**6000, "\ud800x", {b"k": (1, 2)}, {3}]
        shown = seen(Run(tool_calls=[ToolCall("get", value) for value in values]))

        assert [call["input"] for call in json.loads(shown.did)] == [
            "nan",
            "inf",
            "text",
            "(2 bytes)",
            [1, "(itself again)"],
            "(a Odd that cannot be shown)",
            "(an integer of 19,932 bits)",
            "\ufffdx",
            {"b'k'": [1, 2]},
            [3],
        ]

    def test_what_is_nested_too_deep_is_cut_and_that_is_said(self):
        deep: Any = "x"
        for _ in range(5_000):
            deep = [deep]
        shown = seen(Run(tool_calls=[ToolCall("get", deep)]))

        assert "[… nested deeper …]" in shown.did
        assert shown.cut == ("1 items of call 1",)

    def test_keys_that_become_alike_stay_apart(self):
        shown = seen(Run(tool_calls=[ToolCall("get", {"A@b.example": 1, "a@b.example": 2})]))

        assert json.loads(shown.did)[0]["input"] == {"<email-1>": 1, "<email-1>'": 2}

    def test_a_text_that_the_users_function_fails_on_is_named_among_what_is_missing(self):
        def fails(_: str) -> str:
            raise RuntimeError

        shown = show(Run(prompt="x", output="y"), redactor=Redactor(fails))

        assert (shown.prompt, shown.said) == ("<withheld>", "<withheld>")
        assert shown.cut == ("texts on which the function for redaction failed",)

    def test_a_users_function_that_writes_without_end_is_cut(self):
        shown = show(Run(prompt="x", tool_calls=[ToolCall("get", "y")]), redactor=Redactor(lambda text: text * 200_000))

        assert shown.tokens <= BUDGET


class TestQuotes:
    SHOWN = seen(
        Run(
            prompt="Is the  shop\nup?",
            output='It said "no such site" – so I **restarted** C:\\new\\shop.',
            tool_calls=[ToolCall("get", {"site": "shop", "text": 'a "b"\n\tc'}, "gefährlich")],
        )
    )

    @pytest.mark.parametrize(
        "quote",
        [
            "Is the shop up?",
            "is THE\nshop  up",
            "It said “no such site” - so I restarted",
            "It said … restarted",
            "It said ... C:\\new\\shop",
            '"site": "shop"',
            '{"site":"shop"',
            'a "b"\n\tc',
            'a \\"b\\"\\n\\tc',
            "GEFÄHRLICH",
            "gef\\u00e4hrlich",
            "…it said",
        ],
    )
    def test_what_a_quotation_may_change_does_not_matter(self, quote: str):
        assert self.SHOWN.holds(quote)

    @pytest.mark.parametrize("quote", ["", " ", "…", '""', "the site is up", "restarted … It said", "shop up? it said"])
    def test_what_was_not_shown_is_not_found(self, quote: str):
        assert not self.SHOWN.holds(quote)

    @given(st.text("ab cde.,-!?\n\"'é网", min_size=1, max_size=60), st.data())
    def test_whatever_is_copied_is_found(self, text: str, data: st.DataObject):
        start = data.draw(st.integers(0, len(text) - 1))
        quote = text[start : data.draw(st.integers(start + 1, len(text)))]
        found = [seen(Run(prompt=text)), seen(Run(tool_calls=[ToolCall("x", text)]))]

        assert [shown.holds(quote) for shown in found] == [any(map(str.isalnum, quote))] * 2
