"""Runs that wait for their judgement, and those that are being judged. Everything lives on one event loop.

What other threads call shares the list of open jobs under a lock, which no hook ever takes. Who settles a job there is
the only one to give its outcome, whatever comes of it elsewhere.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from otel_chloe.judge.ask import Judge, Refused
from otel_chloe.mark import Failed, JudgeCall, Outcome, Unscored
from otel_chloe.pipeline.judging.budget import Budget
from otel_chloe.pipeline.judging.calls import Calls, ModelState, Price
from otel_chloe.pipeline.judging.within import Deadlines

MIB: Final = 1024 * 1024
ENDED: Final = "the process ended before the judge had answered"
_WORST: Final = 2_000
"""Characters of an exception's text that a reason quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskLimits:
    """How much waits, how much is done at a time, how long it may take, what it may cost.

    ``max_runs`` and ``max_bytes`` limit what waits or is being judged. ``deadline_s`` is for one judgement, the wait
    included. Amounts are US dollars.
    """

    max_runs: int = 1_000
    max_bytes: int = 64 * MIB
    concurrency: int = 8
    deadline_s: float = 120.0
    usd_per_hour: float = 1.0
    usd_per_day: float = 10.0
    price: Price | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """One judgement that is due. Not frozen: there is one for every run, and the desk keeps its own notes on it.

    ``what`` is the caller's own; ``name`` the scorer's, ``model`` the judge's. ``size`` is what it holds, in bytes,
    ``since`` the loop's time at which it was offered. ``judge`` makes who answers, where that is not the judge of all.
    ``number`` is its place among all jobs of the desk; ``settled``: somebody gives its outcome by now.
    """

    what: Any
    name: str
    model: str
    size: int
    since: float = 0.0
    judge: Callable[[], Judge] | None = None
    number: int = 0
    settled: bool = False


class Desk:
    """Judges jobs, some at a time, in the order they came for each model.

    Args:
        limits: See :class:`DeskLimits`.
        judge: Makes who answers.
        score: Scores a job by asking that judge; Refused passes through it.
        done: Takes each job's outcomes, one at least.
        told: Takes each call of a model.
        jitter: A number from 0 to 1 by chance.
    """

    def __init__(
        self,
        limits: DeskLimits,
        judge: Callable[[], Judge],
        score: Callable[[Job, Judge], Awaitable[Sequence[Outcome]]],
        done: Callable[[Job, Sequence[Outcome]], object],
        told: Callable[[JudgeCall], object],
        *,
        jitter: Callable[[], float],
    ) -> None:
        self._limits = limits
        self._score = score
        self._done = done
        self._states: dict[str, ModelState] = {}
        budget = Budget(limits.usd_per_hour, limits.usd_per_day)
        self._deadlines = Deadlines()
        self._calls_by = partial(
            Calls,
            budget=budget,
            state_of=self._state_of,
            told=told,
            deadlines=self._deadlines,
            price=limits.price,
            jitter=jitter,
        )
        self._calls = self._calls_by(judge)
        self._waiting: dict[str, deque[Job]] = {}
        self._tasks: dict[asyncio.Task[None], tuple[Job, ModelState]] = {}
        self._given_up: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._changed = threading.Condition()
        self._open: dict[int, Job] = {}  # by number, the oldest first
        self._offered = self._bytes = 0
        self._closed = False

    # --- called by other threads -------------------------------------------------------------------------------------

    def offer(self, job: Job) -> Unscored | None:
        """Takes up a job, which is then given to :meth:`take` on the loop; or says why not."""
        with self._changed:
            if self._closed:
                return _unscored(job, ENDED, "deadline")
            if len(self._open) >= self._limits.max_runs or self._bytes + job.size > self._limits.max_bytes:
                return _unscored(job, "too many runs wait for the judge", "queue_full")
            self._offered += 1
            self._bytes += job.size
            job.number = self._offered
            self._open[job.number] = job
        return None

    def idle(self, timeout_s: float) -> bool:
        """Waits until every job offered so far has its outcome, whatever comes on top. False if that took too long."""
        with self._changed:
            last = self._offered
            return self._changed.wait_for(lambda: self._oldest() > last, max(0.0, timeout_s))

    def close(self) -> None:
        """Takes up no more jobs."""
        with self._changed:
            self._closed = True

    def abandon(self) -> None:
        """Gives every open job its outcome from here: for a loop that does not come round to :meth:`give_up`."""
        with self._changed:
            jobs = list(self._open.values())
        for job in jobs:
            self._finish(job, [_unscored(job, ENDED, "deadline")])

    @property
    def size(self) -> int:
        """The jobs that wait or are being judged."""
        return len(self._open)

    def _oldest(self) -> int:
        return next(iter(self._open), self._offered + 1)

    # --- on the loop -------------------------------------------------------------------------------------------------

    def take(self, jobs: Iterable[Job]) -> None:
        """Jobs that were offered."""
        for job in jobs:
            self._waiting.setdefault(job.model, deque()).append(job)
        self.go_on()

    def go_on(self) -> None:
        """Starts what may start now, and comes back when more may."""
        now = asyncio.get_running_loop().time()
        for model, jobs in self._waiting.items():
            state = self._state_of(model)
            while jobs and now >= jobs[0].since + self._limits.deadline_s:
                self._finish(job := jobs.popleft(), [self._too_late(job)])
            while jobs and len(self._tasks) < self._limits.concurrency and state.running < state.pace.allowed:
                if (wait_s := state.pace.wait_s(now)) > 0:
                    self._come_back(min(now + wait_s, jobs[0].since + self._limits.deadline_s))
                    break
                self._start(jobs.popleft(), state)

    def give_up(self) -> None:
        """Ends everything that waits or is being judged, as unscored."""
        for jobs in self._waiting.values():
            while jobs:
                job = jobs.popleft()
                self._finish(job, [_unscored(job, "the process ended before the judge was asked", "deadline")])
        self._given_up |= self._tasks.keys()
        for task in tuple(self._tasks):
            task.add_done_callback(self._ended)  # one that has not begun will not come to its own end
            task.cancel()

    def _come_back(self, at: float) -> None:
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(at, self._back)

    def _back(self) -> None:
        self._timer = None
        self.go_on()

    def _start(self, job: Job, state: ModelState) -> None:
        state.running += 1
        task = asyncio.get_running_loop().create_task(self._judged(job))
        self._tasks[task] = (job, state)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A judgement is over: the next one may start. Called once more where it was given up."""
        found = self._tasks.pop(task, None)
        if found is None:
            return
        job, state = found
        state.running -= 1
        self._given_up.discard(task)
        if not job.settled:
            self._finish(job, [_unscored(job, ENDED, "deadline")])
        self.go_on()

    async def _judged(self, job: Job) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            self._finish(job, await self._outcomes(job))
        finally:
            self._ended(task)

    async def _outcomes(self, job: Job) -> Sequence[Outcome]:
        left_s = job.since + self._limits.deadline_s - asyncio.get_running_loop().time()
        try:
            judge = self._calls if job.judge is None else self._calls_by(job.judge)
            return await self._deadlines.within(self._score(job, judge), max(0.0, left_s))
        except Refused as refused:
            return [_unscored(job, str(refused), refused.error)]
        except (TimeoutError, asyncio.TimeoutError):
            return [self._too_late(job)]
        except asyncio.CancelledError:
            if asyncio.current_task() in self._given_up:
                raise
            # Not by us: a user's way to the model cancelled itself.
            return [Failed("the judge's call was cancelled", name=job.name, error="CancelledError")]
        except Exception as error:  # noqa: BLE001 - a guard: a scorer may be anybody's code, and one job is one job
            return [Failed(f"{type(error).__name__}: {error}"[:_WORST], name=job.name, error=type(error).__name__)]

    def _too_late(self, job: Job) -> Unscored:
        return _unscored(job, f"no judgement within {self._limits.deadline_s:g} s", "deadline")

    def _finish(self, job: Job, outcomes: Sequence[Outcome]) -> None:
        with self._changed:
            if job.settled:
                return
            job.settled = True
        try:
            self._done(job, outcomes)
        finally:
            with self._changed:
                del self._open[job.number]
                self._bytes -= job.size
                self._changed.notify_all()

    def _state_of(self, model: str) -> ModelState:
        state = self._states.get(model)
        if state is None:
            state = self._states[model] = ModelState(self._limits.concurrency)
        return state


def _unscored(job: Job, reason: str, error: str) -> Unscored:
    return Unscored(reason, name=job.name, error=error)
