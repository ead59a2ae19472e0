"""A plain run built the short way: one agent, its model and tool calls right below it, every call told once.

Most runs are plain, and the short way costs a tenth. Where it answers, :class:`~otel_chloe.assembly.build.Builder`
would give the same run; where it would take more to be sure of that, it gives none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from otel_chloe.assembly.build import NO_TOOL_SPANS
from otel_chloe.assembly.modelcalls import stopped_to_ask
from otel_chloe.assembly.toolcalls import is_mapping
from otel_chloe.part import AGENT, MODEL, TOOL, Part
from otel_chloe.record import ASKING
from otel_chloe.redacted import is_redacted
from otel_chloe.run import Run, ToolCall, Usage


def plain_run(parts: Sequence[Part]) -> Run | None:
    """The run that some parts are, where it is plain and whole; else None."""
    root = next((part for part in parts if part.kind is AGENT), None)
    if root is None or not root.named or not _is_usual(root) or any(s in root.scope for s in NO_TOOL_SPANS):
        return None
    tools: list[Part] = []
    models: list[Part] = []
    for part in parts:
        if part.kind is TOOL:
            tools.append(part)
        elif part.kind is MODEL:
            models.append(part)
        elif part is not root:
            return None
        if part is not root and (part.parent_id != root.span_id or not _is_usual(part)):
            return None
    tools.sort(key=_by_start)
    if (root.client and len(parts) == 1) or not _told_once(tools, models) or not _are_apart(models):
        return None
    return _run(root, tools, len(models), parts)


def _is_usual(part: Part) -> bool:
    """Whether a part says all that it says in today's GenAI attributes, whole, and went well."""
    return part.usual and part.status == 0 and not part.dropped and not part.events


def _by_start(part: Part) -> tuple[int, int]:
    return part.start, part.span_id


def _told_once(tools: Sequence[Part], models: Sequence[Part]) -> bool:
    """Whether every call that a message asks for has one span, under the name that the model wrote, and no other."""
    if len({part.span_id for part in (*tools, *models)}) != len(tools) + len(models):
        return False
    if tools and len({part.scope for part in tools}) > 1:
        return False
    ids = [part.call_id for part in tools]
    if len(ids) > 1 and (None in ids or len(set(ids)) != len(ids)):
        return False
    asked: list[str] = []
    for part in models:
        given = part.raw.get("gen_ai.input.messages")
        whole = _asked(part.raw.get("gen_ai.output.messages"))
        if whole is None or (isinstance(given, str) and given[-1:] != "]") or (not whole and stopped_to_ask(part)):
            return False
        asked += whole
    return sorted(asked) == sorted(part.name or "" for part in tools)


def _are_apart(models: Sequence[Part]) -> bool:
    """Whether every span is a model call of its own: of one instrumentation, and no response told twice."""
    ids = [part.call_id for part in models if part.call_id is not None]
    return len({part.scope for part in models}) < 2 and len(set(ids)) == len(ids)


_TOLD = ("text", "reasoning")


def _asked(told: Any) -> list[str] | None:
    """The names that an answer asks for; None where it cannot be told. A text that asks for none is not parsed."""
    if told.__class__ is str:
        if not any(word in told for word in ASKING):
            return [] if told[-1:] == "]" else None
        told = _parsed(told)
    if told.__class__ is not list:
        return None
    names: list[str] = []
    for message in told:
        if message.__class__ is not dict or "tool_calls" in message:
            return None
        found = _asked_by(message.get("parts"))
        if found is None:
            return None
        names += found
    return names


def _asked_by(parts: Any) -> list[str] | None:
    """The names that one message's parts ask for; None where a part is none that we know."""
    if parts.__class__ is not list:
        return None
    names: list[str] = []
    for part in parts:
        kind = part.get("type") if part.__class__ is dict else None
        if kind == "tool_call":
            names.append(str(part.get("name")))
        elif kind not in _TOLD:
            return None
    return names


def _parsed(text: str) -> Any:
    try:
        value, end = _decode(text)
    except (ValueError, RecursionError):
        return None
    return value if end == len(text) else None


_decode = json.JSONDecoder().raw_decode


def _run(root: Part, tools: Sequence[Part], model_calls: int, parts: Sequence[Part]) -> Run | None:
    facts = root.reader.agent(root)
    if facts.prompt is None or facts.output is None or facts.gaps or facts.messages:
        return None
    if is_redacted(facts.prompt) or is_redacted(facts.output):
        return None
    calls = calls_of(root.name, tools)
    if calls is None:
        return None
    span_id = f"{root.span_id:016x}"
    return Run(
        agent=root.name,
        prompt=facts.prompt,
        output=facts.output,
        tool_calls=calls,
        trace_id=f"{root.trace_id:032x}",
        span_id=span_id,
        mark_span_id=span_id,
        parent_span_id=f"{root.parent_id:016x}" if root.parent_id is not None else None,
        conversation=root.conversation or next((p.conversation for p in parts if p.conversation), None),
        input=facts.input,
        start_ns=root.start,
        end_ns=root.end,
        resource=root.resource,
        sampled=root.sampled,
        usage=Usage(model_calls=model_calls) if model_calls else None,
    )


def calls_of(agent: str | None, tools: Sequence[Part]) -> tuple[ToolCall, ...] | None:
    """The calls that a plain run's tool spans are, in this order; None where one does not say all of itself."""
    calls: list[ToolCall] = []
    for part in tools:
        said = part.reader.tool(part)
        if not is_mapping(said.arguments) or not said.arguments or said.gaps or said.ok is not True:
            return None
        if is_redacted(said.result):
            return None
        calls.append(
            ToolCall(
                part.short_name or "",
                said.arguments,
                said.result,
                ok=True,
                ran=True,
                agent=agent,
                raw_name=part.name,
                call_id=part.call_id,
                span_id=f"{part.span_id:016x}",
                start_ns=part.start,
            )
        )
    return tuple(calls)
