"""Reads the recordings that a command was given: runs for it, problems and progress for the user."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from ..errors import InputError
from ..recording.runs import FoundRun, find_runs
from ..recording.source import STANDARD_INPUT, Source
from .console import Progress, Watched, complain


class Recordings:
    """The recordings of one command. ``bad`` says, after reading, whether a part of them could not be read."""

    def __init__(self, files: Sequence[str], *, together: bool = False) -> None:
        self.bad = False
        self._files = files
        self._together = together
        self._progress = _progress(files)

    def runs(self) -> Iterator[FoundRun]:
        """The runs, each with the file it stands in."""
        _spare_the_collector()
        with ExitStack() as stack:
            sources = ((name, self._source(name, stack)) for name in self._files)
            for found in find_runs(sources, together=self._together, problem=self._problem, late=self._late):
                if self._progress is not None:
                    self._progress.runs += 1
                    self._progress.clear()
                yield found
        self._clear()

    def _source(self, name: str, stack: ExitStack) -> Source:
        """The file itself where its progress is shown; what cannot be opened is left to the reader to tell."""
        if self._progress is None or name == STANDARD_INPUT:
            return name
        try:
            return Watched(stack.enter_context(Path(name).open("rb")), name, self._progress.read)
        except (OSError, ValueError):
            return name

    def _problem(self, error: InputError) -> None:
        self.bad = True
        self._clear()
        complain(error)

    def _late(self, name: str, count: int) -> None:
        self._clear()
        spans, runs = ("a span", "its run") if count == 1 else (f"{count:,} spans", "their runs")
        complain(f"{name}: {spans} came after {runs} had been closed to free memory, and is in no run")

    def _clear(self) -> None:
        if self._progress is not None:
            self._progress.clear()


def _progress(files: Sequence[str]) -> Progress | None:
    if not sys.stderr.isatty():
        return None
    sizes = [_size(name) for name in files]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return Progress(sys.stderr, time.monotonic, total)


def _size(name: str) -> int | None:
    try:
        return None if name == STANDARD_INPUT else Path(name).stat().st_size
    except (OSError, ValueError):
        return None


def _spare_the_collector() -> None:
    """Spans are many and make no cycles: to look for some among them all, again and again, takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
