"""What runs before the exit handlers: a flush, so that no provider made after the last run is shut down before it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

LAST_S: Final = 1.0
"""Of an exit's time, the most that is kept for the marks of what is given up."""


def before_exit_handlers(flush: Callable[[], object]) -> None:
    """Has the interpreter call this when the main thread ends, before it runs what `atexit` knows.

    Exit handlers run last in, first out: a meter provider made after a run would be shut down before the worker's
    handler runs. Python has no public name for the earlier moment; `concurrent.futures` uses the same one. Where it is
    missing, or the interpreter is ending already, only the exit handler is left.
    """
    with suppress(AttributeError, RuntimeError):
        threading._register_atexit(flush)  # type: ignore[attr-defined] # noqa: SLF001


def others_go_on() -> bool:
    """Whether the interpreter's exit will wait for other threads yet."""
    this = threading.current_thread()
    return any(not each.daemon and each is not this for each in threading.enumerate())


def reserve(seconds: float) -> float:
    """Of the time that an exit has, what is kept for the marks of what is given up: a quarter, a second at most."""
    return min(LAST_S, seconds / 4)
