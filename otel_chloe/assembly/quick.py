"""The calls of a plain run, told from its records alone: what a root's end() can afford on the agent's own thread.

Anything that is not plain takes the whole way of :func:`otel_chloe.assembly.assemble`; where this answers, that would
give the same calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

from otel_chloe.assembly.build import NO_TOOL_SPANS
from otel_chloe.names import short_name
from otel_chloe.part import MODEL, TOOL, Part
from otel_chloe.record import FIRST, IDENT, SPAN_ID, START, Record, requests_in
from otel_chloe.run import ToolCall

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
        if record.__class__ is Part or record[2] != root_id:
            return _NOT_FOR_SURE
        kind = record[0]
        if kind is TOOL:
            tools.append(record)
        elif kind is MODEL:
            told = record[8]
            asked += told if told.__class__ is int else requests_in(record)
            if record[9] is True:
                stopped = True
        else:
            return _NOT_FOR_SURE
    count = len(tools)
    if asked > count or (count > 1 and not _told_once(tools)):
        return _NOT_FOR_SURE
    if not tools and (stopped or any(scope in root_scope for scope in NO_TOOL_SPANS)):
        return _NOT_FOR_SURE
    return [record[6] for record in tools]


def quick_calls(
    tools: Iterable[Record], compared: Collection[str], read: Callable[[Record], ToolCall | None]
) -> tuple[ToolCall, ...] | None:
    """The calls that a plain run's tool records are, in order; None where one does not say all of itself.

    Only tools named in ``compared`` are told with their arguments: ``read`` makes a call of such a record. Equal
    texts are equal arguments, and are read once.
    """
    found: list[ToolCall] = []
    known: dict[tuple[str, str | None], ToolCall] = {}
    whole: dict[str, bool] = {}
    for record in sorted(tools, key=_order):
        name: str = record[IDENT]
        asks = whole.get(name)
        if asks is None:
            asks = whole[name] = name in compared or short_name(name) in compared
        key = name, record[FIRST] if asks else None
        call = known.get(key)
        if call is None:
            call = read(record) if asks else ToolCall(short_name(name), ok=True, ran=True, raw_name=name)
            if call is None:
                return None
            known[key] = call
        found.append(call)
    return tuple(found)


def _order(record: Record) -> tuple[int, int]:
    return record[START], record[SPAN_ID]


def _told_once(tools: list[Any]) -> bool:
    """Whether each span is a call of its own: one instrumentation, and no call id twice. Sorts them by their start."""
    scope = tools[0][5]
    last = 0
    sort = False
    ids: set[Any] = set()
    for record in tools:
        start = record[3]
        if record[5] != scope:
            return False
        if start < last:
            sort = True
        last = start
        ids.add(record[9])
    if sort:
        tools.sort(key=_start)
    return len(ids) == len(tools) or ids == {None}


def _start(record: Any) -> Any:
    return record[START]
