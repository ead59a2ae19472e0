"""Google ADK: ``gcp.vertex.agent.*`` content, invocations, and the span that only says that calls were merged.

Source: google/adk-python, src/google/adk/telemetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.genai import ARGUMENTS
from otel_chloe.conventions.messages import messages
from otel_chloe.conventions.values import arguments, mapping, parsed, result, sequence
from otel_chloe.part import AGENT, MODEL, OTHER, WITHHELD, WORKFLOW, Kind, ModelFacts, Part, ToolFacts

SCOPE: Final = "gcp.vertex.agent"
REQUEST: Final = "gcp.vertex.agent.llm_request"
RESPONSE: Final = "gcp.vertex.agent.llm_response"
CALL_ARGUMENTS: Final = "gcp.vertex.agent.tool_call_args"
MERGED: Final = "(merged tools)"


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    if scope != SCOPE:
        return None
    if attributes.get("gen_ai.tool.name") == MERGED:
        return OTHER
    if span_name == "call_llm":
        return MODEL
    if span_name.startswith("invocation"):
        return WORKFLOW
    return AGENT if span_name.startswith("agent_run") else None


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    del attributes
    return span_name[11:-1] if kind is AGENT and span_name.startswith("agent_run [") else None


def tool(part: Part) -> ToolFacts | None:
    raw = part.raw
    if raw.get("gen_ai.tool.type") == "AgentTool" and not (arguments(raw.get(ARGUMENTS)) or raw.get(CALL_ARGUMENTS)):
        return ToolFacts(arguments=WITHHELD)  # AgentTool takes its request out of them before the span is written
    if CALL_ARGUMENTS not in raw:
        return None
    told = raw.get("gcp.vertex.agent.tool_response")
    return ToolFacts(arguments=arguments(raw[CALL_ARGUMENTS]), result=result(told))


def model(part: Part) -> ModelFacts | None:
    asked, answered = mapping(parsed(part.raw.get(REQUEST))), mapping(parsed(part.raw.get(RESPONSE)))
    if not asked and not answered:
        return None
    contents = sequence((asked or {}).get("contents"))
    content = mapping((answered or {}).get("content"))
    return ModelFacts(
        input=messages(list(contents)) if contents else None,
        output=messages([{"role": "assistant", **content}]) if content else None,
    )


GOOGLE_ADK: Final = Convention(
    title="Google ADK",
    source="https://github.com/google/adk-python/tree/main/src/google/adk/telemetry",
    kind=kind,
    name=name,
    tool=tool,
    model=model,
)
