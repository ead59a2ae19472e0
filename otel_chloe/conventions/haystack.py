"""Haystack: ``haystack.agent.*`` spans and attributes. Its agents have no names.

Source: deepset-ai/haystack, haystack/components/agents/agent.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.messages import final_text, last_user_text, messages
from otel_chloe.conventions.values import arguments, mapping, parsed, result, text
from otel_chloe.part import AGENT, CHAIN, MODEL, TOOL, AgentFacts, Kind, ModelFacts, Part, ToolFacts

_KINDS: Final[dict[str, Kind]] = {
    "haystack.agent.run": AGENT,
    "haystack.agent.step": CHAIN,
    "haystack.agent.step.llm": MODEL,
    "haystack.agent.step.tool": TOOL,
    "haystack.pipeline.run": CHAIN,
    "haystack.async_pipeline.run": CHAIN,
}


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    del attributes, scope
    return _KINDS.get(span_name)


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    del span_name
    return text(attributes.get("haystack.tool.name")) if kind is TOOL else None


def tool(part: Part) -> ToolFacts | None:
    raw = part.raw
    if "haystack.tool.name" not in raw:
        return None
    failed = raw.get("haystack.tool.error") is True
    told = result(raw.get("haystack.agent.step.tool.output"))
    return ToolFacts(
        arguments=arguments(raw.get("haystack.agent.step.tool.input")),
        result=told,
        ok=False if failed else None,
        error=told if failed and isinstance(told, str) else None,
    )


def model(part: Part) -> ModelFacts | None:
    told = mapping(parsed(part.raw.get("haystack.agent.step.llm.output")))
    return ModelFacts(output=messages(told.get("replies"))) if told else None


def agent(part: Part) -> AgentFacts | None:
    given = messages(part.raw.get("haystack.agent.input"))
    told = messages(part.raw.get("haystack.agent.output"))
    if given is None and told is None:
        return None
    own = told[_own_start(told, given) :] if told else None
    return AgentFacts(prompt=last_user_text(given), output=final_text(told), messages=own)


def _own_start(told: Any, given: Any) -> int:
    """Where this run's own messages begin: the output repeats the input first, after a system message."""
    system = 1 if told and told[0].role == "system" else 0
    return min(len(told), system + len(given or ()))


HAYSTACK: Final = Convention(
    title="Haystack",
    source="https://github.com/deepset-ai/haystack/blob/main/haystack/components/agents/agent.py",
    kind=kind,
    name=name,
    tool=tool,
    model=model,
    agent=agent,
)
