"""Broken and hostile telemetry, kind by kind, with examples as they are met."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
from span_builders import OTHER_SCOPE, Spans, assistant, names, response, user

from otel_chloe import calls, gaps
from otel_chloe.assembly import assemble
from otel_chloe.conventions import read
from otel_chloe.conventions.messages import last_user_text, messages
from otel_chloe.conventions.salvage import salvaged
from otel_chloe.conventions.values import arguments, literal, parsed, too_deep
from otel_chloe.expected import ExpectedCalls
from otel_chloe.part import UNSEEN
from otel_chloe.run import Run

ASKS = json.dumps([assistant(None, [("check_site", "c1"), ("restart_site", "c2")])])


def model_says(told: str, asked: str | None = None) -> Spans:
    spans = Spans()
    ops = spans.agent("ops", asked="Fix it.", told="Done.")
    spans.operation("chat", "m", {"gen_ai.output.messages": told, "gen_ai.input.messages": asked}, under=ops)
    return spans


def gap_codes(run: Run) -> set[str]:
    return {gap.code for gap in run.gaps}


# --- cut -------------------------------------------------------------------------------------------------------------


def test_calls_that_were_asked_for_before_the_cut_are_seen():
    spans = model_says(ASKS[: ASKS.index("restart_site") - 3])
    later = json.dumps([user("Fix it."), *json.loads(ASKS), response("c1"), response("c2")])
    spans.operation("chat", "m", {"gen_ai.input.messages": later}, under=spans.all[0])

    run = spans.run()

    assert names(run) == ["check_site"]
    assert run.tool_calls[0].arguments == {"of": "c1"}
    assert gaps.TRUNCATED in gap_codes(run)
    assert gaps.NO_TOOL_DATA in gap_codes(run)
    told = calls(run, {"mustNotCall": ["restart_site"]})
    assert told.state == "unscored", "there may be a call behind the cut"


def test_arguments_that_were_cut_are_not_known():
    """A part of them would be taken for the whole, and two calls for the same."""
    cut = ASKS[: ASKS.index('"c2"}') + 3]
    (told, end) = messages(cut) or ()

    assert [request.name for request in told.requests] == ["check_site", "restart_site"]
    assert [request.arguments for request in told.requests] == [{"of": "c1"}, None]
    assert end.role == UNSEEN
    assert arguments('{"site": "shop.example", "reason": "it is do') is None


@pytest.mark.parametrize(
    ("scope", "way", "told", "output"),
    [
        ("openinference.instrumentation.dspy", "finish", "Completed.", None),
        ("openinference.instrumentation.smolagents", "final_answer", "It is up again.", "It is up again."),
    ],
)
def test_without_its_answer_a_run_ends_with_what_its_way_to_finish_was_given(
    scope: str, way: str, told: str, output: str | None
):
    """Only where that is the answer: DSPy's says "Completed." at the end of every run."""
    spans = Spans()
    cut = {"openinference.span.kind": "AGENT", "output.value": '{"trajectory": {"thought_0": "I sh'}
    agent = spans.add("ReAct", cut, scope=scope)
    spans.tool(way, "c1", result=told, under=agent, scope=scope)

    assert (spans.run().output, names(spans.run())) == (output, [])


def test_a_conversation_that_was_cut_has_no_last_message():
    talk = json.dumps([user("Hello"), assistant("Hi"), user("Fix the site, which is very slow")])
    cut = messages(talk[:-20])

    assert [message.text for message in cut or ()][:2] == ["Hello", "Hi"]
    assert last_user_text(cut) is None


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        ('[{"a": 1, "b": [1, 2', [{"a": 1, "b": [1]}]),
        ('{"a": "x", "b": "y', {"a": "x"}),
        ('{"a": tru', {}),
        ('["\\ud83d', []),
        ('[1, [2], {"a": {', [1, [2], {"a": {}}]),
        ("sentence", None),
        ('"text', None),
    ],
)
def test_what_is_whole_before_a_cut_is_salvaged(cut: str, whole: Any):
    assert salvaged(cut) == whole


# --- written another way ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", [json.dumps, repr, lambda value: json.dumps(json.dumps(value))])
def test_a_structure_is_read_however_it_was_written(written: Callable[[Any], str]):
    given = {"messages": [{"role": "user", "content": "Fix it."}]}
    spans = Spans()
    spans.add("agent", {"openinference.span.kind": "AGENT", "input.value": written(given)})
    spans.add(
        "check_site", {"openinference.span.kind": "TOOL", "input.value": written({"site": "a"})}, under=spans.all[0]
    )

    run = spans.run()

    assert run.prompt == "Fix it."
    assert run.tool_calls[0].arguments == {"site": "a"}


@pytest.mark.parametrize("mark", ["[REDACTED]", "***", "<redacted>", "__REDACTED__", "[Scrubbed due to 'password']"])
def test_a_redaction_mark_is_no_content(mark: str):
    spans = Spans()
    ops = spans.agent("ops", asked=mark, told=mark)
    spans.tool("check_site", "c1", result=mark, under=ops)

    run = spans.run()

    assert (run.prompt, run.output, run.tool_calls[0].result) == (None, None, None)
    assert {gaps.REDACTED, gaps.NO_PROMPT, gaps.NO_OUTPUT} <= gap_codes(run)


def test_two_calls_with_redacted_arguments_may_have_had_others():
    rules = ExpectedCalls(at_most_once=["check_site"], per="arguments")
    spans = Spans()
    ops = spans.agent("ops")
    for call_id in ("c1", "c2"):
        given = {"gen_ai.tool.name": "check_site", "gen_ai.tool.call.arguments": '{"site": "***"}'}
        spans.operation("execute_tool", "check_site", {**given, "gen_ai.tool.call.id": call_id}, under=ops)

    assert type(calls(spans.run(), rules)).__name__ == "Unscored"


@pytest.mark.parametrize("odd", [5, True, 0.5, ["x"], b"x", {"x": 1}, None])
def test_a_value_of_another_type_is_no_name_and_no_message(odd: Any):
    spans = Spans()
    ops = spans.agent("ops", asked="Fix it.", told="Done.")
    said = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
    said["llm.output_messages.0.message.tool_calls.0.tool_call.function.name"] = odd
    spans.add("model", {**said, "gen_ai.input.messages": odd, "llm.input_messages.²": "x"}, under=ops)

    run = spans.run()

    assert (run.prompt, run.output, names(run)) == ("Fix it.", "Done.", [])


@pytest.mark.parametrize("scope", ["openinference.instrumentation.autogen_agentchat", OTHER_SCOPE])
def test_a_tool_that_autogen_did_not_find_failed_whatever_became_of_the_message_that_says_so(scope: str):
    """The span's own status is OK. Another framework's tool may have any result."""
    spans = Spans()
    ops = spans.agent("ops", asked="Fix it.", told="Done.")
    said = {"openinference.span.kind": "TOOL", "tool.name": "wipe", "input.value": '{"site": "a"}'}
    for about in ("wipe", "other"):
        told = f"Error: tool '{about}' not found in any workbench"
        spans.add("ops.wipe", {**said, "output.value": told}, under=ops, scope=scope)

    assert [call.ok for call in spans.run().tool_calls] == [scope == OTHER_SCOPE, True]


def test_a_tool_that_lost_its_name_is_not_called_as_llamaindex_calls_its_class():
    """The message that asked for it still tells of the call, by its name: so it is not told twice."""
    asks = assistant(None, [("check_site", "c1")])
    spans = model_says(json.dumps([asks]))
    lost = {"openinference.span.kind": "TOOL", "output.value": "up"}
    spans.add("FunctionTool.acall", lost, under=spans.all[0], scope="openinference.instrumentation.llama_index")
    spans.model("Done.", asked=[user("Fix it."), asks, response("c1")], under=spans.all[0])

    assert names(spans.run()) == ["check_site"]


# --- large and deep --------------------------------------------------------------------------------------------------

DEEP = ("[" * 10_000, "[" * 10_000 + "]" * 10_000, '{"a":' * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000)


@pytest.mark.parametrize("deep", [*DEEP, *(f'[{{"role": "user", "parts": {text}}}]' for text in DEEP)])
def test_ten_thousand_levels_of_a_value_raise_nothing(deep: str):
    spans = model_says(deep, deep)
    given = {"gen_ai.tool.name": "check_site", "gen_ai.tool.call.arguments": deep, "gen_ai.tool.call.result": deep}
    spans.operation("execute_tool", "check_site", given, under=spans.all[0])

    run = spans.run()

    assert names(run) == ["check_site"]
    assert not too_deep(run.tool_calls[0].arguments)


def work(parts: list[Any]) -> int:
    """How many calls of functions it takes to assemble some parts."""
    count = 0

    def called(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(called)
    try:
        assemble(parts)
    finally:
        sys.setprofile(None)
    return count


# Agents are left out: each has a sub-run of its own, with all that is below it. There the levels are limited.
SHAPES: dict[str, Callable[[Spans, Any, int], Any]] = {
    "plain": lambda spans, above, _: spans.plain(under=above),
    "tools": lambda spans, above, number: spans.tool(f"t{number % 7}", f"c{number}", under=above),
    "models": lambda spans, above, _: spans.model("x", under=above),
    "chains": lambda spans, above, _: spans.chain(under=above),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_grows_with_the_depth_of_spans_and_not_with_its_square(shape: str):
    taken = []
    for depth in (200, 400):
        spans = Spans()
        above = spans.agent("ops", asked="Fix it.", told="Done.")
        for number in range(depth):
            above = SHAPES[shape](spans, above, number)
        spans.tool("last", "z", under=above)
        taken.append(work(spans.parts()))

    assert taken[1] < 2.3 * taken[0]


def test_ten_thousand_levels_of_spans_are_one_run():
    spans = Spans()
    above = spans.agent("ops", asked="Fix it.", told="Done.")
    for number in range(10_000):
        above = spans.plain(under=above) if number % 2 else spans.tool(f"t{number}", f"c{number}", under=above)

    run = spans.run()

    assert len(run.tool_calls) == 5_000
    assert {call.agent for call in run.tool_calls} == {"ops"}


def test_a_value_of_ten_megabytes_is_read_or_left():
    large = json.dumps([user("x" * (10 << 20))])

    assert parsed(large) is large
    assert literal(repr([{"a": "x" * (2 << 20)}])).startswith("[{")
    assert names(model_says(large).run()) == []


# --- pieces of runs --------------------------------------------------------------------------------------------------


def test_a_call_below_a_span_that_was_lost_is_not_told_twice():
    spans = Spans()
    ops = spans.agent("ops", asked="Fix it.", told="Done.")
    spans.model(None, [("check_site", "c1")], under=ops)
    lost = spans.chain("tools", under=4711)
    spans.tool("check_site", "c1", under=lost)
    spans.model("Done.", asked=[user("Fix it."), assistant(None, [("check_site", "c1")]), response("c1")], under=ops)

    run = spans.run()

    assert [(call.name, call.source, call.ok) for call in run.tool_calls] == [("check_site", "span", True)]


@pytest.mark.parametrize("seed", range(5))
def test_batches_in_any_order_and_twice_give_the_same_run(seed: int):
    spans = model_says(ASKS)
    spans.tool("check_site", "c1", under=spans.all[0])
    spans.tool("check_site", "c1", under=spans.all[0], scope=OTHER_SCOPE)
    expected = spans.run()
    parts = [part for span in [*spans.all, *spans.all] if (part := read(span)) is not None]
    random.Random(seed).shuffle(parts)

    assert assemble(parts) == [expected]
