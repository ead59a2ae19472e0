"""Agents that work together, in every shape that spans show them in: what is one run, what a sub-run, what is not told.

Agents as tools, handoffs, workflows, graphs, swarms, managed agents, and agents in other processes.
"""

from __future__ import annotations

import pytest
from agent_app import App, messages
from opentelemetry.trace import SpanKind
from span_builders import TICK, Spans, assistant, id_of, names, response, user

from otel_chloe import ExpectedCalls, Mark, gaps
from otel_chloe.recording.span import CLIENT, SERVER, RecordedResource, RecordedSpan
from otel_chloe.run import Run
from otel_chloe.scorers import calls


@pytest.fixture
def spans() -> Spans:
    return Spans(service="shop")


def works(spans: Spans, agent: RecordedSpan, tool: str, answer: str = "Done.") -> None:
    """An agent calls one tool, and answers."""
    call_id = f"call_{len(spans.all)}"
    spans.model(None, [(tool, call_id)], asked="Go.", under=agent)
    spans.tool(tool, call_id, under=agent)
    talk = [user("Go."), assistant(None, [(tool, call_id)]), response(call_id)]
    spans.model(answer, asked=talk, under=agent)


def score(run: Run, **expected: list[str]) -> float | None:
    told = calls(run, ExpectedCalls(**expected))
    return told.score if isinstance(told, Mark) else None


def agents_of(run: Run) -> list[tuple[str, str | None]]:
    return [(call.name, call.agent) for call in run.tool_calls]


def codes(run: Run) -> set[str]:
    return {gap.code for gap in run.gaps}


# --- workflows, graphs, swarms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["gen_ai.workflow.name", "gen_ai.agent.name"])
def test_a_workflow_is_named_by_its_older_and_its_newer_attribute(spans: Spans, key: str):
    flow = spans.operation("invoke_workflow", "", {key: "rescue"})
    works(spans, flow, "restart_site")

    assert spans.run().agent == "rescue"


@pytest.mark.parametrize("key", ["gen_ai.workflow.name", "gen_ai.agent.name"])
@pytest.mark.parametrize("operation", ["invoke_workflow", "invoke_graph", "invoke_swarm"])
def test_agents_of_a_workflow_or_graph_that_nothing_links_are_runs_each(spans: Spans, operation: str, key: str):
    flow = spans.operation(operation, "", {key: "rescue"})
    for name in ("checker", "restarter"):
        works(spans, spans.agent(name, under=flow), f"{name}_tool")
    runs = spans.runs()

    assert [(run.agent, names(run)) for run in runs] == [
        ("checker", ["checker_tool"]),
        ("restarter", ["restarter_tool"]),
    ]
    assert all(gaps.HANDOFF_UNCLEAR not in codes(run) for run in runs)


def test_an_agent_that_has_its_steps_done_by_agents_is_one_run(spans: Spans):
    """Google ADK's sequential, parallel and loop agents."""
    team = spans.agent("pipeline", under=spans.workflow("pipeline"))
    for name in ("checker", "restarter"):
        works(spans, spans.agent(name, under=team), f"{name}_tool")
    run = spans.run()

    assert (run.agent, agents_of(run)) == (
        "pipeline",
        [("checker_tool", "checker"), ("restarter_tool", "restarter")],
    )
    assert [(sub.agent, names(sub)) for sub in run.sub_runs] == [
        ("checker", ["checker_tool"]),
        ("restarter", ["restarter_tool"]),
    ]


def test_parallel_agents_keep_their_calls_apart(spans: Spans):
    team = spans.agent("team")
    one, two = (spans.agent(name, under=team, end=30 * TICK) for name in ("one", "two"))
    spans.tool("first", under=one)
    spans.tool("second", under=two)
    spans.tool("third", under=one)

    assert [(sub.agent, names(sub)) for sub in spans.run().sub_runs] == [
        ("one", ["first", "third"]),
        ("two", ["second"]),
    ]


@pytest.mark.parametrize("operation", ["invoke_swarm", "invoke_graph"])
def test_a_swarm_hands_over_by_a_tool(spans: Spans, operation: str):
    """Strands: the agents stand side by side under the swarm."""
    swarm = spans.operation(operation, "", {"gen_ai.agent.name": "swarm"}, kind=CLIENT)
    first = spans.agent("checker", under=swarm)
    spans.model(None, [("handoff_to_agent", "h1")], asked="The site is down.", under=first)
    spans.tool("handoff_to_agent", "h1", under=first)
    last = spans.agent("restarter", under=swarm)
    works(spans, last, "restart_site", "It is up.")
    run = spans.run()

    assert (run.agent, run.prompt, run.output) == ("checker", "The site is down.", "It is up.")
    assert agents_of(run) == [("handoff_to_agent", "checker"), ("restart_site", "restarter")]
    assert (run.span_id, run.mark_span_id) == (id_of(first), id_of(last))


def test_a_handoff_and_back_is_one_run(spans: Spans):
    flow = spans.workflow()
    first = spans.agent("triage", asked="The site is down.", under=flow)
    spans.handoff("ops", under=first)
    second = spans.agent("ops", under=flow)
    spans.tool("restart_site", under=second)
    spans.handoff("triage", under=second)
    last = spans.agent("triage", told="It is up.", under=flow)
    run = spans.run()

    assert (run.agent, run.output, agents_of(run)) == ("triage", "It is up.", [("restart_site", "ops")])
    assert run.mark_span_id == id_of(last)


def test_a_handoff_that_the_spans_cannot_tell_from_two_runs_is_a_gap(spans: Spans):
    """Without content: the model stopped to call a tool, no span says which, and another agent ran."""
    flow = spans.workflow()
    spans.model(finish="tool_calls", under=spans.agent("triage", under=flow))
    spans.tool("restart_site", under=spans.agent("ops", under=flow))
    first, second = spans.runs()

    assert gaps.HANDOFF_UNCLEAR in codes(first)
    assert gaps.HANDOFF_UNCLEAR not in codes(second)
    assert score(first, must_not_call=["restart_site"]) is None
    assert score(second, must_not_call=["restart_site"]) == 0.0


# --- managed agents --------------------------------------------------------------------------------------------------


def test_a_managed_agent_is_called_by_its_name_and_leaves_no_tool_span(spans: Spans):
    """Smolagents: the manager's model asks for it like for a tool, and its span is the call."""
    manager = spans.agent("manager")
    spans.model(None, [("restarter", "r1")], asked="Go.", under=manager)
    works(spans, spans.agent("restarter", under=manager), "restart_site")
    talk = [user("Go."), assistant(None, [("restarter", "r1")]), response("r1")]
    spans.model("All is up.", asked=talk, under=manager)
    run = spans.run()

    assert agents_of(run) == [("restarter", "manager"), ("restart_site", "restarter")]
    assert [(sub.agent, names(sub)) for sub in run.sub_runs] == [("restarter", ["restart_site"])]
    assert run.output == "All is up."


# --- agents in other processes ---------------------------------------------------------------------------------------


class Remote:
    """An agent that is asked for over HTTP: here the request, there its own spans."""

    def __init__(self, spans: Spans, name: str = "restarter", *, here: bool = True, seen: bool = True) -> None:
        self.boss = spans.agent("boss")
        spans.model(None, [("ask_restarter", "c1")], asked="The site is down.", under=self.boss)
        tool = spans.tool("ask_restarter", "c1", under=self.boss)
        self.request = spans.agent("restarter", under=tool, kind=CLIENT) if here else tool
        post = spans.add("POST", {"http.request.method": "POST"}, kind=CLIENT, under=self.request)
        if seen:
            before = len(spans.all)
            served = spans.add("POST /a2a", {"http.request.method": "POST"}, kind=SERVER, under=post, remote=True)
            self.there = spans.agent(name, under=served)
            works(spans, self.there, "restart_site", "Restarted.")
            for span in spans.all[before:]:
                span.resource = RecordedResource({"service.name": "sites"})


def test_a_remote_agent_whose_spans_are_there_is_one_sub_run(spans: Spans):
    """Its invocation leaves two agent spans: the request to it, and its own in the other process."""
    remote = Remote(spans)
    run = spans.run()
    (sub,) = run.sub_runs

    assert (run.agent, agents_of(run)) == ("boss", [("ask_restarter", "boss"), ("restart_site", "restarter")])
    assert (sub.agent, sub.span_id, sub.prompt, sub.output) == (
        "restarter",
        id_of(remote.request),
        "Go.",
        "Restarted.",
    )
    assert names(sub) == ["restart_site"]


def test_a_remote_agent_that_has_another_name_there_is_below_the_one_asked_for(spans: Spans):
    Remote(spans, "site_restarter")

    assert [(sub.agent, names(sub)) for sub in spans.run().sub_runs] == [
        ("restarter", ["restart_site"]),
        ("site_restarter", ["restart_site"]),
    ]


def test_a_request_that_leaves_no_agent_span_here(spans: Spans):
    """A plain A2A client in a tool: HTTP stands between the tool and the agent."""
    Remote(spans, here=False)
    run = spans.run()

    assert agents_of(run) == [("ask_restarter", "boss"), ("restart_site", "restarter")]
    assert [sub.agent for sub in run.sub_runs] == ["restarter"]


def test_what_a_remote_agent_did_is_not_known_where_its_spans_are_missing(spans: Spans):
    Remote(spans, seen=False)
    run = spans.run()
    (sub,) = run.sub_runs

    assert [gap.detail for gap in run.gaps if gap.code == gaps.NO_TOOL_DATA] == [
        "restarter ran elsewhere, and nothing is below its span"
    ]
    assert gaps.NO_TOOL_DATA in codes(sub)
    for each in (run, sub):
        assert score(each, must_not_call=["delete_site"]) is None
    assert score(run, must_call=["ask_restarter"]) == 1.0


def test_an_agent_with_nothing_but_http_below_ran_elsewhere_where_models_leave_spans(spans: Spans):
    """An instrumentation that calls each agent its own: the request tells that this one's work is not here."""
    boss = spans.agent("boss")
    spans.model("I ask.", under=boss)
    helper = spans.agent("helper", under=boss)
    spans.add("POST", {"http.request.method": "POST"}, kind=CLIENT, under=helper)

    assert gaps.NO_TOOL_DATA in codes(spans.run())


def test_an_agent_with_nothing_but_http_below_may_have_asked_a_model_that_leaves_no_span(spans: Spans):
    helper = spans.agent("helper", under=spans.agent("boss"))
    spans.add("POST", {"http.request.method": "POST"}, kind=CLIENT, under=helper)

    assert gaps.NO_TOOL_DATA not in codes(spans.run())


def test_the_other_process_has_a_run_of_its_own(spans: Spans):
    """It sees the request's spans as parents that are not its own."""
    remote = Remote(spans)
    own = [part for part in spans.parts() if part.resource.attributes["service.name"] == "sites"]
    from otel_chloe.assembly import assemble

    (run,) = assemble(own)

    assert (run.agent, run.span_id, names(run)) == ("restarter", id_of(remote.there), ["restart_site"])
    assert run.complete


@pytest.mark.parametrize(("scope", "told"), [("agents.test", True), ("autogen-core", False)])
def test_an_agent_of_which_only_the_request_is_seen(spans: Spans, scope: str, told: bool):
    """A hosted agent: its tools ran at the provider's. AutoGen writes agents of its own process so."""
    spans.agent("hosted", asked="Up?", told="Yes.", kind=CLIENT, scope=scope)
    run = spans.run()

    assert (gaps.NO_TOOL_DATA in codes(run)) is told
    assert score(run, must_not_call=["delete_site"]) == (None if told else 1.0)


@pytest.mark.parametrize(("kind", "state"), [(SpanKind.CLIENT, "unscored"), (SpanKind.INTERNAL, "scored")])
def test_in_process_too(kind: SpanKind, state: str):
    rules = {"agents": {"*": {"calls": {"mustNotCall": ["delete_site"]}}}}
    with App(rules) as app:
        with app.agent("hosted", kind=kind) as span:
            span.set_attribute("gen_ai.input.messages", messages("user", "Up?"))
        (event,) = app.events()

        assert app.marks("invoke_agent hosted")["chloe.calls.state"] == state
        assert event["chloe.state"] == state


def test_in_process_a_remote_agent_below_is_not_known():
    rules = {"agents": {"*": {"calls": {"mustNotCall": ["delete_site"]}}}}
    with App(rules) as app:
        with app.agent("boss"), app.tool("ask_restarter"), app.agent("restarter", kind=SpanKind.CLIENT):
            pass
        (event,) = app.events()

        assert app.marks("invoke_agent boss")["chloe.calls.state"] == event["chloe.state"] == "unscored"
