"""Asking a code scorer about a run. Whatever it does, what comes of it is an outcome."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, Final, cast

from otel_chloe.gaps import HIDES_INPUT, HIDES_OUTPUT
from otel_chloe.kit.binding import CONTEXT
from otel_chloe.kit.context import ScorerContext, own_copy
from otel_chloe.kit.definition import CodeScorer, Definition
from otel_chloe.kit.returns import failure, outcomes_of
from otel_chloe.mark import Outcome, Unscored

_HIDES: Final = {"output": HIDES_OUTPUT, "input": HIDES_INPUT}
"""The gaps that take a part of a run away."""


def is_async(scorer: CodeScorer) -> bool:
    """Whether its function says that it is async. One that does not may still return something to await."""
    function: Any = scorer.function
    while hasattr(function, "func"):
        function = function.func
    call = getattr(function, "__call__", None)  # noqa: B004 - not whether it can be called: an object's own method
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


async def score_async(scorer: CodeScorer, context: ScorerContext, *, alone: bool = False) -> list[Outcome]:
    """The outcomes of a scorer; a sync one runs on the caller's thread."""
    return outcomes_of(scorer, await awaited(called(scorer, context)), alone=alone)


def called(scorer: CodeScorer, context: ScorerContext) -> object:
    """What the function returns, which may have to be awaited; a Failed or Unscored where it is not to be had.

    It sees copies: what it changes, no other scorer sees. What is neither an Exception nor a SystemExit passes: on the
    program's own thread it may be meant for the program, as Ctrl-C is.
    """
    missing = lacking(scorer, context)
    if missing is not None:
        return missing
    seen = context if scorer.is_ready_made else own_copy(_needed(scorer, context))
    try:
        return scorer.binding.call(scorer.function, seen)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function may raise anything, and harms nobody
        return failure(error)


async def awaited(said: object) -> object:
    """What a scorer returned, once it is there."""
    if not is_awaitable(said):
        return said
    try:
        return await cast("Awaitable[object]", said)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        return failure(error)


def is_awaitable(said: object) -> bool:
    """Whether what a scorer returned is to be waited for."""
    try:
        return inspect.isawaitable(said)
    except (Exception, SystemExit):  # noqa: BLE001 - an object may raise when it is asked for its class
        return False


def lacking(scorer: Definition, context: ScorerContext) -> Unscored | None:
    """Why the run is unscored, if something that the scorer requires is not known."""
    missing = [name for name in scorer.required_inputs if getattr(context, name) is None]
    if not missing:
        return None
    gap = gap_of(missing[0], context)
    if gap is not None:
        return Unscored(f"{missing[0]} is not known ({gap})", error="gap")
    return Unscored(f"it requires {', '.join(missing)}, which it was not given", error="missing_input")


def gap_of(part: str, context: ScorerContext) -> str | None:
    """The gap of the run for which its input or output is not known, in words."""
    run = context.run
    if run is None:
        return None
    for gap in run.gaps:
        if gap.code in _HIDES.get(part, ()):
            return f"{gap.code}: {gap.detail}" if gap.detail else gap.code
    return f"cut short, end {run.end}" if part == "output" and not run.complete else None


def _needed(scorer: CodeScorer, context: ScorerContext) -> ScorerContext:
    """The context without a run that the function does not take: copying one costs."""
    takes = {*scorer.binding.by_position, *scorer.binding.by_name}
    return context if takes & {CONTEXT, "run"} else replace(context, run=None)
