"""Runs and marks as JSON, one object a line. Keys are always there: null is "not known" or "does not apply"."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, TypeGuard, cast

from ..assembly.explained import ExplainedCall
from ..mark import Failed, Mark, Outcome, Unscored
from ..run import Run, ToolCall

Outcomes = Sequence[tuple[Run, Outcome]]
"""The outcomes of a run and of its sub-runs, each beside the run or sub-run that it is of."""

_DEEPEST: Final = 100
"""Levels of nesting; what is deeper becomes text. JSON readers have such limits too."""


def run_line(file: str, run: Run, outcomes: Outcomes | None = None, *, explain: bool = False) -> str:
    """One top-level run, with its marks where there are outcomes (none at all is an empty list)."""
    return line(run_object(file, run, outcomes, explain=explain))


def run_object(file: str, run: Run, outcomes: Outcomes | None, *, explain: bool) -> dict[str, Any]:
    """The same as a value."""
    found: dict[str, Any] = {
        "file": file,
        "trace_id": run.trace_id,
        "span_id": run.span_id,
        "agent": run.agent,
        "conversation": run.conversation,
        "prompt": run.prompt,
        "output": run.output,
        "end": run.end,
        "complete": run.complete,
        "gaps": [{"code": gap.code, "detail": gap.detail} for gap in run.gaps],
        "tool_calls": [_call(call, explain=explain) for call in run.tool_calls],
        "sub_runs": [_sub_run(sub, outcomes or ()) for sub in below(run)],
    }
    if outcomes is not None:
        found["marks"] = _marks(run, outcomes)
    return found


def below(run: Run) -> Iterator[Run]:
    """The run's sub-runs, outer before inner."""
    for sub in run.sub_runs:
        yield sub
        yield from below(sub)


def _call(call: ToolCall, *, explain: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": call.name,
        "raw_name": call.raw_name,
        "arguments": _arguments(call.arguments),
        "result": call.result,
        "ok": call.ok,
        "error": call.error,
        "agent": call.agent,
        "ran": call.ran,
        "source": call.source,
    }
    if explain:
        found["span_id"] = call.span_id
        found["call_id"] = call.call_id
        found["made_of"] = [asdict(piece) for piece in call.made_of] if isinstance(call, ExplainedCall) else []
    return found


def _arguments(value: Any) -> Any:
    """An object, or the text as it is; what parses to something else is its text."""
    if value is None or isinstance(value, str | Mapping):
        return cast("Any", value)
    return line(value)


def _sub_run(sub: Run, outcomes: Outcomes) -> dict[str, Any]:
    found: dict[str, Any] = {"agent": sub.agent, "prompt": sub.prompt, "output": sub.output, "span_id": sub.span_id}
    marks = _marks(sub, outcomes)
    if marks:
        found["marks"] = marks
    return found


def _marks(run: Run, outcomes: Outcomes) -> list[dict[str, Any]]:
    return [_mark(outcome) for of, outcome in outcomes if of is run]


def _mark(outcome: Outcome) -> dict[str, Any]:
    mark = outcome if isinstance(outcome, Mark) else None
    return {
        "name": outcome.name,
        "state": outcome.state,
        "score": mark.score if mark else None,
        "value": mark.value if mark else None,
        "passed": mark.passed if mark else None,
        "reason": outcome.reason,
        "lines": [asdict(said) for said in mark.lines] if mark and mark.lines else None,
        "error": outcome.error if isinstance(outcome, Unscored | Failed) else None,
        "version": outcome.version,
        "id": outcome.id,
    }


def line(value: Any) -> str:
    """A value as JSON on one line, in ASCII. What JSON cannot hold is text; there is no NaN in JSON."""
    try:
        return _ENCODE(value)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value, _DEEPEST), allow_nan=False)


_ENCODE: Final = json.JSONEncoder(allow_nan=False).encode


def _plain(value: Any, depth: int) -> Any:
    """The value as JSON knows values."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < 1024 else hex(value)
    if depth == 0:
        return "..."
    if _is_mapping(value):
        return {key if isinstance(key, str) else _text(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth - 1) for item in cast("Sequence[Any]", value)]
    return _text(value)


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
