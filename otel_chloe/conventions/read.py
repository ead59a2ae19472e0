"""A span read as a part: its kind and identity at once, its content when a run asks for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.trace import SpanKind

from otel_chloe.conventions.genai import (
    AGENT_NAME,
    ARGUMENTS,
    CALL_ID,
    CONVERSATION,
    GENAI,
    INPUT,
    OPERATION,
    OUTPUT,
    PLACEHOLDER_NAMES,
    RESPONSE_ID,
    RESULT,
    TOOL_NAME,
)
from otel_chloe.conventions.keep import USUAL_READER, plain, usual_kind
from otel_chloe.conventions.reader import TableReader
from otel_chloe.conventions.semantic_kernel import SCOPE as SEMANTIC_KERNEL_SCOPE
from otel_chloe.conventions.semantic_kernel import without_plugin
from otel_chloe.conventions.span import SpanLike
from otel_chloe.conventions.table import AGENT_NAME_KEYS, CONVENTIONS, is_foreign, is_named, is_pseudo, kind_of
from otel_chloe.names import short_name
from otel_chloe.part import AGENT, MODEL, OTHER, TOOL, WORKFLOW, Kind, Part
from otel_chloe.record import KEPT

READER: Final = TableReader(CONVENTIONS)

TOOL_ID: Final = "tool.id"
READ_OF_USUAL: Final[Mapping[Kind, tuple[str, ...]]] = {
    MODEL: (INPUT, OUTPUT, RESPONSE_ID, AGENT_NAME, CONVERSATION),
    TOOL: (TOOL_NAME, ARGUMENTS, RESULT, CALL_ID, TOOL_ID, AGENT_NAME, CONVERSATION),
    AGENT: (INPUT, OUTPUT, *AGENT_NAME_KEYS, CONVERSATION),
}
"""The texts that anything is read from, beside the reasons to finish, on usual spans of each kind."""


def read(span: SpanLike) -> Part | None:
    """What a span says, as a part. None for a span without a usable identity."""
    context = span.context
    if context is None:
        return None
    raw = plain(span.attributes)
    scope = span.instrumentation_scope
    scope_name = scope.name if scope is not None else ""
    parent = span.parent
    status = span.status
    part = Part(
        OTHER,
        context.trace_id,
        context.span_id,
        parent.span_id if parent is not None else None,
        span.start_time or 0,
        span.end_time or 0,
        _code(status),
        span.name,
        scope_name,
        READER,
        raw,
    )
    part.message = status.description if status is not None else None
    part.events = span.events or ()
    part.resource = span.resource
    part.dropped = span.dropped_attributes or 0
    if span.links:
        part.links = tuple(link.context.span_id for link in span.links)
    part.remote_parent = parent is not None and parent.is_remote
    _recognise(part, span)
    return part


def _recognise(part: Part, span: SpanLike) -> None:
    """Tell the part's kind and what it is about."""
    raw = part.raw
    usual = usual_kind(raw.get(OPERATION), raw, part.scope)
    if usual is not None and not part.events:
        part.kind = usual
        identify_usual(part)
        part.client = usual is AGENT and is_client(span.kind)
        return
    kind, convention = kind_of(raw, part.span_name, part.scope)
    part.kind, part.vocabulary = kind, convention is not None
    part.client = kind is AGENT and is_client(span.kind)
    if convention is not None:
        part.name = convention.name(raw, part.span_name, kind)
    else:
        part.foreign = is_foreign(raw, span.kind)
    _identify(part)


def is_client(span_kind: Any) -> bool:
    """Whether a span is of a request to somewhere else."""
    return bool(getattr(span_kind, "value", span_kind) == _CLIENT)


_CLIENT: Final = SpanKind.CLIENT.value


def identify_usual(part: Part) -> None:
    """Tell what a usual part is about, whose kind is known."""
    part.reader, part.usual = USUAL_READER, True
    get = part.raw.get
    if part.kind is MODEL and get(AGENT_NAME) is None and get("agent_name") is None:
        # Most spans: what is below, where it finds no name.
        part.call_id = _text(get(RESPONSE_ID))
        part.conversation = _text(get(CONVERSATION)) or _text(get("session.id"))
        return
    part.name = GENAI.name(part.raw, part.span_name, part.kind)
    _identify(part)


def read_open(span: SpanLike) -> Part | None:
    """What an open span says so far. Many say nothing before their end: then their name is the best guess."""
    part = read(span)
    if part is None:
        return None
    part.ended = False
    if part.kind is OTHER and part.pseudo is None and not part.foreign:
        hint = hinted_kind(part.span_name)
        if hint is not None:
            part.kind, part.vocabulary = hint, True
            part.name = GENAI.name(part.raw, part.span_name, hint) or part.span_name.rpartition(".")[0] or None
            _identify(part)
    return part


NAME_HINTS: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = (
    (re.compile(r"invoke_agent\b|.+\.agent$"), AGENT),
    (re.compile(r"execute_tool\b|.+\.tool$"), TOOL),
    (re.compile(r"invoke_workflow\b|invocation\b|.+\.workflow$"), WORKFLOW),
    (re.compile(r"chat\b|generate_content\b"), MODEL),
)


def hinted_kind(span_name: str) -> Kind | None:
    """The kind that a span's name alone speaks for; None where it speaks for none."""
    return next((kind for pattern, kind in NAME_HINTS if pattern.match(span_name)), None)


def slim(span: SpanLike) -> Part | None:
    """What an ended span says, as a part that keeps only what a run needs of the span."""
    part = read(span)
    if part is None:
        return None
    raw = part.raw
    if part.vocabulary:
        raw = {key: value for key, value in raw.items() if not key.startswith(DROPPED) or key in KEPT}
    else:
        raw = kept(raw)
    part.raw = raw
    part.size = sum(len(value) for value in raw.values() if isinstance(value, str))
    return part


def kept(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is kept of a span that no convention knows."""
    return {key: raw[key] for key in KEPT.copy() if key in raw}


DROPPED: Final = (
    "gen_ai.tool.definitions",
    "gen_ai.system_instructions",
    "gen_ai.usage.",
    "gen_ai.request.",
    "llm.tools.",
    "llm.invocation_parameters",
    "llm.token_count.",
    "logfire.",
    "model_request_parameters",
)
"""Attributes that no run needs: what a part of a live run does not keep."""


def _code(status: Any) -> int:
    code = getattr(status, "status_code", 0)
    return int(getattr(code, "value", code) or 0)


def _identify(part: Part) -> None:
    """Ids and names that decide to what a part belongs."""
    raw = part.raw
    if part.kind is TOOL:
        part.mcp = "mcp.method.name" in raw or part.scope in ("mcp-python-sdk", "fastmcp")
        part.call_id = _text(raw.get(CALL_ID)) or _text(raw.get(TOOL_ID))
        _name_tool(part)
    elif part.kind is MODEL:
        part.call_id = _text(raw.get(RESPONSE_ID))
    elif part.kind is AGENT:
        part.named = is_named(raw)
    agent = raw.get(AGENT_NAME)
    part.agent = agent if isinstance(agent, str) and agent not in PLACEHOLDER_NAMES else None
    part.conversation = _text(raw.get(CONVERSATION)) or _text(raw.get("session.id"))


def _name_tool(part: Part) -> None:
    name = part.name
    if name is None or is_pseudo(name, part.scope):
        part.pseudo, part.kind = name, OTHER
        return
    if part.mcp and part.raw.get("mcp.method.name", "tools/call") != "tools/call":
        part.kind = OTHER
    part.short_name = without_plugin(name) if part.scope.startswith(SEMANTIC_KERNEL_SCOPE) else short_name(name)


def _text(value: Any) -> str | None:
    if value is None or (value.__class__ is str and value):
        return value
    return value if isinstance(value, str) and value else None
