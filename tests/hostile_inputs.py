"""Texts and bytes as nobody should write them, made of what instrumentations do write."""

from __future__ import annotations

import json
import random
from typing import Any, Final

from otel_chloe.conventions.messages import final_text, last_user_text, messages, whole
from otel_chloe.conventions.salvage import CutList, CutObject, salvaged
from otel_chloe.conventions.values import arguments, is_repr, literal, one_text, parsed, result, structure, too_deep
from otel_chloe.names import short_name
from otel_chloe.part import CallRequest, CallResponse, Message
from otel_chloe.redacted import has_redacted, is_redacted

SEEDS: Final[tuple[Any, ...]] = (
    [{"role": "user", "parts": [{"type": "text", "content": "Fix it."}]}],
    [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "check", "arguments": {"site": "a"}}]}],
    [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"up": False}}]}],
    [{"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}],
    [{"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'}, {"type": "function_call_output"}],
    [{"role": "user", "content": [{"text": "x"}, {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}}]}],
    [{"role": "user", "content": [{"toolResult": {"toolUseId": "t", "status": "error", "content": [{"text": "no"}]}}]}],
    {"messages": [[{"lc": 1, "id": ["x", "HumanMessage"], "kwargs": {"content": "hi", "type": "human"}}]]},
    {"output": {"kwargs": {"content": "up", "tool_call_id": "c", "status": "success"}}},
    {"args": [], "kwargs": {"site": "a"}}, {"input_str": "{'site': 'a'}", "tags": []}, {"question": "what?"},
    [{"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a": [1, 2.5, True, None]}}}]}],
    [{"_role": "assistant", "_content": [{"tool_call": {"tool_name": "f", "arguments": {"a": "ü\\u0000"}}}]}],
    "[REDACTED]", "***", "", "ResponseFunctionToolCall(arguments='{}', call_id='c', name='f')",
)  # fmt: skip
PIECES: Final = (
    "{", "}", "[", "]", '"', "'", ",", ":", "\\", "\\u", "\ud800", "\0", "\n", "1e999", "-", "None", "true", "NaN",
    "(", ")", "<x object at 0x1>", "[REDACTED]", "***", "1" * 5_000, "[" * 3_000, '{"a":' * 3_000, "²", "é", " ",
)  # fmt: skip


def text(rng: random.Random) -> str:
    """A text that was JSON, or Python's print of it, before somebody broke it."""
    seed = rng.choice(SEEDS)
    made = rng.choice((json.dumps, repr, str, lambda value: json.dumps(json.dumps(value))))(seed)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        at, to = sorted((rng.randint(0, len(made)), rng.randint(0, len(made))))
        made = rng.choice((made[:at], made[to:], made[:at] + made[to:], made[:to] + made[at:], _put(rng, made, at)))
    return made


def _put(rng: random.Random, made: str, at: int) -> str:
    return made[:at] + rng.choice(PIECES) + made[at:]


def read_all(value: object) -> None:
    """Have every reader of values look at one. Raises AssertionError where what one gives cannot be."""
    if isinstance(value, str):
        literal(value), is_repr(value), short_name(value), is_redacted(value), salvaged(value)
    for read in (parsed, structure, arguments, result, one_text, too_deep, has_redacted):
        read(value)
    found = messages(value)
    told = whole(found)
    assert all(map(sound, found or ()))
    assert all(map(sound, told or ()))
    for gives in (last_user_text(found), final_text(told)):
        assert gives is None or isinstance(gives, str)


def sound(message: Message) -> bool:
    """Whether a message is of the types that it says, and holds nothing that was cut."""
    requests = all(_request(each) for each in message.requests)
    responses = all(isinstance(each, CallResponse) and not _cut(each.result) for each in message.responses)
    return isinstance(message.role, str) and isinstance(message.text, str | None) and requests and responses


def _request(request: CallRequest) -> bool:
    named = isinstance(request.name, str) and isinstance(request.id, str | None)
    return named and bool(request.name) and not _cut(request.arguments)


def _cut(value: object) -> bool:
    return isinstance(value, CutObject | CutList) or too_deep(value)


def begins(whole_value: Any, part: Any) -> bool:
    """Whether a value is the beginning of another: what is closed is equal, what is open holds nothing else."""
    waiting = [(whole_value, part)]
    while waiting:
        value, seen = waiting.pop()
        if isinstance(seen, CutObject):
            if not isinstance(value, dict) or list(value)[: len(seen)] != list(seen):
                return False
            waiting += [(value[key], inner) for key, inner in seen.items()]
        elif isinstance(seen, CutList):
            if not isinstance(value, list) or len(seen) > len(value):
                return False
            waiting += zip(value, seen, strict=False)
        elif value != seen:
            return False
    return True


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes with some of them others, gone, or told twice; lines stay lines."""
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, to = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
        some = bytes(rng.randrange(256) for _ in range(rng.choice((1, 1, 4)))).replace(b"\n", b"\r")
        data = rng.choice((data[:at] + some + data[at + 1 :], data[:at], data[:at] + data[to:], data[:to] + data[at:]))
    return data
