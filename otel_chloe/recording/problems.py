"""What could not be read of one recording: said once per place, with the file, the line and what to do."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

from ..errors import InputError

MAX_PROBLEMS: Final = 100
"""Problems told one by one per recording; the rest is counted. A wrong file would otherwise print a line per line."""

ONE_A_LINE: Final = "Expected one OTLP/JSON ExportTraceServiceRequest a line"


def size(count: int) -> str:
    """Write a number of bytes for people."""
    return f"{count >> 20:,} MB" if count >= 1 << 20 else f"{count:,} bytes"


class UnwantedError(Exception):
    """A problem came up where none was wanted."""


class Problems:
    """Collects the problems of one recording and tells them as InputErrors.

    The same problem on lines that follow each other is told once, as a range. ``place`` is the number of the line or
    message being read; 0 stands for the whole recording. ``traces`` and ``other_signals`` say what was seen in it;
    ``logs`` takes log records, in the form of OTLP/JSON, where somebody reads them; ``logs_suffice`` says that a
    recording may hold them alone.
    """

    def __init__(
        self,
        name: str,
        tell: Callable[[InputError], None],
        *,
        limit: int = MAX_PROBLEMS,
        logs: Callable[[Any], object] | None = None,
        logs_suffice: bool = True,
    ) -> None:
        self.name = name
        self.logs = logs
        self.logs_suffice = logs_suffice
        self.place = 0
        self.unit = "line"
        self.traces = False
        self.other_signals: set[str] = set()
        self._tell = tell
        self._limit = limit
        self._wanted = True
        self._told = 0
        self._untold = 0
        self._what = self._advice = ""
        self._from = self._to = self._times = 0

    def add(self, what: str, advice: str) -> None:
        """Note a problem at the current place. ``what`` says what is wrong, ``advice`` what was expected and helps."""
        if not self._wanted:
            raise UnwantedError
        if what == self._what and self.place <= self._to + 1:
            self._to = self.place
            self._times += 1
            return
        self._flush()
        self._what, self._advice = what, advice
        self._from = self._to = self.place
        self._times = 1

    def take_logs(self, groups: Any) -> None:
        """Give a list of ResourceLogs to who reads them, if anybody does."""
        if self.logs is not None:
            self.traces |= self.logs_suffice  # it has what is looked for
            self.logs(groups)

    @contextmanager
    def none_wanted(self) -> Generator[None]:
        """Raises UnwantedError at the first problem inside, and notes none."""
        self._wanted = False
        try:
            yield
        finally:
            self._wanted = True

    def close(self) -> None:
        """Tell what is still to be told: also that a recording holds nothing, or other signals only.

        Beside traces, logs and metrics are nothing to speak of: the Collector may write all three into one file.
        """
        self._flush()
        if not self.traces and (self.other_signals or not self._told):
            self.place = 0
            held = " and ".join(sorted(self.other_signals)) or "no requests"
            self.add(f"this holds {held}, and no spans", "Give the file that the traces pipeline writes.")
            self._flush()
        if self._untold:
            self._tell(
                InputError(
                    f"{self.name}: {self._untold:,} more problems like these. Repair the first ones and run again."
                )
            )
        self._untold = 0

    def _flush(self) -> None:
        if not self._what:
            return
        if self._told < self._limit:
            self._told += 1
            times = f" ({self._times:,} times)" if self._times > 1 + self._to - self._from else ""
            self._tell(InputError(f"{self.name}{self._where()}: {self._what}{times}. {self._advice}"))
        else:
            self._untold += 1
        self._what = ""

    def _where(self) -> str:
        if not self._from:
            return ""
        if self._from == self._to:
            return f", {self.unit} {self._from:,}"
        return f", {self.unit}s {self._from:,} to {self._to:,}"
