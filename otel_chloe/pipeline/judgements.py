"""Runs on their way to the judge and back: what is due of a closed run, and what came of it."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from otel_chloe.config import Rules
from otel_chloe.judge.ask import Complete, Judge
from otel_chloe.judge.gateway import Gateway
from otel_chloe.mark import JudgeCall, Mark, Outcome, Unscored
from otel_chloe.pipeline.answered import SAMPLED_OUT, Answered, AnyDue, Asked
from otel_chloe.pipeline.judging import Desk, DeskLimits, Job, JudgeThread, Price
from otel_chloe.pipeline.judging.sampling import sampled
from otel_chloe.run import Run
from otel_chloe.scorers import EXPECTATIONS, Due, due
from otel_chloe.sinks import Origin

if TYPE_CHECKING:
    from otel_chloe.judge.redact import Redactor
    from otel_chloe.scorers.own import Own

_OBJECT: Final = 64
"""Bytes that any value takes that is no text."""
_NONCES: Final = 64


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
        self._judge_rules = rules.judge
        self._redact = redact
        self._complete = complete
        self._back = back
        self._thread = JudgeThread(self._desk)
        self._gateways: dict[int, tuple[Any, Gateway]] = {}
        self._nonces = _Nonces()
        self.renew(rules)

    def renew(self, rules: Rules) -> None:
        """Takes other rules. The judge's limits stay as they were at the start."""
        self._judges = rules.own_judges
        shares: dict[str, float] = {}
        for each in rules.scorers if self._judges else ():
            if each.scorer in self._judges:
                shares[each.scorer.name] = max(each.sample, shares.get(each.scorer.name, 0.0))
        if rules.judged or not self._judges:
            shares[EXPECTATIONS] = max((each.sample for each in rules.expectations), default=1.0)
        held = {id(each.scorer) for of in (self._rules, rules) for each in of.scorers}
        self._gateways = {number: kept for number, kept in self._gateways.items() if number in held}
        self._rules, self._shares, self._ready = rules, shares, False

    def expect(self, trace_ids: Iterable[int]) -> None:
        """Gets ready where a run of these traces may be judged: at the interpreter's exit nothing can be started."""
        if self._ready or not any(self._may_judge(f"{each:032x}") for each in trace_ids):
            return
        self._ready = True
        with suppress(RuntimeError):  # the first run to be judged says so
            loop = self._thread.start()
            if self._needs_child():
                loop.call_soon_threadsafe(_prepare)

    def _may_judge(self, trace_id: str) -> bool:
        return any(sampled(trace_id, name, share) for name, share in self._shares.items())

    def _needs_child(self) -> bool:
        """Whether litellm is to be asked by anybody."""
        if self._complete is not None:
            return False
        return EXPECTATIONS in self._shares or any(each.complete is None for each in self._judges)

    def begin(
        self,
        run: Run,
        rules: Rules,
        origin: Origin | None,
        scored: Iterable[tuple[Run, Outcome]],
        own: Iterable[Own] = (),
    ) -> tuple[list[tuple[Run, Outcome]], list[Run]]:
        """Has judged what is due of a closed run: gives the outcomes of what is not judged, and the runs that are.

        ``rules`` are those that the run began under. ``own`` are the user's own scorers that are due. ``scored`` are
        the outcomes that the run has already: where its ``calls`` failed, nothing is sampled out.
        """
        failed = {id(of) for of, outcome in scored if isinstance(outcome, Mark) and outcome.passed is False}
        refused: list[tuple[Run, Outcome]] = []
        begun: list[Run] = []
        judged: list[AnyDue] = [*due(run, rules), *(each for each in own if each.model)]
        for each in judged:
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
        """Waits until everything that is due by now is judged. False if that took too long."""
        return self._thread.idle(timeout_s)

    def give_up(self, timeout_s: float) -> None:
        """Ends what is left as unscored, within this time."""
        self._thread.give_up(timeout_s)

    def close(self) -> None:
        """Has nothing judged from now on: what comes is unscored."""
        self._thread.close()

    def forked(self) -> None:
        """In a forked process: forgets what its parent has judged."""
        self._thread.forked()
        self._ready = False
        self._nonces = _Nonces()  # else it would use the same ones as its parent

    # --- on the judge's thread ---------------------------------------------------------------------------------------

    def _offered(self, each: AnyDue, origin: Origin | None, *, keep: bool) -> Unscored | None:
        share = 1.0 if keep else each.sample
        if not each.run.sampled or not sampled(each.trace_id, each.name, share):
            return Unscored("not in the sample of runs that are judged", name=each.name, error=SAMPLED_OUT)
        job = Job(
            what=Asked(each, origin),
            name=each.name,
            model=each.model,
            size=size_of(each.run),
            judge=None if isinstance(each, Due) else self._own_judge(each.rule.scorer),
        )
        return self._thread.offer(job)

    def _own_judge(self, scorer: Any) -> Callable[[], Judge] | None:
        """The scorer's own way to its model, where it has one: it wins over everybody's."""
        complete = cast("Complete | None", scorer.complete)
        if complete is None:
            return None
        _, gateway = self._gateways.setdefault(id(scorer), (scorer, Gateway(complete)))
        return lambda: gateway

    def _desk(self) -> Desk:
        judge = self._judge_rules
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

    async def _score(self, job: Job, judge: Judge) -> list[Outcome]:
        each = cast("Asked", job.what).due
        how = _how()
        asking: Any = {
            "judge": judge,
            "nonce": self._nonces.next(),
            "clock": asyncio.get_running_loop().time,
            "redactor": how.redactor(self._redact),
            "timeout_s": self._judge_rules.timeout_s,
        }
        if isinstance(each, Due):
            return [await how.judged(each.run, each.expectations, purpose=each.rules.purpose, **asking)]
        scorer: Any = each.rule.scorer
        return await how.judge_outcomes(scorer, each.context, alone=each.alone, **asking)

    def _done(self, job: Job, outcomes: Sequence[Outcome]) -> None:
        asked: Asked = job.what
        self._back(Answered(asked.due, asked.origin, [asked.due.stamped(each) for each in outcomes]))


class _How(NamedTuple):
    judged: Callable[..., Awaitable[Outcome]]
    judge_outcomes: Callable[..., Awaitable[list[Outcome]]]
    redactor: type[Redactor]


@cache
def _how() -> _How:
    """What makes a prompt and reads an answer, imported on the judge's thread at the first judgement."""
    from otel_chloe.judge.expectations import judged
    from otel_chloe.judge.redact import Redactor
    from otel_chloe.judge.scorer import judge_outcomes

    return _How(judged, judge_outcomes, Redactor)


class _Nonces:
    """Codes that nobody can guess, each given once: drawn many at a time, for a system call makes the thread wait."""

    __slots__ = ("_drawn",)

    def __init__(self) -> None:
        self._drawn = ""

    def next(self) -> str:
        """16 hex digits."""
        if not self._drawn:
            self._drawn = secrets.token_hex(8 * _NONCES)
        nonce, self._drawn = self._drawn[:16], self._drawn[16:]
        return nonce


def _prepare() -> None:
    from otel_chloe.judge.child import shared_judge

    shared_judge().prepare()


def size_of(run: Run) -> int:
    """About how many bytes a run holds, sub-runs aside: their texts are the run's own."""
    return _size((run.prompt, run.output, *((call.arguments, call.result, call.error) for call in run.tool_calls)))


def _size(value: Any) -> int:
    if isinstance(value, str):
        return getsizeof(value)  # a character takes up to four bytes
    if isinstance(value, dict):
        found = cast("dict[object, object]", value)
        return _OBJECT + sum(_size(key) + _size(each) for key, each in found.items())
    if isinstance(value, list | tuple):
        return _OBJECT + sum(map(_size, cast("list[object]", value)))
    return _OBJECT
