"""A lock that no fork happens under: a child must not inherit the locks that the SDK holds while marks go out."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from .weak import weakly

_WAIT_S: Final = 1.0
"""A fork waits no longer: an exporter that hangs must not hang the application."""


class ForkGuard:
    """``with guard.held():`` keeps forks by other threads out of a block, for a second at most. Hooks never take it."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            # Weakly, for what is registered at fork can never be taken back.
            before, in_parent, in_child = map(weakly, (self._before, self._in_parent, self._renew))
            os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)

    @contextmanager
    def held(self) -> Generator[None, None, None]:
        """No other thread forks while this is held."""
        lock = self._lock
        # Who comes again and again would get the lock again and again: a fork that waits stands in the door.
        with self._door:
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _renew(self) -> None:
        self._door, self._lock = threading.RLock(), threading.RLock()

    def _before(self) -> None:
        self._door.acquire(timeout=_WAIT_S)
        self._lock.acquire(timeout=_WAIT_S)

    def _in_parent(self) -> None:
        for lock in (self._lock, self._door):
            # It is another thread's where the wait was given up.
            with suppress(RuntimeError):
                lock.release()
