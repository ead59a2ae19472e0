"""What is asked of a judge's model and what comes back: the words between scorers, the child process and gateways."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

Message: TypeAlias = dict[str, str]
"""``{"role": "system" | "user" | "assistant", "content": text}``"""

Complete: TypeAlias = Callable[[str, list[Message]], str | Awaitable[str]]
"""A user's own way to a model: the model as the user wrote it, the messages; gives the answer's text."""

MAX_TOKENS: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One call of a model.

    ``model`` is as the user wrote it. ``schema`` is a JSON schema that the answer should keep, where the provider
    takes one; None asks for text. ``max_tokens`` limits the answer, ``timeout_s`` this one call.
    """

    model: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int = MAX_TOKENS
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered. ``finish`` is the reason it stopped (``stop``, ``length``…); None: not known."""

    text: str
    finish: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class JudgeError(Exception):
    """A call of a model that gave no answer.

    Args:
        message: What happened and what to do, for a person.
        error: The word for metrics: rate_limit, timeout, authentication, unknown_model, bad_request, context_length,
            refused, server, connection, judge_down.
        retry: Whether the same call may succeed a little later.
        retry_after_s: When the provider says so.
        lasting: No other call will succeed either, until somebody changes something: the circuit opens at once.
    """

    def __init__(
        self,
        message: str,
        *,
        error: str,
        retry: bool = False,
        retry_after_s: float | None = None,
        lasting: bool = False,
    ) -> None:
        super().__init__(message)
        self.error = error
        self.retry = retry
        self.retry_after_s = retry_after_s
        self.lasting = lasting


class Refused(Exception):  # noqa: N818 - what happened, not an error
    """A call of a model that was not made, and will not be: the run stays unscored. Scorers let it pass.

    Args:
        reason: Why, for a person.
        error: The word for metrics: budget, circuit_open, deadline.
    """

    def __init__(self, reason: str, *, error: str) -> None:
        super().__init__(reason)
        self.error = error


class Judge(Protocol):
    """Whoever answers: the child process, a user's ``complete``, or a script in a test. Raises JudgeError."""

    async def ask(self, ask: Ask) -> Reply:
        """Call the model once. Never retries."""
        ...
