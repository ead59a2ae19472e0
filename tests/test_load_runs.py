"""Runs of recordings: what belongs together, in which order, in how much memory, and what is said of the rest."""

from __future__ import annotations

import gzip
import random

import pytest
from small_recordings import agent, asking, model, simple_run, span, tool, written

from otel_chloe.errors import InputError
from otel_chloe.recording.runs import find_runs, load_runs


def names(run):
    return [call.name for call in run.tool_calls]


@pytest.fixture
def told(tmp_path):
    """The runs of some lines, found with a budget."""

    def find(*lines, budget=1 << 30, late=None):
        path = written(tmp_path / "spans.jsonl", *lines)
        return [found.run for found in find_runs([("spans.jsonl", path)], budget=budget, late=late)]

    return find


def test_a_run_is_read_with_its_calls(told):
    (run,) = told(*simple_run(1, tools=("check_site", "restart_site")))

    assert (run.agent, run.prompt, run.output) == ("doctor", "Fix it.", "Done.")
    assert names(run) == ["check_site", "restart_site"]
    assert (run.end, run.complete) == ("root_ended", True)


def test_runs_come_in_the_order_in_which_they_ended(told):
    runs = told(*simple_run(1, at=20), *simple_run(2, at=0), *simple_run(3, at=10))

    assert [int(run.trace_id, 16) for run in runs] == [2, 3, 1]


def test_the_order_of_the_lines_does_not_matter(told):
    lines = [*simple_run(1), *simple_run(2, at=1, tools=("a", "b"))]
    before = told(*lines)
    random.Random(1).shuffle(lines)

    assert told(*lines) == before


def test_a_small_budget_gives_the_same_runs_in_the_same_order(told):
    lines = [line for trace in range(1, 200) for line in simple_run(trace, at=trace * 10)]

    assert told(*lines, budget=20_000) == told(*lines)


def test_a_small_budget_gives_the_same_runs_where_they_overlap(told):
    spans = [line for trace in range(1, 200) for line in simple_run(trace, at=trace / 2)]

    small = told(*spans, budget=100_000)

    assert sorted(small, key=lambda r: r.trace_id) == sorted(told(*spans), key=lambda r: r.trace_id)


def doubled(trace, at):
    """A run whose model call has a second span, of another instrumentation, in a trace of its own."""
    return [
        model(trace, 2, 1, response=f"r{trace}", at=at + 1, lasts=1),
        model(trace + 10_000, 1, response=f"r{trace}", at=at + 1.1, lasts=0.8),
        agent(trace, 1, at=at, lasts=3),
    ]


@pytest.mark.parametrize("apart", [10, 1, 0.2])
def test_a_model_calls_second_span_in_another_trace_joins_its_run_in_any_budget(told, apart):
    lines = [line for trace in range(1, 100) for line in doubled(trace, trace * apart)]

    for budget in (1 << 30, 60_000):
        runs = told(*lines, budget=budget)

        assert sorted(int(run.trace_id, 16) for run in runs) == list(range(1, 100))


@pytest.mark.parametrize("apart", [10, 1])
def test_a_tool_in_a_bare_thread_joins_the_run_that_asked_for_it_in_any_budget(told, apart):
    lines = []
    for trace in range(1, 100):
        at = trace * apart
        lines += [
            asking(trace, 2, 1, tool_id=f"call_{trace + 50_000}", at=at + 1),
            tool(trace + 10_000, trace + 50_000, at=at + 2.1, lasts=0.5),
            agent(trace, 1, at=at, lasts=4),
        ]
    for budget in (1 << 30, 60_000):
        runs = told(*lines, budget=budget)

        assert [names(run) for run in runs] == [["check_site"]] * 99


def test_bare_model_calls_alone_are_runs_in_any_budget(told):
    lines = [model(trace, 1, response=f"r{trace}", at=trace * 5) for trace in range(1, 100)]

    for budget in (1 << 30, 20_000):
        runs = told(*lines, budget=budget)

        assert [int(run.trace_id, 16) for run in runs] == list(range(1, 100))
        assert all((run.complete, run.gaps) == (True, ()) for run in runs)


def test_a_run_whose_root_never_ended_is_incomplete_at_the_end_of_the_input(told):
    (run,) = told(model(1, 2, 1), tool(1, 3, 1, at=1))

    assert (run.end, run.complete) == ("shutdown", False)
    assert "root_missing" in {gap.code for gap in run.gaps}


def test_a_run_that_nothing_was_heard_of_for_long_is_idle(told):
    first, _ = told(model(1, 2, 1), *simple_run(2, at=3600))

    assert (first.end, first.complete) == ("idle_timeout", False)


def test_a_run_that_the_budget_closed_is_evicted_and_its_late_spans_are_counted(told):
    late = []
    open_run = [model(1, number, 1, response=f"r{number}", at=number) for number in range(2, 60)]

    runs = told(*open_run, agent(1, 1, lasts=60), budget=40_000, late=lambda *told: late.append(told))

    assert [(run.end, run.complete) for run in runs] == [("evicted", False)]
    assert late == [("spans.jsonl", pytest.approx(40, abs=20))]


def test_a_later_agent_in_a_closed_trace_is_a_run_of_its_own(told):
    """A long session: its span ends last, or never."""
    lines = []
    for turn in range(50):
        number = 10 * turn + 10
        lines += [
            tool(1, number + 1, number, at=turn * 10 + 1),
            agent(1, number, 7, at=turn * 10, lasts=3),
        ]

    runs = told(*lines, budget=20_000)

    assert [names(run) for run in runs] == [["check_site"]] * 50
    assert {run.end for run in runs} == {"root_ended"}


def test_spans_of_other_trades_make_no_run(told):
    lines = [span("GET /", trace, 1, at=trace, http__request__method="GET") for trace in range(1, 300)]

    assert told(*lines, budget=20_000) == []


def test_large_attributes_count_into_the_budget(tmp_path):
    """What is held is measured: the texts of 200 runs do not fit, whatever their form."""
    lines = [line for trace in range(1, 200) for line in simple_run(trace, at=trace * 10, prompt="ü" * 1000)]
    path = written(tmp_path / "spans.jsonl", *lines)
    found = find_runs([("", path)], budget=100_000)

    assert next(found).run.prompt == "ü" * 1000
    assert sum(1 for _ in found) == 198


def test_files_stand_for_themselves(tmp_path):
    one = written(tmp_path / "1.jsonl", agent(1, 1))
    two = written(tmp_path / "2.jsonl", tool(1, 2, 1, at=0.2, lasts=0.5), *simple_run(2))

    assert [names(run) for run in load_runs(one, two)] == [[], ["check_site"]]


def test_files_read_together_are_one_recording(tmp_path):
    one = written(tmp_path / "1.jsonl", agent(1, 1))
    two = written(tmp_path / "2.jsonl", tool(1, 2, 1, at=0.2, lasts=0.5), *simple_run(2, at=5))

    found = list(find_runs([("1", one), ("2", two)], together=True))

    assert [(file, names(run)) for file, run in found] == [("1", ["check_site"]), ("2", ["check_site"])]


def test_a_run_is_of_the_file_that_its_own_span_stands_in(tmp_path):
    one = written(tmp_path / "1.jsonl", tool(1, 2, 1, at=0.2, lasts=0.5))
    two = written(tmp_path / "2.jsonl", agent(1, 1))

    assert [file for file, _ in find_runs([("1", one), ("2", two)], together=True)] == ["2"]


def test_files_read_together_are_read_side_by_side(tmp_path):
    """The two sides of every run come together, although neither file fits into the budget."""
    agents = [agent(trace, 1, at=trace * 10, lasts=2) for trace in range(1, 200)]
    tools = [tool(trace, 2, 1, at=trace * 10 + 1, lasts=0.5) for trace in range(1, 200)]
    paths = [written(tmp_path / "a.jsonl", *agents), written(tmp_path / "t.jsonl", *tools)]

    found = list(find_runs([(path, path) for path in paths], together=True, budget=50_000))

    assert [names(run) for _, run in found] == [["check_site"]] * 199
    assert {file for file, _ in found} == {paths[0]}


def test_many_files_read_together_are_one_recording_too(tmp_path):
    paths = [written(tmp_path / f"{i}.jsonl", *simple_run(i, at=i)) for i in range(1, 71)]

    assert len(list(load_runs(*paths, together=True))) == 70


def test_a_problem_is_raised_or_told(tmp_path):
    path = written(tmp_path / "spans.jsonl", *simple_run(1), "no json", *simple_run(2, at=9))
    told = []

    with pytest.raises(InputError, match="line 3"):
        list(load_runs(path))
    assert len(list(load_runs(path, problem=told.append))) == 2
    assert len(told) == 1


def test_gzip_and_paths_of_any_kind(tmp_path):
    path = tmp_path / "spans.gz"
    path.write_bytes(gzip.compress("\n".join(simple_run(1)).encode()))

    assert len(list(load_runs(path))) == 1
