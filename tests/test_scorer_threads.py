"""The threads of users' scorers, with a clock that is stepped: what takes too long is given up, and counted."""

from __future__ import annotations

import threading

import pytest
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
