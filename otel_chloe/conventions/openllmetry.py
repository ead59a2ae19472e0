"""OpenLLMetry (Traceloop): ``traceloop.*`` entities of its decorators, and the indexed keys of its older releases.

Source: traceloop/openllmetry, packages/opentelemetry-semantic-conventions-ai.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from otel_chloe import gaps
from otel_chloe.conventions import genai
from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.messages import last_user_text, messages
from otel_chloe.conventions.values import CUT, arguments, mapping, one_text, parsed, result, structure, text
from otel_chloe.part import (
    AGENT,
    CHAIN,
    HANDOFF,
    MODEL,
    OTHER,
    TOOL,
    WORKFLOW,
    AgentFacts,
    Kind,
    ModelFacts,
    Part,
    ToolFacts,
)

KIND: Final = "traceloop.span.kind"
ENTITY: Final = "traceloop.entity.name"
_KINDS: Final[dict[str, Kind]] = {"workflow": WORKFLOW, "task": CHAIN, "agent": AGENT, "tool": TOOL, "handoff": HANDOFF}


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    del scope
    named = attributes.get(KIND)
    if isinstance(named, str):
        return HANDOFF if span_name.endswith(".handoff") else _KINDS.get(named, OTHER)
    return MODEL if "llm.request.type" in attributes else None


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    found = genai.name(attributes, span_name, kind) if kind is not WORKFLOW else None
    entity = text(attributes.get(ENTITY)) or text(attributes.get("traceloop.workflow.name"))
    if found or kind is CHAIN:
        return found if kind is not CHAIN else None
    return entity or span_name.removesuffix(f".{attributes.get(KIND)}")


def tool(part: Part) -> ToolFacts | None:
    raw = part.raw
    if KIND not in raw:
        return None
    given = raw.get("traceloop.entity.input")
    told = raw.get("traceloop.entity.output")
    return ToolFacts(
        arguments=arguments(given),
        result=result(told),
        ok=False if isinstance(told, str) and told.startswith("status='failure'") else None,
        gaps=(gaps.TRUNCATED,) if parsed(given) is CUT else (),
    )


def model(part: Part) -> ModelFacts | None:
    raw = part.raw
    if "gen_ai.prompt.0.role" not in raw and "gen_ai.completion.0.role" not in raw:
        return None
    return ModelFacts(
        input=messages(_indexed(raw, "gen_ai.prompt.")) or None,
        output=messages(_indexed(raw, "gen_ai.completion.")) or None,
    )


def _indexed(raw: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """``gen_ai.prompt.0.content``, ``gen_ai.completion.0.tool_calls.0.name`` as messages."""
    rows: defaultdict[int, dict[str, Any]] = defaultdict(dict)
    calls: defaultdict[tuple[int, int], dict[str, Any]] = defaultdict(dict)
    for key, value in raw.items():
        steps = key[len(prefix) :].split(".") if key.startswith(prefix) else []
        if len(steps) == 2 and _is_number(steps[0]):
            rows[int(steps[0])][steps[1]] = parsed(value) if steps[1] == "content" else value
        elif len(steps) == 4 and _is_number(steps[0]) and steps[1] == "tool_calls" and _is_number(steps[2]):
            calls[int(steps[0]), int(steps[2])][steps[3]] = value
    for (row, _), call in sorted(calls.items()):
        rows[row].setdefault("tool_calls", []).append(call)
    return [rows[number] for number in sorted(rows)]


def _is_number(step: str) -> bool:
    return step.isdecimal() and len(step) < 10


def agent(part: Part) -> AgentFacts | None:
    raw = part.raw
    if KIND not in raw and "crewai.crew.name" not in raw:
        return None
    given, told = structure(raw.get("traceloop.entity.input")), parsed(raw.get("traceloop.entity.output"))
    return AgentFacts(
        prompt=_prompt(given) or text(raw.get("crewai.task.description")),
        output=(told if isinstance(told, str) and told else None) or text(raw.get("crewai.crew.result")),
        input=None if given is CUT else given,
        gaps=(gaps.TRUNCATED,) if CUT in (given, told) else (),
    )


def _prompt(given: Any) -> str | None:
    found = mapping(given)
    if found is None:
        return given if isinstance(given, str) else None
    if "inputs" in found:
        return last_user_text(messages(found["inputs"]))
    return one_text(found)


OPENLLMETRY: Final = Convention(
    title="OpenLLMetry",
    source="https://github.com/traceloop/openllmetry/tree/main/packages/opentelemetry-semantic-conventions-ai",
    kind=kind,
    name=name,
    tool=tool,
    model=model,
    agent=agent,
)
