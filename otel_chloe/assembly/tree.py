"""What is held of the spans of this process: the spans under one root, the limits on them, and a closed run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from otel_chloe.part import LogEvent, Part, tell
from otel_chloe.record import SPAN_ID, Record
from otel_chloe.run import End, Run

SPANS_LATE: Final = "spans_late"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long runs wait and how much is held. Times are seconds, sizes bytes of text."""

    settle_s: float = 2.0
    idle_s: float = 900.0
    max_spans: int = 20_000
    max_bytes: int = 8 * 1024 * 1024
    max_open_runs: int = 20_000
    max_open_bytes: int = 256 * 1024 * 1024
    remembered_runs: int = 10_000

    @property
    def most_trees(self) -> int:
        """How many trees are kept whatever happens: :meth:`too_many` gives those to close, to who finds the time."""
        return 2 * self.max_open_runs + 1_000

    def passed_by(self, tree: Tree) -> End | None:
        """The limit of its own that a tree went over, if any."""
        if len(tree.parts) > self.max_spans:
            return "span_limit"
        return "byte_limit" if tree.bytes > self.max_bytes else None

    def too_many(self, trees: Mapping[int, Tree]) -> Iterator[Tree]:
        """The trees to close, the longest idle first, until those that are left keep the limits over all of them."""
        # Hooks open trees meanwhile.
        now = dict(trees)
        held = sum(tree.bytes for tree in now.values())
        if len(trees) <= self.max_open_runs and held <= self.max_open_bytes:
            return
        for tree in sorted(now.values(), key=lambda t: t.last_s or 0.0):
            if len(trees) <= self.max_open_runs and held <= self.max_open_bytes:
                return
            held -= tree.bytes
            yield tree


class Tree:
    """The spans under one span that has nothing of ours above it: one run, seldom several.

    ``open`` maps the ids of spans that have not ended to the spans; ``parts`` are the ended ones. ``origin`` is what
    the root span was made of, for the evaluation spans and the resource; ``scored_by`` has the rules of that time.
    ``logs`` are records with content, by span id.
    """

    __slots__ = (
        "bytes",
        "closed",
        "last_s",
        "late",
        "logs",
        "newest",
        "open",
        "origin",
        "orphan",
        "ours",
        "parts",
        "plain_root",
        "root_id",
        "sampled",
        "scored_by",
        "seen",
        "trace_id",
        "unhooked",
        "watched",
    )

    def __init__(self, context: Any, span: Any) -> None:
        self.trace_id = context[0]
        self.root_id = root_id = context[1]
        self.sampled = context[3] & 1 == 1
        self.open: dict[int, Any] = {root_id: span}
        self.parts: list[Part | Record] = []
        self.newest: Any = None  # the model call that may be shortened: a record that is a list
        self.bytes = 0
        self.logs: list[tuple[int, LogEvent]] = []
        self.seen = -1
        self.last_s: float | None = None
        self.origin: Any = None
        self.scored_by: Any = None
        self.late = self.orphan = self.closed = self.ours = self.plain_root = self.unhooked = self.watched = False

    def quiet_s(self, now: float) -> float:
        """For how long nothing has happened in the tree, as far as somebody looked."""
        events = len(self.parts) + len(self.open) * 1_000_003
        if events != self.seen or self.last_s is None:
            self.seen, self.last_s = events, now
        return now - self.last_s

    def tell(self, parts: Iterable[Part]) -> None:
        """Give parts what the tree knows of them: whether it is sampled, where it begins, what was logged."""
        logs: dict[int, list[LogEvent]] = {}
        for span_id, log in self.logs.copy():
            logs.setdefault(span_id, []).append(log)
        for part in parts:
            part.sampled = self.sampled
            if part.span_id == self.root_id and not self.orphan:
                part.remote_parent = True
            if part.span_id in logs:
                tell(part, logs[part.span_id])

    def has(self, span_id: int) -> bool:
        """Whether a span has ended in the tree: looked for among the last ones first."""
        return any(_id_of(held) == span_id for held in reversed(self.parts))


def _id_of(held: Part | Record) -> int:
    return held.span_id if isinstance(held, Part) else int(held[SPAN_ID])


NO_TREE: Final = Tree((0, 0, False, 0), None)
"""Stands where a tree must, and none is."""
NO_TREE.closed = True


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Closed:
    """A closed run and the tree that it was cut from."""

    run: Run
    tree: Tree
