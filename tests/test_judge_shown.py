"""What a judge is shown of a run: in order, within the budget, without secrets, and whatever the run holds."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from secret_shapes import NAMED, PASSWORDS, SECRETS, private_keys
from shown_runs import BUDGET, PROSE, RUNS, numbers, run_with, seen, texts

from otel_chloe import Run, ToolCall
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.room import cost
from otel_chloe.judge.shown import SMALLEST, Shown
from otel_chloe.judge.trim import trimmed
from otel_chloe.judge.whole import whole


class TestASmallRun:
    RUN = Run(
        agent="site_doctor",
        prompt="Is the shop up? Tell bob@example.com.",
        output="It was down. I told bob@example.com.",
        tool_calls=[
            ToolCall("check_site", {"site": "shop", "password": "hunter2"}, {"up": False, "ms": 1.5}, ok=True),
            ToolCall("restart_site", {"site": "shop"}, ok=False, error="no such site", agent="mender", ran=True),
        ],
    )

    def test_it_is_shown_whole(self):
        shown = seen(self.RUN)

        assert shown.prompt == "Is the shop up? Tell <email-1>."
        assert shown.said == "It was down. I told <email-1>."
        assert json.loads(shown.did) == [
            {
                "number": 1,
                "tool": "check_site",
                "input": {"site": "shop", "password": "<secret-1>"},
                "output": {"up": False, "ms": 1.5},
            },
            {
                "number": 2,
                "tool": "restart_site",
                "agent": "mender",
                "ok": False,
                "input": {"site": "shop"},
                "error": "no such site",
            },
        ]
        assert (shown.calls, shown.cut, shown.agent, shown.error) == (2, (), "site_doctor", None)

    def test_each_field_has_its_own_line(self):
        assert '  "tool": "check_site",\n  "input": {"site": "shop",' in seen(self.RUN).did

    def test_what_is_not_known_is_none(self):
        shown = seen(Run())

        assert (shown.prompt, shown.said, shown.did, shown.others, shown.calls) == (None, None, "[]", None, 0)

    def test_what_sub_agents_said_is_shown_where_no_call_tells_it(self):
        told = [Run(agent="a", prompt="look", output="found"), Run(agent="b", output="known"), Run(agent="c")]
        shown = seen(Run(tool_calls=[ToolCall("ask_b", result="known")], sub_runs=told))

        assert json.loads(shown.others or "") == [{"agent": "a", "prompt": "look", "output": "found"}]


class TestTrimming:
    def test_ten_megabytes_are_cut_in_the_middle(self):
        shown = seen(
            Run(prompt="x", output="y", tool_calls=[ToolCall("get", None, "begin " + "0 " * 5_000_000 + "end")])
        )
        [call] = json.loads(shown.did)

        assert call["output"].startswith("begin 0 ")
        assert call["output"].endswith(" end")
        [cut] = re.findall(r"\[… ([\d,]+) characters cut …\]", call["output"])
        assert shown.cut == (f"{cut} characters of call 1's output",)
        kept = len(call["output"]) - len(f"[… {cut} characters cut …]")
        assert kept + int(cut.replace(",", "")) == 10_000_009

    def test_of_five_thousand_calls_the_first_the_last_and_the_failed_stay(self):
        failed = {700, 2500, 4321}
        calls = [ToolCall("get", {"n": n}, PROSE * 9, error="bad" if n in failed else None) for n in range(1, 5001)]
        shown = seen(Run(prompt="x", output="y", tool_calls=calls))

        assert shown.calls == 5000
        assert {1, 2, 3, *failed, 4998, 4999, 5000} <= set(numbers(shown))
        assert numbers(shown) == sorted(numbers(shown))
        marks = [item for item in json.loads(shown.did) if isinstance(item, str)]
        gone = [re.fullmatch(r"\[… calls ([\d,]+) to ([\d,]+) cut …\]", mark) for mark in marks]
        lost = sum(int(found[2].replace(",", "")) - int(found[1].replace(",", "")) + 1 for found in gone if found)
        assert lost + len(numbers(shown)) == 5000
        assert shown.cut[0].startswith(f"{lost:,} of 5,000 calls (")

    def test_a_long_prompt_leaves_room_for_the_calls_and_the_other_way_round(self):
        both = seen(Run(prompt=PROSE * 5000, output="y", tool_calls=[ToolCall("get", None, PROSE * 5000)]))
        prompt = seen(Run(prompt=PROSE * 5000, output="y", tool_calls=[ToolCall("get")]))

        assert BUDGET // 6 < cost(both.prompt or "") <= BUDGET // 5
        assert cost(prompt.prompt or "") > BUDGET * 3 // 4

    def test_an_error_is_kept_longer_than_what_surrounds_it(self):
        calls = [ToolCall("get", PROSE * 300, PROSE * 300, error=PROSE * 30 if n == 20 else None) for n in range(40)]
        failed = json.loads(seen(Run(tool_calls=calls)).did)[20]

        assert failed["error"] == PROSE * 30 or len(failed["error"]) > 3 * len(failed["output"])

    def test_long_lists_are_cut_in_the_middle(self):
        shown = seen(Run(tool_calls=[ToolCall("get", None, {"rows": list(range(100_000))})]))
        rows = json.loads(shown.did)[0]["output"]["rows"]

        assert (rows[0], rows[-1]) == (0, 99_999)
        assert [row for row in rows if isinstance(row, str)] == [f"[… {100_000 - len(rows) + 1:,} items cut …]"]

    def test_words_are_not_cut(self):
        prompt = seen(Run(prompt=PROSE * 5000)).prompt or ""
        before, after = re.split(r"\[… [\d,]+ characters cut …\]", prompt)

        assert set((before + " " + after).split()) == set(PROSE.split())

    def test_text_that_takes_more_tokens_has_fewer_characters(self):
        latin, chinese = (seen(Run(prompt=text)) for text in ("abc " * 50_000, "网站断了" * 50_000))

        assert len(chinese.prompt or "") * 3 < len(latin.prompt or "")
        assert chinese.tokens <= BUDGET


@given(RUNS, st.sampled_from([SMALLEST, 3_000, BUDGET]))
def test_nothing_raises_the_budget_is_kept_and_so_is_the_order(run: Run, tokens: int):
    shown = seen(run, tokens)

    assert sum(map(cost, texts(shown)[: len(texts(shown)) - len(shown.cut)])) == shown.tokens
    assert shown.tokens <= tokens
    assert numbers(shown) == sorted(numbers(shown))
    assert shown.calls == len(run.tool_calls)
    assert shown.cut or len(numbers(shown)) == shown.calls
    for text in texts(shown):
        text.encode()


USUAL = [
    Run(agent="a", prompt="b", tool_calls=[ToolCall("c", {"name": "password", "value": "hunter2"}, 'd"\\\n\x01' * 80)]),
    Run(agent="a", error="no", tool_calls=[ToolCall("c", {"to": "a@b.example", "n": 4111111111111111}, [True, 1.5])]),
    Run(output="é", tool_calls=[ToolCall("c", "{}", {"a": {"b": [None]}}, ok=False, ran=False, error="e", agent="f")]),
]


@pytest.mark.parametrize("run", USUAL)
def test_a_usual_run_is_not_measured(run: Run):
    assert whole(run, Redactor(), BUDGET) == trimmed(run, Redactor(), BUDGET)


@given(RUNS, st.sampled_from([SMALLEST, 3_000, BUDGET]))
def test_what_is_not_measured_is_shown_the_same(run: Run, tokens: int):
    assert whole(run, Redactor(), tokens) in (None, trimmed(run, Redactor(), tokens))


@given(st.integers(1, 400), st.sampled_from([SMALLEST, 2_000, BUDGET]), st.integers(0, 3000))
def test_any_number_of_calls_fits(count: int, tokens: int, length: int):
    calls = [ToolCall("get", {"n": n, "x": 'a"b\\\n' * (length % 7)}, "é" * length) for n in range(count)]
    shown = seen(Run(prompt="x", output="y", tool_calls=calls), tokens)

    assert shown.tokens <= tokens
    assert numbers(shown)[0] == 1
    assert numbers(shown)[-1] == count


def leaks(secret: str, shown: Shown) -> list[str]:
    """Every piece of a secret, of ten characters or of all it has, that is shown."""
    width = min(len(secret), 10)
    pieces = {secret[at : at + width] for at in range(len(secret) - width + 1)}
    pieces = {piece for piece in pieces if not piece.startswith("-----") and "PRIVATE KEY" not in piece}
    told = [re.sub(r"\[… [^…]* cut …\]", "", text) for text in texts(shown)[: len(texts(shown)) - len(shown.cut)]]
    return [piece for piece in pieces for text in told if piece in text]


@given(st.one_of(SECRETS, private_keys()), st.integers(0, 14_000), st.integers(0, 60_000), st.data())
def test_no_secret_is_shown_wherever_it_stands(secret: str, before: int, after: int, data: st.DataObject):
    """Also at both edges of what is cut: a budget of 3,000 tokens leaves about 4,000 characters of each side."""
    text = PROSE * (before // len(PROSE)) + PROSE[: before % len(PROSE)] + f" {secret} " + PROSE * (after // len(PROSE))
    where = data.draw(
        st.sampled_from(["prompt", "output", "agent", "error", "result", "argument", "key", "name", "fault"])
    )

    shown = seen(run_with(where, text), 3_000)

    assert leaks(secret, shown) == []


@given(NAMED, PASSWORDS, st.integers(0, 12_000), st.sampled_from(["prompt", "result", "argument", "fault"]))
def test_no_password_is_shown_wherever_it_is_cut(form: str, password: str, before: int, where: str):
    text = (
        PROSE * (before // len(PROSE)) + "." * (before % len(PROSE)) + " " + form.format(password) + "\n" + PROSE * 200
    )

    assert leaks(password, seen(run_with(where, text), 3_000)) == []


@given(PASSWORDS, st.sampled_from(["password", "apiKey", "X-Auth-Token", "client_secret"]))
def test_a_fields_name_tells_that_it_is_secret(password: str, name: str):
    values: list[Any] = [
        {name: password},
        {"headers": [{"name": name, "value": password}]},
        {"headers": {name: [password]}},
        {name: {"value": password}},
        json.dumps({"body": json.dumps({name: password})}),
    ]

    assert leaks(password, seen(Run(tool_calls=[ToolCall("post", value) for value in values]))) == []


def test_numbers_are_looked_at_too():
    shown = seen(Run(tool_calls=[ToolCall("pay", {"card": 4111111111111111, "phone": 5551234567, "n": 12345678901})]))

    assert json.loads(shown.did)[0]["input"] == {"card": "<card-1>", "phone": "<phone-1>", "n": 12345678901}
