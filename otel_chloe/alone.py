"""Scoring one run alone, by a judge: no rules file, no telemetry, the caller's own event loop."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any, Final, cast

from otel_chloe.config import Expectations
from otel_chloe.expected import ExpectedOutcome
from otel_chloe.gaps import NO_PROMPT
from otel_chloe.judge.ask import Complete, Judge, JudgeError
from otel_chloe.judge.expectations import judged
from otel_chloe.judge.gateway import Gateway
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.verdict import EXPECTATIONS, nothing_expected
from otel_chloe.mark import Failed, Mark, Unscored
from otel_chloe.run import Run, ToolCall

_TIMEOUT_S: Final = 30.0
_RESULT: Final = 'Pass a Run, or a mapping such as {"text": "Restarted.", "calls": [{"tool": "restart", "input": {}}]}.'


async def expectations(
    prompt: str,
    result: Run | Mapping[str, object],
    expected: ExpectedOutcome | Mapping[str, object],
    model: str,
    purpose: str | None = None,
    *,
    complete: Complete | None = None,
    redact: Callable[[str], str] | None = None,
) -> Mark | Unscored | Failed:
    """Score a run against lines that a model judges one by one: the share of them that were met, from 0 to 1.

    Costs one call of the model, and a second only where its first answer cannot be used. No lines: 1, and no call.
    A mark passes at 0.8. A line that cannot be decided, because a part of the run is missing or was left out, is
    not part of the share, and then the mark does not pass. Unscored where no line can be decided; Failed where the
    model could not be asked or did not answer with what can be used. Neither is ever a number.

    Args:
        prompt: What the agent was asked.
        result: The run; or a mapping with its reply as ``text`` and its ``calls``, each with ``tool``, ``input``,
            ``output`` and ``error``.
        expected: What was true, and the lines. A mapping may have snake_case or camelCase keys.
        model: The model that judges, such as ``anthropic/claude-haiku-4.5``.
        purpose: What the agent is for. Give it where a line depends on it.
        complete: Your own way to a model, ``complete(model, messages) -> text``, sync or async. Without it litellm
            asks, in the judge's own process: up to 30 s a call, and up to three times where it was too much for the
            provider or a moment's fault.
        redact: A function of your own that gets each text of the run, already redacted, before the judge sees it, and
            gives what may be shown of it. A text on which it raises is withheld.

    Raises :class:`~otel_chloe.errors.ConfigError` where ``expected`` is wrong, and nothing else.
    """
    outcome = expected if isinstance(expected, ExpectedOutcome) else ExpectedOutcome.from_mapping(expected)
    rules = Expectations(outcome=outcome, model=model)
    if not rules.has_lines:
        return nothing_expected()
    try:
        return await judged(
            _run(prompt, result),
            rules,
            judge=_child() if complete is None else Gateway(complete),
            nonce=secrets.token_hex(8),
            clock=monotonic,
            purpose=purpose,
            redactor=Redactor(redact),
            timeout_s=_TIMEOUT_S if complete is None else math.inf,  # who awaits a gateway of their own knows how long
        )
    except JudgeError as error:
        return Failed(str(error), name=EXPECTATIONS, error=error.error)
    except Exception as error:  # noqa: BLE001 - the guard of a promise: an outcome is returned, whatever a run holds
        return Failed(f"{type(error).__name__}: {error}", name=EXPECTATIONS, error=type(error).__name__)


def _run(prompt: str, result: object) -> Run:
    """The run that is to be judged, asked what ``prompt`` says."""
    if isinstance(result, Run):
        known = tuple(gap for gap in result.gaps if gap.code != NO_PROMPT) if prompt else result.gaps
        return replace(result, prompt=prompt or result.prompt, gaps=known)
    if not isinstance(result, Mapping):
        raise TypeError(f"result is of type {type(result).__name__}. {_RESULT}")
    given = cast("Mapping[str, Any]", result)
    text, calls = given.get("text"), given.get("calls") or ()
    if text is not None and not isinstance(text, str):
        raise TypeError(f"The text of result is of type {type(text).__name__}. {_RESULT}")
    if not isinstance(calls, list | tuple):
        raise TypeError(f"The calls of result are of type {type(calls).__name__}. {_RESULT}")
    return Run(prompt=prompt, output=text, tool_calls=tuple(_call(call) for call in cast("Iterable[object]", calls)))


def _call(given: object) -> ToolCall:
    """A call as either of the seeds' spellings has it."""
    call: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
    name = _first(call, ("tool", "toolName", "name"))
    if not isinstance(name, str):
        raise TypeError(f"A call of result has no tool's name. {_RESULT}")
    error = call.get("error")
    return ToolCall(
        name,
        _first(call, ("input", "arguments", "args")),
        _first(call, ("output", "result")),
        ok=False if error or call.get("refused") else None,
        error=None if error is None else str(error),
    )


def _first(call: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((call[key] for key in keys if call.get(key) is not None), None)


def _child() -> Judge:
    """The judge's own process, one for all of this program."""
    from otel_chloe.judge.child import shared_judge  # only for who has no gateway of their own

    return patient(shared_judge)


def patient(judge: Callable[[], Judge]) -> Judge:
    """A judge that is asked again where the provider says that it was too much, or is out of order for a moment."""
    from otel_chloe.pipeline.judging.budget import Budget
    from otel_chloe.pipeline.judging.calls import Calls, ModelState

    state = ModelState(1)
    no_limit = Budget(math.inf, math.inf)
    return Calls(judge, no_limit, lambda _: state, lambda _: None, price=None, jitter=random.random)
