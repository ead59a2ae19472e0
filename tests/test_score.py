"""`score` and `ascore`: any scorers on any run, where an event loop is running and where none is."""

from __future__ import annotations

import asyncio
import sys

import pytest

from otel_chloe import (
    Run,
    Scorer,
    ToolCall,
    ascore,
    score,
)

RUN = Run(prompt="P", output="o", tool_calls=[ToolCall("look", {"site": "a"}, ok=True)])


def fn(ctx):
    return 0.5


async def slow(ctx):
    await asyncio.sleep(0)
    return 0.25


def test_score_waits_for_async_scorers():
    marks = score(RUN, [slow, fn, Scorer.code(lambda ctx: slow(ctx.run), name="inside")])

    assert [(mark.name, mark.score) for mark in marks] == [("slow", 0.25), ("fn", 0.5), ("inside", 0.25)]


def test_inside_an_event_loop_score_says_to_use_ascore():
    async def main():
        with pytest.raises(RuntimeError, match="await ascore"):
            score(RUN, [slow, fn])
        [sync] = score(RUN, [fn])
        [hidden] = score(RUN, [Scorer.code(lambda ctx: slow(ctx.run), name="inside")])
        return sync, hidden, await ascore(RUN, [slow, fn])

    sync, hidden, both = asyncio.run(main())

    assert sync.score == 0.5
    assert (hidden.state, "ascore" in hidden.reason) == ("failed", True)
    assert [mark.score for mark in both] == [0.25, 0.5]


def test_an_async_scorer_that_raises_has_failed():
    async def bad(ctx):
        raise ValueError("no")

    [failed, _] = score(RUN, [bad, fn])

    assert failed.reason == "ValueError: no"


def test_a_scorer_that_exits_ends_nobody():
    [failed] = score(RUN, [lambda ctx: sys.exit(3)])

    assert failed.error == "SystemExit"


def test_ctrl_c_is_no_outcome():
    def stopped(ctx):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score(RUN, [stopped])


def test_a_scorer_of_its_own_loop_runs_beside_ours():
    """On the loop's own thread asyncio.run would be refused."""

    def own(ctx):
        return asyncio.run(slow(ctx))

    [mark] = asyncio.run(ascore(RUN, [own]))

    assert mark.score == 0.25


def test_calls_that_a_scorer_changes_stay_as_they_are():
    def spoils(run):
        run.tool_calls[0].arguments["site"] = "b"
        return True

    _, mark = score(RUN, [spoils, lambda ctx: ctx.run.tool_calls[0].arguments["site"]])

    assert mark.value == "a"
    assert RUN.tool_calls[0].arguments == {"site": "a"}


def test_the_input_is_the_one_given_else_the_runs_else_the_prompt():
    def given(input):
        return str(input)

    runs = [Run(prompt="P", input={"a": 1}), Run(prompt="P")]

    assert [score(run, [given])[0].value for run in runs] == ["{'a': 1}", "P"]
    assert score(runs[0], [given], input="I")[0].value == "I"


def test_an_outcome_has_an_id_where_the_run_has_one():
    run = Run(trace_id="1" * 32, span_id="2" * 16)
    [first], [again], [without] = score(run, [fn]), score(run, [fn]), score(RUN, [fn])

    assert first.id == again.id
    assert len(first.id) == 32
    assert without.id is None
