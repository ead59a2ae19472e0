"""The assembler against runs that are known before their spans are: whatever happens, no run and no call is lost,
made up or told twice, and nothing is held for ever.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from live_assembly import Live
from span_builders import Spans, id_of
from true_runs import SHAPES, Event, Script, TrueRun, calls_of, differences, scripts, tell

from otel_chloe.assembly import Closed
from otel_chloe.assembly.assembler import SWEEP_S
from otel_chloe.recording.span import RecordedContext, RecordedSpan

SETTLE_S, IDLE_S = 2.0, 20.0
LOOK_S = SETTLE_S / 4
"""How often the worker looks."""

ROOMY: dict[str, Any] = {}
TIGHT: tuple[dict[str, Any], ...] = (
    {"max_spans": 4},
    {"max_bytes": 3_000},
    {"max_open_runs": 2},
    {"max_open_bytes": 6_000},
    {"max_spans": 6, "max_open_runs": 1},
)
FAULTS = (None, None, None, "late", "never", "later", "dead_parent")


@dataclass
class Track:
    """A true run on its way through the assembler."""

    run: TrueRun
    events: list[Event]
    telling: bool
    faulty: bool = False
    cut: bool = False
    started: bool = False
    last_s: float = 0.0
    ended: list[RecordedSpan] = field(default_factory=list)

    @property
    def root_id(self) -> str:
        return id_of(self.run.root)

    @property
    def over(self) -> bool:
        return not self.events


def spoil(track: Track, fault: str | None, which: int) -> None:
    """Have a span end never, last, or after what should come after it; or the root name a parent that is gone."""
    ends = [at for at, (what, _) in enumerate(track.events) if what == "end"]
    at = ends[which % len(ends)]
    if fault in ("never", "late", "later"):
        event = track.events.pop(at)
        if fault != "never":
            track.events.insert(at + 1 + which % 4 if fault == "later" else len(track.events), event)
    elif fault == "dead_parent" and track.run.root.parent is None:
        track.run.root.parent = RecordedContext(track.run.root.context.trace_id, 0xDEAD)
        return
    track.faulty = fault is not None


class AssemblyMachine(RuleBasedStateMachine):
    """Agents run, several at a time; the worker looks, flushes and sleeps as it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.live = Live()
        self.tracks: list[Track] = []
        self.waiting: list[RecordedSpan] = []
        self.bare: set[str] = set()
        self.rings: set[str] = set()
        self.traces = 0
        self.checked = 0
        self.tight = False

    @initialize(limits=st.just(ROOMY) | st.sampled_from(TIGHT))
    def start(self, limits: dict[str, Any]) -> None:
        self.tight = bool(limits)
        self.live = Live(settle_s=SETTLE_S, idle_s=IDLE_S, **limits)

    # --- what agents do ----------------------------------------------------------------------------------------------

    def spans(self) -> Spans:
        self.traces += 1
        return Spans(self.traces)

    def begin(self, run: TrueRun, telling: bool, fault: str | None = None, which: int = 0) -> None:
        track = Track(run, list(run.events), telling)
        if fault is not None and run.root is run.last:
            spoil(track, fault, which)
        self.tracks.append(track)

    @rule(
        script=scripts(),
        shape=st.sampled_from(SHAPES),
        telling=st.booleans(),
        fault=st.sampled_from(FAULTS),
        which=st.integers(0, 50),
    )
    def an_agent(self, script: Script, shape: Any, telling: bool, fault: str | None, which: int) -> None:
        self.begin(tell(self.spans(), f"t{self.traces}", script, shape), telling, fault, which)

    @rule(agents=st.lists(scripts(1), min_size=2, max_size=3), telling=st.booleans())
    def several_agents_under_one_request(self, agents: list[Script], telling: bool) -> None:
        spans = self.spans()
        request = spans.http()
        self.live.start(request, telling=telling)
        self.waiting.append(request)
        for number, script in enumerate(agents):
            self.begin(tell(spans, f"t{self.traces}_{number}", script, "alone", request), telling)

    @precondition(lambda self: self.waiting)
    @rule()
    def a_request_is_answered(self) -> None:
        self.live.end(self.waiting.pop())

    @precondition(lambda self: any(t.over and not t.faulty for t in self.tracks))
    @rule(script=scripts(1), which=st.integers(0, 50))
    def an_agent_in_a_leaked_context(self, script: Script, which: int) -> None:
        """It starts below the root of a run that is over."""
        over = [track for track in self.tracks if track.over and not track.faulty]
        spans = Spans(over[which % len(over)].run.root.context.trace_id)
        spans.all = [over[which % len(over)].run.root] * (1000 * (len(self.tracks) + 1))  # span ids of its own
        self.begin(tell(spans, f"leak{len(self.tracks)}", script, "alone", spans.all[0]), telling=True)

    @rule()
    def a_model_call_with_nothing_above(self) -> None:
        span = self.spans().model(f"alone {self.traces}", asked="hello")
        self.bare.add(id_of(span))
        self.live.whole(span)

    @rule()
    def a_tool_with_nothing_above(self) -> None:
        self.live.whole(self.spans().tool("of_nobody", f"nobody-{self.traces}"))

    @rule()
    def agents_that_stand_above_each_other(self) -> None:
        spans = self.spans()
        one, other = spans.agent("one"), spans.agent("other")
        one.parent, other.parent = other.context, one.context
        self.rings |= {id_of(one), id_of(other)}
        self.live.start(one, other)
        self.live.whole(spans.tool("ring", f"ring-{self.traces}", under=one))
        self.live.end(one, other)

    @precondition(lambda self: any(t.events for t in self.tracks))
    @rule(which=st.integers(0, 50), steps=st.integers(1, 12) | st.just(10_000))
    def a_run_goes_on(self, which: int, steps: int) -> None:
        going = [track for track in self.tracks if track.events]
        track = going[which % len(going)]
        for what, span in track.events[:steps]:
            self.happens(track, what, span)
        del track.events[:steps]

    def happens(self, track: Track, what: str, span: RecordedSpan) -> None:
        if what == "start":
            self.live.start(span, telling=track.telling)
            track.started = track.started or span is track.run.root
        else:
            self.live.end(span)
            track.ended.append(span)
        track.last_s = self.live.now

    # --- what the worker does ----------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.3, SETTLE_S + 2 * LOOK_S, IDLE_S / 2, IDLE_S + 2 * SWEEP_S]))
    def time_passes(self, seconds: float) -> None:
        self.live.wait(seconds)
        self.cut_idle()
        for track in self.tracks:
            settled = track.over and not track.faulty and seconds >= SETTLE_S + 2 * LOOK_S
            if track.started and (settled or seconds >= IDLE_S + 2 * SWEEP_S):
                assert self.closed_of(track), "a deadline that passed was not kept"

    @rule(seconds=st.sampled_from([0.0, SETTLE_S, IDLE_S * 2]))
    def the_worker_is_late(self, seconds: float) -> None:
        self.live.now_ns += round(seconds * 1e9)
        self.live.look()
        held = len(self.live.assembler.trees)
        assert self.live.look() == []
        assert len(self.live.assembler.trees) == held
        self.cut_idle()

    @rule()
    def flush(self) -> None:
        self.live.flush()
        for track in self.tracks:
            if track.started and track.over and not track.faulty:
                assert self.closed_of(track), "a run whose root had ended survived a flush"

    def cut_idle(self) -> None:
        for track in self.tracks:
            track.cut = track.cut or (track.started and not track.over and self.live.now - track.last_s >= IDLE_S)

    # --- what must hold ----------------------------------------------------------------------------------------------

    def closed_of(self, track: Track) -> list[Closed]:
        return [closed for closed in self.live.closed if closed.run.span_id == track.root_id]

    @invariant()
    def runs_are_true(self) -> None:
        by_root = {track.root_id: track for track in self.tracks}
        for closed in self.live.closed[self.checked :]:
            run = closed.run
            assert run.complete == (run.end == "root_ended")
            track = by_root.get(run.span_id or "")
            if track is not None:
                self.check_run(track, closed)
            elif run.span_id in self.bare:
                assert (run.complete, run.tool_calls) == (True, ())
            else:
                assert run.span_id in self.rings, f"a run that never was: {run}"
        self.checked = len(self.live.closed)

    def check_run(self, track: Track, closed: Closed) -> None:
        run = closed.run
        if run.complete and track.faulty:
            assert sorted(map(repr, calls_of(run))) == sorted(map(repr, track.run.calls))
        elif run.complete:
            assert track.run.last in track.ended
            assert not differences(track.run, run), differences(track.run, run)
        else:
            quiet = self.live.now - track.last_s
            assert run.end != "idle_timeout" or quiet >= IDLE_S, f"idle after {quiet} s"
            assert track.faulty or track.cut or self.tight or not track.over or run.end == "shutdown", (
                f"cut short: {run.end}"
            )
            made = {call.id: call.name for call in track.run.calls}
            unmade = [c for c in calls_of(run) if made.get(c.id) != c.name and (c.id or c.name not in made.values())]
            assert not unmade, f"calls that were not made: {unmade}"

    @invariant()
    def nothing_is_told_twice(self) -> None:
        roots = Counter(run.span_id for run in self.live.runs)
        assert all(times == 1 for times in roots.values()), roots
        told = Counter(call.call_id for run in self.live.runs for call in run.tool_calls if call.call_id)
        assert all(times == 1 for times in told.values()), told

    @invariant()
    def every_tree_is_open_or_closed(self) -> None:
        held = self.live.assembler.trees
        assert all(not tree.closed for tree in held.values())
        assert self.live.assembler.open_runs == len(held) + len(self.live.assembler._released.held)
        traces = {tree.trace_id for tree in held.values()}
        found = [tree for trace_id in traces for tree in self.live.assembler.traces.of(trace_id)]
        assert {id(tree) for tree in found} == {id(tree) for tree in held.values()}
        assert (len(found), len(self.live.assembler.traces)) == (len(held), len(traces))

    def teardown(self) -> None:
        self.live.close_all()
        self.runs_are_true()
        self.nothing_is_told_twice()
        self.all_runs_came_out()
        self.no_call_was_lost()
        self.nothing_is_held()

    def all_runs_came_out(self) -> None:
        for track in self.tracks:
            assert len(self.closed_of(track)) == int(track.started), f"{track.run.agent} was lost"
        assert self.bare <= {run.span_id for run in self.live.runs}

    def no_call_was_lost(self) -> None:
        told = {call.call_id for run in self.live.runs for call in run.tool_calls}
        lost = []
        for track in self.tracks:
            ended = {span.attributes.get("gen_ai.tool.call.id") for span in track.ended}
            lost += [call.id for call in track.run.calls if call.id in ended and call.id not in told]
        assert len(lost) <= self.live.hooks.late, f"lost and not counted: {lost}"

    def nothing_is_held(self) -> None:
        assembler = self.live.assembler
        assert (assembler.tree_of, assembler.trees, assembler._closing, assembler._loose) == ({}, {}, {}, [])
        assert (len(assembler.traces), len(assembler._released.held)) == (0, 0)
        assert len(assembler._finished) <= assembler.limits.remembered_runs


AssemblyMachine.TestCase.settings = settings(stateful_step_count=25)
TestAssembly = AssemblyMachine.TestCase
