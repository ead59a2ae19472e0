"""Reads the recordings that a command was given: runs for it, problems and progress for the user."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from ..recording.runs import FoundRun, find_runs
from ..recording.source import STANDARD_INPUT, Source
from .console import Progress, Watched, complain


class Recordings:
    """The recordings of one command. ``bad`` says, after reading, whether a part of them could not be read."""

    def __init__(self, files: Sequence[str], *, together: bool = False) -> None:
        self.bad = False
        self.count = 0
        self._files = files
        self._together = together
        self._progress = _progress(files)

    def runs(self, *, explain: bool = False) -> Iterator[FoundRun]:
        """The runs, each with the file it stands in. ``explain``: their calls say what they were made of."""
        sources = [(name, self._source(name)) for name in self._files]
        with _spared_collector():
            for found in find_runs(
                sources, together=self._together, problem=self._problem, late=self._late, explain=explain
            ):
                self.count += 1
                self._clear()
                yield found
        self._clear()
        if not self.count and not self.bad:
            complain("no runs in these recordings")

    def _source(self, name: str) -> Source:
        """The file itself where its progress is shown. What is none is left to the reader to tell."""
        if self._progress is None or _size(name) is None:
            return name
        return Watched(name, self._progress_of)

    def _progress_of(self, count: int) -> None:
        if self._progress is not None:
            self._progress.read(count, self.count)

    def _problem(self, error: InputError) -> None:
        self.bad = True
        self._clear()
        complain(error)

    def _late(self, name: str, count: int) -> None:
        self._clear()
        which = "1 span, which came" if count == 1 else f"{count:,} spans, which came"
        complain(f"{name}: {which} after its run had been closed to free memory, left out")

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
    """The size of a file; None for everything else."""
    try:
        path = Path(name)
        return path.stat().st_size if name != STANDARD_INPUT and path.is_file() else None
    except (OSError, ValueError):
        return None


@contextmanager
def _spared_collector() -> Generator[None]:
    """Spans are many and make no cycles: looking for cycles again and again takes a tenth of the time."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
