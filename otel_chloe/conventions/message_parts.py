"""What one message holds, gathered from its parts in any of their shapes: texts, requests of calls, and responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.salvage import CUT_TYPES
from otel_chloe.conventions.values import CUT, literal, mapping, sequence, structure, text, too_deep
from otel_chloe.part import CallRequest, CallResponse


class MessageParts:
    """Collects what the parts of one message hold."""

    __slots__ = ("requests", "responses", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.requests: list[CallRequest] = []
        self.responses: list[CallResponse] = []

    def text(self) -> str | None:
        return "\n".join(self.texts) if self.texts else None

    def content(self, content: object) -> None:
        if isinstance(content, str):
            if content:
                self.texts.append(content)
            return
        for part in sequence(content) or ():
            if isinstance(part, str):
                self.texts.append(part)
            elif (found := mapping(part)) is not None:
                self.item(found)

    def tool_calls(self, calls: object) -> None:
        for call in sequence(calls) or ():
            found = mapping(call)
            if found is not None:
                self._request(mapping(found.get("function")) or found, text(found.get("id")))

    def item(self, part: Mapping[str, Any]) -> None:
        kind = part.get("type")
        reader = _PARTS.get(kind) if isinstance(kind, str) else None
        if reader is not None:
            reader(self, part)
            return
        for key, shaped in _SHAPES:
            inner = part.get(key)
            if inner is not None:
                shaped(self, inner, part)
                return

    def _request(self, call: Mapping[str, Any], call_id: str | None) -> None:
        name = text(call.get("name")) or text(call.get("tool_name"))
        if name is None or any(call_id and call_id == known.id for known in self.requests):
            return
        for key in ("arguments", "args", "input"):
            if key in call:
                self.requests.append(CallRequest(name, _arguments(call[key]), call_id))
                return
        self.requests.append(CallRequest(name, None, call_id))

    def text_part(self, part: Mapping[str, Any]) -> None:
        value = part.get("content", part.get("text"))
        if isinstance(value, str) and value:
            self._text_or_repr(value)

    def _text_or_repr(self, value: str) -> None:
        """A text, or the Python repr of a call that an instrumentation wrote as one."""
        call = REPR.match(value)
        if call is None:
            self.texts.append(value)
        else:
            self.requests.append(CallRequest(call.group(3), _arguments(literal(call.group(1))), call.group(2)))

    def call_part(self, part: Mapping[str, Any]) -> None:
        inner = mapping(part.get("server_tool_call")) or part
        self._request({**inner, "name": part.get("name", inner.get("name"))}, _id(part))

    def response_part(self, part: Mapping[str, Any]) -> None:
        call_id = _id(part)
        if call_id is None and isinstance(part, CUT_TYPES):
            return  # whose response it was is cut off
        content = next((part[key] for key in ("response", "result", "content", "output") if key in part), None)
        self.responses.append(CallResponse(_result(content), call_id, text(part.get("name"))))

    def shaped_text(self, inner: object, part: Mapping[str, Any]) -> None:
        del part
        if isinstance(inner, str) and inner:
            self.texts.append(inner)

    def shaped_call(self, inner: object, part: Mapping[str, Any]) -> None:
        del part
        if (call := mapping(inner)) is not None:
            self._request({**call, "name": call.get("name", call.get("tool_name"))}, _id(call))

    def shaped_response(self, inner: object, part: Mapping[str, Any]) -> None:
        found = mapping(inner)
        if found is None:
            return
        origin = mapping(found.get("origin")) or found
        content = found.get("response", found.get("content", found.get("result")))
        failed = found.get("status") == "error" or found.get("error") is True
        call_id = _id(found) or _id(origin) or _id(part)
        if call_id is None and isinstance(found, CUT_TYPES):
            return
        ok = False if failed else None
        self.responses.append(CallResponse(_result(content), call_id, text(origin.get("name")), ok))


REPR: Final = re.compile(r"^ResponseFunctionToolCall\(arguments=('.*?'), call_id='([^']*)', name='([^']*)'", re.DOTALL)


def _id(part: Mapping[str, Any]) -> str | None:
    for key in ("call_id", "id", "tool_call_id", "tool_use_id", "toolUseId"):
        if (value := text(part.get(key))) is not None:
            return value
    return None


def _arguments(value: object) -> Any:
    data = structure(value)
    return None if data is CUT or isinstance(data, CUT_TYPES) or too_deep(data) else data


def _result(content: object) -> Any:
    return None if isinstance(content, CUT_TYPES) or too_deep(content) else content


_PARTS: Final = {
    "text": MessageParts.text_part,
    "input_text": MessageParts.text_part,
    "output_text": MessageParts.text_part,
    "tool_call": MessageParts.call_part,
    "server_tool_call": MessageParts.call_part,
    "tool_use": MessageParts.call_part,
    "function_call": MessageParts.call_part,
    "tool_call_response": MessageParts.response_part,
    "server_tool_call_response": MessageParts.response_part,
    "tool_result": MessageParts.response_part,
    "function_call_output": MessageParts.response_part,
}

_SHAPES: Final = (
    ("toolUse", MessageParts.shaped_call),
    ("function_call", MessageParts.shaped_call),
    ("tool_call", MessageParts.shaped_call),
    ("toolResult", MessageParts.shaped_response),
    ("function_response", MessageParts.shaped_response),
    ("tool_call_result", MessageParts.shaped_response),
    ("text", MessageParts.shaped_text),
)
