"""Counts what happens to otel_chloe itself, and says it in the log without flooding it.

A count or a log line may be asked for inside a signal handler or a garbage-collection finaliser that interrupted
another count on the same thread, so nothing here takes a lock: each change is one atomic operation of a dict, a deque
or an iterator. Log lines are queued and written by the worker, because an application's log handler may take a lock.
"""

from __future__ import annotations

import logging
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from typing import Final

from otel_chloe import semconv

LOG_PERIOD_S: Final = 20.0
"""The same message is logged at most once in this time, as the OpenTelemetry SDK does."""
MAX_NAMES: Final = 200
"""Distinct names that one set of counts holds; what is over is counted as `_other`."""
MAX_LINES: Final = 32
"""Log lines that wait for the worker."""

ERRORS: Final = "errors"

_log = logging.getLogger(__name__)


class Counts:
    """Counters by name, re-entrant and safe between threads without a lock."""

    __slots__ = ("_counters",)

    def __init__(self) -> None:
        self._counters: dict[str, Iterator[int]] = {}

    def add(self, name: str, n: int = 1) -> None:
        """Adds n, which must not be negative."""
        counter = self._counters.get(name)
        if counter is None:
            known = len(self._counters) < MAX_NAMES
            # setdefault and next() are single operations of the interpreter: nothing comes between read and write.
            counter = self._counters.setdefault(name if known else semconv.OTHER, count())
        if n == 1:
            next(counter)
        else:
            deque(islice(counter, n), maxlen=0)

    def __getitem__(self, name: str) -> int:
        counter = self._counters.get(name)
        return 0 if counter is None else _reading(counter)

    def snapshot(self) -> dict[str, int]:
        """All counts, by name."""
        return {name: _reading(counter) for name, counter in sorted(self._counters.copy().items())}


def _reading(counter: Iterator[int]) -> int:
    # An itertools.count is read without moving it by its repr only: next() moves it, and copying is gone in 3.14.
    return int(repr(counter)[len("count(") : -1])


class QuietLog:
    """Lets the same message through at most once in `period_s`."""

    def __init__(self, clock: Callable[[], float], *, period_s: float = LOG_PERIOD_S) -> None:
        self._clock = clock
        self._period_s = period_s
        self._last: dict[str, float] = {}
        self._claims: dict[tuple[str, float | None], object] = {}

    def allows(self, message: str) -> bool:
        """True for one caller in each period, whatever threads ask."""
        if message not in self._last and len(self._last) >= MAX_NAMES:
            message = semconv.OTHER
        last = self._last.get(message)
        now = self._clock()
        if last is not None and now - last < self._period_s:
            return False
        claim = (message, last)
        token = object()
        if self._claims.setdefault(claim, token) is not token:
            return False
        # Only the holder of the claim may move the time on. One that read the old time late finds it moved.
        mine = self._last.get(message) == last
        if mine:
            self._last[message] = now
        self._claims.pop(claim, None)
        return mine


class Health:
    """What `stats()` tells, what `chloe.errors` counts, and the log lines that explain it."""

    def __init__(self, clock: Callable[[], float], *, logger: logging.Logger = _log) -> None:
        self._counts = Counts()
        self._errors = Counts()
        self._quiet = QuietLog(clock)
        self._logger = logger
        self._lines: deque[tuple[int, str]] = deque(maxlen=MAX_LINES)

    def count(self, name: str, n: int = 1) -> None:
        """Counts something that is no error: runs, marks, late spans."""
        self._counts.add(name, n)

    def error(self, error_type: str, n: int = 1) -> None:
        """Counts something that was lost or went wrong; `error_type` is the word that `chloe.errors` carries."""
        self._errors.add(error_type, n)

    def failed(self, where: str, error: BaseException) -> None:
        """Counts an exception that a guard caught, and queues a log line with its traceback."""
        self._errors.add(type(error).__name__)
        message = f"otel_chloe: {where} failed"
        if self._quiet.allows(f"{message} {type(error).__name__}"):
            # As text, at once: an exception that waits would keep its frames, and the spans in them, alive.
            trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self._lines.append((logging.ERROR, f"{message}; the application goes on.\n{trace}"))

    def warn(self, message: str) -> None:
        """Queues a warning, unless the same was queued within the last 20 s."""
        if self._quiet.allows(message):
            self._lines.append((logging.WARNING, message))

    def say(self, message: str) -> None:
        """Queues a line that is no warning."""
        if self._quiet.allows(message):
            self._lines.append((logging.INFO, message))

    def write_log(self) -> None:
        """Writes the queued lines. Called where a log handler's lock does no harm: on the worker, never in a hook."""
        while self._lines:
            try:
                level, message = self._lines.popleft()
            except IndexError:  # another thread wrote it
                return
            self._logger.log(level, "%s", message)

    def counted(self, name: str) -> int:
        """How often `name` was counted."""
        return self._counts[name]

    def errors(self) -> Mapping[str, int]:
        """Errors by their type."""
        return self._errors.snapshot()

    def stats(self) -> dict[str, int]:
        """All counts by name; errors as their sum, and as `errors.<type>`."""
        errors = self._errors.snapshot()
        return {
            **self._counts.snapshot(),
            ERRORS: sum(errors.values()),
            **{f"{ERRORS}.{name}": n for name, n in errors.items()},
        }
