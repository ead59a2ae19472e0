"""OpenTelemetry GenAI semantic conventions: today's attributes, their deprecated forms, and span events.

Source: semantic-conventions-genai, docs/gen-ai (gen-ai-spans, gen-ai-agent-spans, gen-ai-events); deprecated:
``gen_ai.prompt.N.*`` / ``gen_ai.completion.N.*`` (OpenLLMetry before 0.50) live in :mod:`.openllmetry`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from otel_chloe import gaps
from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.logs import DETAILS, MESSAGES, logged
from otel_chloe.conventions.messages import final_text, last_user_text, messages, whole
from otel_chloe.conventions.span import EventLike
from otel_chloe.conventions.values import CUT, arguments, parsed, result, structure, text
from otel_chloe.part import (
    AGENT,
    CHAIN,
    ERROR,
    HANDOFF,
    MODEL,
    OTHER,
    TOOL,
    WORKFLOW,
    AgentFacts,
    Kind,
    LogEvent,
    Message,
    ModelFacts,
    Part,
    ToolFacts,
)

OPERATION: Final = "gen_ai.operation.name"
AGENT_NAME: Final = "gen_ai.agent.name"
TOOL_NAME: Final = "gen_ai.tool.name"
CALL_ID: Final = "gen_ai.tool.call.id"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
RESULT: Final = "gen_ai.tool.call.result"
RESPONSE_ID: Final = "gen_ai.response.id"
CONVERSATION: Final = "gen_ai.conversation.id"
INPUT: Final = "gen_ai.input.messages"
OUTPUT: Final = "gen_ai.output.messages"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"

PLACEHOLDER_NAMES: Final = frozenset({"OpenAI Agent", "agent", "Agent", "unknown", ""})
"""Agent names that an instrumentation writes when it knows none."""

KINDS: Final[dict[str, Kind]] = {
    "invoke_agent": AGENT,
    "execute_tool": TOOL,
    "chat": MODEL,
    "text_completion": MODEL,
    "generate_content": MODEL,
    "completion": MODEL,
    "acompletion": MODEL,
    "invoke_workflow": WORKFLOW,
    "invoke_graph": WORKFLOW,
    "invoke_swarm": WORKFLOW,
    "handoff": HANDOFF,
    "agent_handoff": HANDOFF,
    "create_agent": OTHER,
    "execute_task": CHAIN,
    "chain": CHAIN,
    "unknown": CHAIN,
    "plan": CHAIN,
    "execute_event_loop_cycle": CHAIN,
    "embeddings": OTHER,
    "retrieval": OTHER,
}

_VERB: Final = re.compile(r"^(?:invoke_agent|invoke_workflow|execute_tool|tools/call)\s+(.+)$")


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    del scope
    operation = attributes.get(OPERATION)
    if operation is None:
        return HANDOFF if "gen_ai.handoff.to_agent" in attributes else None
    if span_name.startswith("agent_handoff"):
        return HANDOFF
    return KINDS.get(operation, OTHER) if isinstance(operation, str) else None


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    if kind is TOOL:
        found = attributes.get(TOOL_NAME)
    elif kind is WORKFLOW:
        found = attributes.get(WORKFLOW_NAME) or attributes.get(AGENT_NAME)
    else:
        found = attributes.get(AGENT_NAME) or attributes.get("agent_name")
        if isinstance(found, str) and found in PLACEHOLDER_NAMES:
            found = None
    if isinstance(found, str) and found:
        return found
    verb = _VERB.match(span_name) if kind in (TOOL, AGENT) else None
    return verb.group(1) if verb else None


def tool(part: Part) -> ToolFacts | None:
    raw = part.raw
    events = dict(tool_events(part.events)) if part.events else {}
    given = parsed(raw.get(ARGUMENTS, raw.get("tool_arguments", events.get("arguments"))))
    value = raw.get(RESULT, raw.get("tool_response", events.get("result")))
    status = raw.get("gen_ai.tool.status")
    cut = given is CUT
    return ToolFacts(
        arguments=None if cut else arguments(given),
        result=result(value),
        ok=False if status == "error" else None,
        error=error_text(part),
        ran=False if raw.get("pydantic_ai.tool.failure_stage") == "validation" else None,
        gaps=(gaps.TRUNCATED,) if cut else (),
    )


def error_text(part: Part) -> str | None:
    """What an ERROR span says went wrong: its description, its exception event, or its ``error.type``."""
    if part.status != ERROR:
        return None
    if part.message:
        return part.message
    for event in part.events:
        if event.name == "exception" and (found := text(_said_by(event).get("exception.message"))):
            return found
    return text(part.raw.get("error.type"))


def _said_by(event: EventLike | LogEvent) -> Mapping[str, Any]:
    return logged(event) if isinstance(event, LogEvent) else event.attributes or {}


def tool_events(events: Iterable[EventLike]) -> Iterable[tuple[str, Any]]:
    """Arguments and result where an instrumentation puts them in span events (deprecated message events)."""
    for event in events:
        attributes = _said_by(event)
        if event.name == "gen_ai.tool.message" and attributes.get("role") == "tool":
            yield "arguments", attributes.get("content")
        elif event.name == "gen_ai.choice":
            yield "result", attributes.get("message")


def model(part: Part) -> ModelFacts | None:
    raw = part.raw
    asked, answered = parsed(raw.get(INPUT)), parsed(raw.get(OUTPUT))
    source: Literal["event", "log"] | None = None
    if part.events and (asked in _UNTOLD or answered in _UNTOLD):
        was_asked, was_answered = map(parsed, event_messages(part.events))
        if asked in _UNTOLD and was_asked is not None:
            asked = was_asked
        if answered in _UNTOLD and was_answered is not None:
            answered = was_answered
            source = "log" if any(isinstance(event, LogEvent) for event in part.events) else "event"
    cut = _cut(asked, answered)
    asked, answered = (raw.get(INPUT) if asked is CUT else asked), (raw.get(OUTPUT) if answered is CUT else answered)
    return ModelFacts(input=messages(asked), output=whole(messages(answered)), source=source, gaps=cut)


_UNTOLD: Final = (None, CUT)
"""What a span says of messages that are missing, or in part: events may have them whole."""


def _cut(*values: object) -> tuple[str, ...]:
    return (gaps.TRUNCATED,) if any(value is CUT for value in values) else ()


def event_messages(events: Iterable[EventLike]) -> tuple[Any, Any]:
    """Messages in span events: one event a message (deprecated), or one event with all of them."""
    asked: list[dict[str, Any]] = []
    answered: list[dict[str, Any]] = []
    whole_asked: Any = None
    whole_answered: Any = None
    for event in events:
        attributes = _said_by(event)
        role = MESSAGES.get(event.name)
        if role is not None:
            asked.append(_event_message(role, attributes, "content"))
        elif event.name == "gen_ai.choice":
            answered.append(_event_message("assistant", attributes, "message"))
        elif event.name == DETAILS:
            whole_asked = attributes.get(INPUT, whole_asked)
            whole_answered = attributes.get(OUTPUT, whole_answered)
    return whole_asked or asked or None, whole_answered or answered or None


def _event_message(role: str, attributes: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = structure(attributes.get(key))
    if isinstance(value, dict) and ("role" in value or "tool_calls" in value):
        return {"role": role, **value}
    found: dict[str, Any] = {"role": role, "content": value}
    for extra in ("tool_calls", "tool_call_id", "id"):
        if extra in attributes:
            found["tool_call_id" if extra == "id" else extra] = parsed(attributes[extra])
    if role != "tool":
        found.pop("tool_call_id", None)
    return found


def agent(part: Part) -> AgentFacts | None:
    raw = part.raw
    asked, answered = raw.get(INPUT), raw.get(OUTPUT)
    if asked is None and answered is None and part.events:
        asked, answered = event_messages(part.events)
    cut = _cut(parsed(asked), parsed(answered))
    given: tuple[Message, ...] | None = messages(asked)
    told = whole(messages(answered))
    failed = told is not None and len(told) > 0 and told[-1].finish == "error"
    return AgentFacts(
        prompt=last_user_text(given),
        output=final_text(told) if not failed else None,
        messages=told if told and any(m.requests for m in told) else None,
        gaps=cut,
    )


GENAI: Final = Convention(
    title="OpenTelemetry GenAI",
    source="https://github.com/open-telemetry/semantic-conventions-genai",
    kind=kind,
    name=name,
    tool=tool,
    model=model,
    agent=agent,
)
