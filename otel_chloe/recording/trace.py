"""The held spans of one trace: what they take, and what of them has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, Final, cast

from ..conventions import USUAL_KEYS, kept
from ..part import AGENT, CHAIN, HANDOFF, MODEL, OTHER, TOOL, WORKFLOW, Part

_ROOTS: Final = (AGENT, WORKFLOW, CHAIN)
_WORK: Final = (MODEL, TOOL, HANDOFF)


@dataclass(slots=True)
class Trace:
    """The held spans of one trace.

    ``framed``: it holds spans that runs hang on. ``work``: it holds spans that runs are made of. ``rooted``: it holds
    a span that has nothing above it.
    """

    id: int
    parts: list[Part] = field(default_factory=list[Part])
    size: int = 0
    start: int = 0
    end: int = -1
    framed: bool = False
    work: bool = False
    rooted: bool = False
    last: str = OTHER

    @property
    def host(self) -> bool:
        """Whether it may hold a run that spans of other traces belong to. Before its root came, any trace may."""
        return self.framed or not self.rooted

    @property
    def finished(self) -> bool:
        """Whether nothing stands open over its last span, as far as spans tell."""
        return self.rooted or self.last is AGENT


def hold(trace: Trace, part: Part) -> int:
    """Add a part to its trace, and tell how much memory it takes."""
    size = part.size or _slimmed(part)
    trace.parts.append(part)
    trace.size += size
    kind = part.kind
    if kind in _ROOTS:
        trace.framed = trace.work = True
    elif kind in _WORK:
        trace.work = True
    elif not part.foreign:
        trace.framed = True
    if part.parent_id is None or part.remote_parent:
        trace.rooted = True
    if part.end >= trace.end:
        trace.end, trace.last = part.end, kind
    trace.start = min(trace.start, part.start)
    return size


def trace_of(parts: list[Part]) -> Trace:
    """A trace of some parts, one at least."""
    trace = Trace(parts[0].trace_id, start=parts[0].start)
    for part in parts:
        hold(trace, part)
    return trace


def tops(parts: list[Part]) -> list[Part]:
    """The parts whose parents are not among them."""
    ids = {part.span_id for part in parts}
    return [part for part in parts if part.parent_id not in ids]


def by_end(trace: Trace) -> tuple[list[Part], list[Part]]:
    """The parts of agents that have ended, and those that still wait for the span above them."""
    parts = {part.span_id: part for part in trace.parts}
    ended = {top.span_id: True for top in tops(trace.parts) if top.kind is AGENT}
    for part in trace.parts:
        path: list[int] = []
        current: Part | None = part
        while current is not None and current.span_id not in ended:
            ended[current.span_id] = False  # until it is known, so that a ring of parents ends the walk
            path.append(current.span_id)
            current = parts.get(current.parent_id or 0)
        if current is not None and ended[current.span_id]:
            ended.update(dict.fromkeys(path, True))
    whole = [part for part in trace.parts if ended[part.span_id]]
    return whole, [part for part in trace.parts if not ended[part.span_id]]


def open_ids(trace: Trace) -> frozenset[int]:
    """The spans that runs of the trace still wait for: parents that are not there. Mostly there are none.

    A parent of whole runs is a session or the like: it may have more of them.
    """
    waiting = {part.parent_id for part in trace.parts if part.parent_id is not None and not part.remote_parent}
    waiting.difference_update([part.span_id for part in trace.parts])
    if not waiting:
        return frozenset()
    whole = {part.parent_id for part in trace.parts if part.kind is AGENT}
    return frozenset(waiting.difference(whole))


def _slimmed(part: Part) -> int:
    """Drop what no run needs of a part, and tell how much memory the rest takes, about."""
    if not part.vocabulary:
        part.raw, part.events = kept(part.raw), ()
        return _PART + sum(getsizeof(value) for value in part.raw.values())
    raw = part.raw
    if part.usual:
        part.raw = raw = {key: raw[key] for key in USUAL_KEYS if key in raw}
    size = _PART + 160 * len(raw)
    for value in raw.values():
        kind = value.__class__
        if kind is str:
            size += len(value) if value.isascii() else getsizeof(value)
        elif kind is not int:
            size += _memory(value)
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
