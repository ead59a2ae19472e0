"""OpenInference: ``openinference.span.kind`` and flattened messages.

Source: Arize-ai/openinference, spec/semantic_conventions.md.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from otel_chloe import gaps
from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.genai import error_text
from otel_chloe.conventions.messages import last_user_text, messages
from otel_chloe.conventions.values import (
    CUT,
    arguments,
    is_repr,
    mapping,
    one_text,
    parsed,
    result,
    structure,
    text,
    tool_message,
)
from otel_chloe.part import (
    AGENT,
    CHAIN,
    ERROR,
    HANDOFF,
    MODEL,
    OTHER,
    TOOL,
    AgentFacts,
    CallRequest,
    CallResponse,
    Kind,
    Message,
    ModelFacts,
    Part,
    ToolFacts,
)

KIND: Final = "openinference.span.kind"
_KINDS: Final[dict[str, Kind]] = {"AGENT": AGENT, "CHAIN": CHAIN, "TOOL": TOOL, "LLM": MODEL}
_GRAPH_STEPS: Final = re.compile(r"(?:^|\.)(?:agent|before_agent|after_agent)$")
_NO_CALL: Final = "._prepare_chat_with_tools"
_METHODS: Final = (".run_stream", ".arun", ".run", ".agent", ".acall", ".forward", ".on_messages_stream")


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    named = attributes.get(KIND)
    if not isinstance(named, str):
        return None
    found = _KINDS.get(named, OTHER)
    if found is AGENT and "langchain" in scope and _GRAPH_STEPS.search(span_name):
        return CHAIN  # a graph node that happens to be called "agent": a step of the chain above
    if found is TOOL and "tool.name" not in attributes and span_name.startswith("handoff"):
        return HANDOFF
    if found is MODEL and span_name.endswith(_NO_CALL):
        return OTHER  # the request is prepared, no model is called
    return found


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    if kind is TOOL:
        return _tool_name(attributes, span_name)
    if kind is not AGENT:
        return None
    named = text(attributes.get("agent.name")) or text(attributes.get("graph.node.id"))
    return named or _without_method(span_name)


_TOOL_LINE: Final = re.compile(r"^Tool Name: (.+)$", re.MULTILINE)


_TOOL_CLASS: Final = "FunctionTool."
"""LlamaIndex calls the spans of all tools by their class."""


def _tool_name(attributes: Mapping[str, Any], span_name: str) -> str | None:
    described = _TOOL_LINE.match(text(attributes.get("tool.description")) or "")
    if described:
        return described.group(1).strip()
    named = text(attributes.get("tool.name"))
    return named or (None if span_name.startswith(_TOOL_CLASS) else _without_method(span_name))


def _without_method(span_name: str) -> str:
    for method in _METHODS:
        if span_name.endswith(method) and len(span_name) > len(method):
            return span_name[: -len(method)]
    return span_name


def tool(part: Part) -> ToolFacts | None:
    raw = part.raw
    if KIND not in raw:
        return None
    given, value = raw.get("input.value"), raw.get("output.value")
    told = mapping(parsed(value)) or {}
    message = tool_message(told)
    failed = told.get("is_error") is True or (message or {}).get("status") == "error" or _was_not_found(part, value)
    return ToolFacts(
        arguments=arguments(given),
        result=told["raw_output"] if "raw_output" in told else result(value),
        ok=False if failed or part.status == ERROR else None,
        error=error_text(part),
        call_id=text(raw.get("tool.id")) or text(raw.get("tool_call.id")) or text((message or {}).get("tool_call_id")),
        gaps=(gaps.TRUNCATED,) if parsed(given) is CUT else (),
    )


def _was_not_found(part: Part, value: Any) -> bool:
    """Whether AutoGen had no such tool: its span is OK, and the message that says otherwise may never be sent."""
    return value == f"Error: tool '{part.name}' not found in any workbench" and "autogen" in part.scope


def model(part: Part) -> ModelFacts | None:
    if KIND not in part.raw:
        return None
    given, told = flattened(part.raw, "llm.input_messages."), flattened(part.raw, "llm.output_messages.")
    return ModelFacts(input=given or None, output=told or None)


def flattened(raw: Mapping[str, Any], prefix: str) -> tuple[Message, ...]:
    """Messages written as ``<prefix>N.message.role`` and so on, in the order of N."""
    rows: defaultdict[int, dict[str, Any]] = defaultdict(dict)
    start = len(prefix)
    for key, value in raw.items():
        if key.startswith(prefix):
            number, _, rest = key[start:].partition(".")
            if number.isdecimal() and len(number) < 10:
                rows[int(number)][rest.removeprefix("message.")] = value
    return tuple(_flat_message(rows[number]) for number in sorted(rows))


_CALL: Final = re.compile(r"^tool_calls\.(\d{1,9})\.tool_call\.(id|function\.name|function\.arguments)$")
_TEXTS: Final = re.compile(r"^(?:content\.\d+|contents\.\d+\.message_content\.text)$")


_TEMPLATE: Final = "[[ ## "
"""Begins what DSPy makes of a program's input and output for a model: nobody asked or answered that."""


def _flat_message(row: Mapping[str, Any]) -> Message:
    calls: defaultdict[int, dict[str, Any]] = defaultdict(dict)
    texts: list[str] = []
    for key, value in row.items():
        if (call := _CALL.match(key)) is not None:
            calls[int(call.group(1))][call.group(2)] = value
        elif _TEXTS.match(key) and isinstance(value, str) and value:
            texts.append(value)
    role = {"developer": "system", "function": "tool"}.get(str(row.get("role", "")), str(row.get("role", "")))
    whole = text(row.get("content")) or ("\n".join(texts) if texts else None)
    if whole is not None and whole.startswith(_TEMPLATE):
        whole = None
    call_id = text(row.get("tool_call_id"))
    told = tuple(r for key, value in row.items() if key.startswith("function.") and (r := _flat_response(value)))
    if told:
        return Message("tool", None, (), told)
    if role == "tool" or call_id:
        return Message("tool", None, (), (CallResponse(whole, call_id, text(row.get("name"))),))
    return Message(
        role, whole, tuple(_flat_request(calls[n]) for n in sorted(calls) if text(calls[n].get("function.name")))
    )


def _flat_response(value: Any) -> CallResponse | None:
    """AutoGen's results: one JSON object for each call that the message answers."""
    found = mapping(parsed(value))
    if found is None:
        return None
    ok = False if found.get("is_error") is True else None
    return CallResponse(found.get("content"), text(found.get("call_id")), text(found.get("name")), ok)


def _flat_request(call: Mapping[str, Any]) -> CallRequest:
    given = parsed(call.get("function.arguments"))
    return CallRequest(call["function.name"], None if given is CUT else given, text(call.get("id")))


def agent(part: Part) -> AgentFacts | None:
    raw = part.raw
    if KIND not in raw:
        return None
    given, told = structure(raw.get("input.value")), parsed(raw.get("output.value"))
    if isinstance(told, str) and (state := mapping(structure(told))) is not None and not _ENVELOPE.isdisjoint(state):
        told = state  # encoded twice, or printed
    metadata = mapping(parsed(raw.get("metadata"))) or {}
    task = mapping(told) or {}
    return AgentFacts(
        name=text(metadata.get("lc_agent_name")) if part.kind is CHAIN else None,
        prompt=_prompt(given) or (text(task.get("description")) if "raw" in task else None),
        output=_output(told, plain=part.kind is AGENT),
        input=None if given is CUT else given,
        gaps=(gaps.TRUNCATED,) if CUT in (given, told) else (),
    )


_ENVELOPE: Final = frozenset({"raw", "messages", "tasks_output"})
"""What a framework's own output holds, and no agent's answer does."""


def _prompt(given: Any) -> str | None:
    found = mapping(given)
    if found is None:
        return given if isinstance(given, str) and given else None
    if "messages" in found:
        return last_user_text(messages(given))
    if (task := text(found.get("task"))) is not None:
        return task
    inner = mapping(found.get("input_args"))
    return one_text(inner or found)


def _output(told: Any, *, plain: bool) -> str | None:
    """The answer in an output value. A text counts only on an agent: elsewhere it may be a repr that was cut."""
    if isinstance(told, str):
        return told if plain and told and not is_repr(told) else None
    found = mapping(told)
    if found is None:
        return None
    for key in ("raw", "answer"):
        if (value := text(found.get(key))) is not None:
            return value
    return None


OPENINFERENCE: Final = Convention(
    title="OpenInference",
    source="https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md",
    kind=kind,
    name=name,
    tool=tool,
    model=model,
    agent=agent,
)
