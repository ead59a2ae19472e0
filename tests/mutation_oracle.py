"""What a broken recording may still say: a fact is right or absent, never wrong, and no call is told twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from broken_cases import Truth
from mutations import ANYTHING, MARKS, Effect

from otel_chloe.run import Run, ToolCall


def wrongs(effect: Effect, truth: Truth, after: Sequence[Run]) -> list[str]:
    """What the runs of a mutated recording say that is wrong."""
    before = truth.runs
    if effect.same:
        return [] if list(map(told, after)) == list(map(told, before)) else ["the runs are others"]
    found = [
        *_more_calls(effect, truth, after),
        *_wrong_calls(effect, truth, after),
        *_wrong_words(effect, truth, after),
    ]
    if effect.whole:
        found += _lost(before, after)
    return found


def told(run: Run) -> Any:
    """All that a run says, but for what it ran in."""
    calls = [(c.name, c.arguments, c.result, c.ok, c.error, c.agent, c.span_id) for c in run.tool_calls]
    subs = [told(sub) for sub in run.sub_runs]
    return run.agent, run.prompt, run.output, calls, subs, run.gaps, run.end, run.span_id, run.trace_id


def _calls(runs: Iterable[Run]) -> list[ToolCall]:
    return [call for run in runs for call in run.tool_calls]


def _more_calls(effect: Effect, truth: Truth, after: Sequence[Run]) -> Iterator[str]:
    texts = [said for said in effect.said if isinstance(said, str)]
    names = {call.raw_name: call.name for call in _calls(truth.runs)}
    shown = Counter(
        names.get(call.name, call.name) for call in _calls(after) if call.name not in {*truth.optional, *texts}
    )
    made = Counter(call.name for call in _calls(truth.runs))
    more = {name for name in shown if name not in made} if effect.lies else shown - made
    if more:
        yield f"calls that were not made: {more}"


def _lost(before: Sequence[Run], after: Sequence[Run]) -> Iterator[str]:
    shown = {c.span_id for c in _calls(after)}
    lost = [c.name for c in _calls(before) if c.source == "span" and c.span_id not in shown]
    if lost:
        yield f"calls are lost: {lost}"


def _wrong_calls(effect: Effect, truth: Truth, after: Sequence[Run]) -> Iterator[str]:
    real = _calls(truth.runs)
    for call in _calls(after):
        same = [c for c in real if call.name in (c.name, c.raw_name)]
        own = [c for c in same if c.span_id == call.span_id is not None] or same  # a call without a span is any of them
        for what in () if effect.lies else ("arguments", "result"):
            value = getattr(call, what)
            if (
                own
                and not (isinstance(value, str) and value in truth.texts)
                and not _fits(effect, value, [getattr(c, what) for c in own])
            ):
                yield f"{what} of {call.name}: {str(value)[:300]!r}"
        # With lies, two spans of a call may stand apart, and one of them does not know that the other failed.
        right = [None, *(c.ok for c in own), *([True] if effect.lies else [])]
        if own and effect.kind != "renamed" and call.ok not in right:
            yield f"{call.name} ok is {call.ok}"


def _wrong_words(effect: Effect, truth: Truth, after: Sequence[Run]) -> Iterator[str]:
    real = _with_sub_runs(truth.runs)
    for run in _with_sub_runs(after):
        own = [each for each in real if (each.trace_id, each.span_id) == (run.trace_id, run.span_id)]
        sure = bool(own) and effect.whole
        others = own if sure else real
        for what in ("prompt", "output"):
            value = getattr(run, what)
            right = [getattr(each, what) for each in others] + ([] if sure else [*truth.words, *truth.texts])
            made_of = not sure and isinstance(value, str) and any(len(t) > 30 and t in value for t in truth.texts)
            if not made_of and not _fits(effect, value, right, words=True):
                yield f"{what}: {str(value)[:300]!r}"


def _with_sub_runs(runs: Sequence[Run]) -> list[Run]:
    return [*runs, *(sub for run in runs for sub in run.sub_runs)]


def _fits(effect: Effect, value: Any, right: Sequence[Any], *, words: bool = False) -> bool:
    """Whether a fact is absent, right, or just what the spans say now."""
    if value is None or value in right or any(said == value for said in effect.said):
        return True
    if isinstance(value, str) and value in MARKS:
        return False
    if ANYTHING in effect.said and not words:
        return True
    if isinstance(value, str):
        texts = [" ".join(each.split()) for each in right if isinstance(each, str)]
        if any(each.endswith(" ".join(value.split())) and len(value) > 15 for each in texts):
            return True  # some frameworks' own output has all that was said on the way: the last of it is right too
        begun = [each for each in effect.prefixes if not words or each[:1] not in "{["]
        return any(each.startswith(value) for each in (*begun, *(texts if effect.prefixes else ())))
    return any(_like(value, each, effect) for each in right) if effect.kind in LEAVES else False


LEAVES = ("redacted inside", "another type inside")


def _like(value: Any, right: Any, effect: Effect) -> bool:
    """Whether two structures differ only where a part was replaced."""
    if value == right or (isinstance(value, str) and value in MARKS) or value in effect.said:
        return True
    if isinstance(value, dict) and isinstance(right, dict):
        return value.keys() == right.keys() and all(_like(value[key], right[key], effect) for key in value)
    if isinstance(value, list) and isinstance(right, list) and len(value) == len(right):
        return all(_like(one, other, effect) for one, other in zip(value, right, strict=True))
    return False
