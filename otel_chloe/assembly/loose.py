"""Loose spans: model and tool spans of no run yet. The run that they belong to may be in another trace, still open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from otel_chloe.assembly.build import Builder
from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.join import join_traces
from otel_chloe.assembly.runs import Group, delimit
from otel_chloe.assembly.stitch import Stitcher
from otel_chloe.assembly.stitched import Stitched
from otel_chloe.assembly.stitching import stitch, stitched_run
from otel_chloe.assembly.tree import SPANS_LATE, Closed, Limits, Tree
from otel_chloe.part import MODEL, TOOL, Part
from otel_chloe.record import START, Record

Loose: TypeAlias = list[tuple[Part, Tree]]
"""The spans that wait, each with the tree that it was cut from."""


def unclaimed(tree: Tree, parts: Sequence[Part], claimed: set[int]) -> Loose:
    """The model and tool spans of a closed tree that are in none of its runs: those whose ``id()`` is not claimed."""
    return [(part, tree) for part in parts if part.kind in (MODEL, TOOL) and id(part) not in claimed]


def near(loose: Loose, parts: Sequence[Part]) -> list[Part]:
    """The loose spans that ran while these did: only those can belong to the same run."""
    start = min((p.start for p in parts), default=0)
    end = max((p.end for p in parts), default=0)
    return [p for p, _ in loose if p.start <= end and start <= p.end]


def groups_with(forest: Forest, nearby: Sequence[Part]) -> list[Group]:
    """The runs in a forest of a tree's spans and the loose ones near it. Model calls of the tree's own are left out."""
    theirs = {id(part) for part in nearby}
    found = delimit(forest)
    found.bare_models = [p for p in found.bare_models if id(p) in theirs]
    return join_traces(found).groups


def still_loose(loose: Loose, groups: Iterable[Group]) -> Loose:
    """What none of the groups has claimed."""
    claimed = {id(part) for group in groups for part in group.parts}
    return [(p, t) for p, t in loose if id(p) not in claimed]


def parted(loose: Loose, trees: dict[int, Tree] | None, most: int) -> tuple[Loose, Loose]:
    """What none of the open trees can claim, since it was over before the first of them began, and the rest.

    Where no trees are given, or more spans wait than may, none of them can.
    """
    asked = trees.copy().values() if trees is not None and len(loose) <= most else ()
    since = min((_start_of(tree.parts[0]) for tree in asked if tree.parts), default=None)
    ready = [(p, t) for p, t in loose if since is None or p.end < since]
    taken = {id(p) for p, _ in ready}
    return ready, [(p, t) for p, t in loose if id(p) not in taken]


class Released:
    """What becomes of loose spans that no tree claims any more: model calls are stitched to runs, tools are late."""

    def __init__(self, limits: Limits, count: Callable[[str, int], None]) -> None:
        self.held = Stitcher(
            max_spans=limits.max_spans,
            max_bytes=limits.max_bytes,
            max_runs=limits.max_open_runs,
            max_held=limits.max_open_bytes,
            idle_s=limits.idle_s,
        )
        self._count = count

    def take(self, ready: Loose) -> Iterator[Closed]:
        """Spans that are free now: gives the runs that are over with them."""
        tree_of = {id(part): tree for part, tree in ready}
        forest = Forest([part for part, _ in ready])
        found = join_traces(delimit(forest))
        over, late = stitch(self.held, found.models, found.tools, lambda part: tree_of[id(part)])
        self._count(SPANS_LATE, len(late))
        yield from _closed(over)
        for group in found.groups:
            tree = tree_of[id(group.parts[0])]
            yield Closed(Builder(forest, group, "root_ended", complete=True).run(), tree)

    def idle(self, now: float) -> Iterator[Closed]:
        """The runs to which nothing came for long."""
        return _closed(self.held.idle(now))

    def close(self, *, everything: bool) -> Iterator[Closed]:
        """The runs that need no more; with ``everything`` the others too."""
        return _closed(self.held.rest() if everything else self.held.answered())


def _closed(over: Iterable[Stitched]) -> Iterator[Closed]:
    return (Closed(stitched_run(each), each.origin) for each in over)


def _start_of(held: Part | Record) -> int:
    return held.start if isinstance(held, Part) else int(held[START])
