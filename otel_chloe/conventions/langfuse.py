"""Langfuse: ``langfuse.observation.*``.

Source: langfuse/langfuse-python, langfuse/_client/attributes.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_chloe import gaps
from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.messages import messages
from otel_chloe.conventions.values import CUT, arguments, mapping, one_text, parsed, result, structure, text
from otel_chloe.part import AGENT, CHAIN, MODEL, OTHER, TOOL, AgentFacts, Kind, ModelFacts, Part, ToolFacts

TYPE: Final = "langfuse.observation.type"
INPUT: Final = "langfuse.observation.input"
OUTPUT: Final = "langfuse.observation.output"
_KINDS: Final[dict[str, Kind]] = {
    "agent": AGENT,
    "tool": TOOL,
    "generation": MODEL,
    "chain": CHAIN,
    "span": CHAIN,
}


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    del span_name, scope
    named = attributes.get(TYPE)
    return _KINDS.get(named, OTHER) if isinstance(named, str) else None


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    del attributes
    return span_name if kind in (TOOL, AGENT) else None


def tool(part: Part) -> ToolFacts | None:
    if TYPE not in part.raw:
        return None
    return ToolFacts(
        arguments=arguments(part.raw.get(INPUT)),
        result=result(part.raw.get(OUTPUT)),
        ok=False if part.raw.get("langfuse.observation.level") == "ERROR" else None,
        error=text(part.raw.get("langfuse.observation.status_message")),
        gaps=(gaps.TRUNCATED,) if parsed(part.raw.get(INPUT)) is CUT else (),
    )


def model(part: Part) -> ModelFacts | None:
    if TYPE not in part.raw:
        return None
    given = structure(part.raw.get(INPUT))
    asked = mapping(given)
    told = parsed(part.raw.get(OUTPUT))
    if isinstance(told, str) and told:
        told = [{"role": "assistant", "content": told}]
    return ModelFacts(
        input=messages((asked or {}).get("messages", (asked or {}).get("input")) if asked else given),
        output=messages(told),
    )


def agent(part: Part) -> AgentFacts | None:
    if TYPE not in part.raw:
        return None
    given, told = structure(part.raw.get(INPUT)), parsed(part.raw.get(OUTPUT))
    return AgentFacts(
        prompt=one_text(given),
        output=told if isinstance(told, str) and part.kind is AGENT else None,
        input=None if given is CUT else given,
        gaps=(gaps.TRUNCATED,) if CUT in (given, told) else (),
    )


LANGFUSE: Final = Convention(
    title="Langfuse",
    source="https://github.com/langfuse/langfuse-python/blob/main/langfuse/_client/attributes.py",
    kind=kind,
    name=name,
    tool=tool,
    model=model,
    agent=agent,
)
