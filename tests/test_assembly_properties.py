"""Assembly and the short ways beside it, for runs that are known before their spans are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from live_assembly import Live
from span_builders import Spans, id_of, names
from true_runs import SHAPES, TOOLS, Event, Script, TrueRun, differences, scripts, tell, timed

from otel_chloe.assembly import assemble, plain_calls, plain_run
from otel_chloe.assembly.forest import Forest
from otel_chloe.conventions import read
from otel_chloe.expected import COUNTS, ExpectedCalls
from otel_chloe.mark import Mark
from otel_chloe.part import Part
from otel_chloe.recording.span import RecordedSpan
from otel_chloe.run import Run
from otel_chloe.scorers import calls

SHAPE = st.sampled_from(SHAPES)
CALLED = (*TOOLS, "ask_helper", "wipe_disk", "mcp__sites__read_logs")
RULES = st.builds(
    ExpectedCalls, *[st.lists(st.sampled_from(CALLED), max_size=2, unique=True)] * 3, count=st.sampled_from(COUNTS)
)


def parts_of(spans: Sequence[RecordedSpan]) -> list[Part]:
    return [part for span in spans if (part := read(span)) is not None]


def bare(runs: Sequence[Run]) -> list[Run]:
    """Runs without what tells from which object they were made."""
    return [replace(run, resource=None, sub_runs=tuple(bare(run.sub_runs))) for run in runs]


def seen(events: Sequence[Event]) -> Live:
    """A process in which spans started and ended, and that was not asked yet to close what is over."""
    live = Live()
    for what, span in events:
        (live.start if what == "start" else live.end)(span)
    return live


def one_run(script: Script, shape: Any = "alone") -> TrueRun:
    return tell(Spans(), "a", script, shape)


# --- the same spans, the same runs -----------------------------------------------------------------------------------


@given(script=scripts(), shape=SHAPE)
def test_whole_runs_are_told_as_they_were(script: Script, shape: Any) -> None:
    true = one_run(script, shape)
    (run,) = assemble(parts_of(timed(true.events)))

    assert differences(true, run) == []
    assert (run.complete, run.span_id, run.mark_span_id) == (True, id_of(true.root), id_of(true.last))


@given(agents=st.lists(st.tuples(scripts(1), SHAPE), min_size=1, max_size=3), data=st.data())
def test_spans_in_any_order_and_seen_twice_give_the_same_runs(agents: Any, data: st.DataObject) -> None:
    spans = Spans()
    request = spans.http()
    events = [
        event
        for n, (script, shape) in enumerate(agents)
        for event in tell(spans, f"{n}", script, shape, request).events
    ]
    told = timed([("start", request), *events, ("end", request)])
    again = data.draw(st.lists(st.sampled_from(told), max_size=5))
    mixed = data.draw(st.permutations([*told, *again]))

    assert bare(assemble(parts_of(mixed))) == bare(assemble(parts_of(told)))


def score(run: Run, rules: ExpectedCalls) -> float | None:
    """The score of ``calls``; None where it is Unscored."""
    told = calls(run, rules)
    return told.score if isinstance(told, Mark) else None


@given(script=scripts(), shape=SHAPE, rules=RULES, data=st.data())
def test_calls_on_a_run_that_is_cut_off_never_contradicts_the_whole(
    script: Script, shape: Any, rules: ExpectedCalls, data: st.DataObject
) -> None:
    """Shut down anywhere, a run scores as the whole one does, or not at all."""
    true = one_run(script, shape)
    live = seen(true.events[: data.draw(st.integers(0, len(true.events)))])
    live.close_all()
    (whole,) = assemble(parts_of(timed(true.events)))
    for run in live.runs:
        assert run.span_id == whole.span_id
        assert score(run, rules) in (None, score(whole, rules))


@given(script=scripts(), rules=RULES, keep=st.lists(st.booleans(), min_size=1))
def test_calls_on_some_of_a_runs_spans_never_contradicts_the_whole(
    script: Script, rules: ExpectedCalls, keep: list[bool]
) -> None:
    told = timed(one_run(script).events)
    (whole,) = assemble(parts_of(told))
    for run in assemble(parts_of(some_of(told, keep))):
        assert score(replace(run, complete=False), rules) in (None, score(whole, rules))


def some_of(spans: Sequence[RecordedSpan], keep: list[bool]) -> list[RecordedSpan]:
    return [span for number, span in enumerate(spans) if keep[number % len(keep)]]


@given(script=scripts(), keep=st.lists(st.booleans(), min_size=1))
def test_some_of_a_runs_spans_never_show_a_call_that_was_not_made(script: Script, keep: list[bool]) -> None:
    """Spans that a sampler dropped take their calls with them, and add none."""
    true = one_run(script)
    some = some_of(timed(true.events), keep)
    made = [call.id for call in true.calls]
    told = [call.call_id for run in assemble(parts_of(some)) for call in run.tool_calls if call.call_id]

    assert len(told) == len(set(told))
    assert set(told) <= set(made)


# --- the short ways --------------------------------------------------------------------------------------------------


@given(script=scripts(), shape=SHAPE)
def test_what_is_held_of_spans_tells_what_the_spans_tell(script: Script, shape: Any) -> None:
    """Shortened histories are made whole, for agents one in another and in parallel."""
    true = one_run(script, shape)
    live = seen(true.events)
    live.close_all()
    (run,) = live.runs

    assert differences(true, run) == []
    assert bare([run]) == bare(assemble(parts_of([span for what, span in true.events if what == "end"])))


@given(script=scripts(1))
def test_where_the_quick_way_answers_it_names_the_calls_of_the_whole_way(script: Script) -> None:
    true = one_run(script)
    live = seen(true.events)
    (tree,) = live.assembler.trees.values()
    below = tree.parts[:-1]
    quick = plain_calls(below, true.root.context.span_id, true.root.instrumentation_scope.name)
    (run,) = assemble(parts_of([span for what, span in true.events if what == "end"]))

    assert quick is None or quick == [call.raw_name for call in run.tool_calls]


@given(script=scripts(1))
def test_where_the_short_way_builds_a_run_it_is_that_of_the_whole_way(script: Script) -> None:
    true = one_run(script)
    told = timed(true.events)
    short = plain_run(parts_of(told))

    assert short is None or bare([short]) == bare(assemble(parts_of(told)))


SHAPED = {
    "openai": {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "wipe_disk", "arguments": "{}"}}]},
    "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "wipe_disk", "input": {}}]},
    "function_call": {"role": "assistant", "parts": [{"function_call": {"id": "1", "name": "wipe_disk", "args": {}}}]},
    "spaced": '[{"role": "assistant", "parts": [{"type" : "tool_call", "id": "1", "name": "wipe_disk"}]}]',
}


@given(shape=st.sampled_from(sorted(SHAPED)), content=st.booleans())
def test_the_short_ways_know_every_shape_of_a_request(shape: str, content: bool) -> None:
    """A call that left no span is not missed because its request is written in another shape."""
    spans = Spans()
    agent = spans.agent("ops", asked="go", told="done") if content else spans.agent("ops")
    asks = SHAPED[shape] if shape == "spaced" else json.dumps([SHAPED[shape]])
    said = {"gen_ai.input.messages": '[{"role": "user", "content": "go"}]', "gen_ai.output.messages": asks}
    first = spans.operation("chat", "m", said, under=agent)
    answer = {"role": "tool", "tool_call_id": "1", "content": "no such tool"}
    last = spans.model("done", asked=[{"role": "user", "content": "go"}, answer], under=agent)
    events: list[Event] = [
        ("start", agent),
        ("start", first),
        ("end", first),
        ("start", last),
        ("end", last),
        ("end", agent),
    ]
    live = seen(events)
    (tree,) = live.assembler.trees.values()
    whole = assemble(parts_of(timed(events)))[0]
    assert names(whole) == ["wipe_disk"]

    assert plain_calls(tree.parts[:2], agent.context.span_id, "agents.test") in (None, ["wipe_disk"])
    live.close_all()
    assert names(live.runs[0]) == ["wipe_disk"]


# --- shapes that no agent should make --------------------------------------------------------------------------------


def test_ten_thousand_levels_of_nesting_are_one_run() -> None:
    spans = Spans()
    above = spans.agent("ops")
    for _ in range(10_000):
        above = spans.plain(under=above)
    spans.tool("check_site", under=above)

    assert names(spans.run()) == ["check_site"]


def test_agents_nested_three_hundred_deep_are_one_run() -> None:
    spans = Spans()
    above = spans.agent("ops")
    for depth in range(300):
        above = spans.agent(f"helper_{depth}", under=spans.tool(f"ask_{depth}", under=above))
    run = spans.run()

    assert (len(run.tool_calls), len(run.sub_runs)) == (300, 300)


@given(
    parents=st.lists(st.integers(0, 7), min_size=8, max_size=8),
    kinds=st.lists(st.sampled_from("atmcw"), min_size=8, max_size=8),
)
def test_any_parents_rings_included_give_each_call_once(parents: list[int], kinds: list[str]) -> None:
    spans = Spans()
    make = {"a": spans.agent, "t": spans.tool, "m": spans.model, "c": spans.chain, "w": spans.workflow}
    for number, kind in enumerate(kinds):
        make[kind](f"{kind}{number}")
    for span, above in zip(spans.all, parents, strict=True):
        span.parent = spans.all[above].context
    told = [call.span_id for run in spans.runs() for call in run.tool_calls]

    assert len(told) == len(set(told))
    assert Forest(spans.parts()).parts


@given(
    value=st.sampled_from([5, 1.5, True, b"{}", ("a", "b"), "", "{", "null"]),
    key=st.sampled_from(["arguments", "result"]),
)
def test_values_that_are_no_text_are_survived(value: Any, key: str) -> None:
    spans = Spans()
    agent, tool = spans.agent("ops"), None
    tool = spans.tool("check_site", under=agent)
    tool.attributes[f"gen_ai.tool.call.{key}"] = value
    live = seen([("start", agent), ("start", tool), ("end", tool), ("end", agent)])
    live.close_all()

    assert [names(run) for run in live.runs] == [["check_site"]]
