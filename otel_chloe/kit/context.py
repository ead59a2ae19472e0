"""What a user's scorer is given: a run, and what was known about the case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from otel_chloe.run import Run, ToolCall

_COPIED: Final = frozenset({dict, list, tuple, set})


@dataclass(frozen=True, slots=True)
class ScorerContext:
    """What a scorer looks at. None: not known.

    ``input`` is what the run was given, ``output`` what it said at last, ``expected`` and ``metadata`` what the
    application or a test says of the case; ``run`` is the whole run, with its tool calls in order.
    """

    input: Any = None
    output: Any = None
    expected: Any = None
    metadata: Any = None
    run: Run | None = None


def context_of(
    run: Run,
    *,
    input: Any = None,  # noqa: A002 - the seed's word, and a scorer's own
    expected: Any = None,
    metadata: Any = None,
) -> ScorerContext:
    """The context of a run. Its input is the one given, else the run's structured input, else its prompt."""
    if input is None:
        input = run.prompt if run.input is None else run.input  # noqa: A001
    return ScorerContext(input, run.output, expected, metadata, run)


def own_copy(context: ScorerContext) -> ScorerContext:
    """The same for one scorer alone: what it changes in lists and mappings, no other scorer sees.

    Objects of other kinds are not copied: nobody knows how.
    """
    seen: dict[int, Any] = {}
    try:
        return ScorerContext(
            _own(context.input, seen),
            _own(context.output, seen),
            _own(context.expected, seen),
            _own(context.metadata, seen),
            None if context.run is None else _own_run(context.run, seen),
        )
    except RecursionError:
        return context


def _own(value: object, seen: dict[int, Any]) -> Any:
    if type(value) not in _COPIED:
        return value
    known = id(value)
    if known in seen:
        return seen[known]
    if isinstance(value, dict):
        mapping: dict[object, object] = {}
        seen[known] = mapping
        mapping.update((key, _own(item, seen)) for key, item in cast("dict[object, object]", value).items())
        return mapping
    items = cast("Iterable[object]", value)
    if isinstance(value, list):
        copied: list[object] = []
        seen[known] = copied
        copied.extend(_own(item, seen) for item in items)
        return copied
    return tuple(_own(item, seen) for item in items) if isinstance(value, tuple) else set(items)


def _own_run(run: Run, seen: dict[int, Any]) -> Run:
    calls = tuple(_own_call(call, seen) for call in run.tool_calls)
    subs = tuple(_own_run(sub, seen) for sub in run.sub_runs)
    return replace(run, tool_calls=calls, sub_runs=subs, input=_own(run.input, seen), resource=_own(run.resource, seen))


def _own_call(call: ToolCall, seen: dict[int, Any]) -> ToolCall:
    if id(call) in seen:
        return cast("ToolCall", seen[id(call)])
    arguments, result = _own(call.arguments, seen), _own(call.result, seen)
    same = arguments is call.arguments and result is call.result
    return cast(
        "ToolCall", seen.setdefault(id(call), call if same else replace(call, arguments=arguments, result=result))
    )
