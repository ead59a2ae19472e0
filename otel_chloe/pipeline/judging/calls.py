"""Calls of a model that wait their turn: paced, retried where that can help, stopped where it cannot, and paid for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from otel_chloe.judge.ask import Ask, Judge, JudgeError, Refused, Reply
from otel_chloe.mark import JudgeCall
from otel_chloe.pipeline.judging.budget import Budget
from otel_chloe.pipeline.judging.circuit import Circuit
from otel_chloe.pipeline.judging.pace import Pace
from otel_chloe.pipeline.judging.within import Deadlines

MOST_TRIES: Final = 3
"""Calls for one question, the first included."""
FIRST_WAIT_S: Final = 1.0
"""Before the second try, half of it by chance; twice as long before the third."""
RATE_LIMIT: Final = "rate_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model's tokens cost, in US dollars a million, in place of what is known about it."""

    usd_per_million_input: float
    usd_per_million_output: float

    def of(self, reply: Reply) -> float | None:
        """What an answer cost; None where its tokens were not counted."""
        if reply.input_tokens is None or reply.output_tokens is None:
            return None
        return (
            reply.input_tokens * self.usd_per_million_input + reply.output_tokens * self.usd_per_million_output
        ) / 1e6


class ModelState:
    """What is known of one model: whether it answers, and how fast it may be asked."""

    __slots__ = ("circuit", "pace", "running")

    def __init__(self, most: int) -> None:
        self.circuit = Circuit()
        self.pace = Pace(most)
        self.running = 0


class Calls:
    """A judge that may be asked by many at once. It keeps the budget, and raises Refused for a call it does not make.

    Args:
        judge: Who answers; made at the first call.
        budget: What calls may cost.
        state_of: The state of a model, by its name.
        told: Takes each call that was made.
        deadlines: Those of the loop.
        price: What tokens cost, where the user knows better.
        jitter: A number from 0 to 1 by chance.
    """

    def __init__(
        self,
        judge: Callable[[], Judge],
        budget: Budget,
        state_of: Callable[[str], ModelState],
        told: Callable[[JudgeCall], object],
        deadlines: Deadlines,
        *,
        price: Price | None,
        jitter: Callable[[], float],
    ) -> None:
        self._make = judge
        self._judge: Judge | None = None
        self._budget = budget
        self._state_of = state_of
        self._told = told
        self._deadlines = deadlines
        self._price = price
        self._jitter = jitter

    async def ask(self, ask: Ask) -> Reply:
        """Ask until there is an answer, or no more tries would help."""
        wait_s = FIRST_WAIT_S
        for left in reversed(range(MOST_TRIES)):
            try:
                return await self._once(ask, last=not left)
            except JudgeError as error:
                if not (left and error.retry):
                    raise
                chosen = error.retry_after_s if error.retry_after_s is not None else wait_s
            await asyncio.sleep(chosen * (1 + self._jitter() / 2))
            wait_s *= 2
        raise AssertionError("the last try returns or raises")

    async def _once(self, ask: Ask, *, last: bool) -> Reply:
        clock = asyncio.get_running_loop().time
        state = self._state_of(ask.model)
        self._admit(state, clock())
        began, cost = clock(), None
        try:
            reply = await self._answered(ask)
            cost = self._price.of(reply) if self._price is not None else reply.cost_usd
        except JudgeError as error:
            self._failed(state, error, began, clock(), last=last)
            self._told(JudgeCall(model=ask.model, error=error.error, duration_s=clock() - began))
            raise
        except Exception as error:
            state.circuit.failed(f"{type(error).__name__}: {error}", clock(), began=began, lasting=False)
            self._told(JudgeCall(model=ask.model, error=type(error).__name__, duration_s=clock() - began))
            raise
        except BaseException:
            state.circuit.given_up()
            raise
        finally:
            self._budget.ended(cost, clock())
        state.circuit.succeeded()
        state.pace.answered()
        self._told(
            JudgeCall(
                model=ask.model,
                error=None,
                duration_s=clock() - began,
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
                cost_usd=cost,
            )
        )
        return reply

    def _admit(self, state: ModelState, now: float) -> None:
        if not self._budget.allows(now):
            raise Refused("what judging may cost in an hour or a day is spent", error="budget")
        if not state.circuit.lets_through(now):
            raise Refused(
                f"the judge's model is not asked for a while, after: {state.circuit.why}", error="circuit_open"
            )
        self._budget.began()

    async def _answered(self, ask: Ask) -> Reply:
        if self._judge is None:
            self._judge = self._make()
        try:
            # Whoever answers keeps the time too; this is for one who does not.
            return await self._deadlines.within(self._judge.ask(ask), ask.timeout_s + 1.0)
        except (TimeoutError, asyncio.TimeoutError):
            said = f"the judge's model did not answer within {ask.timeout_s:g} s"
            raise JudgeError(said, error="timeout", retry=True) from None

    @staticmethod
    def _failed(state: ModelState, error: JudgeError, began: float, now: float, *, last: bool) -> None:
        if error.error == RATE_LIMIT:
            state.pace.complained(now, error.retry_after_s)
            if not last:
                return state.circuit.given_up()
        # What is wrong with one question says nothing about the next.
        if error.lasting or error.retry:
            state.circuit.failed(str(error), now, began=began, lasting=error.lasting)
        else:
            state.circuit.given_up()
        return None
