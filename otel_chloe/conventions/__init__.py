"""Conventions: what a span says, in any vocabulary that instrumentations use. Span in, part out.

The table is in the order in which a convention is believed where several speak on one span.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.agent_framework import AGENT_FRAMEWORK
from otel_chloe.conventions.agent_framework import SCOPE as AGENT_FRAMEWORK_SCOPE
from otel_chloe.conventions.anthropic import ANTHROPIC
from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.genai import AGENT_NAME, CALL_ID, CONVERSATION, GENAI, PLACEHOLDER_NAMES, RESPONSE_ID
from otel_chloe.conventions.google_adk import GOOGLE_ADK
from otel_chloe.conventions.google_adk import SCOPE as GOOGLE_ADK_SCOPE
from otel_chloe.conventions.haystack import HAYSTACK
from otel_chloe.conventions.keep import expand, is_usual, plain, usual
from otel_chloe.conventions.langfuse import LANGFUSE
from otel_chloe.conventions.langsmith import LANGSMITH
from otel_chloe.conventions.mlflow import MLFLOW
from otel_chloe.conventions.openinference import OPENINFERENCE
from otel_chloe.conventions.openllmetry import OPENLLMETRY
from otel_chloe.conventions.pydantic_ai import PYDANTIC_AI
from otel_chloe.conventions.reader import TableReader
from otel_chloe.conventions.semantic_kernel import SCOPE as SEMANTIC_KERNEL_SCOPE
from otel_chloe.conventions.semantic_kernel import SEMANTIC_KERNEL, without_plugin
from otel_chloe.conventions.smolagents import SMOLAGENTS
from otel_chloe.conventions.span import SpanLike
from otel_chloe.names import short_name
from otel_chloe.part import AGENT, MODEL, OTHER, TOOL, WORKFLOW, Kind, Part
from otel_chloe.record import Record

__all__ = [
    "AGENT_NAME",
    "CONVENTIONS",
    "FOREIGN_KEYS",
    "PLACEHOLDER_NAMES",
    "PSEUDO_TOOLS",
    "expand",
    "is_foreign",
    "is_named",
    "is_silent",
    "is_usual",
    "kind_of",
    "plain",
    "read",
    "read_open",
    "slim",
    "usual",
]

CONVENTIONS: Final[tuple[Convention, ...]] = (
    GOOGLE_ADK,
    AGENT_FRAMEWORK,
    SEMANTIC_KERNEL,
    SMOLAGENTS,
    ANTHROPIC,
    HAYSTACK,
    LANGSMITH,
    LANGFUSE,
    MLFLOW,
    OPENINFERENCE,
    OPENLLMETRY,
    PYDANTIC_AI,
    GENAI,
)

PSEUDO_TOOLS: Final[Mapping[str, frozenset[str]]] = {
    "dspy": frozenset({"finish"}),
    "smolagents": frozenset({"final_answer"}),
    "gcp.vertex.agent": frozenset({"(merged tools)"}),
}
"""Names that are not tools where the instrumentation's scope holds the key: the framework's way to finish a run."""

AGENT_NAME_KEYS: Final = frozenset(
    {AGENT_NAME, "agent.name", "agent_name", "graph.node.id", "traceloop.entity.name"}
)
"""Attributes that give an agent's name of its own; without one, the name is guessed from the span's."""

READER: Final = TableReader(CONVENTIONS)


def kind_of(attributes: Mapping[str, Any], span_name: str, scope: str) -> tuple[Kind, Convention | None]:
    """The kind of a span and the convention that named it; ``other`` and None where none does."""
    for convention in CONVENTIONS:
        found = convention.kind(attributes, span_name, scope)
        if found is not None:
            return found, convention
    return OTHER, None


def read(span: SpanLike) -> Part | None:
    """What a span says, as a part. None for a span without a usable identity."""
    context = span.context
    if context is None:
        return None
    attributes = span.attributes
    raw: Mapping[str, Any] = dict(attributes) if attributes else {}
    scope = span.instrumentation_scope
    scope_name = scope.name if scope is not None else ""
    kind, convention = kind_of(raw, span.name, scope_name)
    named = convention.name(raw, span.name, kind) if convention is not None else None
    part = Part(
        kind,
        context.trace_id,
        context.span_id,
        span.parent.span_id if span.parent is not None else None,
        span.start_time or 0,
        span.end_time or 0,
        _code(span.status),
        span.name,
        scope_name,
        READER,
        raw,
        named,
    )
    part.message = span.status.description if span.status is not None else None
    part.events = span.events or ()
    part.resource = span.resource
    part.dropped = span.dropped_attributes or 0
    part.links = tuple(link.context.span_id for link in span.links or ())
    part.remote_parent = span.parent is not None and span.parent.is_remote
    part.vocabulary = convention is not None
    part.foreign = convention is None and is_foreign(raw, span.kind)
    _identify(part)
    return part


def is_named(attributes: Mapping[str, Any]) -> bool:
    """Whether an agent span carries its agent's name, so that none need be guessed from the span's."""
    return not AGENT_NAME_KEYS.isdisjoint(attributes)


def read_open(span: SpanLike) -> Part | None:
    """What an open span says so far. Many say nothing before their end: then their name is the best guess."""
    part = read(span)
    if part is not None and not part.vocabulary and not part.foreign:
        hint = next((kind for pattern, kind in NAME_HINTS if pattern.match(part.span_name)), None)
        if hint is not None:
            part.kind, part.vocabulary = hint, True
            part.name = GENAI.name(part.raw, part.span_name, hint) or part.span_name.rpartition(".")[0] or None
    return part


NAME_HINTS: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = (
    (re.compile(r"invoke_agent\b|.+\.agent$"), AGENT),
    (re.compile(r"execute_tool\b|.+\.tool$"), TOOL),
    (re.compile(r"invoke_workflow\b|invocation\b|.+\.workflow$"), WORKFLOW),
    (re.compile(r"chat\b|generate_content\b"), MODEL),
)

FOREIGN_KEYS: Final = frozenset(
    {"http.request.method", "http.method", "rpc.system", "messaging.system", "db.system.name", "db.system"}
)


def is_foreign(attributes: Mapping[str, Any], span_kind: Any) -> bool:
    """Whether a span that no convention knows belongs to another trade: it has a peer, or says what it talks to."""
    return getattr(span_kind, "value", span_kind) != 0 or not FOREIGN_KEYS.isdisjoint(attributes)


MARKERS: Final = frozenset(
    {
        "gen_ai.operation.name",
        "gen_ai.handoff.to_agent",
        "llm.request.type",
        "openinference.span.kind",
        "traceloop.span.kind",
        "langsmith.span.kind",
        "langfuse.observation.type",
        "mlflow.spanType",
    }
)
"""A span with none of these is of no convention, but for those that know it by scope or name."""
_BY_SCOPE: Final = frozenset({GOOGLE_ADK_SCOPE, AGENT_FRAMEWORK_SCOPE})
_BY_NAME: Final = ("haystack.", "claude_code.")


def is_silent(attributes: Mapping[str, Any], span_name: str, scope: str) -> bool:
    """Whether a span says nothing in any convention's words. Cheap: most spans of an application are silent."""
    return MARKERS.isdisjoint(attributes) and scope not in _BY_SCOPE and not span_name.startswith(_BY_NAME)


def slim(span: SpanLike) -> Part | None:
    """What an ended span says, as a part that keeps only what a run needs of the span."""
    part = read(span)
    if part is None:
        return None
    raw = {key: value for key, value in part.raw.items() if not key.startswith(DROPPED)} if part.vocabulary else {}
    part.raw = raw
    part.size = sum(len(value) for value in raw.values() if isinstance(value, str))
    return part


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
        part.call_id = _text(raw.get(CALL_ID)) or _text(raw.get("tool.id"))
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
    if name is None or _is_pseudo(name, part.scope):
        part.pseudo, part.kind = name, OTHER
        return
    if part.mcp and part.raw.get("mcp.method.name", "tools/call") != "tools/call":
        part.kind = OTHER
    part.short_name = without_plugin(name) if part.scope.startswith(SEMANTIC_KERNEL_SCOPE) else short_name(name)


def _is_pseudo(name: object, scope: str) -> bool:
    return any(name in names for key, names in PSEUDO_TOOLS.items() if key in scope)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
