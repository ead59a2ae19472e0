"""The thread on whose event loop judgements are made."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from otel_chloe.mark import Unscored
from otel_chloe.pipeline.judging.desk import Desk, Job

_NOT_STARTED: Final = "the judge's thread cannot start"


class _Came:
    """Jobs on their way to the loop, which is woken once for all that come before it looks."""

    __slots__ = ("_jobs", "told")

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()
        self.told = False

    def put(self, job: Job) -> bool:
        """Adds one. Whether the loop must be woken."""
        self._jobs.append(job)
        told, self.told = self.told, True
        return not told

    def all(self) -> Iterator[Job]:
        """Takes out what is there. What comes from now on wakes the loop again."""
        self.told = False
        while self._jobs:
            yield self._jobs.popleft()


class JudgeThread:
    """One daemon thread with one event loop, for as long as the process lives: a model's client is kept with its loop.

    Used by one thread at a time, which is never the loop's own.

    Args:
        desk: Makes the desk; again in a forked process, which has no thread and owns none of its parent's jobs.
        name: The thread's name.
    """

    def __init__(self, desk: Callable[[], Desk], *, name: str = "otel_chloe.judge") -> None:
        self._make = desk
        self._name = name
        self._desk = desk()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._came = _Came()

    @property
    def size(self) -> int:
        """The jobs that wait or are being judged."""
        return self._desk.size

    def start(self) -> asyncio.AbstractEventLoop:
        """Starts the thread, if it does not run. Raises RuntimeError where no thread can be started any more."""
        if self._loop is not None:
            return self._loop
        loop = asyncio.new_event_loop()
        try:
            threading.Thread(target=_run, args=(loop,), name=self._name, daemon=True).start()
        except BaseException:
            loop.close()
            raise
        self._loop = loop
        return loop

    def offer(self, job: Job) -> Unscored | None:
        """Takes up a job, or says why not."""
        try:
            loop = self.start()
        except RuntimeError as error:
            return Unscored(f"{_NOT_STARTED}: {error}", name=job.name, error="judge_off")
        job.since = loop.time()
        refused = self._desk.offer(job)
        if refused is None and self._came.put(job):
            try:
                loop.call_soon_threadsafe(self._take, self._desk, self._came)
            except BaseException:  # Ctrl-C in between: the next one must wake it
                self._came.told = False
                raise
        return refused

    @staticmethod
    def _take(desk: Desk, came: _Came) -> None:
        desk.take(came.all())

    def idle(self, timeout_s: float) -> bool:
        """Waits until every job offered so far has its outcome. False if that took too long."""
        return self._desk.idle(timeout_s)

    def give_up(self, timeout_s: float) -> None:
        """Ends what is left as unscored: on the loop, or, where that is stuck for so long, without it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._desk.give_up)
        if not self._desk.idle(timeout_s):
            self._desk.abandon()

    def close(self) -> None:
        """Takes up no more jobs."""
        self._desk.close()

    def forked(self) -> None:
        """In a forked process: forgets the parent's thread and its jobs."""
        self._loop = None
        self._desk = self._make()
        self._came = _Came()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while True:
        # A user's way to the model may raise what ends a loop (sys.exit), or stop it: other jobs wait for theirs.
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
