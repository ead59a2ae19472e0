"""Runs on their way to the judge and back: what is due of a closed run, and what came of it."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from otel_chloe.config import Rules
from otel_chloe.judge.ask import Complete, Judge
from otel_chloe.judge.gateway import Gateway
from otel_chloe.mark import JudgeCall, Mark, Outcome, Unscored
from otel_chloe.pipeline.judging import Desk, DeskLimits, Job, JudgeThread, Price
from otel_chloe.pipeline.judging.sampling import sampled
from otel_chloe.run import Run
from otel_chloe.scorers import EXPECTATIONS, Due, due
from otel_chloe.sinks import Origin

SAMPLED_OUT: Final = "sampled_out"
_OBJECT: Final = 64
"""Bytes that any value takes, beside its text."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a judgement."""

    due: Due
    origin: Origin | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Asked:
    """A due judgement and where its run's evaluation spans go."""

    due: Due
    origin: Origin | None


class Judgements:
    """Has runs judged on a thread of their own. Used by the worker, and by whoever waits for it.

    Args:
        rules: What is expected of whom, and the judge's limits.
        complete: A user's own way to a model; None for the judge's own process.
        back: Takes each :class:`Answered` and :class:`~otel_chloe.mark.JudgeCall`, on the judge's thread.
        redact: A user's own function for what the judge may see, beside what is redacted anyway.
    """

    def __init__(
        self,
        rules: Rules,
        complete: Complete | None,
        back: Callable[[Answered | JudgeCall], object],
        *,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        self._rules = rules
        self._redact = redact
        self._complete = complete
        self._back = back
        self._thread = JudgeThread(self._desk)
        self._share = max((each.sample for each in rules.expectations), default=1.0)
        self._ready = False

    def expect(self, trace_ids: Iterable[int]) -> None:
        """Gets ready where a run of these traces may be judged: at the interpreter's exit nothing can be started."""
        if self._ready or not any(sampled(f"{each:032x}", EXPECTATIONS, self._share) for each in trace_ids):
            return
        self._ready = True
        with suppress(RuntimeError):  # the first run to be judged says so
            loop = self._thread.start()
            if self._complete is None:
                loop.call_soon_threadsafe(_prepare)

    def begin(
        self, run: Run, origin: Origin | None, scored: Iterable[tuple[Run, Outcome]]
    ) -> tuple[list[tuple[Run, Outcome]], list[Run]]:
        """Has judged what is due of a closed run: gives the outcomes of what is not judged, and the runs that are.

        ``scored`` are the outcomes that it has already: of a run whose ``calls`` failed nothing is sampled out.
        """
        failed = {id(of) for of, outcome in scored if isinstance(outcome, Mark) and outcome.passed is False}
        refused: list[tuple[Run, Outcome]] = []
        begun: list[Run] = []
        for each in due(run, self._rules):
            outcome = self._offered(each, origin, keep=id(each.run) in failed)
            if outcome is None:
                begun.append(each.run)
            else:
                refused.append((each.run, each.stamped(outcome)))
        return refused, begun

    # --- what flush and shutdown wait for ----------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The judgements that wait or are under way."""
        return self._thread.size

    def wait(self, timeout_s: float) -> bool:
        """Waits until everything is judged. False if that took too long."""
        return self._thread.idle(timeout_s)

    def give_up(self) -> None:
        """Ends what is left as unscored."""
        self._thread.give_up()

    def forked(self) -> None:
        """In a forked process: forgets what its parent has judged."""
        self._thread.forked()
        self._ready = False

    # --- on the judge's thread ---------------------------------------------------------------------------------------

    def _offered(self, each: Due, origin: Origin | None, *, keep: bool) -> Unscored | None:
        share = 1.0 if keep else each.expectations.sample
        if not each.run.sampled or not sampled(each.trace_id, EXPECTATIONS, share):
            return Unscored("not in the sample of runs that are judged", error=SAMPLED_OUT)
        job = Job(
            what=Asked(each, origin),
            name=EXPECTATIONS,
            model=each.expectations.model or "",
            size=size_of(each.run),
        )
        return self._thread.offer(job)

    def _desk(self) -> Desk:
        judge = self._rules.judge
        price = None
        if judge.usd_per_million_input is not None and judge.usd_per_million_output is not None:
            price = Price(
                usd_per_million_input=judge.usd_per_million_input, usd_per_million_output=judge.usd_per_million_output
            )
        limits = DeskLimits(
            concurrency=judge.concurrency,
            usd_per_hour=judge.usd_per_hour,
            usd_per_day=judge.usd_per_day,
            deadline_s=4 * judge.timeout_s,
            price=price,
        )
        return Desk(limits, self._judge, self._score, self._done, self._back, jitter=random.random)

    def _judge(self) -> Judge:
        if self._complete is not None:
            return Gateway(self._complete)
        from otel_chloe.judge.child import shared_judge

        return shared_judge()

    async def _score(self, job: Job, judge: Judge) -> Outcome:
        from otel_chloe.judge.expectations import judged
        from otel_chloe.judge.redact import Redactor

        asked: Asked = job.what
        return await judged(
            asked.due.run,
            asked.due.expectations,
            purpose=asked.due.rules.purpose,
            judge=judge,
            nonce=secrets.token_hex(8),
            clock=asyncio.get_running_loop().time,
            redactor=Redactor(self._redact),
            timeout_s=self._rules.judge.timeout_s,
        )

    def _done(self, job: Job, outcome: Outcome) -> None:
        asked: Asked = job.what
        self._back(Answered(asked.due, asked.origin, asked.due.stamped(outcome)))


def _prepare() -> None:
    from otel_chloe.judge.child import shared_judge

    shared_judge().prepare()


def size_of(run: Run) -> int:
    """About how many bytes a run holds, sub-runs aside: their texts are the run's own."""
    return _size((run.prompt, run.output, *((call.arguments, call.result, call.error) for call in run.tool_calls)))


def _size(value: Any) -> int:
    if isinstance(value, str):
        return _OBJECT + len(value)
    if isinstance(value, dict):
        found = cast("dict[object, object]", value)
        return _OBJECT + sum(_size(key) + _size(each) for key, each in found.items())
    if isinstance(value, list | tuple):
        return _OBJECT + sum(map(_size, cast("list[object]", value)))
    return _OBJECT
