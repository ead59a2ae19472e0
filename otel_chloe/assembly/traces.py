"""The open trees by their traces. Hooks add and look up, from any thread and without a lock: see the assembler."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from otel_chloe.assembly.tables import give_back
from otel_chloe.assembly.tree import Tree


class Traces:
    """The open trees of each trace: one, seldom several."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[int, list[Tree]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def of(self, trace_id: int) -> Sequence[Tree]:
        """The open trees of a trace."""
        return tuple(self._held.get(trace_id, ()))

    def add(self, tree: Tree) -> None:
        """Have a tree found. The list of a trace that held none is put in with the tree in it, in one operation."""
        alone = [tree]
        while (held := self._held.setdefault(tree.trace_id, alone)) is not alone:
            held.append(tree)
            if self._held.get(tree.trace_id) is held:
                return
            # Emptied and taken out meanwhile: whoever did that may not have seen the tree in it.

    def remove(self, tree: Tree) -> None:
        """Have a tree found no more, nor another that was opened for the same span."""
        held = self._held.get(tree.trace_id)
        if held is None:
            return
        for each in held.copy():
            if each.root_id == tree.root_id:
                with suppress(ValueError):
                    held.remove(each)
        if not held:
            for each in self._held.pop(tree.trace_id, ()):
                if not each.closed:
                    self.add(each)  # added between the look and the removal

    def give_back(self) -> None:
        """Give back the room of many, where none is left."""
        give_back([], self._held)

    def clear(self) -> None:
        """Forget all."""
        self._held.clear()
