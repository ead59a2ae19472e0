"""An event loop whose clock jumps to the next thing due: hours of waiting in no time, and always the same."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    """Never waits for a time: it moves the clock there. Without one it waits, for a thread may call in."""

    loop: JumpingLoop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout > 0:
            ready = super().select(0)
            if not ready:
                self.loop.now += timeout
            return ready
        return super().select(timeout)


class JumpingLoop(asyncio.SelectorEventLoop):
    """Its time starts at 0."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = _Jumping()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run_jumping(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine on a jumping loop."""
    loop = JumpingLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()
