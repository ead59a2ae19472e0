"""A scorer that is a model: its prompt is filled with the run, and its answer is read as a score."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final, cast

from otel_chloe.errors import ConfigError
from otel_chloe.expected import nearest
from otel_chloe.judge.ask import Ask, Judge, JudgeError, Reply
from otel_chloe.judge.expectations import BUDGETS, CUT_OFF, INVALID, TOO_LONG
from otel_chloe.judge.gateway import on_a_thread
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.said import Unclear, value_of
from otel_chloe.judge.template import PLACEHOLDERS, Template
from otel_chloe.kit.context import ScorerContext, own_copy
from otel_chloe.kit.definition import JudgeScorer
from otel_chloe.kit.returns import failure, kind_of, outcomes_of
from otel_chloe.kit.run_code import gap_of, lacking
from otel_chloe.kit.scorer import checked_messages
from otel_chloe.mark import Failed, Judged, Outcome, Pending, Score, Unscored

_ANSWER: Final = 2_000
"""Characters of an answer that stand on the mark."""
_log = logging.getLogger(__name__)


async def judge_outcomes(
    scorer: JudgeScorer,
    context: ScorerContext,
    *,
    judge: Judge,
    nonce: str,
    clock: Callable[[], float],
    redactor: Redactor | None = None,
    timeout_s: float = 30.0,
    alone: bool = False,
) -> list[Outcome]:
    """Have a run judged by a judge of the user's: one call of the model, and one outcome.

    A model that has no room for the run is shown less of it. An answer that does not give the value that was asked
    for is Failed, and so is a model that could not be asked; neither is a number.

    Args:
        scorer: The model, its messages, and how its answer is read.
        context: The run and the case.
        judge: Who asks the model: ``Gateway(scorer.complete)`` where the scorer has a way of its own. Its JudgeError
            becomes a Failed; Refused and a cancellation pass.
        nonce: A text that nobody can guess, new for every call of this: it fences the run's texts.
        clock: Seconds, for how long it took.
        redactor: Takes secrets out of all that the model sees. A new one for every run.
        timeout_s: For one call of the model, in seconds.
        alone: Whether no other scorer scores this run.
    """
    missing = lacking(scorer, context)
    if missing is not None:
        return outcomes_of(scorer, missing)
    redactor = redactor or Redactor()
    template = await _template(scorer, context, redactor)
    if isinstance(template, Failed):
        return outcomes_of(scorer, template)
    hidden = _hidden(template, context)
    if hidden is not None:
        return outcomes_of(scorer, hidden)
    _tell_unknown(scorer, template)
    began = clock()
    call = _Call(scorer, judge, timeout_s)
    try:
        said = _read(scorer, await call.answer(template, nonce), redactor)
    except JudgeError as error:
        said = Failed(redactor.text(str(error)), error=error.error)
    took = replace(call.took(), duration_s=clock() - began)
    return [_with_cost(outcome, took) for outcome in outcomes_of(scorer, said, alone=alone)]


class _Call:
    """The calls of the model for one answer, of which only the last is answered."""

    def __init__(self, scorer: JudgeScorer, judge: Judge, timeout_s: float) -> None:
        self._model = scorer.model
        self._judge = judge
        self._timeout_s = timeout_s
        self._calls = 0
        self._reply: Reply | None = None

    async def answer(self, template: Template, nonce: str) -> Reply:
        for tokens in BUDGETS:
            ask = Ask(model=self._model, messages=template.filled(nonce, tokens), timeout_s=self._timeout_s)
            self._calls += 1
            try:
                self._reply = await self._judge.ask(ask)
            except JudgeError as error:
                if error.error != TOO_LONG or tokens == BUDGETS[-1]:
                    raise
            else:
                return self._reply
        raise AssertionError("the last call returns or raises")

    def took(self) -> Judged:
        reply = self._reply or Reply(text="")
        return Judged(
            model=reply.model or self._model,
            calls=self._calls,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost_usd=reply.cost_usd,
        )


async def _template(scorer: JudgeScorer, context: ScorerContext, redactor: Redactor) -> Template | Failed:
    """The scorer's prompt, with what the user's function has for its placeholders."""
    if scorer.variables is None:
        return Template(scorer.messages, context, redactor=redactor)
    try:
        made = await on_a_thread(_called, scorer, context)  # one that hangs must not keep other judgements waiting
        if isinstance(made, Failed):
            return made
        if inspect.isawaitable(made):
            made = await cast("Awaitable[object]", made)
        if isinstance(made, (list, tuple)):
            messages = checked_messages(cast("object", made), "the function's ")
            return Template(messages, context, redactor=redactor, built=True)
    except ConfigError as error:
        return Failed(f"TypeError: {error}", error="TypeError")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function may raise anything, and harms nobody
        return failure(error)
    if isinstance(made, Mapping):
        variables = {str(key): value for key, value in cast("Mapping[object, object]", made).items()}
        return Template(scorer.messages, context, variables=variables, redactor=redactor)
    text = f"the judge's function returned {kind_of(made)}. Return the placeholders' values, never a score."
    return Failed(f"TypeError: {text}", error="TypeError")


def _called(scorer: JudgeScorer, context: ScorerContext) -> object:
    try:
        return scorer.binding.call(cast("Callable[..., object]", scorer.variables), own_copy(context))
    except BaseException as error:  # noqa: BLE001 - on a thread of ours nothing that is raised is meant for the program
        return failure(error)


def _hidden(template: Template, context: ScorerContext) -> Unscored | None:
    """Why the run cannot be judged: the prompt shows a part of it that was not recorded."""
    for part in ("output", "input"):
        if template.shows(part) and getattr(context, part) is None:
            gap = gap_of(part, context)
            if gap is not None:
                return Unscored(f"the judge is to see the run's {part}, which is not known ({gap})", error="gap")
    return None


def _tell_unknown(scorer: JudgeScorer, template: Template) -> None:
    """Warn, once for this scorer, of placeholders that are most likely misspelt."""
    for name in template.unknown():
        if name in scorer.told:
            continue
        scorer.told.add(name)
        close = nearest(name, PLACEHOLDERS)
        meant = f" Did you mean {{{{{close}}}}}?" if close else ""
        _log.warning("scorer %s: nothing fills {{%s}}, it is sent as it stands.%s", scorer.name, name, meant)


def _read(scorer: JudgeScorer, reply: Reply, redactor: Redactor) -> Score | Failed:
    text = redactor.text(reply.text)
    if reply.finish == CUT_OFF:
        return Failed("the judge's answer was cut off at its limit of tokens", error=INVALID)
    try:
        value = value_of(reply.text, scorer.value_type, scorer.labels)
    except Unclear as error:
        return Failed(redactor.text(str(error)), error=INVALID)
    value = redactor.text(value) if isinstance(value, str) and value not in scorer.labels else value
    return Score(scorer.name, value, text.strip()[:_ANSWER])


def _with_cost(outcome: Outcome, took: Judged) -> Outcome:
    return outcome if isinstance(outcome, Pending) else replace(outcome, judged=took)
