"""Limits on what a run takes, and signs that it goes round in circles."""

from __future__ import annotations

from typing import Final

from otel_chloe.gaps import BARE_MODEL_CALL, CUT_SHORT, ROOT_MISSING
from otel_chloe.kit import Scorer
from otel_chloe.mark import Mark, Unscored
from otel_chloe.redacted import has_redacted
from otel_chloe.run import Run
from otel_chloe.scorers.calls import used
from otel_chloe.scorers.names import (
    broken,
    comparable,
    is_cut,
    is_named,
    kept,
    limit_of,
    listed,
    parsed,
    shown,
    unknown,
    unseen,
)

_S: Final = 1e9
_PARTIAL: Final = frozenset({ROOT_MISSING, CUT_SHORT, BARE_MODEL_CALL})
"""The gaps of a run of which more was than was seen."""


def max_calls(run: Run, *, limit: float, tool: str | None = None) -> Mark | Unscored:
    """Whether the run made this many tool calls at most: 1 or 0. ``tool`` counts the calls of one tool alone.

    Calls that failed count.
    """
    name = "max_calls"
    most = limit_of(limit, name)
    count = sum(tool is None or is_named(call, tool) for call in run.tool_calls)
    what = "tool calls" if tool is None else f"calls of {tool}"
    if count > most:
        return broken(name, f"{count} {what}, more than {most:g}. {used(run.tool_calls)}")
    return unseen(name, run) or kept(name, f"{count} {what}, of {most:g} at most.")


def max_model_calls(run: Run, *, limit: float) -> Mark | Unscored:
    """Whether the run made this many model calls at most: 1 or 0. Unscored where its spans do not show them."""
    return _within("max_model_calls", run, run.usage.model_calls if run.usage else None, limit, "model calls")


def max_tokens(run: Run, *, limit: float) -> Mark | Unscored:
    """Whether all model calls of the run took this many tokens at most, input and output: 1 or 0."""
    usage = run.usage
    known = None
    if usage is not None and usage.input_tokens is not None and usage.output_tokens is not None:
        known = usage.input_tokens + usage.output_tokens
    return _within("max_tokens", run, known, limit, "tokens")


def max_cost(run: Run, *, limit: float) -> Mark | Unscored:
    """Whether the run cost this many US dollars at most: 1 or 0. Unscored where its spans name no cost."""
    return _within("max_cost", run, run.usage.cost_usd if run.usage else None, limit, "US dollars")


def max_duration(run: Run, *, limit: float) -> Mark | Unscored:
    """Whether the run took this many seconds at most: 1 or 0."""
    known = None
    if run.start_ns is not None and run.end_ns is not None:
        known = (run.end_ns - run.start_ns) / _S
    return _within("max_duration", run, known, limit, "seconds")


def no_loops(run: Run, *, times: int = 3, tool: str | None = None) -> Mark | Unscored:
    """Whether no tool was called ``times`` times (3) with the same arguments: 1 or 0.

    Calls with other arguments between them do not matter, nor whether they failed. ``tool`` looks at one tool alone.
    """
    name = "no_loops"
    most = limit_of(times, name)
    seen: dict[tuple[str, object], int] = {}
    unclear: dict[str, int] = {}
    cut = is_cut(run)
    for call in run.tool_calls:
        if tool is not None and not is_named(call, tool):
            continue
        given = parsed(call.arguments)
        if given is None or (cut and isinstance(given, str)) or has_redacted(given):
            unclear[call.name] = unclear.get(call.name, 0) + 1
            continue
        key = (call.name, comparable(given))
        seen[key] = seen.get(key, 0) + 1
        if seen[key] >= most:
            return broken(name, f"called {call.name} {seen[key]} times with {shown(given)}. {used(run.tool_calls)}")
    doubtful = [each for each in unclear if _possibly(each, seen, unclear) >= most]
    if doubtful:
        return unknown(name, f"cannot tell with which arguments it called {listed(doubtful)}")
    return unseen(name, run) or kept(name, used(run.tool_calls))


def _no_rate(name: str, run: Run) -> Unscored:
    if run.tool_calls:
        return unknown(name, "cannot tell which calls failed")
    return Unscored("it called no tool", name=name, error="not_scored")


def _possibly(tool: str, seen: dict[tuple[str, object], int], unclear: dict[str, int]) -> int:
    """How often a tool may have been called with the same arguments at most."""
    sure = max((count for (name, _), count in seen.items() if name == tool), default=0)
    return sure + unclear[tool]


def _within(name: str, run: Run, known: float | None, limit: float, what: str) -> Mark | Unscored:
    """Whether what a run took is within a limit. A run that was cut short may have taken more."""
    most = limit_of(limit, name)
    if known is None:
        return unknown(name, f"cannot tell how many {what} it took")
    if known > most:
        return broken(name, f"{known:g} {what}, more than {most:g}.")
    if not run.complete or any(gap.code in _PARTIAL for gap in run.gaps):
        return Unscored(f"{known:g} {what} were seen, but the run is incomplete", name=name, error="incomplete")
    return kept(name, f"{known:g} {what}, of {most:g} at most.")


@Scorer.code(direction="lower_is_better", value_type="numeric")
def tool_error_rate(run: Run) -> Mark | Unscored:
    """The share of the run's tool calls that failed, from 0 to 1; lower is better.

    Calls of which it is not known whether they failed are not counted. Unscored where none is known.
    """
    name = "tool_error_rate"
    hidden = unseen(name, run)
    known = [call for call in run.tool_calls if call.ok is not None]
    if hidden is not None or not known:
        return hidden or _no_rate(name, run)
    failed = [call.name for call in known if not call.ok]
    reason = f"{len(failed)} of {len(known)} calls failed{f': {listed(failed)}' if failed else ''}."
    return Mark(len(failed) / len(known), reason, name=name, value=len(failed) / len(known))
