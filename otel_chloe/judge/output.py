"""What the child prints, into our log: litellm prints on standard output, and Python its last words on the other."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from typing import Final

_log: Final = logging.getLogger("otel_chloe.judge")

_MAX_LINE: Final = 1_000
_KEPT: Final = 3
_READ: Final = 64 * 1024


class Output:
    """The pipe that the child's standard output and error end in. Its lines are logged at INFO, the last are kept."""

    __slots__ = ("_last", "_part", "fd")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._part = b""
        self._last: deque[str] = deque(maxlen=_KEPT)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Has the loop read it."""
        loop.add_reader(self.fd, self._readable, loop)

    def unwatch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Has the loop forget it."""
        loop.remove_reader(self.fd)

    def read(self) -> bool:
        """Logs what is there by now. False where nothing more can come."""
        try:
            data = os.read(self.fd, _READ)
        except BlockingIOError:
            return True
        except OSError:
            return False
        *lines, self._part = (self._part + data).split(b"\n")
        if len(self._part) > _MAX_LINE or not data:
            lines, self._part = [*lines, self._part], b""
        for line in lines:
            self._line(line[:_MAX_LINE].decode(errors="replace").strip())
        return bool(data)

    def last(self) -> str:
        """The last lines, to be put behind a sentence; empty where nothing was printed."""
        return " It said last:\n" + "\n".join(self._last) if self._last else ""

    @staticmethod
    def say(message: str) -> None:
        """Logs something that people should see."""
        _log.warning("otel_chloe: %s", message)

    def _line(self, line: str) -> None:
        if line:
            self._last.append(line)
            _log.info("litellm: %s", line)

    def _readable(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self.read():
            loop.remove_reader(self.fd)
