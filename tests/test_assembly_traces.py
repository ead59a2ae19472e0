"""A span that starts below one that is over is looked for in the open trees of its own trace, and in no others."""

from __future__ import annotations

import pytest
from live_assembly import Live
from span_builders import Spans, names

from otel_chloe.assembly.traces import Traces
from otel_chloe.assembly.tree import Tree


@pytest.fixture
def live() -> Live:
    return Live()


class NeverWalked(dict[int, Tree]):
    """A mapping of open trees that must not be gone through."""

    def _refuse(self):
        raise AssertionError("all open trees were gone through")

    __iter__ = copy = values = items = keys = _refuse


def test_other_open_runs_are_not_gone_through(live: Live) -> None:
    """An application may hold ten thousand open runs, and this happens on an agent's own thread."""
    for trace_id in range(2, 52):
        live.start(Spans(trace_id).agent("ops"))
    spans = Spans()
    agent = spans.agent("ops")
    step = spans.plain("step", under=agent)
    late = spans.tool("check_site", under=step)
    live.start(agent, step)
    live.end(step)
    held, live.assembler.trees = live.assembler.trees, NeverWalked(live.assembler.trees)
    live.start(late)
    live.assembler.trees = held
    live.end(late, agent)

    assert [names(run) for run in live.flush()] == [["check_site"]]


def test_of_several_runs_of_one_trace_the_one_that_holds_the_parent_is_found(live: Live) -> None:
    spans = Spans()
    agents = [spans.agent(name) for name in ("one", "two", "three")]
    steps = [spans.plain("step", under=agent) for agent in agents]
    live.start(*agents, *steps)
    live.end(*steps)
    for number, step in enumerate(steps):
        live.whole(spans.tool(f"tool_{number}", under=step))
    live.end(*agents)

    assert [(run.agent, names(run)) for run in live.flush()] == [
        ("one", ["tool_0"]),
        ("two", ["tool_1"]),
        ("three", ["tool_2"]),
    ]


def tree(number: int, trace_id: int = 1) -> Tree:
    return Tree((trace_id, number, False, 1), None)


def test_a_tree_opened_again_for_the_same_span_is_removed_with_the_first() -> None:
    traces = Traces()
    traces.add(tree(1))
    traces.add(tree(1))
    traces.remove(tree(1))

    assert len(traces) == 0


class Meanwhile(dict[int, list[Tree]]):
    """The held trees, at whose next removal or addition another thread gets its turn."""

    def __init__(self, held: dict[int, list[Tree]], *, pop=None, setdefault=None) -> None:
        super().__init__(held)
        self._turns = {"pop": pop, "setdefault": setdefault}

    def _turn(self, name: str) -> None:
        turn, self._turns[name] = self._turns[name], None
        if turn is not None:
            turn()

    def pop(self, *given):
        self._turn("pop")
        return super().pop(*given)

    def setdefault(self, *given):
        found = super().setdefault(*given)
        self._turn("setdefault")
        return found


def test_a_tree_added_while_the_last_of_its_trace_is_removed_is_found() -> None:
    traces, first, added = Traces(), tree(1), tree(2)
    traces.add(first)
    traces._held = Meanwhile(traces._held, pop=lambda: traces.add(added))
    traces.remove(first)

    assert set(traces.of(1)) == {added}


def test_a_tree_is_found_though_the_list_that_it_goes_in_is_taken_out() -> None:
    traces, first, added = Traces(), tree(1), tree(2)
    traces.add(first)
    traces._held = Meanwhile(traces._held, setdefault=lambda: traces.remove(first))
    traces.add(added)

    assert set(traces.of(1)) == {added}
