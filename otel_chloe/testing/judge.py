"""A judge whose answers a test writes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from otel_chloe.judge.ask import Ask, Message, Reply

Answer: TypeAlias = str | Reply | Exception
"""What the judge answers; an exception is raised."""
Answers: TypeAlias = str | Iterable[Answer] | Callable[[Ask], Answer | Awaitable[Answer]]


def checks(*met: bool | None, why: str = "because", evidence: object = None) -> str:
    """A valid answer that says this of each line in order: ``checks(True, False)`` is for two lines."""
    said = [
        {"id": number, "expectation": f"line {number}", "why": why, "evidence": evidence, "met": each}
        for number, each in enumerate(met, 1)
    ]
    return json.dumps({"checks": said})


class ScriptedJudge:
    """Answers as a test says, and keeps what it was asked.

    It is a judge wherever one is wanted, and a ``complete=``.

    Args:
        answers: One text for every call; or the answers one after another; or a function of the ask, sync or async.
            An answer is a text, a :class:`Reply` where tokens or the finish matter, or an exception to raise.

    Attributes:
        asks: Every ask, in order. As a ``complete=`` it learns of one only the model and the messages.
    """

    def __init__(self, answers: Answers) -> None:
        self.asks: list[Ask] = []
        self._answers = answers if callable(answers) or isinstance(answers, str) else iter(list(answers))

    @property
    def messages(self) -> list[tuple[Message, ...]]:
        """The messages of every ask, in order."""
        return [ask.messages for ask in self.asks]

    async def ask(self, ask: Ask) -> Reply:
        """Answer, as a judge."""
        self.asks.append(ask)
        answer = await self._answer(ask)
        if isinstance(answer, Exception):
            raise answer
        return Reply(text=answer) if isinstance(answer, str) else answer

    async def __call__(self, model: str, messages: list[Message]) -> str:
        """Answer, as a ``complete=``."""
        reply = await self.ask(Ask(model=model, messages=tuple(messages)))
        return reply.text

    async def _answer(self, ask: Ask) -> Answer:
        if isinstance(self._answers, str):
            return self._answers
        if callable(self._answers):
            answer = self._answers(ask)
            return await answer if inspect.isawaitable(answer) else answer
        try:
            return next(self._answers)
        except StopIteration:
            raise AssertionError(f"The script has no answer to call {len(self.asks)}.") from None
