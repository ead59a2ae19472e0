"""What is held of the spans of this process: the spans under one root, the limits on them, and a closed run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from otel_chloe.part import Part
from otel_chloe.record import Record
from otel_chloe.run import Run


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


class Tree:
    """The spans under one span that has nothing of ours above it: one run, seldom several.

    ``open`` maps the ids of spans that have not ended to the spans; ``parts`` are the ended ones. ``origin`` is what
    the root span was made of, for the evaluation spans and the resource.
    """

    __slots__ = (
        "bytes",
        "closed",
        "last_s",
        "late",
        "newest",
        "open",
        "origin",
        "orphan",
        "ours",
        "parts",
        "plain_root",
        "root_id",
        "sampled",
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
        self.newest: Record | None = None
        self.bytes = 0
        self.seen = -1
        self.last_s: float | None = None
        self.origin: Any = None
        self.late = self.orphan = self.closed = self.ours = self.plain_root = self.unhooked = self.watched = False


@dataclass(frozen=True, slots=True)
class Closed:
    """A closed run and the tree that it was cut from."""

    run: Run
    tree: Tree
