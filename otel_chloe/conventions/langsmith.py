"""LangSmith's OpenTelemetry export: ``langsmith.span.kind``, content in ``gen_ai.prompt`` and ``gen_ai.completion``.

Source: langchain-ai/langsmith-sdk, python/langsmith/_internal/otel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.messages import final_text, last_user_text, messages
from otel_chloe.conventions.values import (
    CUT,
    arguments,
    mapping,
    parsed,
    result,
    sequence,
    structure,
    text,
    tool_message,
)
from otel_chloe.part import AGENT, CHAIN, MODEL, OTHER, TOOL, AgentFacts, Kind, Message, ModelFacts, Part, ToolFacts

KIND: Final = "langsmith.span.kind"
PROMPT: Final = "gen_ai.prompt"
COMPLETION: Final = "gen_ai.completion"
_KINDS: Final[dict[str, Kind]] = {"chain": CHAIN, "llm": MODEL, "tool": TOOL, "agent": AGENT}


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    del span_name, scope
    named = attributes.get(KIND)
    return _KINDS.get(named, OTHER) if isinstance(named, str) else None


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    if kind is TOOL:
        return text(attributes.get("gen_ai.tool.name")) or span_name
    return text(attributes.get("langsmith.metadata.lc_agent_name")) if kind is AGENT else None


def tool(part: Part) -> ToolFacts | None:
    if KIND not in part.raw:
        return None
    told = mapping(parsed(part.raw.get(COMPLETION))) or {}
    message = tool_message(told) or {}
    return ToolFacts(
        arguments=arguments(part.raw.get(PROMPT)),
        result=result(told) if told else None,
        ok=False if message.get("status") == "error" else None,
        call_id=text(message.get("tool_call_id")),
    )


def model(part: Part) -> ModelFacts | None:
    if KIND not in part.raw:
        return None
    told = mapping(parsed(part.raw.get(COMPLETION))) or {}
    generations = sequence(told.get("generations"))
    first = sequence(generations[0]) if generations else None
    return ModelFacts(input=messages(part.raw.get(PROMPT)), output=messages(list(first)) if first else None)


def agent(part: Part) -> AgentFacts | None:
    raw = part.raw
    if KIND not in raw:
        return None
    given, told = structure(raw.get(PROMPT)), structure(raw.get(COMPLETION))
    return AgentFacts(
        name=text(raw.get("langsmith.metadata.lc_agent_name")),
        prompt=last_user_text(_conversation(given)),
        output=final_text(_conversation(told)),
        input=None if given is CUT else given,
    )


def _conversation(state: Any) -> tuple[Message, ...] | None:
    """The messages of a graph's state, where it keeps them under the usual name."""
    found = mapping(state)
    return messages(found) if found is not None and "messages" in found else None


LANGSMITH: Final = Convention(
    title="LangSmith",
    source="https://github.com/langchain-ai/langsmith-sdk/tree/main/python/langsmith/_internal/otel",
    kind=kind,
    name=name,
    tool=tool,
    model=model,
    agent=agent,
)
