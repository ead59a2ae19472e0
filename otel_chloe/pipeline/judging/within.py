"""Limits of time on what is awaited, with one timer for all that are under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class _Limit:
    __slots__ = ("over", "task", "when")

    def __init__(self, task: asyncio.Task[Any], when: float) -> None:
        self.task = task
        self.when = when
        self.over = False


class Deadlines:
    """Limits of time on one event loop.

    A timer for each, as ``asyncio.timeout`` has it, or a task, as ``asyncio.wait_for`` has, takes a tenth of all that a
    judgement takes here. What is under way is little, so what is over its time is found by a look at all of it.
    """

    def __init__(self) -> None:
        self._live: dict[int, _Limit] = {}  # outer ones before inner ones
        self._timer: asyncio.TimerHandle | None = None

    async def within(self, work: Awaitable[T], seconds: float) -> T:
        """What ``work`` gives. Raises TimeoutError after so many seconds, and cancels it."""
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        loop = task.get_loop()
        limit = _Limit(task, loop.time() + seconds)
        self._live[id(limit)] = limit
        self._come(loop, limit.when)
        try:
            return await work
        except asyncio.CancelledError:
            if limit.over:
                limit.over = False
                if _was_all(task):
                    raise TimeoutError from None
            raise
        finally:
            del self._live[id(limit)]
            if limit.over:
                _was_all(task)

    def _come(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = loop.call_at(when, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancels what is over its time. Of two limits around the same thing that are over, the outer one counts."""
        self._timer = None
        now = loop.time()
        cancelled = set[asyncio.Task[Any]]()
        for limit in tuple(self._live.values()):
            if limit.when > now:
                self._come(loop, limit.when)
            elif not limit.over and limit.task not in cancelled:
                limit.over = limit.task.cancel()
                cancelled.add(limit.task)


def _was_all(task: asyncio.Task[Any]) -> bool:
    """Takes a cancellation back. False where somebody else has cancelled the task too; before 3.11 nobody can tell."""
    uncancel = getattr(task, "uncancel", None)
    return uncancel is None or uncancel() == 0
