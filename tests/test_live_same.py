"""Three doors, one mark: a recording played through the processor with scorers gives what `score` gives of its runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from doors import left_open
from hypothesis import given, settings
from hypothesis import strategies as st
from own_scorers import Scored, states
from replay import Replay, never_ended, outlived

from otel_chloe import DeferredScore, Score, Scorer, load_runs, score
from otel_chloe.mark import Outcome
from otel_chloe.recording import read_spans
from otel_chloe.scorers import max_calls, max_duration, no_loops
from otel_chloe.testing import ScriptedJudge

SPANS = Path(__file__).parent / "spans"
RECORDINGS = sorted(SPANS.glob("**/*.otlp.jsonl"))


def reply_and_tools(ctx: Any) -> list[Any]:
    return [Score("reply", len(ctx.output or "")), Score("tools", float(len(ctx.run.tool_calls))), DeferredScore("ask")]


def by_tool(run: Any) -> dict[str, Any]:
    return {f"ok.{call.name}": call.ok for call in run.tool_calls}


def picky(output: str) -> bool:
    if not output:
        raise ValueError("no reply")
    return "up" in output


async def prompted(input: Any) -> bool:
    await asyncio.sleep(0)
    return bool(input)


JUDGE = Scorer.llm_judge(
    name="kind",
    model="test/kind",
    messages=[{"role": "user", "content": "{{transcript}}"}],
    complete=ScriptedJudge(lambda ask: f"0.{len(ask.messages[0]['content']) % 9}"),
    threshold=0.4,
)
SCORERS = [
    reply_and_tools,
    by_tool,
    picky,
    prompted,
    JUDGE,
    partial(max_calls, limit=2),
    partial(max_duration, limit=1.0),
    no_loops,
]


def plain(outcome: Outcome) -> Outcome:
    """The outcome without how long it took."""
    return replace(outcome, judged=None) if hasattr(outcome, "judged") else outcome  # type: ignore[call-arg]


def in_order(outcomes: Any) -> list[Outcome]:
    return sorted(map(plain, outcomes), key=lambda each: (each.id or "", each.name, each.key or ""))


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name.split('.')[0]}")
def test_a_recording(recording: Path):
    offline = [outcome for run in load_runs(recording) for outcome in score(run, SCORERS)]
    with Scored(*SCORERS) as app:
        resource = next(iter(read_spans(recording))).resource.attributes
        Replay(*app.provider._active_span_processor._span_processors, resource=resource).play(recording)
        app.flush()
        app.stop()
        live = app.outcomes()
        marked = [span for span in app.exporter.get_finished_spans() if "chloe.picky.state" in (span.attributes or {})]
        events = app.events()

    if never_ended(recording):  # in process it is cut short, and in the file its root is missing
        assert states(live) == states(offline)
        return
    assert in_order(live) == in_order(offline)
    late = outlived(recording)
    for span in marked:
        said = span.attributes or {}
        for event in events:
            name = event["gen_ai.evaluation.name"]
            if event["span_id"] == span.context.span_id and f"chloe.{name}.state" in said:
                if left_open(said, name) or (event["span_id"] in late and said[f"chloe.{name}.state"] == "unscored"):
                    continue  # what came after it ended could yet change the score
                assert said[f"chloe.{name}.state"] == event["chloe.state"]
                assert said.get(f"chloe.{name}.score") == event.get("gen_ai.evaluation.score.value")


def returns(names: str) -> st.SearchStrategy[Any]:
    """Anything that a scorer may return, with scores of these names."""
    some = st.text(names, max_size=1)
    number = st.none() | st.booleans() | st.floats() | st.text(max_size=2)
    values = st.one_of(
        number,
        st.integers(),
        st.builds(DeferredScore, some),
        st.builds(Score, some, number),
        st.just(ValueError("boom")),
        st.builds(object),
    )
    return values | st.lists(values, max_size=3) | st.dictionaries(some, values, max_size=3)


def returning(name: str, value: Any, *, wait: bool) -> Any:
    """A scorer that returns the value, or raises it."""

    def said(_: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    async def later(_: Any) -> Any:
        return said(_)

    return Scorer.code(later if wait else said, name=name, version="1", threshold=0.5)


@settings(max_examples=25)
@given(returns("ab"), returns("bc"), returns("de"), st.booleans())
def test_whatever_scorers_return(first: Any, second: Any, third: Any, wait: bool):
    scorers = [
        returning("s1", first, wait=False),
        returning("s2", second, wait=False),
        returning("s3", third, wait=wait),
    ]
    with Scored(*scorers, errors=None) as app:
        app.run("check_site")
        app.flush()
        live = app.outcomes()
        run = app.told[0][0]

    assert states(live) == states(score(run, scorers))
    assert [str(each) for each in in_order(live)] == [str(each) for each in in_order(score(run, scorers))]
