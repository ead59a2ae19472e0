"""The table of conventions, and what can be told of a span by looking for their marks.

The table is in the order in which a convention is believed where several speak on one span. To add one: a file beside
this one, a row here, its marks below, and recorded spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.agent_framework import AGENT_FRAMEWORK
from otel_chloe.conventions.agent_framework import SCOPE as AGENT_FRAMEWORK_SCOPE
from otel_chloe.conventions.anthropic import ANTHROPIC
from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.genai import AGENT_NAME, GENAI
from otel_chloe.conventions.google_adk import GOOGLE_ADK
from otel_chloe.conventions.google_adk import SCOPE as GOOGLE_ADK_SCOPE
from otel_chloe.conventions.haystack import HAYSTACK
from otel_chloe.conventions.langfuse import LANGFUSE
from otel_chloe.conventions.langsmith import LANGSMITH
from otel_chloe.conventions.mlflow import MLFLOW
from otel_chloe.conventions.openinference import OPENINFERENCE
from otel_chloe.conventions.openllmetry import OPENLLMETRY
from otel_chloe.conventions.pydantic_ai import PYDANTIC_AI
from otel_chloe.conventions.semantic_kernel import SEMANTIC_KERNEL
from otel_chloe.conventions.smolagents import SMOLAGENTS
from otel_chloe.part import OTHER, Kind

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

AGENT_NAME_KEYS: Final = frozenset({AGENT_NAME, "agent.name", "agent_name", "graph.node.id", "traceloop.entity.name"})
"""Attributes that give an agent's name of its own; without one, the name is guessed from the span's."""


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


def kind_of(attributes: Mapping[str, Any], span_name: str, scope: str) -> tuple[Kind, Convention | None]:
    """The kind of a span and the convention that named it; ``other`` and None where none does."""
    for convention in CONVENTIONS:
        found = convention.kind(attributes, span_name, scope)
        if found is not None:
            return found, convention
    return OTHER, None


FOREIGN_KEYS: Final = frozenset(
    {"http.request.method", "http.method", "rpc.system", "messaging.system", "db.system.name", "db.system"}
)


def is_foreign(attributes: Mapping[str, Any], span_kind: Any) -> bool:
    """Whether a span that no convention knows belongs to another trade: it has a peer, or says what it talks to."""
    return getattr(span_kind, "value", span_kind) != 0 or not FOREIGN_KEYS.isdisjoint(attributes)


def is_named(attributes: Mapping[str, Any]) -> bool:
    """Whether an agent span carries its agent's name, so that none need be guessed from the span's."""
    return not AGENT_NAME_KEYS.isdisjoint(attributes)


def is_pseudo(name: object, scope: str) -> bool:
    """Whether a tool of this name is none where the instrumentation's scope says so."""
    return name in _PSEUDO_NAMES and any(name in names for key, names in PSEUDO_TOOLS.items() if key in scope)


_PSEUDO_NAMES: Final = frozenset[str]().union(*PSEUDO_TOOLS.values())
