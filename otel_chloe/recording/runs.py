"""Recordings in, runs out: what ``otel-chloe runs`` prints, in the memory of what happened at one time."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from ..errors import InputError
from ..part import Part
from ..run import Run
from .held import BUDGET, HeldTraces
from .logs import HeldLogs, without_log_files
from .read import read_parts
from .source import Source

Problem = Callable[[InputError], None]
Late = Callable[[str, int], None]

MERGED: Final = 64
"""Recordings that are read side by side. More would be too many open files: they are read one after the other."""


class FoundRun(NamedTuple):
    """A run, and the name of the recording that its own span stands in."""

    file: str
    run: Run


def load_runs(
    *paths: str | os.PathLike[str], together: bool = False, problem: Callable[[InputError], None] | None = None
) -> Iterator[Run]:
    """Read the runs of recordings, file by file, in the order in which they ended.

    Args:
        paths: Recordings in any form that :func:`otel_chloe.recording.read_spans` reads; ``-`` is standard input.
        together: Join runs across the files, as if they were one recording. Else each stands for itself.
        problem: Is called for everything that cannot be read; what stands before and after it still counts.
            Without it the first problem is raised.
    """
    sources = [(os.fspath(path), path) for path in paths]
    for found in find_runs(sources, together=together, problem=problem):
        yield found.run


def find_runs(
    sources: Iterable[tuple[str, Source]],
    *,
    together: bool = False,
    problem: Problem | None = None,
    late: Late | None = None,
    budget: int = BUDGET,
    explain: bool = False,
) -> Iterator[FoundRun]:
    """Read the runs of named recordings, each with the name of its own.

    ``late`` is told, for each recording, how many spans came after their run had been closed, where any did: they are
    in no run. ``budget`` is the memory that spans may take before the oldest runs are closed. ``explain``: each call
    says what it was made of.
    """
    sources = list(sources)
    wanted = without_log_files(name for name, _ in sources)
    sources = [each for each in sources if each[0] in wanted]
    if together:
        logs = HeldLogs()
        yield from _joined(sources, problem, late, HeldTraces(budget, logs, explain=explain), logs)
        return
    for name, source in sources:
        logs = HeldLogs()
        logs.beside(name, problem)
        held = HeldTraces(budget, logs, explain=explain)
        for part in read_parts(source, problem=problem, logs=logs.add):
            if held.add(part):
                for run in held.over():
                    yield FoundRun(name, run)
        for run in held.rest():
            yield FoundRun(name, run)
        if held.late and late is not None:
            late(name, held.late)


def _joined(
    sources: list[tuple[str, Source]], problem: Problem | None, late: Late | None, held: HeldTraces, logs: HeldLogs
) -> Iterator[FoundRun]:
    for name, _ in sources:
        logs.beside(name, problem)
    origins = _Origins()
    for part, name in _merged(sources, problem, logs):
        origins.note(part, name)
        if held.add(part):
            yield from map(origins.found, held.over())
            origins.keep(held)
    yield from map(origins.found, held.rest())
    if held.late and late is not None:
        late(", ".join(name for name, _ in sources), held.late)


def _merged(sources: list[tuple[str, Source]], problem: Problem | None, logs: HeldLogs) -> Iterator[tuple[Part, str]]:
    """The parts of all recordings by time, so that what belongs together comes together."""
    streams = [_named(name, source, problem, logs) for name, source in sources]
    if len(streams) > MERGED:
        return chain.from_iterable(streams)
    return heapq.merge(*streams, key=lambda pair: pair[0].end)


def _named(name: str, source: Source, problem: Problem | None, logs: HeldLogs) -> Iterator[tuple[Part, str]]:
    for part in read_parts(source, problem=problem, logs=logs.add):
        yield part, name


class _Origins:
    """Where spans were read: for each trace its first recording, and the spans that stand in another."""

    def __init__(self) -> None:
        self._traces: dict[str, str] = {}
        self._spans: dict[tuple[str, str], str] = {}

    def note(self, part: Part, name: str) -> None:
        trace_id = f"{part.trace_id:032x}"
        if self._traces.setdefault(trace_id, name) != name:
            self._spans[trace_id, f"{part.span_id:016x}"] = name

    def found(self, run: Run) -> FoundRun:
        trace_id, span_id = run.trace_id or "", run.span_id or ""
        return FoundRun(self._spans.get((trace_id, span_id)) or self._traces.get(trace_id, ""), run)

    def keep(self, held: HeldTraces) -> None:
        """Forget what no held span needs."""
        self._traces = {trace_id: name for trace_id, name in self._traces.items() if held.holds(int(trace_id, 16))}
        self._spans = {key: name for key, name in self._spans.items() if held.holds(int(key[0], 16))}
