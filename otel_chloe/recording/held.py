"""Spans of a recording, held until their runs can be built: all of it where it is small, else what is youngest.

A run's spans may stand anywhere in a recording, and some of them in other traces: so everything is held back until it
goes over a budget. Then the traces that ended first are closed, together with the spans that belong to their runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from sys import getsizeof
from typing import Any, Final, cast

from ..assembly.build import Builder
from ..assembly.forest import Forest
from ..assembly.join import join_traces
from ..assembly.runs import Group, delimit
from ..part import AGENT, CHAIN, HANDOFF, MODEL, OTHER, TOOL, WORKFLOW, Part
from ..run import End, Run

BUDGET: Final = 48 << 20
"""Bytes of memory that the held spans may take before the oldest traces are closed."""
KEPT: Final = 0.75
"""The share of the budget that stays held then. Closing is worth its while only for many traces at once."""
REMEMBERED: Final = 10_000
"""Closed traces that are remembered, to know their late spans."""
IDLE_NS: Final = 900 * 1_000_000_000
"""How long after its last span a run without an end is given up: the idle timeout's default."""
TOGETHER: Final = 5_000
"""Spans that are assembled in one go whenever they happened. More are cut where nothing was going on."""

_ROOTS: Final = (AGENT, WORKFLOW, CHAIN)
_WORK: Final = (MODEL, TOOL, HANDOFF)


@dataclass(slots=True)
class _Trace:
    """The held spans of one trace.

    ``host``: it may hold a run that spans of other traces belong to. ``work``: it holds more than spans of other
    trades. ``finished``: nothing stands open over its last span, as far as spans tell.
    """

    id: int
    parts: list[Part] = field(default_factory=list[Part])
    size: int = 0
    start: int = 0
    end: int = -1
    host: bool = False
    work: bool = False
    rooted: bool = False
    last: str = OTHER

    @property
    def finished(self) -> bool:
        return self.rooted or self.last is AGENT


@dataclass(slots=True)
class _Gone:
    """A closed trace: when its last span ended, and the ids of spans whose parents it can no longer take."""

    end: int
    ids: frozenset[int]


_NEVER: Final = _Gone(0, frozenset())


class HeldTraces:
    """Takes parts in any order and gives runs, in the order in which they ended, as far as the budget goes.

    ``late`` counts the spans that came after their run was closed; they are in no run, and open none.
    """

    def __init__(self, budget: int = BUDGET) -> None:
        self.late = 0
        self._budget = budget
        self._held = 0
        self._now = 0
        self._traces: dict[int, _Trace] = {}
        self._gone: dict[int, _Gone] = {}

    def add(self, part: Part) -> bool:
        """Hold a part. True says that more is held than should be: then call :meth:`over`."""
        gone = self._gone.get(part.trace_id)
        if gone is not None and _is_late(part, gone):
            self.late += 1
            return False
        trace = self._traces.get(part.trace_id)
        if trace is None:
            trace = self._traces[part.trace_id] = _Trace(part.trace_id, start=part.start)
        size = _slimmed(part)
        trace.parts.append(part)
        trace.size += size
        self._held += size
        _note(trace, part)
        self._now = max(self._now, part.end)
        return self._held > self._budget

    def holds(self, trace_id: int) -> bool:
        """Whether spans of this trace are held."""
        return trace_id in self._traces

    def over(self) -> list[Run]:
        """Close the oldest traces until enough of the budget is free again."""
        hosts, bare = self._chosen(self._held - int(self._budget * KEPT))
        taken = {id(trace) for trace in bare}
        beside = _Busy(hosts)
        guests = [trace for trace in self._bare() if id(trace) not in taken and beside.at(trace)]
        runs: list[Run] = []
        joined: set[int] = set()
        for traces in _at_a_time([*hosts, *bare, *guests]):
            forest = _forest(traces)
            groups = join_traces(delimit(forest), alone=False)
            joined.update(part.trace_id for group in groups for part in group.parts)
            runs += self._runs(forest, groups, "evicted")
        runs += self._built([trace for trace in bare if trace.id not in joined], "evicted")
        self._close([*hosts, *bare, *(trace for trace in guests if trace.id in joined)])
        return self._told(runs)

    def rest(self) -> list[Run]:
        """Close everything: nothing more is to come."""
        runs: list[Run] = []
        for traces in _at_a_time(list(self._traces.values())):
            runs += self._built(traces, "shutdown")
            self._close(traces)
        return self._told(runs)

    def _bare(self) -> list[_Trace]:
        return [trace for trace in self._traces.values() if trace.work and not trace.host]

    def _chosen(self, size: int) -> tuple[list[_Trace], list[_Trace]]:
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

    def _built(self, traces: list[_Trace], end: End) -> list[Run]:
        forest = _forest(traces)
        return self._runs(forest, join_traces(delimit(forest)), end)

    def _runs(self, forest: Forest, groups: list[Group], end: End) -> list[Run]:
        runs: list[Run] = []
        for group in groups:
            if self._is_rest(forest, group):
                self.late += len(group.parts)
            else:
                said: End = "root_ended" if group.root is not None else end
                runs.append(Builder(forest, group, said, complete=True).run())
        return runs

    def _is_rest(self, forest: Forest, group: Group) -> bool:
        """Whether a group is what came late of a closed trace. Only an agent that started anew is a run of its own."""
        root = group.root
        gone = self._gone.get(group.parts[0].trace_id)
        if gone is None or group.parts[0].trace_id != (root or group.parts[0]).trace_id:
            return False
        if root is None or root.kind is not AGENT:
            return True
        return any(part.parent_id in gone.ids for part in (root, *forest.above(root)))

    def _close(self, traces: Iterable[_Trace]) -> None:
        for trace in traces:
            del self._traces[trace.id]
            self._held -= trace.size
            before = self._gone.pop(trace.id, _NEVER)
            self._gone[trace.id] = _Gone(max(trace.end, before.end), _open_ids(trace) | before.ids)
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


def _note(trace: _Trace, part: Part) -> None:
    kind = part.kind
    if kind in _ROOTS:
        trace.host = trace.work = True
    elif kind in _WORK:
        trace.work = True
    elif not part.foreign:
        trace.host = True
    if part.parent_id is None or part.remote_parent:
        trace.rooted = True
    if part.end >= trace.end:
        trace.end, trace.last = part.end, kind
    trace.start = min(trace.start, part.start)


def _open_ids(trace: _Trace) -> frozenset[int]:
    """The ids that parts name as parents and that are not there. Mostly there are none."""
    wanted = {part.parent_id for part in trace.parts if part.parent_id is not None and not part.remote_parent}
    wanted.difference_update([part.span_id for part in trace.parts])
    return frozenset(wanted)


def _floors(hosts: list[_Trace]) -> list[int]:
    """For each place in the list, when the first of the traces from there on started."""
    floors = [1 << 64]
    for trace in reversed(hosts):
        floors.append(min(trace.start, floors[-1]) if trace.host and trace.work else floors[-1])
    floors.reverse()
    return floors


class _Busy:
    """The times in which any of some traces went on."""

    def __init__(self, traces: list[_Trace]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for trace in sorted(traces, key=lambda t: t.start):
            if self._ends and trace.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], trace.end)
            else:
                self._starts.append(trace.start)
                self._ends.append(trace.end)

    def at(self, trace: _Trace) -> bool:
        """Whether any of them went on while this trace did."""
        place = bisect_right(self._starts, trace.end)
        return place > 0 and self._ends[place - 1] >= trace.start


def _at_a_time(traces: list[_Trace]) -> Iterator[list[_Trace]]:
    """Traces cut where nothing was going on: what belongs together happened at one time."""
    found: list[_Trace] = []
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


def _forest(traces: list[_Trace]) -> Forest:
    return Forest(part for trace in traces if trace.work for part in trace.parts)


def _slimmed(part: Part) -> int:
    """Drop what no run needs of a part, and tell how much memory the rest takes, about."""
    if not part.vocabulary:
        part.raw, part.events = {}, ()
        return _PART
    size = _PART
    for value in part.raw.values():
        size += 160 + len(value) if value.__class__ is str and value.isascii() else 110 + _memory(value)
    for event in part.events:
        size += 300 + _memory(event.attributes)
    return size


_PART: Final = 600


def _memory(value: Any) -> int:
    """The memory of an attribute's value, about. A loop, not recursion: the depth is the sender's."""
    total = 0
    waiting = [value]
    while waiting:
        value = waiting.pop()
        total += getsizeof(value)
        if isinstance(value, dict):
            found = cast("dict[str, Any]", value)
            waiting.extend(found.values())
            total += 75 * len(found)
        elif isinstance(value, list | tuple):
            waiting.extend(cast("list[Any]", value))
    return total
