"""``expectations``: what came of a run, against lines that a model judges one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from otel_chloe.config import Expectations
from otel_chloe.judge.answer import Check, Invalid, read_answer
from otel_chloe.judge.ask import MAX_TOKENS, Ask, Judge, JudgeError, Message, Reply
from otel_chloe.judge.fence import Fence
from otel_chloe.judge.prompt import SCHEMA, first_messages, lines_of, missing_from, second_messages
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.shown import Shown, show
from otel_chloe.judge.verdict import EXPECTATIONS, nothing_expected, verdict
from otel_chloe.mark import Failed, Judged, Mark, Unscored
from otel_chloe.run import Run

INVALID: Final = "invalid_answer"
CUT_OFF: Final = "length"
TOO_LONG: Final = "context_length"
BUDGETS: Final = (24_000, 6_000, 2_000)
"""Tokens of the run that the model is shown: at first, and each time that it says it was too much."""
_QUOTED: Final = 200
"""Characters of an answer that cannot be used that stand in the reason."""


async def judged(
    run: Run,
    expected: Expectations,
    *,
    judge: Judge,
    nonce: str,
    clock: Callable[[], float],
    purpose: str | None = None,
    redactor: Redactor | None = None,
    timeout_s: float = 30.0,
) -> Mark | Unscored | Failed:
    """Have a run judged: one call of the model, and a second only where the first answer is not valid.

    Args:
        run: What the agent did.
        expected: The lines, the model that judges them, and the shares that pass.
        judge: Who asks the model. Its JudgeError becomes a Failed; Refused and a cancellation pass.
        nonce: A text that nobody can guess, new for every call of this: it fences the run's texts.
        clock: Seconds, for how long it took.
        purpose: What the agent is for, where lines depend on it.
        redactor: Takes secrets out of all that the judge sees. A new one for every run.
        timeout_s: For one call of the model, in seconds.
    """
    if not expected.has_lines:
        return nothing_expected()
    redactor = redactor or Redactor()
    talk = _Talk(judge, expected.model or "", timeout_s, clock)

    def question(shown: Shown) -> tuple[Message, ...]:
        fence = Fence(nonce)
        return first_messages(run, shown, expected.outcome, purpose=purpose, fence=fence, redact=redactor.text)

    try:
        shown, checks = await talk.about(
            lambda tokens: show(run, redactor=redactor, tokens=tokens), question, len(lines_of(expected.outcome))
        )
    except JudgeError as error:
        return talk.failed(redactor.text(str(error)), error.error)
    missing = bool(missing_from(run, shown))
    return verdict(checks, shown, expected, missing=missing, redact=redactor.text, judged=talk.took())


class _Talk:
    """The one or two calls of the model, and what they took."""

    def __init__(self, judge: Judge, model: str, timeout_s: float, clock: Callable[[], float]) -> None:
        self._judge = judge
        self._model = model
        self._timeout_s = timeout_s
        self._clock = clock
        self._started_s = clock()
        self._calls = 0
        self._replies: list[Reply] = []

    async def about(
        self, show: Callable[[int], Shown], question: Callable[[Shown], Sequence[Message]], lines: int
    ) -> tuple[Shown, tuple[Check, ...]]:
        """What the model was shown, and one check for each line.

        A model that has no room for the run is shown less of it. Raises JudgeError where no answer was to be had, or
        none that can be used.
        """
        shown = show(BUDGETS[0])
        for smaller in BUDGETS[1:]:
            try:
                return shown, await self._checks(question(shown), lines)
            except JudgeError as error:
                if error.error != TOO_LONG or shown.tokens <= smaller:
                    raise
            shown = show(smaller)
        return shown, await self._checks(question(shown), lines)

    async def _checks(self, first: Sequence[Message], lines: int) -> tuple[Check, ...]:
        reply = await self._ask(first, MAX_TOKENS)
        answer = _read(reply, lines)
        if isinstance(answer, Invalid):
            again = second_messages(first, reply.text, answer.problem, lines)
            reply = await self._ask(again, 2 * MAX_TOKENS if reply.finish == CUT_OFF else MAX_TOKENS)
            answer = _read(reply, lines)
        if isinstance(answer, Invalid):
            began = f' It began: "{reply.text.strip()[:_QUOTED]}"' if reply.text.strip() else ""
            message = f"The judge's answer could not be used, twice: {answer.problem}.{began}"
            raise JudgeError(message, error=INVALID)
        return answer

    async def _ask(self, messages: Sequence[Message], max_tokens: int) -> Reply:
        self._calls += 1
        ask = Ask(
            model=self._model,
            messages=tuple(messages),
            schema=SCHEMA,
            max_tokens=max_tokens,
            timeout_s=self._timeout_s,
        )
        reply = await self._judge.ask(ask)
        self._replies.append(reply)
        return reply

    def took(self) -> Judged:
        replies = self._replies
        if len(replies) == 1:
            reply = replies[0]
            return Judged(
                model=reply.model or self._model,
                calls=self._calls,
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
                cost_usd=reply.cost_usd,
                duration_s=self._clock() - self._started_s,
            )
        return Judged(
            model=next((reply.model for reply in reversed(replies) if reply.model), self._model),
            calls=self._calls,
            input_tokens=_sum(reply.input_tokens for reply in replies),
            output_tokens=_sum(reply.output_tokens for reply in replies),
            cost_usd=_sum(reply.cost_usd for reply in replies),
            duration_s=self._clock() - self._started_s,
        )

    def failed(self, reason: str, error: str) -> Failed:
        return Failed(reason, name=EXPECTATIONS, error=error, judged=self.took())


def _read(reply: Reply, lines: int) -> tuple[Check, ...] | Invalid:
    if reply.finish == CUT_OFF:  # even where what there is of it can be read: more was to come
        return Invalid("it was cut off at its limit of tokens before it was finished")
    return read_answer(reply.text, lines)


_Number = TypeVar("_Number", int, float)


def _sum(numbers: Iterable[_Number | None]) -> _Number | None:
    """The sum of those that are known; None where none is."""
    known = [number for number in numbers if number is not None]
    return sum(known[1:], known[0]) if known else None
