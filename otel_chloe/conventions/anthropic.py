"""Anthropic: its SDK's own spans (``anthropic.*``) and Claude Code's (``claude_code.*``).

Source: anthropic-sdk-python, OpenTelemetry support; Claude Code, monitoring documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.values import arguments, mapping, parsed, sequence, text
from otel_chloe.part import AGENT, CHAIN, MODEL, TOOL, AgentFacts, Kind, Part, ToolFacts

RESULT: Final = "anthropic.tool_result.content"
_KINDS: Final[dict[str, Kind]] = {
    "claude_code.interaction": AGENT,
    "claude_code.llm_request": MODEL,
    "claude_code.tool": TOOL,
    "claude_code.tool.execution": CHAIN,
    "claude_code.tool.blocked_on_user": CHAIN,
}


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    del attributes, scope
    return _KINDS.get(span_name) if span_name.startswith("claude_code.") else None


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    del span_name
    return text(attributes.get("tool_name")) if kind is TOOL else None


def tool(part: Part) -> ToolFacts | None:
    raw = part.raw
    if RESULT in raw:
        return ToolFacts(result=_blocks(raw[RESULT]))
    if "tool_name" in raw:
        return ToolFacts(arguments=arguments(raw.get("tool_input")), ok=None)
    return None


def _blocks(value: object) -> Any:
    """Content blocks as the one text that they are, where they are."""
    data = parsed(value)
    blocks = sequence(data) or ()
    block = mapping(blocks[0]) if len(blocks) == 1 else None
    return block["text"] if block and "text" in block else data


def agent(part: Part) -> AgentFacts | None:
    asked = text(part.raw.get("user_prompt"))
    return AgentFacts(prompt=asked) if asked else None


ANTHROPIC: Final = Convention(
    title="Anthropic",
    source="https://github.com/anthropics/anthropic-sdk-python",
    kind=kind,
    name=name,
    tool=tool,
    agent=agent,
)
