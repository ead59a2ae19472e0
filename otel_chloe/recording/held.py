"""Spans of a recording, held until their runs can be built: all of it where it is small, else what is youngest.

A run's spans may stand anywhere in a recording, and some of them in other traces: so everything is held back until it
goes over a budget. Then the traces that ended first are closed, together with the spans that belong to their runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ..assembly.build import Builder
from ..assembly.explained import ExplainingBuilder
from ..assembly.forest import Forest
from ..assembly.join import Joined, join_traces
from ..assembly.plain import plain_run
from ..assembly.runs import Group, delimit
from ..assembly.stitch import Stitcher
from ..assembly.stitching import stitch, stitched_run
from ..part import AGENT, Part
from ..run import End, Run
from .logs import HeldLogs
from .trace import Trace, by_end, hold, open_ids, tops, trace_of

BUDGET: Final = 32 << 20
"""Bytes of memory that the held spans may take before the oldest traces are closed."""
KEPT: Final = 0.75
"""The share of the budget that stays held then. Closing is worth its while only for many traces at once."""
REMEMBERED: Final = 10_000
"""Closed traces that are remembered, to know their late spans."""
IDLE_NS: Final = 900 * 1_000_000_000
"""How long after its last span a run without an end is given up: the idle timeout's default."""
TOGETHER: Final = 5_000
"""Spans that are assembled in one go whenever they happened. More are cut where nothing was going on."""


@dataclass(slots=True)
class _Gone:
    """A closed trace: when its last span ended, and the ids of spans whose parents it can no longer take."""

    end: int
    ids: frozenset[int]


_NEVER: Final = _Gone(0, frozenset())


class HeldTraces:
    """Takes parts in any order and gives runs, in the order in which they ended, as far as the budget goes.

    ``late`` counts the spans that came after their run was closed; they are in no run, and open none. ``explain``: each
    call is an :class:`~otel_chloe.assembly.explained.ExplainedCall`.
    """

    def __init__(self, budget: int = BUDGET, logs: HeldLogs | None = None, *, explain: bool = False) -> None:
        self.late = 0
        self._builder = ExplainingBuilder if explain else Builder
        self._logs = logs or HeldLogs()
        self._budget = budget
        self._held = 0
        self._now = 0
        self._traces: dict[int, Trace] = {}
        self._gone: dict[int, _Gone] = {}
        self._stitcher = Stitcher(max_held=budget)

    def add(self, part: Part) -> bool:
        """Hold a part. True says that more is held than should be: then call :meth:`over`."""
        gone = self._gone.get(part.trace_id)
        if gone is not None and _is_late(part, gone):
            self.late += 1
            return False
        trace = self._traces.get(part.trace_id)
        if trace is None:
            trace = self._traces[part.trace_id] = Trace(part.trace_id, start=part.start)
        self._held += hold(trace, part)
        self._now = max(self._now, part.end)
        return self._held > self._budget

    def holds(self, trace_id: int) -> bool:
        """Whether spans of this trace are held."""
        return trace_id in self._traces

    def over(self) -> list[Run]:
        """Close the oldest traces until enough of the budget is free again."""
        hosts, bare = self._chosen(self._held - int(self._budget * KEPT))
        hosts = [self._ended_of(host) for host in hosts]
        taken = {id(trace) for trace in bare}
        beside = _Busy(hosts)
        guests = [trace for trace in self._bare() if id(trace) not in taken and beside.at(trace)]
        runs: list[Run] = []
        self._tell([*hosts, *bare, *guests])
        joined: set[int] = set()
        for traces in _at_a_time([*hosts, *bare, *guests]):
            if not guests and not bare:
                traces, plain = self._without_plain(traces)
                runs += plain
            forest = _forest(traces)
            groups = join_traces(delimit(forest)).groups
            joined.update(part.trace_id for group in groups for part in group.parts)
            runs += self._runs(forest, groups, "evicted")
        runs += self._built([trace for trace in bare if trace.id not in joined], "evicted")
        self._close([*hosts, *bare, *(trace for trace in guests if trace.id in joined)])
        since = min((trace.start for trace in self._traces.values()), default=self._now)
        runs += [stitched_run(each, self._builder) for each in self._stitcher.expired(since)]
        return self._told(runs)

    def rest(self) -> list[Run]:
        """Close everything: nothing more is to come."""
        runs: list[Run] = []
        self._tell(self._traces.values())
        for traces in _at_a_time(list(self._traces.values())):
            runs += self._built(traces, "shutdown")
            self._close(traces)
        runs += [stitched_run(each, self._builder) for each in self._stitcher.rest()]
        return self._told(runs)

    def _tell(self, traces: Iterable[Trace]) -> None:
        """Give the spans of traces what was logged of them."""
        self._logs.until(self._now)
        for trace in traces:
            self._logs.tell(trace.parts)

    def _bare(self) -> list[Trace]:
        return [trace for trace in self._traces.values() if trace.work and not trace.host]

    def _chosen(self, size: int) -> tuple[list[Trace], list[Trace]]:
        """The traces to close, oldest first: hosts, and traces that no held host can lay claim to.

        A host that is not finished goes only when nothing else is left, or when it is idle.
        """
        hosts = [t for t in self._traces.values() if t.host or not t.work]
        hosts.sort(key=lambda t: (not (t.finished or self._now - t.end > IDLE_NS), t.end))
        floors = _floors(hosts)
        bare = sorted(self._bare(), key=lambda t: t.end)
        taken = taken_bare = 0
        while size > 0 and (taken < len(hosts) or taken_bare < len(bare)):
            free = taken_bare < len(bare) and bare[taken_bare].end < floors[taken]
            if free and not (taken < len(hosts) and hosts[taken].finished and hosts[taken].end < bare[taken_bare].end):
                size -= bare[taken_bare].size
                taken_bare += 1
            else:
                size -= hosts[taken].size
                taken += 1
        return hosts[:taken], bare[:taken_bare]

    def _built(self, traces: list[Trace], end: End) -> list[Run]:
        runs: list[Run] = []
        if all(trace.host for trace in traces):  # nothing waits to be joined, so each trace stands for itself
            traces, plain = self._without_plain(traces)
            runs += plain
        forest = _forest(traces)
        found = join_traces(delimit(forest))
        return runs + self._runs(forest, found.groups, end) + self._stitched(found)

    def _without_plain(self, traces: list[Trace]) -> tuple[list[Trace], list[Run]]:
        """The traces that are no plain run, and the runs that the others are. A plain run explains nothing."""
        if self._builder is not Builder:
            return traces, []
        left: list[Trace] = []
        runs: list[Run] = []
        for trace in traces:
            run = plain_run(trace.parts) if trace.rooted and trace.id not in self._gone else None
            if run is None:
                left.append(trace)
            else:
                runs.append(run)
        return left, runs

    def _stitched(self, found: Joined) -> list[Run]:
        """The runs that are over with the model calls that nothing stands above."""
        models = [part for part in found.models if not self._gone.get(part.trace_id, _NEVER).end]
        self.late += len(found.models) - len(models)
        over, _ = stitch(self._stitcher, models, found.tools)
        return [stitched_run(each, self._builder) for each in over]

    def _runs(self, forest: Forest, groups: list[Group], end: End) -> list[Run]:
        runs: list[Run] = []
        for group in groups:
            if self._is_rest(forest, group):
                self.late += len(group.parts)
            else:
                said: End = "root_ended" if group.root is not None else end
                runs.append(self._builder(forest, group, said, complete=True).run())
        return runs

    def _is_rest(self, forest: Forest, group: Group) -> bool:
        """Whether a group is what came late of a closed trace. Only an agent that started anew is a run of its own."""
        root = group.root
        gone = self._gone.get(group.parts[0].trace_id)
        if gone is None or not gone.end or group.parts[0].trace_id != (root or group.parts[0]).trace_id:
            return False
        if root is None or root.kind is not AGENT:
            return True
        return any(part.parent_id in gone.ids for part in (root, *forest.above(root)))

    def _ended_of(self, trace: Trace) -> Trace:
        """The runs of a trace that have ended, taken out of it, where it holds several below something still open."""
        if trace.rooted:
            return trace
        ended, rest = by_end(trace)
        if not ended or not (rest or len(tops(ended)) > 1):
            return trace
        del self._traces[trace.id]
        if rest:
            self._traces[trace.id] = trace_of(rest)
        return trace_of(ended)

    def _close(self, traces: Iterable[Trace]) -> None:
        for trace in traces:
            before = self._gone.pop(trace.id, _NEVER)
            if self._traces.get(trace.id) is trace:
                del self._traces[trace.id]
                self._gone[trace.id] = _Gone(max(trace.end, before.end), open_ids(trace) | before.ids)
            else:  # a part of a trace that goes on: what hangs on its runs is late, and nothing else
                self._gone[trace.id] = _Gone(before.end, frozenset(top.span_id for top in tops(trace.parts)))
            self._held -= trace.size
        while len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _told(self, runs: list[Run]) -> list[Run]:
        told = [self._with_end(run) for run in runs]
        return sorted(told, key=lambda run: run.end_ns or 0)

    def _with_end(self, run: Run) -> Run:
        """A run without an end that nothing was heard of for long was over before it was closed."""
        if run.end == "root_ended" or self._now - (run.end_ns or 0) <= IDLE_NS:
            return run
        subs = tuple(replace(sub, end="idle_timeout") for sub in run.sub_runs)
        return replace(run, end="idle_timeout", sub_runs=subs)


def _is_late(part: Part, gone: _Gone) -> bool:
    """Whether a part belongs to runs that are closed: it started before they ended, or hangs on what they left open."""
    if part.parent_id in gone.ids or part.span_id in gone.ids:
        gone.ids |= {part.span_id}
        return True
    return part.start < gone.end


def _floors(hosts: list[Trace]) -> list[int]:
    """For each place in the list, when the first of the traces from there on started."""
    floors = [1 << 64]
    for trace in reversed(hosts):
        floors.append(min(trace.start, floors[-1]) if trace.host and trace.work else floors[-1])
    floors.reverse()
    return floors


class _Busy:
    """The times in which any of some traces went on."""

    def __init__(self, traces: list[Trace]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for trace in sorted(traces, key=lambda t: t.start):
            if self._ends and trace.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], trace.end)
            else:
                self._starts.append(trace.start)
                self._ends.append(trace.end)

    def at(self, trace: Trace) -> bool:
        """Whether any of them went on while this trace did."""
        place = bisect_right(self._starts, trace.end)
        return place > 0 and self._ends[place - 1] >= trace.start


def _at_a_time(traces: list[Trace]) -> Iterator[list[Trace]]:
    """Traces cut where nothing was going on: what belongs together happened at one time."""
    found: list[Trace] = []
    count = until = 0
    for trace in sorted(traces, key=lambda t: t.start):
        if count > TOGETHER and trace.start > until:
            yield found
            found, count = [], 0
        found.append(trace)
        count += len(trace.parts)
        until = max(until, trace.end)
    if found:
        yield found


def _forest(traces: list[Trace]) -> Forest:
    return Forest(part for trace in traces if trace.work for part in trace.parts)
