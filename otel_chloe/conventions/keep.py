"""What is kept of an ended span while its run is open: as little as a run needs, and never more than once.

The usual spans (today's OTel GenAI attributes and nothing else) are kept as a bare record, for speed and memory; any
other span as the part that :func:`~otel_chloe.conventions.read` makes of it. :func:`expand` makes parts of records.
A model call's input mostly repeats the one before and its answer: then only the newest is kept, and the earlier ones
are cut from it again.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from opentelemetry.trace import StatusCode

from otel_chloe.conventions import genai
from otel_chloe.conventions.genai import (
    AGENT_NAME,
    ARGUMENTS,
    CALL_ID,
    CONVERSATION,
    GENAI,
    INPUT,
    OUTPUT,
    RESPONSE_ID,
    RESULT,
)
from otel_chloe.conventions.reader import TableReader
from otel_chloe.conventions.values import mapping
from otel_chloe.names import short_name
from otel_chloe.part import AGENT, ASKS, MODEL, TOOL, Kind, Part
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
    UNUSUAL,
    Record,
)

FINISH: Final = "gen_ai.response.finish_reasons"

OPERATIONS: Final[Mapping[Any, Kind]] = {
    "chat": MODEL,
    "generate_content": MODEL,
    "text_completion": MODEL,
    "execute_tool": TOOL,
    "invoke_agent": AGENT,
}

UNUSUAL.update(
    {
        "openinference.span.kind",
        "traceloop.span.kind",
        "langsmith.span.kind",
        "langfuse.observation.type",
        "mlflow.spanType",
        "llm.request.type",
        "mcp.method.name",
        "session.id",
        "error.type",
        "agent_name",
        "final_result",
        "tool_arguments",
        "tool_response",
        "gen_ai.tool.status",
        "gen_ai.prompt",
        "gen_ai.prompt.0.role",
        "gen_ai.completion.0.role",
        "gen_ai.handoff.to_agent",
        "pydantic_ai.all_messages",
        "pydantic_ai.tool.failure_stage",
        "all_messages_events",
        "anthropic.tool_result.content",
        "crewai.crew.name",
        "gen_ai.agent.call.id",
    }
)
# What some reader wants and a record does not hold.

UNUSUAL_SCOPES: Final = frozenset(
    {
        "gcp.vertex.agent",
        "agent_framework",
        "autogen-core",
        "mcp-python-sdk",
        "fastmcp",
        "opentelemetry.instrumentation.openai_agents",
    }
)
_UNUSUAL_PREFIX: Final = ("openinference.", "semantic_kernel", "strands")
MANY_ATTRIBUTES: Final = 100
"""With so many, some may have been dropped."""


def plain(attributes: Any) -> Mapping[str, Any]:
    """A span's attributes as a plain mapping: its own lookups take a lock each, copying them takes one."""
    try:
        return attributes.copy()  # type: ignore[no-any-return]  # a mapping, or anything
    except AttributeError:
        return dict(attributes or {})


def is_usual(attributes: Mapping[str, Any], kind: str) -> bool:
    """Whether a span of this kind says what it says in today's OTel GenAI attributes alone."""
    operation = attributes.get(_OPERATION)
    return operation.__class__ is str and OPERATIONS.get(operation) is kind and UNUSUAL.isdisjoint(attributes)


def usual_kind(operation: object, keys: Iterable[str], scope: str) -> Kind | None:
    """The kind of a span with this operation, these attributes and this scope, where it is usual."""
    kind = OPERATIONS.get(operation) if operation.__class__ is str else None
    return kind if kind is not None and UNUSUAL.isdisjoint(keys) and is_usual_scope(scope) else None


_usual_scopes: Final[dict[str, bool]] = {}
"""Whether spans of a scope can be usual: what :func:`is_usual_scope` said before."""
MOST_SCOPES: Final = 1_000


def is_usual_scope(scope: str) -> bool:
    """Whether an instrumentation of this scope writes nothing but OTel GenAI attributes."""
    known = _usual_scopes.get(scope)
    return known if known is not None else _learn_scope(scope)


def _learn_scope(scope: str) -> bool:
    if len(_usual_scopes) >= MOST_SCOPES:
        _usual_scopes.clear()
    found = scope not in UNUSUAL_SCOPES and not scope.startswith(_UNUSUAL_PREFIX)
    _usual_scopes[scope] = found
    return found


def usual(span: Any) -> Record | None:  # noqa: C901 - every call that it is split into costs the agent's thread
    """An ended span of the SDK as a record, None where it is not usual. The hottest code there is.

    An ended span is frozen, so its own slots are read, which is half the work of its properties: they are private, and
    where one is missing the span is simply not usual.
    """
    try:
        attributes = span._attributes._dict
        get = attributes.get
        kind = _OPERATIONS(get(_OPERATION))
        if kind is None or not _is_plain(attributes) or len(attributes) > MANY_ATTRIBUTES:
            return None
        scope = span._instrumentation_scope._name
        if not (_usual_scopes.get(scope) or is_usual_scope(scope)) or span._status._status_code is not UNSET:
            return None
        above, context, start, end = span._parent, span._context, span._start_time, span._end_time
    except (AttributeError, TypeError):  # no SDK span, or an operation that is no text
        return None
    span_id = context[1]
    if above is not None:
        above = above[1]
    if kind is MODEL:
        asked, told = get(INPUT), get(OUTPUT)
        if asked.__class__ is not str or told.__class__ is not str:
            return None
        ident, asks, agent = get(RESPONSE_ID), get(FINISH), get(AGENT_NAME)
        if asks is not None:
            asks = not ASKS.isdisjoint(asks) if asks.__class__ is tuple else None
        return [kind, span_id, above, start, end, scope, ident, asked, told, asks, agent, get(CONVERSATION)]
    if kind is TOOL:
        name, given, told = get(_TOOL_NAME), get(ARGUMENTS), get(RESULT)
        if given.__class__ is not str or name.__class__ is not str or (told is not None and told.__class__ is not str):
            return None
        call_id, agent = get(CALL_ID), get(AGENT_NAME)
        return (kind, span_id, above, start, end, scope, name, given, told, call_id, agent, get(CONVERSATION))
    name, asked, told = get(AGENT_NAME), get(INPUT), get(OUTPUT)
    if asked.__class__ is not str or told.__class__ is not str or name.__class__ is not str:
        return None
    if name in genai.PLACEHOLDER_NAMES:
        return None
    return (kind, span_id, above, start, end, scope, name, asked, told, None, name, get(CONVERSATION))


UNSET: Final = StatusCode.UNSET
USUAL_KEYS: Final = (
    genai.OPERATION,
    AGENT_NAME,
    INPUT,
    OUTPUT,
    genai.TOOL_NAME,
    ARGUMENTS,
    RESULT,
    CALL_ID,
    FINISH,
)
"""What the reader of usual spans looks at, beside what is read at once."""

_OPERATIONS: Final = OPERATIONS.get
_is_plain: Final = UNUSUAL.isdisjoint
_OPERATION: Final = genai.OPERATION
_TOOL_NAME: Final = genai.TOOL_NAME


USUAL_READER: Final = TableReader((GENAI,))
"""Reads what a record holds: nothing but OTel GenAI."""


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
        part.name, part.named = record[IDENT], True
    return part


def _raw_tool(record: Record) -> dict[str, Any]:
    return {
        genai.OPERATION: "execute_tool",
        _TOOL_NAME: record[IDENT],
        ARGUMENTS: record[FIRST],
        RESULT: record[SECOND],
        CALL_ID: record[THIRD],
    }


def _raw_messages(record: Record) -> dict[str, Any]:
    return {
        genai.OPERATION: "chat" if record[KIND] is MODEL else "invoke_agent",
        INPUT: record[FIRST],
        OUTPUT: record[SECOND],
        FINISH: ("tool_calls",) if record[THIRD] else None,
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
