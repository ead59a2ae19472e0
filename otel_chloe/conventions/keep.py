"""What is kept of an ended span while its run is open: as little as a run needs, and never more than once.

The usual spans (today's OTel GenAI attributes and nothing else) are kept as a bare record, for speed and memory; any
other span as the part that :func:`~otel_chloe.conventions.read` makes of it. :func:`~otel_chloe.conventions.expand`
makes parts of records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from opentelemetry.trace import SpanKind, StatusCode

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
from otel_chloe.part import AGENT, ASKS, MODEL, TOOL, Kind
from otel_chloe.record import UNUSUAL, Record

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
    return (kind, span_id, above, start, end, scope, name, asked, told, span._kind is CLIENT, name, get(CONVERSATION))


UNSET: Final = StatusCode.UNSET
CLIENT: Final = SpanKind.CLIENT
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
