"""What is a sub-run: the agents below the run's own, each with the calls that it made."""

from __future__ import annotations

import pytest
from span_builders import TICK, Spans, id_of, names

from otel_chloe import ExpectedCalls, Mark, gaps
from otel_chloe.recording.span import RecordedSpan
from otel_chloe.run import Run
from otel_chloe.scorers import calls


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def ask(spans: Spans) -> RecordedSpan:
    """A tool of a supervisor, in which other agents run."""
    boss = spans.agent("boss")
    spans.model(None, [("ask_restarter", "1")], under=boss)
    return spans.tool("ask_restarter", "1", under=boss)


def works(spans: Spans, above: RecordedSpan, tool: str) -> None:
    spans.model(None, [(tool, tool)], asked="Restart it.", under=above)
    spans.tool(tool, tool, under=above)
    spans.model("Restarted.", under=above)


def score(run: Run, *must_call: str) -> float | None:
    """The score of ``mustCall``; None where it is Unscored."""
    told = calls(run, ExpectedCalls(must_call=must_call))
    return told.score if isinstance(told, Mark) else None


def test_sub_runs_are_in_the_order_in_which_they_started(spans: Spans) -> None:
    boss = spans.agent("boss")
    for number in range(3):
        helper = spans.agent(f"helper_{number}", under=spans.tool(f"ask_{number}", under=spans.chain(under=boss)))
        spans.agent(f"below_{number}", under=spans.tool("ask", under=helper))

    assert [sub.agent for sub in spans.run().sub_runs] == [
        f"{place}_{number}" for number in range(3) for place in ("helper", "below")
    ]


# --- agents whose work stands beside their span ----------------------------------------------------------------------


def test_a_chain_in_a_tool_that_says_which_agent_it_is_is_a_sub_run(spans: Spans, ask: RecordedSpan) -> None:
    """An agent of LangChain leaves no agent span: its graph's chain names it."""
    chain = spans.chain("restarter", under=ask)
    chain.attributes["metadata"] = '{"lc_agent_name": "restarter"}'
    step = spans.chain("tools", under=chain)
    step.attributes["metadata"] = '{"lc_agent_name": "restarter"}'
    works(spans, step, "restart_site")
    run = spans.run()

    assert names(run) == ["ask_restarter", "restart_site"]
    assert [(sub.agent, sub.span_id, *names(sub)) for sub in run.sub_runs] == [
        ("restarter", id_of(chain), "restart_site")
    ]
    assert (run.sub_runs[0].prompt, run.sub_runs[0].output) == ("Restart it.", "Restarted.")


def test_a_chain_in_a_tool_that_names_no_agent_is_no_sub_run(spans: Spans, ask: RecordedSpan) -> None:
    works(spans, spans.chain("RunnableSequence", under=ask), "restart_site")

    assert spans.run().sub_runs == ()


def test_a_task_of_the_agents_name_beside_its_span_is_the_agents_work(spans: Spans, ask: RecordedSpan) -> None:
    agent = spans.agent("restarter", under=ask, end=10**9)
    works(spans, spans.chain("execute_task restarter", under=ask), "restart_site")
    run = spans.run()
    (sub,) = run.sub_runs

    assert (sub.agent, sub.span_id, sub.prompt, sub.output) == ("restarter", id_of(agent), "Restart it.", "Restarted.")
    assert names(sub) == ["restart_site"]
    assert score(sub, "restart_site") == 1.0
    assert [(call.name, call.agent) for call in run.tool_calls] == [
        ("ask_restarter", "boss"),
        ("restart_site", "restarter"),
    ]


def test_two_agents_of_one_name_each_have_the_task_in_their_own_time(spans: Spans, ask: RecordedSpan) -> None:
    for tool in ("restart_site", "check_site"):
        since = (len(spans.all) + 1) * TICK
        agent = spans.agent("restarter", under=ask, start=since)
        works(spans, spans.chain("execute_task restarter", under=ask), tool)
        agent.end_time = since + 4 * TICK + TICK // 2

    assert [names(sub) for sub in spans.run().sub_runs] == [["restart_site"], ["check_site"]]


def test_agents_under_one_workflow_have_their_own_tasks(spans: Spans) -> None:
    flow = spans.workflow()
    for name in ("checker", "restarter"):
        since = (len(spans.all) + 1) * TICK
        agent = spans.agent(name, under=flow, start=since)
        works(spans, spans.chain(f"execute_task {name}", under=flow), f"{name}_tool")
        agent.end_time = since + 4 * TICK + TICK // 2

    assert [(run.agent, names(run)) for run in spans.runs()] == [
        ("checker", ["checker_tool"]),
        ("restarter", ["restarter_tool"]),
    ]


def test_which_of_two_agents_at_the_same_time_worked_is_not_guessed(spans: Spans, ask: RecordedSpan) -> None:
    for tool in ("restart_site", "check_site"):
        spans.agent("restarter", under=ask, start=5 * TICK, end=10**9)
        works(spans, spans.chain("execute_task restarter", under=ask), tool)
    run = spans.run()

    assert [score(sub, "restart_site") for sub in run.sub_runs] == [None, None]
    assert score(run, "restart_site", "check_site") == 1.0


@pytest.mark.parametrize("name", ["execute_task other", "execute_task restarter"])
def test_an_agent_whose_work_is_not_seen_is_unscored(spans: Spans, ask: RecordedSpan, name: str) -> None:
    """A task of another name, or one that went on when the agent was over, may be the agent's work or another's."""
    spans.agent("restarter", under=ask, end=4 * TICK + 500)
    works(spans, spans.chain(name, under=ask), "restart_site")
    run = spans.run()
    (sub,) = run.sub_runs

    assert [gap.code for gap in sub.gaps if gap.code in gaps.MAY_HIDE_CALLS] == [gaps.NO_TOOL_DATA]
    assert score(sub, "restart_site") is None
    assert score(run, "restart_site") == 1.0


def test_an_agent_that_was_seen_to_call_no_tool_is_scored(spans: Spans, ask: RecordedSpan) -> None:
    spans.model("I will not.", under=spans.agent("restarter", under=ask))
    (sub,) = spans.run().sub_runs

    assert score(sub, "restart_site") == 0.0


def test_where_no_model_call_leaves_a_span_an_agent_without_tool_spans_called_none(spans: Spans) -> None:
    spans.agent("restarter", under=spans.tool("ask_restarter", under=spans.agent("boss")))
    (sub,) = spans.run().sub_runs

    assert score(sub, "restart_site") == 0.0
