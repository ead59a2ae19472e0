"""Makes parts of the records that :mod:`~otel_chloe.conventions.keep` keeps, what was shortened made whole again.

A model call's input mostly repeats the one before and its answer: then only the newest is kept, and the earlier ones
are cut from it again.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from otel_chloe.conventions import genai
from otel_chloe.conventions.genai import ARGUMENTS, CALL_ID, INPUT, OUTPUT, RESULT
from otel_chloe.conventions.keep import FINISH, USUAL_READER
from otel_chloe.conventions.values import mapping
from otel_chloe.names import short_name
from otel_chloe.part import AGENT, MODEL, TOOL, Part
from otel_chloe.record import (
    AGENT_OF,
    END,
    FIRST,
    IDENT,
    KIND,
    PARENT_ID,
    SCOPE,
    SECOND,
    SPAN_ID,
    START,
    TALK,
    THIRD,
    Record,
)


def expand(records: Iterable[Record | Part], trace_id: int, resource: Any) -> list[Part]:
    """Records and parts as parts, what was shortened made whole again."""
    found: list[Part] = []
    later: dict[int | None, _History] = {}
    for each in reversed(list(records)):
        if isinstance(each, Part):
            found.append(each)
            continue
        part = _part(each, trace_id, resource)
        if each[KIND] is MODEL:
            _fill(part, each, later)
        found.append(part)
    found.reverse()
    return found


def _part(record: Record, trace_id: int, resource: Any) -> Part:
    kind = record[KIND]
    part = Part(
        kind,
        trace_id,
        record[SPAN_ID],
        record[PARENT_ID],
        record[START],
        record[END],
        0,
        "",
        record[SCOPE],
        USUAL_READER,
        _RAW[kind](record),
    )
    part.resource = resource
    part.usual = True
    name = record[AGENT_OF]
    part.agent = name if isinstance(name, str) and name not in genai.PLACEHOLDER_NAMES else None
    part.conversation = record[TALK] if isinstance(record[TALK], str) and record[TALK] else None
    if kind is TOOL:
        part.name = record[IDENT]
        part.short_name = short_name(record[IDENT])
        part.call_id = record[THIRD] if isinstance(record[THIRD], str) and record[THIRD] else None
    elif kind is MODEL:
        part.call_id = record[IDENT] if isinstance(record[IDENT], str) and record[IDENT] else None
    else:
        part.name, part.named, part.client = record[IDENT], True, record[THIRD]
    return part


def _raw_tool(record: Record) -> dict[str, Any]:
    return {
        genai.OPERATION: "execute_tool",
        genai.TOOL_NAME: record[IDENT],
        ARGUMENTS: record[FIRST],
        RESULT: record[SECOND],
        CALL_ID: record[THIRD],
    }


def _raw_messages(record: Record) -> dict[str, Any]:
    return {
        genai.OPERATION: "chat" if record[KIND] is MODEL else "invoke_agent",
        INPUT: record[FIRST],
        OUTPUT: record[SECOND],
        FINISH: ("tool_calls",) if record[KIND] is MODEL and record[THIRD] else None,
    }


_RAW: Final[Mapping[str, Callable[[Record], dict[str, Any]]]] = {
    TOOL: _raw_tool,
    MODEL: _raw_messages,
    AGENT: _raw_messages,
}


class _History:
    """The messages of a whole input, and where each ends in its text. Parsed when first asked for."""

    __slots__ = ("_text", "ends", "messages")

    def __init__(self, text: str) -> None:
        self._text: str | None = text
        self.messages: list[Any] = []
        self.ends: list[int] = []

    def until(self, length: int) -> int:
        """How many messages an input of this length held."""
        if self._text is not None:
            whole, self._text = self._text, None
            self._parse(whole)
        return bisect_right(self.ends, length - 1)

    def _parse(self, text: str) -> None:
        decode = json.JSONDecoder().raw_decode
        at = 1
        try:
            while at < len(text) and text[at] != "]":
                message, at = decode(text, at)
                self.messages.append(message)
                self.ends.append(at)
                while at < len(text) and text[at] in ", \n":
                    at += 1
        except (ValueError, RecursionError):
            return  # cut short: what was whole is kept


def _fill(part: Part, record: Record, later: dict[int | None, _History]) -> None:
    """Give a shortened model call its messages back, from the whole input of the call that repeats it."""
    parent_id = record[PARENT_ID]
    if record[FIRST].__class__ is str:
        later[parent_id] = _History(record[FIRST])
        return
    history = later.get(parent_id)
    if history is None or record[FIRST].__class__ is not int:
        return
    count = history.until(record[FIRST])
    answer = count
    while answer < len(history.messages) and _is_answer(history.messages[answer]):
        answer += 1
    part.raw = {**part.raw, INPUT: history.messages[:count], OUTPUT: history.messages[count:answer]}


def _is_answer(message: Any) -> bool:
    found = mapping(message)
    return found is not None and found.get("role") in ("assistant", "model")
