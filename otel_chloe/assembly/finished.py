"""What is over: the traces of closed runs, and the spans that a closed run left open. What comes of them is late."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from otel_chloe.assembly.tree import SPANS_LATE, Tree
from otel_chloe.part import OTHER, Kind


class Finished:
    """Remembers what is over, so that what comes late is counted and opens no run.

    ``traces`` has the ids of traces in which a run was closed, ``shut`` the closed trees of which spans are open: the
    oldest are forgotten first.

    Args:
        tree_of: The trees that open spans belong to, which hooks look in.
        most: How many of each are remembered.
        count: Counts what is late.
    """

    __slots__ = ("_count", "_most", "_tree_of", "shut", "traces")

    def __init__(self, tree_of: dict[int, Tree], most: int, count: Callable[[str, int], None]) -> None:
        self.traces: dict[int, None] = {}  # a set in order
        self.shut: dict[int, Tree] = {}
        self._tree_of = tree_of
        self._most = most
        self._count = count

    def late(self, tree: Tree, kind: Kind) -> None:
        """A span of a run that is finished ended. With the last of them, the tree is forgotten."""
        if kind is not OTHER:
            self._count(SPANS_LATE, 1)
        if not tree.open:
            self.shut.pop(id(tree), None)

    def remember(self, tree: Tree) -> None:
        """A run of this tree was closed."""
        self.traces[tree.trace_id] = None
        while len(self.traces) > self._most:
            self.traces.pop(next(iter(self.traces)), None)

    def leave(self, tree: Tree, span_ids: Sequence[int]) -> None:
        """The open spans of a run that was closed, in a tree that goes on: they, and what starts below, are late."""
        late = Tree((tree.trace_id, tree.root_id, False, int(tree.sampled)), None)
        late.open.clear()
        late.closed = True
        for span_id in span_ids:
            tree.open.pop(span_id, None)
        self.shut_in(late, span_ids)

    def shut_in(self, tree: Tree, span_ids: Sequence[int]) -> None:
        """Keep the ids of a closed tree's open spans, so that what comes of them opens no run."""
        for span_id in span_ids:
            tree.open[span_id] = None
            self._tree_of[span_id] = tree
        if span_ids:
            self.shut[id(tree)] = tree
        while len(self.shut) > self._most:
            self.let_go(next(iter(self.shut.values())))

    def let_go(self, tree: Tree) -> None:
        """Forget a closed tree: what comes of its open spans is nobody's."""
        self.shut.pop(id(tree), None)
        for span_id in list(tree.open):
            self._tree_of.pop(span_id, None)
        tree.open.clear()

    def let_all_go(self) -> None:
        """Forget every closed tree of which spans are open."""
        for tree in list(self.shut.values()):
            self.let_go(tree)

    def clear(self) -> None:
        """Forget everything, the traces too."""
        self.traces.clear()
        self.shut.clear()
