"""Methods for lists that keep what is put in them: exit and fork handlers."""

from __future__ import annotations

import weakref
from collections.abc import Callable


def weakly(method: Callable[[], None]) -> Callable[[], None]:
    """Calls a method as long as its object lives, and does not keep it alive."""
    weak = weakref.WeakMethod(method)

    def call() -> None:
        if found := weak():
            found()

    return call
