"""Parts joined to their parents: who stands above and below whom. No recursion: depth is the spans' to choose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from otel_chloe.part import Part

Key = tuple[int, int]


class Forest:
    """The spans of some traces as trees. A span seen twice counts once; rings and missing parents are survived."""

    __slots__ = ("_children", "_parts", "parts")

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts: dict[Key, Part] = {}
        for part in parts:
            self._parts.setdefault((part.trace_id, part.span_id), part)
        self.parts = sorted(self._parts.values(), key=lambda p: (p.start, p.end, p.span_id))
        self._children: defaultdict[Key, list[Part]] = defaultdict(list)
        for part in self.parts:
            if part.parent_id is not None:
                self._children[part.trace_id, part.parent_id].append(part)

    def parent(self, part: Part) -> Part | None:
        """The part's parent, None for a root, an unseen parent, or a span that names itself."""
        if part.parent_id is None or part.parent_id == part.span_id:
            return None
        return self._parts.get((part.trace_id, part.parent_id))

    def above(self, part: Part) -> Iterator[Part]:
        """The part's ancestors, nearest first."""
        seen = {part.span_id}
        current = self.parent(part)
        while current is not None and current.span_id not in seen:
            yield current
            seen.add(current.span_id)
            current = self.parent(current)

    def below(self, part: Part) -> Iterator[Part]:
        """Everything under the part, the part itself not included."""
        seen = {part.span_id}
        waiting = [part]
        while waiting:
            current = waiting.pop()
            for child in self._children.get((current.trace_id, current.span_id), ()):
                if child.span_id not in seen:
                    seen.add(child.span_id)
                    waiting.append(child)
                    yield child
