"""The threads on which users' own scorers run: daemons, four at most. What a scorer does there harms nobody.

One scorer of several has half of them at most, so that others are still asked when it hangs.

Work may be offered inside an agent span's end(), in a signal handler or a finaliser too: what that takes is a queue
whose ``put`` is re-entrant, single operations of a dict, and a lock of each job's own. Whose turn it is is found on the
threads themselves, under a lock that no hook takes.
"""

from __future__ import annotations

import _thread
import os
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from threading import RLock
from time import monotonic, thread_time
from typing import Any, Final, TypeVar

from otel_chloe.kit import failure
from otel_chloe.mark import Failed, Outcome, Unscored
from otel_chloe.pipeline.context import in_own_context

R = TypeVar("R")

MOST_THREADS: Final = 4
MOST_JOBS: Final = 1_000
"""Of all scorers together; of one of several, half of them."""
GIVE_UP_S: Final = 30.0
"""How long a scorer may take, and how long it may wait for a thread."""
_ENDED: Final = "the process ended before the scorer had answered"


class Job:
    """One scorer that is asked about one run, and what came of it.

    Args:
        name: The scorer's.
        work: Asks it.
        finish: What is done with the outcomes, in time that is not the scorer's own.
    """

    __slots__ = (
        "_claims",
        "_done",
        "_then",
        "began_s",
        "finish",
        "name",
        "offered_s",
        "outcomes",
        "took_s",
        "work",
        "worked_s",
    )

    def __init__(
        self,
        name: str,
        work: Callable[[], Sequence[Outcome]],
        finish: Callable[[Sequence[Outcome]], Sequence[Outcome]] | None = None,
    ) -> None:
        self.name = name
        self.work = work
        self.finish = finish
        self.offered_s = 0.0
        self.began_s: float | None = None
        self.took_s: float | None = None
        self.worked_s = 0.0  # of its thread's own time: what it waited for is not in it
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
        try:
            self._tell()
        finally:
            self._done.release()  # last: who waits for all that is open must not come before the outcomes were told
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
        scorers: How many there are.
        clock: The time, in seconds.
    """

    def __init__(
        self, given_up: Callable[[Job], object], *, scorers: int = 1, clock: Callable[[], float] = monotonic
    ) -> None:
        self._given_up = given_up
        self._clock = clock
        self.scorers = scorers
        self.forked()

    def forked(self) -> None:
        """In a forked process: its parent's threads and jobs are not here."""
        self._queue: SimpleQueue[Job] = SimpleQueue()
        self._open: dict[str, dict[int, Job]] = {}
        self._turns = _Turns(self._queue.put)
        self._slots: dict[int, object] = {}
        self._closed = False
        self._pid = os.getpid()

    @property
    def size(self) -> int:
        """The jobs that wait or run."""
        return sum(map(len, list(self._open.values())))

    def prepare(self) -> None:
        """Starts a first thread: at the interpreter's exit none can be started."""
        if not self._slots:
            self._start()

    def offer(self, job: Job) -> None:
        """Has a job done; at once, on this thread, where no thread can be started any more."""
        if self._closed:
            job.settle([Unscored(_ENDED, name=job.name, error="deadline")])
            return
        mine = self._open.setdefault(job.name, {})
        if len(mine) >= self._share_of(MOST_JOBS) or self.size >= MOST_JOBS:
            job.settle([Unscored("too many runs wait for their scorers", name=job.name, error="queue_full")])
            return
        job.offered_s = self._clock()
        mine[id(job)] = job
        if self.size > len(self._slots) and not self._start() and not self._slots:
            in_own_context(self._do, job, self._queue)
            return
        self._queue.put(job)

    def _share_of(self, most: int) -> int:
        """How much of it one scorer may have."""
        return most if self.scorers <= 1 else most // 2

    def _all(self) -> Iterator[Job]:
        for jobs in list(self._open.values()):
            yield from list(jobs.values())

    def overdue(self, now: float) -> float | None:
        """Gives up what takes too long. When to look again, by the clock; None where nothing is open."""
        again: float | None = None
        for job in self._all():
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
        return all(job.wait(until - self._clock()) for job in list(self._all()))

    def give_up(self, timeout_s: float) -> None:
        """Ends what is not done within this time, as unscored."""
        if not self.wait(timeout_s):
            for job in self._all():
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
        turns, pid = self._turns, os.getpid()
        while self._is_here(queue):
            job = queue.get()
            if turns.begins(job, self._share_of(MOST_THREADS)):
                in_own_context(self._do, job, queue)
                if os.getpid() != pid:
                    os._exit(0)  # it would live on where something has started a thread in it, as the SDK's batches do
                turns.ended(job)

    def _is_here(self, queue: SimpleQueue[Job]) -> bool:
        """Whether this is the process that the queue is of: user code may fork on a thread, and the child come back.

        It has no part in this, and ends.
        """
        return queue is self._queue and os.getpid() == self._pid

    def _do(self, job: Job, queue: SimpleQueue[Job]) -> None:
        if job.outcomes is not None:
            return  # given up while it waited
        job.began_s, worked_s = self._clock(), thread_time()
        outcomes = _made(job, job.work)
        job.worked_s = thread_time() - worked_s
        job.took_s = self._clock() - job.began_s
        if not self._is_here(queue):
            return
        self._end(job, outcomes if job.finish is None else _made(job, partial(job.finish, outcomes)))

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
            self._open.get(job.name, {}).pop(id(job), None)


def _made(job: Job, make: Callable[[], Sequence[Outcome]]) -> Sequence[Outcome]:
    try:
        return make()
    except BaseException as error:  # noqa: BLE001 - a user's function may raise anything; the thread goes on
        return [replace(failure(error), name=job.name)]


class _Turns:
    """Whose turn it is: so many jobs of one scorer at a time. Others wait until one of its own has ended.

    Args:
        again: Offers a job anew that had to wait.
    """

    def __init__(self, again: Callable[[Job], object]) -> None:
        self._again = again
        self._lock = RLock()  # user code may end a span inside it (a finaliser), and offer a job there
        self._running: dict[str, int] = {}
        self._waiting: dict[str, deque[Job]] = {}

    def begins(self, job: Job, most: int) -> bool:
        """Whether it is the job's turn, where ``most`` of its scorer may run. If not, it is kept, and comes again."""
        with self._lock:
            running = self._running.get(job.name, 0)
            if running < most:
                self._running[job.name] = running + 1
                return True
            waiting = self._waiting.setdefault(job.name, deque())
            while waiting and waiting[0].outcomes is not None:  # given up while they waited
                waiting.popleft()
            waiting.append(job)
            return False

    def ended(self, job: Job) -> None:
        """Makes room for the next of its scorer, behind what others wait for."""
        with self._lock:
            self._running[job.name] -= 1
            waiting = self._waiting.get(job.name)
            if waiting:
                self._again(waiting.popleft())


def awaited_on_this_thread(work: Coroutine[Any, Any, R]) -> R:
    """What an async function gives, on an event loop made for it alone."""
    import asyncio  # only for who has async scorers

    return asyncio.run(work)
