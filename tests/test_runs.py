"""What is a run: where one begins and ends, who it is of, what it was asked and what it answered."""

from __future__ import annotations

import pytest
from span_builders import OTHER_SCOPE, Spans, assistant, id_of, names, response, user

from otel_chloe import gaps
from otel_chloe.run import Run


@pytest.fixture
def spans() -> Spans:
    return Spans()


def codes(run: Run) -> set[str]:
    return {gap.code for gap in run.gaps}


# --- where runs begin and end ----------------------------------------------------------------------------------------


def test_the_outermost_agent_span_starts_a_run(spans: Spans) -> None:
    flow = spans.chain(under=spans.workflow(under=spans.http()))
    agent = spans.agent("ops", under=flow)
    spans.tool("check_site", under=agent)
    run = spans.run()

    assert (run.agent, run.span_id, run.mark_span_id) == ("ops", id_of(agent), id_of(agent))
    assert (run.trace_id, run.parent_span_id) == (f"{1:032x}", id_of(flow))


def test_agents_at_the_same_time_under_one_request_are_a_run_each(spans: Spans) -> None:
    request = spans.http()
    for name in ("a", "b", "c"):
        spans.tool(f"tool_{name}", under=spans.agent(name, under=request, start=5, end=10**9))

    assert [(run.agent, *names(run)) for run in spans.runs()] == [("a", "tool_a"), ("b", "tool_b"), ("c", "tool_c")]


def test_three_chains_under_one_http_span_are_three_runs(spans: Spans) -> None:
    request = spans.http()
    for name in ("a", "b", "c"):
        chain = spans.chain(name, under=request)
        spans.model("text", under=chain)
        spans.tool(f"tool_{name}", under=chain)

    assert [names(run) for run in spans.runs()] == [["tool_a"], ["tool_b"], ["tool_c"]]


def test_without_agent_and_frame_the_local_root_is_the_run(spans: Spans) -> None:
    """A loop written by hand, under a request to the same service."""
    loop = spans.plain("handle", under=spans.http())
    spans.model(None, [("check_site", "1")], under=loop)
    spans.tool("check_site", "1", under=loop)
    run = spans.run()

    assert (run.span_id, names(run)) == (id_of(loop), ["check_site"])


def test_spans_that_name_the_same_missing_parent_are_one_run(spans: Spans) -> None:
    """Its root never ended, so what it did may not all be there."""
    spans.model(None, [("check_site", "1")], under=0xDEAD)
    spans.tool("check_site", "1", under=0xDEAD)
    spans.model("done", under=0xDEAD)
    run = spans.run()

    assert (run.span_id, names(run), run.complete) == (f"{0xDEAD:016x}", ["check_site"], False)
    assert gaps.ROOT_MISSING in codes(run)


def test_agents_below_a_missing_root_belong_to_its_run(spans: Spans) -> None:
    spans.model(None, [("ask_helper", "1")], under=0xDEAD)
    helper = spans.agent("helper", under=spans.tool("ask_helper", "1", under=0xDEAD))
    spans.tool("restart_site", "2", under=helper)
    run = spans.run()

    assert names(run) == ["ask_helper", "restart_site"]
    assert [sub.agent for sub in run.sub_runs] == ["helper"]


def test_a_trace_of_tool_spans_alone_opens_no_run(spans: Spans) -> None:
    spans.tool("check_site", "1")
    spans.tool("check_site", "2", under=spans.http())

    assert spans.runs() == []


def test_tools_in_another_trace_join_the_run_whose_message_asked_for_them(spans: Spans) -> None:
    agent = spans.agent("ops")
    spans.model(None, [("check_site", "1")], under=agent)
    spans.tool("check_site", "1", trace_id=2)
    spans.model("done", under=agent)
    (call,) = spans.run().tool_calls

    assert (call.name, call.source, call.result) == ("check_site", "span", "done")


def test_model_calls_with_nothing_above_that_nothing_links_are_a_run_each(spans: Spans) -> None:
    first = spans.model("one", asked="first")
    second = spans.model("two", asked="second", trace_id=2)
    runs = spans.runs()

    assert [(run.span_id, run.prompt, run.output) for run in runs] == [
        (id_of(first), "first", "one"),
        (id_of(second), "second", "two"),
    ]
    assert all(run.complete and not run.gaps for run in runs)


def test_a_model_call_with_nothing_above_that_tells_no_messages_is_a_run_with_a_gap(spans: Spans) -> None:
    spans.model(None)

    (run,) = spans.runs()

    assert gaps.BARE_MODEL_CALL in codes(run)


@pytest.mark.parametrize(
    "told", [{"response_id": "resp_1", "text": "one text"}, {"asks": [("check_site", "1")]}, {"text": "same text"}]
)
def test_a_model_call_that_doubles_one_of_a_run_belongs_to_that_run(spans: Spans, told) -> None:
    """In whatever trace: by response id, else by the ids of its tool calls or the text of its answer."""
    agent = spans.agent("ops")
    model = spans.model(**told, under=agent, end=3 * 10**6 + 50)
    spans.model(**told, trace_id=2, scope=OTHER_SCOPE, start=model.start_time + 1, end=model.start_time + 2)

    assert spans.run().agent == "ops"


def test_a_failed_model_call_is_doubled_by_one_with_the_same_input(spans: Spans) -> None:
    model = spans.model(asked="hello", under=spans.agent("ops"), error="400", end=10**9)
    spans.model(asked="hello", error="400", trace_id=2, scope=OTHER_SCOPE, start=model.start_time + 1, end=10**9 - 1)

    assert [run.agent for run in spans.runs()] == ["ops"]


def test_create_agent_opens_no_run(spans: Spans) -> None:
    spans.operation("create_agent", "ops", {"gen_ai.agent.name": "ops"})

    assert spans.runs() == []


def test_an_agent_span_without_a_name_above_a_named_one_is_a_workflow(spans: Spans) -> None:
    outer = spans.operation("invoke_agent", "", scope="opentelemetry.instrumentation.openai_agents")
    inner = spans.agent("ops", under=outer)
    run = spans.run()

    assert (run.agent, run.span_id) == ("ops", id_of(inner))


@pytest.mark.parametrize("node", ["agent", "before_agent", "after_agent"])
def test_graph_nodes_that_are_called_agent_are_steps(spans: Spans, node: str) -> None:
    scope = "openinference.instrumentation.langchain"
    graph = spans.chain("LangGraph", scope=scope)
    step = spans.add(node, {"openinference.span.kind": "AGENT"}, under=graph, scope=scope)
    spans.tool("check_site", under=step)

    assert spans.run().span_id == id_of(graph)


def test_an_agent_span_that_starts_after_that_root_ended_opens_its_own_run(spans: Spans) -> None:
    """A leaked context: the span names a parent that was over before it began."""
    first = spans.agent("ops", end=2 * 10**6)
    second = spans.agent("night_shift", under=first, start=3 * 10**6)
    spans.tool("restart_site", under=second)

    assert [(run.agent, names(run)) for run in spans.runs()] == [("ops", []), ("night_shift", ["restart_site"])]


# --- agents within a run, and one after the other --------------------------------------------------------------------


def test_calls_of_nested_agents_count_for_the_outermost_and_know_their_agent(spans: Spans) -> None:
    ask = spans.tool("ask_restarter", under=spans.agent("supervisor"))
    spans.tool("restart_site", under=spans.agent("restarter", asked="please", told="it is up", under=ask))
    run = spans.run()
    (sub,) = run.sub_runs

    assert [(call.name, call.agent) for call in run.tool_calls] == [
        ("ask_restarter", "supervisor"),
        ("restart_site", "restarter"),
    ]
    assert (sub.agent, sub.prompt, sub.output, names(sub)) == ("restarter", "please", "it is up", ["restart_site"])


def test_a_call_that_only_messages_tell_of_knows_its_sub_agent(spans: Spans) -> None:
    ask = spans.tool("ask_restarter", under=spans.agent("supervisor"))
    restarter = spans.agent("restarter", under=ask)
    spans.model(None, [("wipe_disk", "1")], under=restarter)
    spans.model(
        "no such tool", asked=[user("go"), assistant(None, [("wipe_disk", "1")]), response("1")], under=restarter
    )
    run = spans.run()

    assert [(call.name, call.agent) for call in run.tool_calls] == [
        ("ask_restarter", "supervisor"),
        ("wipe_disk", "restarter"),
    ]
    assert names(run.sub_runs[0]) == ["wipe_disk"]


def handed_over(spans: Spans) -> Run:
    flow = spans.workflow()
    first = spans.agent("supervisor", asked="the site is down", under=flow)
    spans.handoff("restarter", under=first)
    last = spans.agent("restarter", told="it is up again", under=flow)
    spans.tool("restart_site", under=last)
    run = spans.run()
    assert (run.span_id, run.mark_span_id) == (id_of(first), id_of(last))
    return run


def test_a_handed_over_run_has_the_first_agents_name_and_prompt_and_the_last_ones_output(spans: Spans) -> None:
    run = handed_over(spans)

    assert (run.agent, run.prompt, run.output) == ("supervisor", "the site is down", "it is up again")
    assert [(call.name, call.agent) for call in run.tool_calls] == [("restart_site", "restarter")]


def test_a_transfer_tool_in_the_messages_links_agents_and_is_a_call(spans: Spans) -> None:
    flow = spans.workflow()
    first = spans.agent("supervisor", under=flow)
    spans.model(None, [("transfer_to_restarter", "1")], under=first)
    last = spans.agent("restarter", under=flow)
    spans.model(
        "done", asked=[user("go"), assistant(None, [("transfer_to_restarter", "1")]), response("1")], under=last
    )

    assert names(spans.run()) == ["transfer_to_restarter"]


def test_a_message_edge_links_agents(spans: Spans) -> None:
    scope = "agent_framework"
    flow = spans.add("workflow.run", {"workflow.name": "flow"}, scope=scope)
    step = spans.add("executor.process a", {}, under=flow, scope=scope)
    spans.agent("a", under=step, scope=scope)
    sent = spans.add("message.send", {}, under=step, scope=scope)
    spans.agent("b", under=spans.add("executor.process b", {}, under=flow, scope=scope, links=[sent]), scope=scope)

    assert [run.agent for run in spans.runs()] == ["a"]


def test_an_agent_that_runs_inside_anothers_open_tool_span_is_a_sub_run(spans: Spans) -> None:
    """An agent used as a tool, whose span stands beside the tool's and not below it."""
    flow = spans.workflow()
    supervisor = spans.agent("supervisor", under=flow, end=10**9)
    spans.tool("ask_restarter", under=supervisor, end=10**8)
    spans.tool("restart_site", under=spans.agent("restarter", under=flow))
    run = spans.run()

    assert (run.agent, [sub.agent for sub in run.sub_runs]) == ("supervisor", ["restarter"])
    assert run.mark_span_id == id_of(supervisor)


def test_siblings_that_nothing_links_are_runs_of_their_own(spans: Spans) -> None:
    flow = spans.workflow()
    for name in ("first", "second"):
        spans.model(f"{name} answer", under=spans.agent(name, under=flow))

    assert [run.agent for run in spans.runs()] == ["first", "second"]


# --- names, prompt, output -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span_name", "attributes", "expected"),
    [
        ("invoke_agent x", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "ops"}, "ops"),
        ("invoke_agent ops", {"gen_ai.operation.name": "invoke_agent"}, "ops"),
        ("ops.run", {"openinference.span.kind": "AGENT"}, "ops"),
        ("ops.agent", {"traceloop.span.kind": "agent"}, "ops"),
        ("invoke_agent", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "OpenAI Agent"}, "shop"),
    ],
)
def test_an_agents_name_is_its_attribute_or_its_spans_or_the_services(span_name, attributes, expected) -> None:
    spans = Spans(service="shop")
    spans.tool("check_site", under=spans.add(span_name, attributes))

    assert spans.run().agent == expected


def test_the_prompt_is_the_last_user_message_of_the_run(spans: Spans) -> None:
    agent = spans.agent("ops")
    spans.model("hm", asked=[user("yesterday"), assistant("well"), user("now")], under=agent)
    spans.model(
        "fine", asked=[user("yesterday"), assistant("well"), user("now"), assistant("hm"), user("go on")], under=agent
    )

    assert spans.run().prompt == "now"


def test_the_output_is_the_last_text_without_tool_calls_of_the_runs_own_agent(spans: Spans) -> None:
    agent = spans.agent("ops")
    spans.model("Let me check.", [("check_site", "1")], under=agent)
    spans.model("Not mine.", under=spans.agent("helper", under=spans.tool("check_site", "1", under=agent)))
    spans.model("It is up.", under=agent)

    assert spans.run().output == "It is up."


def test_a_text_beside_a_tool_call_is_no_output(spans: Spans) -> None:
    spans.model("Let me check.", [("check_site", "1")], under=spans.agent("ops"))
    run = spans.run()

    assert run.output is None
    assert gaps.NO_OUTPUT in codes(run)


def test_the_result_that_the_convention_names_is_the_output(spans: Spans) -> None:
    agent = spans.agent("ops")
    agent.attributes["final_result"] = "up since 9:00"
    spans.model("something else", under=agent)

    assert spans.run().output == "up since 9:00"
