"""Semantic Kernel: tools named ``plugin-function``, an argument leaked into inner calls, prompts in log records alone.

Source: microsoft/semantic-kernel, python/semantic_kernel/utils/telemetry.
"""

from __future__ import annotations

from typing import Final

from otel_chloe import gaps
from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.genai import ARGUMENTS
from otel_chloe.conventions.values import arguments, mapping, parsed
from otel_chloe.part import AgentFacts, Part, ToolFacts

SCOPE: Final = "semantic_kernel"
LEAKED: Final = "instructions_override"


def without_plugin(name: str) -> str:
    """``sites-restart_site`` is ``restart_site``; an agent that is its own plugin keeps its name whole."""
    plugin, _, function = name.partition("-")
    return function if function and function != plugin else name


def tool(part: Part) -> ToolFacts | None:
    if not part.scope.startswith(SCOPE):
        return None
    given = mapping(arguments(part.raw.get(ARGUMENTS)))
    if given is None or LEAKED not in given or "messages" in given:
        return None
    return ToolFacts(arguments={key: value for key, value in given.items() if key != LEAKED})


def agent(part: Part) -> AgentFacts | None:
    """An agent span that shows an empty input: its messages are sent as log records (there is no run without any)."""
    if not part.scope.startswith(SCOPE) or parsed(part.raw.get("gen_ai.input.messages")) != []:
        return None
    return AgentFacts(gaps=(gaps.CONTENT_IN_LOGS,))


SEMANTIC_KERNEL: Final = Convention(
    title="Semantic Kernel",
    source="https://github.com/microsoft/semantic-kernel/tree/main/python/semantic_kernel/utils/telemetry",
    tool=tool,
    agent=agent,
)
