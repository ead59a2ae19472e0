"""The calls of a plain run, told from its records alone: what a root's end() can afford on the agent's own thread.

Anything that is not plain takes the whole way of :func:`otel_chloe.assembly.assemble`; where this answers, that would
give the same calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from otel_chloe.assembly.build import NO_TOOL_SPANS
from otel_chloe.part import MODEL, TOOL, Part
from otel_chloe.record import IDENT, KIND, PARENT_ID, SCOPE, START, THIRD, requests_in

_NOT_FOR_SURE: Final = None


def plain_calls(held: Sequence[Any], root_id: int, root_scope: str) -> list[str] | None:
    """The names of a run's tool calls as the model wrote them, in order; None where it takes more to tell.

    Plain is a run whose every span is a usual model or tool call right below its root, with no call asked for in a
    message that left no span, and none told twice.
    """
    tools: list[Any] = []
    asked = 0
    stopped = False
    for record in held:
        if record.__class__ is Part or record[PARENT_ID] != root_id:
            return _NOT_FOR_SURE
        kind = record[KIND]
        if kind is TOOL:
            tools.append(record)
        elif kind is MODEL:
            asked += requests_in(record)
            stopped = stopped or record[THIRD] is True
        else:
            return _NOT_FOR_SURE
    if asked > len(tools) or (len(tools) > 1 and not _told_once(tools)):
        return _NOT_FOR_SURE
    if not tools and (stopped or any(scope in root_scope for scope in NO_TOOL_SPANS)):
        return _NOT_FOR_SURE
    return [record[IDENT] for record in tools]


def _told_once(tools: list[Any]) -> bool:
    """Whether each span is a call of its own: one instrumentation, and no call id twice. Sorts them by their start."""
    scope = tools[0][SCOPE]
    last = 0
    sort = False
    ids: set[Any] = set()
    for record in tools:
        if record[SCOPE] != scope:
            return False
        sort = sort or record[START] < last
        last = record[START]
        ids.add(record[THIRD])
    if sort:
        tools.sort(key=_start)
    return len(ids) == len(tools) or ids == {None}


def _start(record: Any) -> Any:
    return record[START]
