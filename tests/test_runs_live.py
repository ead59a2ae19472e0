"""When a run is over while it happens: settled, cut short, over a limit, late spans."""

from __future__ import annotations

import pytest
from live_assembly import Live
from span_builders import OTHER_SCOPE, Spans, assistant, names, response, user

from otel_chloe import gaps
from otel_chloe.run import Run


@pytest.fixture
def spans() -> Spans:
    return Spans()


def codes(run: Run) -> set[str]:
    return {gap.code for gap in run.gaps}


@pytest.fixture
def live() -> Live:
    return Live(settle_s=2.0, idle_s=60.0)


def test_a_run_is_complete_when_its_root_and_all_below_it_have_ended(live: Live, spans: Spans) -> None:
    agent = spans.agent("ops")
    tool = spans.tool("check_site", under=agent)
    live.start(agent, tool)
    live.end(tool)
    assert live.wait(30) == []
    live.end(agent)
    assert live.wait(1) == []
    (run,) = live.wait(2)

    assert (run.end, run.complete, names(run)) == ("root_ended", True, ["check_site"])


def test_a_late_child_within_the_settle_delay_belongs_to_the_run(live: Live, spans: Spans) -> None:
    agent = spans.agent("ops")
    tool = spans.tool("check_site", under=agent)
    live.start(agent, tool)
    live.end(agent)
    live.wait(1)
    live.end(tool)
    (run,) = live.wait(3)

    assert (run.end, run.complete, names(run)) == ("root_ended", True, ["check_site"])


def test_force_flush_closes_a_run_whose_root_has_ended_without_waiting(live: Live, spans: Spans) -> None:
    done, going = spans.agent("done"), spans.agent("going")
    live.start(going)
    live.whole(done)
    (run,) = live.flush()

    assert (run.agent, run.end, run.complete) == ("done", "root_ended", True)


def test_spans_still_open_when_the_settle_delay_is_over_cut_the_run_short(live: Live, spans: Spans) -> None:
    agent = spans.agent("ops")
    model = spans.model("too late", under=agent)
    live.start(agent, model)
    live.end(agent)
    (run,) = live.wait(3)

    assert (run.end, run.complete, codes(run) & gaps.MAY_HIDE_CALLS) == ("settled", False, {gaps.CUT_SHORT})


@pytest.mark.parametrize("ends", [True, False])
def test_what_a_settled_run_left_open_opens_no_second_run(live: Live, spans: Spans, ends: bool) -> None:
    """A hanging model call ends late, or never."""
    agent = spans.agent("ops")
    model = spans.model("too late", under=agent)
    live.start(agent, model)
    live.end(agent)
    live.wait(3)
    if ends:
        live.end(model)
    live.wait(100)
    live.close_all()

    assert [run.end for run in live.runs] == ["settled"]
    assert live.hooks.late == int(ends)


def test_late_tool_and_model_spans_of_a_finished_run_are_counted_and_open_nothing(live: Live, spans: Spans) -> None:
    agent = spans.agent("ops")
    live.whole(agent)
    live.wait(3)
    live.whole(spans.model("late", under=agent), spans.tool("check_site", under=agent))
    live.close_all()

    assert [run.agent for run in live.runs] == ["ops"]
    assert live.hooks.late == 2


def test_late_spans_are_counted_under_a_root_that_goes_on(live: Live, spans: Spans) -> None:
    """An application's own span holds the run, and is still open when the late span comes."""
    root = spans.plain("main", scope="application")
    agent = spans.agent("ops", under=root)
    live.start(root)
    live.whole(agent)
    live.wait(3)
    live.whole(spans.model("late", under=agent))
    live.end(root)
    live.close_all()

    assert [run.agent for run in live.runs] == ["ops"]
    assert live.hooks.late == 1


def test_an_agent_that_starts_after_the_root_ended_opens_its_own_run_while_it_happens(live: Live, spans: Spans) -> None:
    first = spans.agent("ops")
    second = spans.agent("night_shift", under=first)
    live.whole(first)
    live.start(second)
    live.wait(3)
    live.whole(spans.tool("check_site", under=second))
    live.end(second)
    live.close_all()

    assert [(run.agent, names(run)) for run in live.runs] == [("ops", []), ("night_shift", ["check_site"])]


def test_the_idle_timeout_counts_from_the_last_span(live: Live, spans: Spans) -> None:
    agent = spans.agent("ops")
    live.start(agent)
    for _ in range(4):
        assert live.wait(50) == []
        live.whole(spans.tool("check_site", under=agent))
    (run,) = live.wait(70)

    assert (run.end, run.complete, len(run.tool_calls)) == ("idle_timeout", False, 4)


@pytest.mark.parametrize(("limits", "end"), [({"max_spans": 3}, "span_limit"), ({"max_bytes": 200}, "byte_limit")])
def test_over_a_limit_a_run_is_closed_early_and_never_dropped_in_silence(limits, end, spans: Spans) -> None:
    live = Live(**limits)
    agent = spans.agent("ops")
    live.start(agent)
    for number in range(9):
        live.whole(spans.tool("check_site", f"a call's rather long id, number {number}", under=agent))
    live.whole(spans.model("going on", under=agent), spans.agent("helper", under=agent))
    live.end(agent)
    live.close_all()
    (run,) = live.runs

    assert (run.end, run.complete, gaps.CUT_SHORT in codes(run)) == (end, False, True)
    assert len(run.tool_calls) + live.hooks.late == 9 + 3


@pytest.mark.parametrize("limits", [{"max_open_runs": 2}, {"max_open_bytes": 120}])
def test_with_too_many_runs_open_the_longest_idle_is_closed(limits, spans: Spans) -> None:
    live = Live(**limits)
    for name in ("a", "b", "c"):
        agent = spans.agent(name)
        live.start(agent)
        live.whole(spans.tool("check_site", "x" * 40, under=agent))
        live.look()
        live.now_ns += 10**9
    live.wait(6)

    assert [(run.agent, run.end, run.complete) for run in live.runs] == [("a", "evicted", False)]


def test_what_is_remembered_of_finished_runs_has_a_limit(spans: Spans) -> None:
    live = Live(remembered_runs=10)
    for _ in range(50):
        live.whole(spans.agent("ops", trace_id=len(spans.all) + 1))
    live.wait(3)

    assert len(live.runs) == 50
    assert len(live.assembler._finished) == 10
    assert (live.assembler.tree_of, live.assembler.trees, live.assembler._closing) == ({}, {}, {})


def test_shutdown_closes_all(live: Live, spans: Spans) -> None:
    agent = spans.agent("ops")
    live.start(agent)
    live.whole(spans.tool("check_site", under=agent))
    (run,) = live.close_all()

    assert (run.end, run.complete, names(run)) == ("shutdown", False, ["check_site"])


def test_a_run_that_hands_over_to_an_agent_yet_to_start_is_cut_short_by_shutdown(live: Live, spans: Spans) -> None:
    flow = spans.workflow()
    agent = spans.agent("supervisor", under=flow)
    live.start(flow, agent)
    live.whole(spans.handoff("restarter", under=agent))
    live.end(agent)
    (run,) = live.close_all()

    assert (run.end, run.complete) == ("shutdown", False)


@pytest.mark.parametrize("telling", [True, False])
def test_a_call_that_has_not_ended_counts_and_its_outcome_is_unknown(live: Live, spans: Spans, telling: bool) -> None:
    agent = spans.agent("ops")
    live.start(agent)
    live.start(spans.tool("mcp__sites__restart", under=agent), telling=telling)
    (call,) = live.close_all()[0].tool_calls

    assert (call.name, call.raw_name, call.ok, call.ran) == ("restart", "mcp__sites__restart", None, None)


def test_looking_twice_closes_nothing_more(live: Live, spans: Spans) -> None:
    live.whole(spans.agent("ops"))
    live.look()
    live.now_ns += 3 * 10**9

    assert len(live.look()) == 1
    assert live.look() == []


def test_a_model_call_doubled_in_another_trace_belongs_to_its_run(live: Live, spans: Spans) -> None:
    """Also when the run's own span of it was shortened, because a later call repeats it."""
    history = [user("go"), assistant(None, [("check_site", "1")]), response("1")]
    agent = spans.agent("ops", asked="go", told="done")
    first = spans.model(None, [("check_site", "1")], asked=history[:1], under=agent)
    double = spans.model(None, [("check_site", "1")], asked=history[:1], scope=OTHER_SCOPE, trace_id=2)
    last = spans.model("done", asked=history, under=agent)
    live.start(agent, first, double)
    live.end(double, first)
    live.whole(spans.tool("check_site", "1", under=agent), last)
    live.end(agent)
    live.wait(3)
    live.close_all()

    assert [(run.agent, names(run)) for run in live.runs] == [("ops", ["check_site"])]


def test_two_conversations_at_once_under_one_agent_are_kept_apart(live: Live, spans: Spans) -> None:
    """Their histories have the same length and end alike, and none repeats the other."""
    agent = spans.agent("ops")
    live.start(agent)
    talks = {
        name: [{"role": "system", "content": f"You are critic {name}."}, user("What is wrong? " * 9)] for name in "ab"
    }
    for turn in range(2):
        for name, talk in talks.items():
            asks = [(f"wipe_{name}", f"{name}1")] if turn == 0 else []
            live.whole(spans.model(None if asks else "fine", asks, asked=list(talk), under=agent))
            talk += [assistant(None, asks), response(f"{name}1")]
    live.end(agent)
    live.wait(3)

    assert sorted(names(live.runs[0])) == ["wipe_a", "wipe_b"]


def test_one_question_asked_twice_at_once_is_two_answers(live: Live, spans: Spans) -> None:
    agent = spans.agent("ops")
    live.start(agent)
    for name in "ab":
        live.whole(spans.model(None, [(f"wipe_{name}", f"{name}1")], asked="go", under=agent))
    for name in "ab":
        history = [user("go"), assistant(None, [(f"wipe_{name}", f"{name}1")]), response(f"{name}1")]
        live.whole(spans.model("fine", asked=history, under=agent))
    live.end(agent)
    live.wait(3)

    assert sorted(names(live.runs[0])) == ["wipe_a", "wipe_b"]


def test_a_span_that_is_not_ours_makes_nobody_forget_a_finished_run_of_its_trace(live: Live, spans: Spans) -> None:
    request = spans.http()
    agent = spans.agent("ops", under=request)
    live.start(request)
    live.whole(agent)
    live.wait(3)
    live.whole(spans.plain(under=request), spans.model("late", under=agent))
    live.close_all()

    assert [run.agent for run in live.runs] == ["ops"]
    assert live.hooks.late == 1


@pytest.mark.parametrize("messages", [{}, {"asked": "go", "told": "done"}])
def test_a_run_that_is_over_is_whole_though_it_makes_room_before_it_settled(messages, spans: Spans) -> None:
    live = Live(max_open_runs=1)
    live.whole(spans.agent("a", **messages), spans.agent("b", trace_id=2, **messages))
    live.look()

    assert [(run.agent, run.end, run.complete) for run in live.runs] == [("a", "root_ended", True)]
