"""The terminal: complaints, progress, colours, and text that is safe to show."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

OK: Final = 0
NOT_PASSED: Final = 1
BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
"""128 + SIGINT, as shells count it."""
BROKEN_PIPE: Final = 141
"""128 + SIGPIPE."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_ESCAPES: Final = {"\r": "\\r", "\x1b": "\\e"}
_PROGRESS_AFTER_S: Final = 1.0
_PROGRESS_EVERY_S: Final = 0.2


def complain(message: object) -> None:
    """Say what is wrong on standard error, a line for each line of the message."""
    for line in str(message).splitlines():
        print(f"otel-chloe: {printable(line)}", file=sys.stderr)


def printable(text: str) -> str:
    """The text without what a terminal would obey: what agents say is not to be trusted."""
    return text if text.isprintable() else _CONTROL.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    return _ESCAPES.get(character) or f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"


def write(text: str) -> None:
    """Write a line to standard output; what its encoding lacks is written as an escape."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def has_colours(stream: IO[str]) -> bool:
    """Whether to use colours there: on a terminal, and never where NO_COLOR is set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width(stream: IO[str]) -> int:
    """How many columns to use: the terminal's, from 60 to 110; 110 where there is none."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 110
    return min(max(columns, 60), 110)


class Progress:
    """How far reading has come: a line on a terminal that is written over, once it takes longer than a second."""

    def __init__(self, stream: IO[str], clock: Callable[[], float], total: int | None) -> None:
        self._stream = stream
        self._clock = clock
        self._total = total
        self._done = 0
        self._next = clock() + _PROGRESS_AFTER_S
        self._shown = 0

    def read(self, count: int, runs: int) -> None:
        """Note that so many more bytes were read, and how many runs there are so far."""
        self._done += count
        now = self._clock()
        if now >= self._next:
            self._next = now + _PROGRESS_EVERY_S
            of = f" of {_size(self._total)} ({self._done / self._total:.0%})" if self._total else ""
            line = f"read {_size(self._done)}{of}, {runs:,} runs"
            self._stream.write(f"\r{line:<{self._shown}}")
            self._stream.flush()
            self._shown = len(line)

    def clear(self) -> None:
        """Take the line away, before something else is written."""
        if self._shown:
            self._stream.write(f"\r{'':<{self._shown}}\r")
            self._stream.flush()
            self._shown = 0


def _size(count: int) -> str:
    return f"{count / (1 << 20):,.1f} MB" if count < 10 << 30 else f"{count / (1 << 30):,.1f} GB"


class Watched(io.BufferedIOBase):
    """A file that tells how much of it was read; open only while it is read. Problems are told with its ``name``."""

    def __init__(self, path: str, read: Callable[[int], None]) -> None:
        self.name = path
        self._file: io.BufferedReader | None = None
        self._read = read

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        found = self._opened().read(size)
        self._note(len(found))
        return found

    def readinto1(self, buffer: WriteableBuffer, /) -> int:
        count = self._opened().readinto1(buffer)
        self._note(count)
        return count

    def _opened(self) -> io.BufferedReader:
        if self._file is None:
            self._file = Path(self.name).open("rb")  # noqa: SIM115  # closed at its end: it outlives this call
        return self._file

    def _note(self, count: int) -> None:
        self._read(count)
        if not count and self._file is not None:
            self._file.close()
