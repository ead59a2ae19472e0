"""Jobs on the desk: how many at a time, retries, refusals, deadlines; on a loop whose clock jumps."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from jumping_loop import run_jumping

from otel_chloe.judge.ask import Ask, Judge, JudgeError, Reply
from otel_chloe.mark import JudgeCall, Mark, Outcome
from otel_chloe.pipeline.judging import Desk, DeskLimits, Job, Price

Answers = Callable[[Ask], Awaitable[Reply]]


class Asked:
    """A judge that answers by a function, and counts who is being answered."""

    def __init__(self, answer: Answers) -> None:
        self._answer = answer
        self.now = self.most = self.calls = 0

    async def ask(self, ask: Ask) -> Reply:
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await self._answer(ask)
        finally:
            self.now -= 1


class Office:
    """A desk, its judge, and what came of each job."""

    def __init__(self, answer: Answers, **limits: Any) -> None:
        self.judge = Asked(answer)
        self.done: list[tuple[float, Job, Outcome]] = []  # of each job its one outcome
        self.told: list[JudgeCall] = []
        self.desk = Desk(
            DeskLimits(**limits), lambda: self.judge, _score, self._done, self.told.append, jitter=lambda: 0.0
        )

    def _done(self, job: Job, outcomes: Sequence[Outcome]) -> None:
        (outcome,) = outcomes
        loop = asyncio._get_running_loop()
        self.done.append((loop.time() if loop else 0.0, job, outcome))

    def states(self) -> list[str]:
        """Each job's state or error, in the order of the jobs."""
        by_job = sorted(self.done, key=lambda each: each[1].what)
        return [getattr(outcome, "error", outcome.state) for _, _, outcome in by_job]

    async def all(self, count: int, *, model: str = "m", size: int = 1) -> None:
        loop = asyncio.get_running_loop()
        for n in range(count):
            job = Job(what=n, name="expectations", model=model, size=size, since=loop.time())
            assert self.desk.offer(job) is None
            self.desk.take([job])
        await self.until_idle()

    async def until_idle(self) -> None:
        while not self.desk.idle(0):  # noqa: ASYNC110 - it is an event of threads
            await asyncio.sleep(0.01)


async def _score(job: Job, judge: Judge) -> list[Outcome]:
    reply = await judge.ask(Ask(model=job.model, messages=()))
    return [Mark(1.0, reply.text, name=job.name)]


def answering(wait_s: float = 1.0, **reply: Any) -> Answers:
    async def answer(_: Ask) -> Reply:
        await asyncio.sleep(wait_s)
        return Reply(text="fine", **reply)

    return answer


def failing(times: int, **error: Any) -> Answers:
    left = [times]

    async def answer(_: Ask) -> Reply:
        if left[0]:
            left[0] -= 1
            raise JudgeError("it said no", **error)
        return Reply(text="fine")

    return answer


def test_no_more_at_a_time_than_asked_for():
    office = Office(answering(), concurrency=3)

    run_jumping(office.all(10))

    assert office.judge.most == 3
    assert [outcome.state for _, _, outcome in office.done] == ["scored"] * 10
    assert [job.what // 3 for _, job, _ in office.done] == [n // 3 for n in range(10)]


def test_what_comes_on_top_of_the_limits_is_refused_at_once():
    async def work() -> list[str | None]:
        office = Office(answering(), max_runs=2)
        refused = [office.desk.offer(Job(what=n, name="x", model="m", size=1)) for n in range(3)]
        return [each.error if each else None for each in refused]

    assert run_jumping(work()) == [None, None, "queue_full"]


def test_the_limit_of_bytes_counts_what_is_being_judged_too():
    office = Office(answering(), max_bytes=100)

    async def work() -> list[bool]:
        job = Job(what=0, name="x", model="m", size=60)
        first = office.desk.offer(job)
        second = office.desk.offer(Job(what=1, name="x", model="m", size=60))
        office.desk.take([job])
        await office.until_idle()
        third = office.desk.offer(Job(what=2, name="x", model="m", size=60))
        return [each is None for each in (first, second, third)]

    assert run_jumping(work()) == [True, False, True]


def test_a_retry_comes_only_for_what_can_succeed():
    office = Office(failing(1, error="server", retry=True))
    run_jumping(office.all(1))
    assert office.states() == ["scored"]
    assert office.judge.calls == 2

    office = Office(failing(1, error="bad_request"))
    run_jumping(office.all(1))
    assert office.states() == ["JudgeError"]
    assert office.judge.calls == 1


def test_the_waits_between_tries_grow_and_keep_what_the_provider_asks():
    office = Office(failing(2, error="server", retry=True))
    run_jumping(office.all(1))
    assert office.done[0][0] == pytest.approx(3.0, abs=0.1)

    office = Office(failing(1, error="rate_limit", retry=True, retry_after_s=17.0))
    run_jumping(office.all(1))
    assert office.done[0][0] == pytest.approx(17.0, abs=0.1)


def test_fewer_calls_at_a_time_after_too_many():
    office = Office(failing(8, error="rate_limit", retry=True, retry_after_s=5.0), concurrency=8)

    run_jumping(office.all(8))
    assert set(office.states()) == {"scored"}

    office.judge.most = 0
    office.done.clear()
    office.judge._answer = answering()
    run_jumping(office.all(8))

    assert office.judge.most == 4


def test_a_lasting_failure_stops_the_asking():
    office = Office(failing(1_000, error="authentication", lasting=True), concurrency=1)

    run_jumping(office.all(20))

    assert office.judge.calls == 1
    assert office.states() == ["JudgeError"] + ["circuit_open"] * 19
    assert "it said no" in office.done[-1][2].reason


def test_other_models_are_asked_while_ones_circuit_is_open():
    async def answer(ask: Ask) -> Reply:
        if ask.model == "bad":
            raise JudgeError("no such model", error="unknown_model", lasting=True)
        return Reply(text="fine")

    office = Office(answer)

    async def work() -> None:
        await office.all(3, model="bad")
        await office.all(3, model="good")

    run_jumping(work())

    assert [outcome.state for _, job, outcome in office.done if job.model == "good"] == ["scored"] * 3


def test_a_judge_that_never_answers_costs_a_job_its_deadline_and_no_more():
    async def never(_: Ask) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    office = Office(never, concurrency=2, deadline_s=60.0)

    run_jumping(office.all(5))

    assert set(office.states()) <= {"deadline", "circuit_open", "JudgeError"}
    assert len(office.done) == 5
    assert office.done[-1][0] <= 61.0


def test_the_money_is_a_hard_stop():
    office = Office(answering(0.0, cost_usd=0.3), concurrency=1, usd_per_hour=1.0)

    run_jumping(office.all(6))

    assert office.states() == ["scored"] * 3 + ["budget"] * 3


def test_a_price_of_the_users_own_counts_instead():
    price = Price(usd_per_million_input=1.0, usd_per_million_output=5.0)
    office = Office(answering(0.0, cost_usd=99.0, input_tokens=100_000, output_tokens=40_000), price=price)

    run_jumping(office.all(1))

    assert office.told[0].cost_usd == pytest.approx(0.3)


def test_each_call_is_told_with_its_time_and_tokens():
    office = Office(answering(2.0, input_tokens=10, output_tokens=3, cost_usd=0.01))

    run_jumping(office.all(1))

    assert office.told == [
        JudgeCall(model="m", error=None, duration_s=2.0, input_tokens=10, output_tokens=3, cost_usd=0.01)
    ]


def test_an_error_in_the_scorer_fails_its_own_job_alone():
    async def answer(_: Ask) -> Reply:
        raise KeyError("odd")

    office = Office(answer)
    run_jumping(office.all(2))

    assert office.states() == ["KeyError", "KeyError"]


def test_what_is_given_up_has_an_outcome_too():
    office = Office(answering(1_000.0), concurrency=1)

    async def work() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(5.0, office.desk.give_up)
        await office.all(3)

    run_jumping(work())

    assert office.states() == ["deadline"] * 3
    assert office.done[-1][0] <= 6.0


def test_what_is_given_up_before_it_began_has_an_outcome_at_once():
    office = Office(answering())

    async def work() -> bool:
        job = Job(what=0, name="x", model="m", size=1)
        office.desk.offer(job)
        office.desk.take([job])
        office.desk.give_up()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return office.desk.idle(0)

    assert run_jumping(work())
    assert office.states() == ["deadline"]
    assert office.judge.calls == 0


def test_a_provider_that_asks_for_hours_does_not_keep_jobs_beyond_their_deadline():
    office = Office(failing(1, error="rate_limit", retry=True, retry_after_s=7_200.0), concurrency=1, deadline_s=120.0)

    run_jumping(office.all(3))

    assert office.states() == ["deadline"] * 3
    assert max(when for when, _, _ in office.done) <= 121.0


def test_a_wait_is_for_what_was_offered_before_it_and_not_for_what_comes_on_top():
    office = Office(answering())
    jobs = [Job(what=n, name="x", model="m", size=1) for n in range(3)]
    assert office.desk.offer(jobs[0]) is None
    waits, found = threading.Event(), []

    def wait() -> None:
        waits.set()
        found.append(office.desk.idle(20.0))

    thread = threading.Thread(target=wait)
    with office.desk._changed:  # so that the wait begins before more is offered
        thread.start()
        waits.wait(20.0)
    while not office.desk._changed._waiters and thread.is_alive():
        pass
    assert office.desk.offer(jobs[1]) is None
    office.desk._finish(jobs[0], [Mark(1.0, "fine", name="x")])
    thread.join(20.0)

    assert found == [True]
    assert not office.desk.idle(0)


def test_a_call_that_cancels_itself_fails_its_own_job():
    async def answer(_: Ask) -> Reply:
        raise asyncio.CancelledError

    office = Office(answer)
    run_jumping(office.all(2))

    assert office.states() == ["CancelledError", "CancelledError"]


def test_a_closed_desk_says_that_the_process_ends():
    office = Office(answering())
    office.desk.close()

    refused = office.desk.offer(Job(what=0, name="x", model="m", size=1))

    assert refused is not None
    assert refused.error == "deadline"
    assert office.desk.idle(0)


def test_what_was_given_up_from_outside_has_one_outcome_whatever_comes_of_it():
    async def work() -> Office:
        office = Office(answering(5.0), concurrency=1)
        loop = asyncio.get_running_loop()
        loop.call_later(1.0, office.desk.abandon)
        await office.all(3)
        await asyncio.sleep(60.0)
        return office

    office = run_jumping(work())

    assert sorted(job.what for _, job, _ in office.done) == [0, 1, 2]
    assert office.states() == ["deadline"] * 3
