"""Parts joined to their parents: who stands above and below whom. No recursion: depth is the spans' to choose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from otel_chloe.assembly.beside import work_beside
from otel_chloe.part import AGENT, HANDOFF, MODEL, TOOL, Part

Key = tuple[int, int]
Value = TypeVar("Value")
_WORK = (AGENT, MODEL, TOOL, HANDOFF)


class Forest:
    """The spans of some traces as trees. A span seen twice counts once; rings and missing parents are survived.

    Work that its instrumentation put beside its agent's span stands below that span here.
    """

    __slots__ = ("_children", "_moved", "_parts", "linked", "parts")

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts: dict[Key, Part] = {}
        for part in parts:
            self._parts.setdefault((part.trace_id, part.span_id), part)
        self.parts = sorted(self._parts.values(), key=lambda p: (p.start, p.end, p.span_id))
        self._children: defaultdict[Key, list[Part]] = defaultdict(list)
        for part in self.parts:
            if part.parent_id is not None:
                self._children[part.trace_id, part.parent_id].append(part)
        self.linked = any(part.links for part in self.parts)
        self._moved: dict[int, Part] = {}
        for part in self.parts:
            if part.kind is AGENT and part.name and part.parent_id is not None:
                self._move_below(part, (part.trace_id, part.parent_id))

    def _move_below(self, agent: Part, above: Key) -> None:
        """Put an agent's work below its span, where it stands beside it."""
        siblings = self._children[above]
        if len(siblings) < 2 or any(part.kind in _WORK for part in self.below(agent)):
            return
        work = work_beside(agent, siblings)
        if work is None or any(part is work for part in self.below(agent)):
            return
        siblings.remove(work)
        self._children[agent.trace_id, agent.span_id].append(work)
        self._moved[id(work)] = agent

    def parent(self, part: Part) -> Part | None:
        """The part's parent, None for a root, an unseen parent, or a span that names itself."""
        if part.parent_id is None or part.parent_id == part.span_id:
            return None
        if id(part) in self._moved:
            return self._moved[id(part)]
        return self._parts.get((part.trace_id, part.parent_id))

    def above(self, part: Part) -> Iterator[Part]:
        """The part's ancestors, nearest first."""
        seen = {part.span_id}
        current = self.parent(part)
        while current is not None and current.span_id not in seen:
            yield current
            seen.add(current.span_id)
            current = self.parent(current)

    def above_as(
        self, part: Part, known: dict[int, Value], step: Callable[[Part, Value | None], Value]
    ) -> Value | None:
        """What the ancestors of a part come to: ``step(ancestor, what those above it come to)``, the outermost first.

        ``known`` keeps what was found, by the id of the ancestor: however many parts stand below, each is asked once.
        """
        path: list[Part] = []
        passed: set[int] = set()
        current = self.parent(part)
        while current is not None and id(current) not in known and id(current) not in passed:
            path.append(current)
            passed.add(id(current))
            current = self.parent(current)
        value = known.get(id(current)) if current is not None else None
        for above in reversed(path):
            value = known[id(above)] = step(above, value)
        return value

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
