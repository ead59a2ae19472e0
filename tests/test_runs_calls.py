"""What is a call: one call is one call, however many spans and messages tell of it, and what is none."""

from __future__ import annotations

import pytest
from span_builders import OTHER_SCOPE, Spans, assistant, names, response, user

from otel_chloe import gaps
from otel_chloe.recording.span import SERVER, RecordedSpan


@pytest.fixture
def spans() -> Spans:
    return Spans()


def asked_and_answered(spans: Spans, agent: RecordedSpan, *calls: tuple[str, str | None]) -> None:
    """Two model calls: one that asks for the calls, one that was told what came of them."""
    spans.model(None, calls, under=agent)
    history = [user("go"), assistant(None, calls), *(response(call_id) for _, call_id in calls)]
    spans.model("done", asked=history, under=agent)


# --- one call is one call --------------------------------------------------------------------------------------------


def test_nested_tool_spans_of_one_name_with_no_agent_between_are_one_call(spans: Spans) -> None:
    outer = spans.tool("check_site", under=spans.agent())
    spans.tool("check_site", under=spans.plain("attempt", under=outer), scope=OTHER_SCOPE)

    assert names(spans.run()) == ["check_site"]


def test_a_tool_over_an_agent_over_another_tool_is_two_calls(spans: Spans) -> None:
    ask = spans.tool("ask_restarter", under=spans.agent("supervisor"))
    spans.tool("restart_site", under=spans.agent("restarter", under=ask))

    assert names(spans.run()) == ["ask_restarter", "restart_site"]


def test_the_same_tool_above_and_below_an_agent_is_two_calls(spans: Spans) -> None:
    outer = spans.tool("delegate_work", under=spans.agent("boss"))
    spans.tool("delegate_work", under=spans.agent("worker", under=outer))

    assert names(spans.run()) == ["delegate_work", "delegate_work"]


def test_mcp_client_and_server_spans_in_any_trace_are_one_call(spans: Spans) -> None:
    agent = spans.agent()
    tool = spans.tool("mcp__sites__check_site", under=agent, end=10**9)
    client = spans.mcp("check_site", under=tool)
    spans.mcp("check_site", trace_id=2, kind=SERVER, start=client.start_time + 1, end=client.start_time + 2)
    (call,) = spans.run().tool_calls

    assert (call.name, call.raw_name) == ("check_site", "mcp__sites__check_site")


def test_spans_of_two_instrumentations_beside_each_other_are_one_call(spans: Spans) -> None:
    agent = spans.agent()
    first = spans.tool("check_site", "1", under=agent, end=10**9)
    spans.tool("check_site", "1", under=agent, scope=OTHER_SCOPE, start=first.start_time + 1, end=10**9 - 1)

    assert names(spans.run()) == ["check_site"]


def test_a_span_and_the_message_that_requested_it_are_one_call(spans: Spans) -> None:
    agent = spans.agent()
    spans.model(None, [("check_site", "1")], under=agent)
    spans.tool("check_site", "1", under=agent)

    assert [(call.name, call.source) for call in spans.run().tool_calls] == [("check_site", "span")]


def test_without_ids_requests_are_joined_by_name_arguments_and_order(spans: Spans) -> None:
    agent = spans.agent()
    spans.tool("check_site", under=agent)
    spans.tool("check_site", under=agent)
    asked_and_answered(spans, agent, ("check_site", None), ("check_site", None))

    assert [call.source for call in spans.run().tool_calls] == ["span", "span"]


def test_a_tool_that_is_called_again_is_two_calls(spans: Spans) -> None:
    agent = spans.agent()
    for call_id in ("1", "2"):
        spans.model(None, [("restart_site", call_id)], under=agent)
        spans.tool("restart_site", call_id, under=agent)

    assert names(spans.run()) == ["restart_site", "restart_site"]


def test_parallel_calls_of_one_tool_with_the_same_arguments_are_two_calls(spans: Spans) -> None:
    agent = spans.agent()
    spans.tool("restart_site", under=agent, start=10**7, end=10**8)
    spans.tool("restart_site", under=agent, start=10**7, end=10**8)

    assert names(spans.run()) == ["restart_site", "restart_site"]


def test_a_span_seen_twice_is_one_call(spans: Spans) -> None:
    spans.tool("check_site", "1", under=spans.agent())
    spans.all = [*spans.all, *spans.all]

    assert names(spans.run()) == ["check_site"]


# --- requested and reached -------------------------------------------------------------------------------------------


def test_failed_calls_count_with_what_went_wrong(spans: Spans) -> None:
    spans.tool("check_site", "1", under=spans.agent(), error="permission denied", result=None)
    (call,) = spans.run().tool_calls

    assert (call.name, call.ok, call.error, call.ran) == ("check_site", False, "permission denied", None)


def test_a_call_whose_arguments_were_refused_counts_and_did_not_run(spans: Spans) -> None:
    tool = spans.tool("restart_site", "1", under=spans.agent(), error="missing: site")
    tool.attributes["pydantic_ai.tool.failure_stage"] = "validation"
    (call,) = spans.run().tool_calls

    assert (call.ok, call.ran) == (False, False)


def test_a_call_of_an_unknown_tool_counts_with_a_gap_though_it_left_no_span(spans: Spans) -> None:
    asked_and_answered(spans, spans.agent(), ("wipe_disk", "1"))
    run = spans.run()

    assert [(call.name, call.source, call.ok) for call in run.tool_calls] == [("wipe_disk", "message", None)]
    assert gaps.CALL_ONLY_IN_MESSAGE in {gap.code for gap in run.gaps}


def test_a_call_that_still_waits_for_approval_does_not_count(spans: Spans) -> None:
    """It left no tool span and no response."""
    spans.model(None, [("delete_site", "1")], under=spans.agent())

    assert names(spans.run()) == []


def test_a_call_knows_its_arguments_result_and_that_it_ran(spans: Spans) -> None:
    spans.tool("check_site", "1", result='{"up": false}', under=spans.agent())
    (call,) = spans.run().tool_calls

    assert (call.arguments, call.result, call.ok, call.ran) == ({"of": "1"}, {"up": False}, True, True)


def test_a_call_that_a_late_ending_model_span_asked_for_counts(spans: Spans) -> None:
    """An abandoned stream ends when it is collected: after the next model call began."""
    agent = spans.agent()
    asked_and_answered(spans, agent, ("wipe_disk", "1"))
    spans.all[1].end_time = 10**9

    assert names(spans.run()) == ["wipe_disk"]


def test_calls_are_sorted_by_their_start(spans: Spans) -> None:
    agent = spans.agent()
    for name, start in (("second", 200), ("third", 300), ("first", 100)):
        spans.tool(name, under=agent, start=10**7 + start)

    assert names(spans.run()) == ["first", "second", "third"]


# --- names, and what is no call --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span_name", "attributes", "scope", "raw_name", "name"),
    [
        ("t", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "mcp__s__x"}, "a", "mcp__s__x", "x"),
        ("t", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "s-x"}, "semantic_kernel.x", "s-x", "x"),
        ("t", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "s-x"}, "a", "s-x", "s-x"),
        ("x.tool", {"traceloop.span.kind": "tool"}, "a", "x", "x"),
        ("x.acall", {"openinference.span.kind": "TOOL"}, "openinference.instrumentation.dspy", "x", "x"),
        (
            "t",
            {"openinference.span.kind": "TOOL", "tool.name": "Check Site", "tool.description": "Tool Name: check_site"},
            "openinference.instrumentation.crewai",
            "check_site",
            "check_site",
        ),
    ],
)
def test_two_names_as_the_model_wrote_it_and_without_what_a_layer_adds(
    spans: Spans, span_name, attributes, scope, raw_name, name
) -> None:
    spans.add(span_name, attributes, scope=scope, under=spans.agent())
    (call,) = spans.run().tool_calls

    assert (call.raw_name, call.name) == (raw_name, name)


PSEUDO = [
    ("(merged tools)", "gcp.vertex.agent"),
    ("finish", "openinference.instrumentation.dspy"),
    ("final_answer", "openinference.instrumentation.smolagents"),
]


@pytest.mark.parametrize(("name", "scope"), PSEUDO)
def test_pseudo_tools_are_not_calls(spans: Spans, name: str, scope: str) -> None:
    spans.tool(name, under=spans.agent(), scope=scope)

    assert names(spans.run()) == []


@pytest.mark.parametrize(("name", "scope"), PSEUDO[1:])
def test_pseudo_tools_are_not_calls_even_where_the_model_calls_them(spans: Spans, name: str, scope: str) -> None:
    agent = spans.agent()
    spans.tool(name, "1", under=agent, scope=scope)
    asked_and_answered(spans, agent, (name, "1"))

    assert names(spans.run()) == []


@pytest.mark.parametrize(("name", "scope"), PSEUDO)
def test_a_users_tool_of_that_name_elsewhere_counts(spans: Spans, name: str, scope: str) -> None:
    del scope
    spans.tool(name, under=spans.agent())

    assert names(spans.run()) == [name]


def test_a_handoff_span_without_a_tool_name_is_no_call(spans: Spans) -> None:
    agent = spans.agent("supervisor")
    spans.handoff("restarter", under=agent)
    spans.add("handoff to restarter", {"openinference.span.kind": "TOOL"}, under=agent)

    assert names(spans.run()) == []


def test_a_transfer_tool_that_the_model_called_is_a_call(spans: Spans) -> None:
    spans.tool("transfer_to_restarter", "1", under=spans.agent("supervisor"))

    assert names(spans.run()) == ["transfer_to_restarter"]
