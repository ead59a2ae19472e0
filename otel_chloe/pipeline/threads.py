"""The threads on which users' own scorers run: daemons, four at most. What a scorer does there harms nobody.

Work may be offered inside an agent span's end(), in a signal handler or a finaliser too: what that takes is a queue
whose ``put`` is re-entrant, single operations of a dict, and a lock of each job's own.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Coroutine, Sequence
from queue import SimpleQueue
from time import monotonic
from typing import Any, Final, TypeVar

from otel_chloe.mark import Failed, Outcome, Unscored
from otel_chloe.pipeline.context import in_own_context

R = TypeVar("R")

MOST_THREADS: Final = 4
MOST_JOBS: Final = 1_000
GIVE_UP_S: Final = 30.0
"""How long a scorer may take, and how long it may wait for a thread."""
_ENDED: Final = "the process ended before the scorer had answered"


class Job:
    """One scorer that is asked about one run, and what came of it."""

    __slots__ = ("_claims", "_done", "_then", "began_s", "name", "offered_s", "outcomes", "took_s", "work")

    def __init__(self, name: str, work: Callable[[], Sequence[Outcome]]) -> None:
        self.name = name
        self.work = work
        self.offered_s = 0.0
        self.began_s: float | None = None
        self.took_s: float | None = None
        self.outcomes: Sequence[Outcome] | None = None
        self._done = _thread.allocate_lock()
        self._done.acquire()
        self._claims: dict[str, object] = {}
        self._then: Callable[[Sequence[Outcome]], object] | None = None

    def settle(self, outcomes: Sequence[Outcome]) -> bool:
        """Gives the job its outcomes; False where somebody else has."""
        if not self._mine("settled"):
            return False
        self.outcomes = outcomes
        self._done.release()
        self._tell()
        return True

    def then(self, take: Callable[[Sequence[Outcome]], object]) -> None:
        """Has the outcomes given to ``take``, once: now, or when they are there."""
        self._then = take
        self._tell()

    def wait(self, timeout_s: float) -> bool:
        """Waits for the outcomes."""
        if not self._done.acquire(timeout=max(0.0, timeout_s)):
            return False
        self._done.release()
        return True

    def _tell(self) -> None:
        # Whoever comes second, the outcomes or who takes them, finds both.
        take, outcomes = self._then, self.outcomes
        if take is not None and outcomes is not None and self._mine("told"):
            take(outcomes)

    def _mine(self, what: str) -> bool:
        mine = object()
        return self._claims.setdefault(what, mine) is mine


class ScorerThreads:
    """Runs jobs, each in a context of nobody's that suppresses instrumentation.

    Args:
        given_up: Called for each job that took too long; its thread goes on with it, and with nothing else till then.
        clock: The time, in seconds.
    """

    def __init__(self, given_up: Callable[[Job], object], *, clock: Callable[[], float] = monotonic) -> None:
        self._given_up = given_up
        self._clock = clock
        self.forked()

    def forked(self) -> None:
        """In a forked process: its parent's threads and jobs are not here."""
        self._queue: SimpleQueue[Job] = SimpleQueue()
        self._open: dict[int, Job] = {}
        self._slots: dict[int, object] = {}
        self._closed = False

    @property
    def size(self) -> int:
        """The jobs that wait or run."""
        return len(self._open)

    def prepare(self) -> None:
        """Starts a first thread: at the interpreter's exit none can be started."""
        if not self._slots:
            self._start()

    def offer(self, job: Job) -> None:
        """Has a job done; at once, on this thread, where no thread can be started any more."""
        if self._closed:
            job.settle([Unscored(_ENDED, name=job.name, error="deadline")])
            return
        if len(self._open) >= MOST_JOBS:
            job.settle([Unscored("too many runs wait for their scorers", name=job.name, error="queue_full")])
            return
        job.offered_s = self._clock()
        self._open[id(job)] = job
        if len(self._open) > len(self._slots) and not self._start() and not self._slots:
            in_own_context(self._do, job)
            return
        self._queue.put(job)

    def overdue(self, now: float) -> float | None:
        """Gives up what takes too long. When to look again, by the clock; None where nothing is open."""
        again: float | None = None
        for job in list(self._open.values()):
            due = (job.offered_s if job.began_s is None else job.began_s) + GIVE_UP_S
            if now >= due:
                self._give_up(job)
            else:
                again = due if again is None else min(again, due)
        return again

    # --- what flush and shutdown wait for ----------------------------------------------------------------------------

    def wait(self, timeout_s: float) -> bool:
        """Waits until everything offered by now is done. False if that took too long."""
        until = self._clock() + timeout_s
        return all(job.wait(until - self._clock()) for job in list(self._open.values()))

    def give_up(self, timeout_s: float) -> None:
        """Ends what is not done within this time, as unscored."""
        if not self.wait(timeout_s):
            for job in list(self._open.values()):
                self._end(job, [Unscored(_ENDED, name=job.name, error="deadline")])

    def close(self) -> None:
        """Does nothing more."""
        self._closed = True

    # --- the threads -------------------------------------------------------------------------------------------------

    def _start(self) -> bool:
        """A thread more, bare: ``threading.Thread.start`` waits for it, which a hook must not."""
        mine = object()
        for slot in range(MOST_THREADS):
            if self._slots.setdefault(slot, mine) is mine:
                try:
                    _thread.start_new_thread(self._run, (self._queue,))
                except RuntimeError:
                    self._slots.pop(slot)
                    return False
                return True
        return True

    def _run(self, queue: SimpleQueue[Job]) -> None:
        while queue is self._queue:  # else user code forked on this thread, and the child came back here
            in_own_context(self._do, queue.get())

    def _do(self, job: Job) -> None:
        if job.outcomes is not None:
            return  # given up while it waited
        job.began_s = self._clock()
        try:
            outcomes = job.work()
        except BaseException as error:  # noqa: BLE001 - a user's function may raise anything; the thread goes on
            outcomes = [Failed(f"{type(error).__name__}: {error}", name=job.name, error=type(error).__name__)]
        job.took_s = self._clock() - job.began_s
        self._end(job, outcomes)

    def _give_up(self, job: Job) -> None:
        began = job.began_s is not None
        said: Outcome = (
            Failed(f"TimeoutError: the scorer did not end within {GIVE_UP_S:g} s", name=job.name, error="TimeoutError")
            if began
            else Unscored(f"no thread was free for the scorer within {GIVE_UP_S:g} s", name=job.name, error="deadline")
        )
        if self._end(job, [said]) and began:
            self._given_up(job)

    def _end(self, job: Job, outcomes: Sequence[Outcome]) -> bool:
        try:
            return job.settle(outcomes)
        finally:
            # Last: who waits for all that is open must not come before the outcomes were told.
            self._open.pop(id(job), None)


def awaited_on_this_thread(work: Coroutine[Any, Any, R]) -> R:
    """What an async function gives, on an event loop made for it alone."""
    import asyncio  # only for who has async scorers

    return asyncio.run(work)
