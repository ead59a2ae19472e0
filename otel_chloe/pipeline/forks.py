"""A lock that no fork happens under: a child must not inherit the locks that the SDK holds while marks go out."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_WAIT_S: Final = 1.0
"""A fork waits no longer: an exporter that hangs must not hang the application."""


class ForkGuard:
    """``with guard.lock:`` keeps forks by other threads out of a block, for a second at most. Hooks never take it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        if hasattr(os, "register_at_fork"):
            # Weakly, for what is registered at fork can never be taken back.
            before, in_parent, in_child = map(_weakly, (self._before, self._in_parent, self._in_child))
            os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)

    def _before(self) -> None:
        self.lock.acquire(timeout=_WAIT_S)

    def _in_parent(self) -> None:
        # It is another thread's where the wait was given up.
        with suppress(RuntimeError):
            self.lock.release()

    def _in_child(self) -> None:
        self.lock = threading.RLock()


def _weakly(method: Callable[[], None]) -> Callable[[], None]:
    weak = weakref.WeakMethod(method)

    def call() -> None:
        if found := weak():
            found()

    return call
