"""The threads of users' scorers, with a clock that is stepped: what takes too long is given up, and counted."""

from __future__ import annotations

import os
import threading
import warnings

import pytest
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from own_scorers import Gate, until

from otel_chloe.mark import Failed, Mark, Outcome, Unscored
from otel_chloe.pipeline.threads import GIVE_UP_S, MOST_JOBS, MOST_THREADS, Job, ScorerThreads
from otel_chloe.testing import SteppingClock

MARK = Mark(1.0, "fine", name="good")


@pytest.fixture
def given_up() -> list[str]:
    return []


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture
def threads(given_up, clock) -> ScorerThreads:
    return ScorerThreads(lambda job: given_up.append(job.name), clock=clock)


def offered(threads: ScorerThreads, work, name: str = "good") -> Job:
    job = Job(name, work)
    threads.offer(job)
    return job


def stuck(threads: ScorerThreads, gate: Gate, name: str = "stuck") -> Job:
    """A job that began, and waits at the gate."""

    def work() -> list[Outcome]:
        gate.wait()
        return [MARK]

    job = offered(threads, work, name)
    gate.wait_for()
    return job


def test_a_job_has_the_outcomes_of_its_work(threads):
    job = offered(threads, lambda: [MARK])

    assert job.wait(20)
    assert job.outcomes == [MARK]
    until(lambda: threads.size == 0)


def test_what_work_raises_is_its_outcome(threads):
    def exits() -> list[Outcome]:
        raise SystemExit(3)

    job = offered(threads, exits)

    assert job.wait(20)
    assert job.outcomes == [Failed("SystemExit: 3", name="good", error="SystemExit")]
    assert offered(threads, lambda: [MARK]).wait(20)  # the thread goes on


def test_one_that_takes_30_s_is_given_up_and_counted(threads, clock, given_up):
    with Gate() as gate:
        job = stuck(threads, gate)
        assert threads.overdue(clock()) == GIVE_UP_S
        clock.step(GIVE_UP_S)
        assert threads.overdue(clock()) is None

        (failed,) = job.outcomes or ()
        assert isinstance(failed, Failed)
        assert failed.error == "TimeoutError"
        assert given_up == ["stuck"]
        assert threads.wait(0)


def test_what_it_says_then_is_not_heard(threads, clock):
    told: list[object] = []
    with Gate() as gate:
        job = stuck(threads, gate)
        job.then(told.append)
        clock.step(GIVE_UP_S)
        threads.overdue(clock())
        gate.let_go()
    until(lambda: job.took_s is not None)

    assert len(told) == 1
    assert isinstance((job.outcomes or [None])[0], Failed)


def test_one_that_found_no_thread_in_30_s_is_unscored_and_not_its_fault(threads, clock, given_up):
    with Gate() as gate:
        for _ in range(MOST_THREADS):
            stuck(threads, gate)
        clock.step(1)
        waiting = offered(threads, lambda: [MARK])
        clock.step(GIVE_UP_S - 1)
        threads.overdue(clock())
        assert waiting.outcomes is None
        clock.step(1)
        threads.overdue(clock())

        assert waiting.outcomes == [
            Unscored("no thread was free for the scorer within 30 s", name="good", error="deadline")
        ]
        assert given_up == ["stuck"] * MOST_THREADS


def test_one_that_was_given_up_before_it_began_is_not_begun(threads, clock):
    began: list[int] = []
    with Gate() as gate:
        held = [stuck(threads, gate) for _ in range(MOST_THREADS)]
        waiting = offered(threads, lambda: began.append(1) or [MARK])
        clock.step(GIVE_UP_S)
        threads.overdue(clock())
    assert waiting.wait(0)
    until(lambda: all(job.took_s is not None for job in held))
    assert offered(threads, lambda: [MARK]).wait(20)

    assert began == []


def test_too_many_are_refused(threads):
    with Gate() as gate:
        for _ in range(MOST_THREADS):
            stuck(threads, gate)
        for _ in range(MOST_JOBS - MOST_THREADS):
            offered(threads, lambda: [MARK])
        (refused,) = offered(threads, lambda: [MARK]).outcomes or ()

        assert isinstance(refused, Unscored)
        assert refused.error == "queue_full"


def test_a_shutdown_gives_up_what_is_left(threads):
    with Gate() as gate:
        job = stuck(threads, gate)
        assert not threads.wait(0)
        threads.give_up(0)

        assert [outcome.state for outcome in job.outcomes or ()] == ["unscored"]
        threads.close()
        assert [outcome.state for outcome in offered(threads, lambda: [MARK]).outcomes or ()] == ["unscored"]


def test_outcomes_are_told_once_whoever_comes_first(threads):
    told: list[object] = []
    with Gate() as gate:
        later = stuck(threads, gate)
        later.then(lambda outcomes: told.append(("later", outcomes)))
        gate.let_go()
    assert later.wait(20)
    job = offered(threads, lambda: [MARK])
    assert job.wait(20)
    job.then(lambda outcomes: told.append(("now", outcomes)))
    until(lambda: len(told) == 2)

    assert told == [("later", [MARK]), ("now", [MARK])]


def test_threads_are_daemons_and_do_not_grow(threads):
    before = threading.active_count()
    for _ in range(200):
        assert offered(threads, lambda: [MARK]).wait(20)

    assert threading.active_count() <= before + MOST_THREADS


def test_an_exception_that_cannot_say_what_it_is_ends_no_thread(threads):
    class Silent(BaseException):
        def __str__(self) -> str:
            raise SystemExit("in the middle of it")

    def raises() -> list[Outcome]:
        raise Silent

    for _ in range(MOST_THREADS + 1):
        job = offered(threads, raises)
        assert job.wait(20)
        assert job.outcomes == [Failed("Silent", name="good", error="Silent")]


def test_who_waits_for_what_is_open_does_not_come_before_the_outcomes_were_told(threads):
    told: list[object] = []
    with Gate() as working, Gate() as telling:
        job = stuck(threads, working)
        job.then(lambda outcomes: (telling.wait(), told.append(outcomes)))
        working.let_go()
        telling.wait_for()

        assert not threads.wait(0.05)
        telling.let_go()
        assert threads.wait(20)
        assert told == [[MARK]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_that_comes_back_ends_and_nobody_need_have_told_of_the_fork(threads):
    """Also where a fork starts threads in it, as it does with the SDK's batches."""
    batches = BatchSpanProcessor(InMemorySpanExporter())

    def forks() -> list[Outcome]:
        if (pid := os.fork()) == 0:
            return []
        return [MARK] if os.waitpid(pid, 0)[1] == 0 else []

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside other threads
        job = offered(threads, forks)
        assert job.wait(20)

    assert job.outcomes == [MARK]
    batches.shutdown()


def test_what_is_done_with_the_outcomes_takes_none_of_the_scorers_time(threads, clock):
    def finish(outcomes):
        clock.step(1)
        return [*outcomes, MARK]

    job = Job("good", lambda: [MARK], finish)
    threads.offer(job)

    assert job.wait(20)
    assert (job.took_s, job.outcomes) == (0.0, [MARK, MARK])


# --- several scorers -------------------------------------------------------------------------------------------------


@pytest.fixture
def shared(given_up, clock) -> ScorerThreads:
    return ScorerThreads(lambda job: given_up.append(job.name), scorers=2, clock=clock)


def test_a_scorer_that_hangs_leaves_half_of_the_threads_to_others(shared, clock):
    with Gate() as gate:
        for _ in range(MOST_THREADS // 2):
            stuck(shared, gate, "hangs")
        waiting = [offered(shared, lambda: [MARK], "hangs") for _ in range(20)]

        for _ in range(5):
            assert offered(shared, lambda: [MARK]).wait(20)
        assert [job.began_s for job in waiting] == [None] * 20


def test_those_that_waited_for_their_own_scorer_come_when_it_has_ended(shared):
    with Gate() as gate:
        held = [stuck(shared, gate, "hangs") for _ in range(MOST_THREADS // 2)]
        waiting = [offered(shared, lambda: [MARK], "hangs") for _ in range(20)]
        assert offered(shared, lambda: [MARK]).wait(20)
        gate.let_go()

        assert shared.wait(20)
    assert [job.outcomes for job in (*held, *waiting)] == [[MARK]] * (len(held) + 20)


def test_those_that_waited_too_long_for_their_own_scorer_are_unscored_and_forgotten(shared, clock):
    began: list[int] = []
    with Gate() as gate:
        held = [stuck(shared, gate, "hangs") for _ in range(MOST_THREADS // 2)]
        waiting = [offered(shared, lambda: began.append(1) or [MARK], "hangs") for _ in range(5)]
        assert offered(shared, lambda: [MARK]).wait(20)  # by now all were looked at
        clock.step(GIVE_UP_S)
        shared.overdue(clock())

        assert {job.outcomes[0].state for job in waiting if job.outcomes} == {"unscored"}
        assert shared.size == 0
    until(lambda: all(job.took_s is not None for job in held))
    assert offered(shared, lambda: [MARK], "hangs").wait(20)
    assert began == []


def test_one_scorer_alone_has_all_threads(threads):
    with Gate() as gate:
        for _ in range(MOST_THREADS):
            stuck(threads, gate)


def test_a_scorer_that_hangs_is_refused_first(shared):
    with Gate() as gate:
        for _ in range(MOST_THREADS // 2):
            stuck(shared, gate, "hangs")
        jobs = [offered(shared, lambda: [MARK], "hangs") for _ in range(MOST_JOBS // 2)]

        refused = [job for job in jobs if job.outcomes is not None]
        assert len(refused) == MOST_THREADS // 2
        assert offered(shared, lambda: [MARK]).wait(20)
