"""Limits of time on what is awaited: who comes late is cancelled, and nobody else."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

import pytest
from jumping_loop import run_jumping

from otel_chloe.pipeline.judging.within import Deadlines


async def slow(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


async def told(work: Coroutine[Any, Any, str]) -> str:
    """What came of it, and when."""
    try:
        came = await work
    except (TimeoutError, asyncio.TimeoutError):
        came = "late"
    return f"{came} at {asyncio.get_running_loop().time():g}"


def test_what_is_late_is_cancelled_at_its_own_time_and_the_rest_goes_on():
    deadlines = Deadlines()

    async def work() -> list[str]:
        limits = [(1.0, 5.0), (9.0, 2.0), (4.0, 3.0), (8.0, 20.0), (50.0, 0.0)]
        return await asyncio.gather(*(told(deadlines.within(slow(takes), limit)) for takes, limit in limits))

    assert run_jumping(work()) == ["done at 1", "late at 2", "late at 3", "done at 8", "late at 0"]


def test_a_later_one_may_have_less_time():
    deadlines = Deadlines()

    async def work() -> list[str]:
        first = asyncio.create_task(told(deadlines.within(slow(100), 50)))
        await asyncio.sleep(10)
        second = asyncio.create_task(told(deadlines.within(slow(100), 5)))
        return [await first, await second]

    assert run_jumping(work()) == ["late at 50", "late at 15"]


@pytest.mark.parametrize(
    ("inner", "outer", "said"), [(3, 5, "inner late at 3"), (5, 3, "late at 3"), (3, 3, "late at 3")]
)
def test_of_two_around_the_same_the_earlier_one_counts_and_of_the_same_time_the_outer_one(
    inner: float, outer: float, said: str
):
    deadlines = Deadlines()

    async def within() -> str:
        try:
            return await deadlines.within(slow(100), inner)
        except (TimeoutError, asyncio.TimeoutError):
            return "inner late"

    assert run_jumping(told(deadlines.within(within(), outer))) == said


@pytest.mark.skipif(sys.version_info < (3, 11), reason="nobody counts cancellations before Python 3.11")
def test_somebody_elses_cancellation_stays_one():
    deadlines = Deadlines()

    async def work() -> bool:
        task = asyncio.create_task(deadlines.within(slow(100), 5))
        asyncio.get_running_loop().call_at(5, task.cancel)
        await asyncio.wait([task])
        return task.cancelled()

    assert run_jumping(work())


def test_who_answers_although_it_was_cancelled_is_not_late_and_not_cancelled_any_more():
    deadlines = Deadlines()

    async def stubborn() -> str:
        try:
            return await slow(100)
        except asyncio.CancelledError:
            return "stayed"

    async def twice() -> str:
        return f"{await told(deadlines.within(stubborn(), 5))}, {await told(deadlines.within(slow(100), 5))}"

    assert run_jumping(twice()) == "stayed at 5, late at 10"
