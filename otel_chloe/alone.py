"""Scoring one run alone: no rules file, no telemetry, the caller's own thread and event loop."""

from __future__ import annotations

import asyncio
import inspect
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
from otel_chloe.judge.gateway import Gateway, on_a_thread
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.scorer import judge_outcomes
from otel_chloe.judge.verdict import EXPECTATIONS, nothing_expected
from otel_chloe.kit import (
    AnyScorer,
    CodeScorer,
    JudgeScorer,
    as_scorers,
    context_of,
    is_async,
    owners_of,
    without_double,
)
from otel_chloe.kit.context import ScorerContext
from otel_chloe.kit.returns import failure, outcomes_of
from otel_chloe.kit.run_code import awaited, called, is_awaitable
from otel_chloe.mark import Failed, Mark, Outcome, Unscored
from otel_chloe.run import Run, ToolCall
from otel_chloe.scorers.scoring import mark_id

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


def score(
    run: Run | Mapping[str, object],
    scorers: Iterable[object],
    *,
    input: Any = None,  # noqa: A002 - the scorers' own word
    expected: Any = None,
    metadata: Any = None,
) -> list[Outcome]:
    """Score a run by scorers of your own, without telemetry: the outcomes in the order of the scorers.

    Sync scorers are called one after another on this thread; then those that are async, and judges, run together. Each
    gives one outcome or more, whatever it does: one that raises is Failed, one that says nothing is Unscored. Only what
    is no Exception, such as Ctrl-C, passes.

    Args:
        run: The run; or a mapping with its reply as ``text`` and its ``calls``.
        scorers: Functions, ``Scorer.code`` and ``Scorer.llm_judge``. Each has a name of its own.
        input: What the run was given, where the run does not say: by default its structured input, else its prompt.
        expected: What the scorers compare with.
        metadata: What else they may need to know.

    Raises :class:`~otel_chloe.errors.ConfigError` where a scorer is wrong; RuntimeError where a scorer is async and an
    event loop is running on this thread: there, ``await ascore(...)``.
    """
    work = _Work(run, scorers, input, expected, metadata)
    if work.waits and _in_a_loop():
        raise RuntimeError(
            f"score() cannot wait for {', '.join(work.waits)} while an event loop is running on this thread. "
            "Write await ascore(...), with the same arguments."
        )
    said = work.call()
    if any(is_awaitable(each) for each in said.values()) and _in_a_loop():
        said = {name: _closed(each) if is_awaitable(each) else each for name, each in said.items()}
    if work.waits or any(is_awaitable(each) for each in said.values()):
        return asyncio.run(work.outcomes(said))
    return work.together(said, {})


async def ascore(
    run: Run | Mapping[str, object],
    scorers: Iterable[object],
    *,
    input: Any = None,  # noqa: A002 - the scorers' own word
    expected: Any = None,
    metadata: Any = None,
) -> list[Outcome]:
    """The same as :func:`score` where an event loop is running. Sync scorers run on a thread of their own."""
    work = _Work(run, scorers, input, expected, metadata)
    said = cast("dict[str, object]", await on_a_thread(work.call_apart)) if work.calls else {}
    return await work.outcomes(said)


class _Work:
    """One run that is scored: who is asked at once, and who is waited for."""

    def __init__(self, run: object, scorers: object, given: Any, expected: Any, metadata: Any) -> None:
        self._scorers = as_scorers(scorers)
        self._run = run if isinstance(run, Run) else replace(_run("", run), prompt=None)
        self._context = context_of(self._run, input=given, expected=expected, metadata=metadata)
        self._alone = len(self._scorers) == 1
        self._redactor = Redactor()
        self.calls = [each for each in self._scorers if isinstance(each, CodeScorer) and not is_async(each)]
        self.waits = [each.name for each in self._scorers if not isinstance(each, CodeScorer) or is_async(each)]

    def call(self) -> dict[str, object]:
        """What the sync scorers return, by their names."""
        return {scorer.name: called(scorer, self._context) for scorer in self.calls}

    def call_apart(self) -> dict[str, object]:
        """The same on a thread of ours, where nothing that is raised can be meant for the program."""
        return {scorer.name: _called_apart(scorer, self._context) for scorer in self.calls}

    async def outcomes(self, said: Mapping[str, object]) -> list[Outcome]:
        """All outcomes, once those who take their time have answered."""
        waiting = [each for each in self._scorers if each.name not in said or is_awaitable(said[each.name])]
        asked = (self._answer(each, said.get(each.name)) for each in waiting)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        found = {each.name: _settled(each, answer) for each, answer in zip(waiting, answers, strict=True)}
        return self.together(said, found)

    def together(self, said: Mapping[str, object], found: Mapping[str, list[Outcome]]) -> list[Outcome]:
        """The outcomes of all, in the order of the scorers, each with its id."""
        outcomes = [
            outcome
            for each in self._scorers
            for outcome in found.get(each.name) or outcomes_of(each, said[each.name], alone=self._alone)
        ]
        owners = owners_of(self._scorers)
        return [self._with_id(without_double(outcome, outcome.key, owners)) for outcome in outcomes]

    async def _answer(self, scorer: AnyScorer, said: object) -> list[Outcome]:
        if isinstance(scorer, JudgeScorer):
            return await _judged(scorer, self._context, self._redactor, alone=self._alone)
        said = called(scorer, self._context) if said is None else said
        return outcomes_of(scorer, await awaited(said), alone=self._alone)

    def _with_id(self, outcome: Outcome) -> Outcome:
        version = outcome.version or ""
        return replace(
            outcome, id=mark_id(self._run.trace_id, self._run.span_id, outcome.name, version, outcome.key or "")
        )


def _settled(scorer: AnyScorer, answer: list[Outcome] | BaseException) -> list[Outcome]:
    """What an async scorer gave. One that cancels itself has failed: who cancels all of them does not come here."""
    if isinstance(answer, asyncio.CancelledError):
        return outcomes_of(scorer, failure(answer))
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _called_apart(scorer: CodeScorer, context: ScorerContext) -> object:
    try:
        return called(scorer, context)
    except BaseException as error:  # noqa: BLE001 - Ctrl-C comes on the main thread, and nowhere else
        return failure(error)


async def _judged(scorer: JudgeScorer, context: ScorerContext, redactor: Redactor, *, alone: bool) -> list[Outcome]:
    try:
        return await judge_outcomes(
            scorer,
            context,
            judge=_child() if scorer.complete is None else Gateway(scorer.complete),
            nonce=secrets.token_hex(8),
            clock=monotonic,
            redactor=redactor,
            timeout_s=_TIMEOUT_S if scorer.complete is None else math.inf,
            alone=alone,
        )
    except Exception as error:  # noqa: BLE001 - the guard of a promise: an outcome is returned, whatever a run holds
        return outcomes_of(scorer, failure(error))


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _closed(said: object) -> Failed:
    """What came of a function that turned out to be async where nobody can wait."""
    if inspect.iscoroutine(said):
        said.close()  # else Python complains that nobody awaited it
    return Failed("TypeError: it is async, and an event loop is running. Write await ascore(...).", error="TypeError")


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
    from otel_chloe.pipeline.judging.within import Deadlines

    state = ModelState(1)
    no_limit = Budget(math.inf, math.inf)
    return Calls(judge, no_limit, lambda _: state, lambda _: None, Deadlines(), price=None, jitter=random.random)
