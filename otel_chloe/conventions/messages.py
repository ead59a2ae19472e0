"""Messages of a conversation, in any of the shapes that instrumentations write, as one shape.

Known by shape, not by name: OTel GenAI parts, OpenAI chat and Responses items, Anthropic and Bedrock blocks, Gemini
parts, LangChain (plain, ``data`` and ``lc`` envelopes), Haystack. What is not understood is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from otel_chloe.conventions.values import CUT, literal, mapping, parsed, sequence, text
from otel_chloe.part import CallRequest, CallResponse, Message

_ROLES: Final = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}


def messages(value: object) -> tuple[Message, ...] | None:
    """The messages in a value, None where it holds none or was cut."""
    data = parsed(value)
    if data is CUT or data is None:
        return None
    found = mapping(data)
    if found is not None:
        data = found.get("messages", [found])
    items = sequence(data)
    if items is None:
        return None
    if len(items) == 1 and sequence(items[0]) is not None:
        items = sequence(items[0]) or ()
    return tuple(message for item in items if (message := _message(item)) is not None)


def _message(item: object) -> Message | None:
    found = mapping(item)
    if found is None:
        return None
    said = _said(found)
    if said is not None:
        return said
    body = found
    builder = _Builder()
    if not _OTEL_MESSAGE.issuperset(found):
        body = _body(found)
        builder.item(body)
    role = _role(found, body)
    content = body.get("parts", body.get("content"))
    builder.content(content)
    builder.tool_calls(body.get("tool_calls"))
    responses = tuple(builder.responses)
    call_id = text(body.get("tool_call_id"))
    if call_id or (role == "tool" and not responses and not builder.requests):
        responses = responses or (CallResponse(content, call_id, text(body.get("name"))),)
        return Message("tool", None, (), responses)
    finish = body.get("finish_reason")
    return Message(
        role, builder.text(), tuple(builder.requests), responses, finish if isinstance(finish, str) else None
    )


_OTEL_MESSAGE: Final = frozenset({"role", "parts", "content", "finish_reason", "name"})
"""What OTel GenAI's own messages hold: no envelope, and nothing that could be a part by itself."""


_SPEAKERS: Final = frozenset({"user", "assistant", "system"})


def _said(found: Mapping[str, Any]) -> Message | None:
    """An OTel GenAI message that is one text: most messages are, and the way through the builder costs thrice that."""
    parts = sequence(found.get("parts"))
    if parts is None or len(parts) != 1 or not _OTEL_MESSAGE.issuperset(found):
        return None
    part, role = mapping(parts[0]), text(found.get("role"))
    if part is None or part.get("type") != "text" or role not in _SPEAKERS:
        return None
    said, finish = text(part.get("content")), found.get("finish_reason")
    if said is None or _REPR.match(said):
        return None
    return Message(role, said, (), (), finish if isinstance(finish, str) else None)


def _body(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message without the envelopes that serializers put round it: a choice or generation, and round the message."""
    body = _opened(found)
    if "message" in body and "role" not in body and (inner := mapping(body["message"])):
        return _opened(inner)
    return body


def _opened(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(found.get("kwargs")) or mapping(found.get("data")) or found


def whole(told: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """Output messages with the pieces of a streamed answer (they carry an empty finish reason) put together."""
    if not told or not any(message.finish == "" for message in told):
        return told
    pieces: list[str] = []
    found: list[Message] = []
    for message in told:
        if message.finish == "" and not message.requests:
            pieces.append(message.text or "")
        else:
            found.append(replace(message, text="".join([*pieces, message.text or ""]) or None))
            pieces = []
    if pieces:
        found.append(Message("assistant", "".join(pieces)))
    return tuple(found)


def _role(found: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    named = text(body.get("role")) or text(body.get("type")) or text(found.get("type")) or ""
    ids = sequence(found.get("id"))
    if ids and "lc" in found:
        named = str(ids[-1])
    if named in ("function_call", "reasoning"):
        return "assistant"
    if named == "function_call_output":
        return "tool"
    return _ROLES.get(named, named)


class _Builder:
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
        call = _REPR.match(value)
        if call is None:
            self.texts.append(value)
        else:
            self.requests.append(CallRequest(call.group(3), _arguments(literal(call.group(1))), call.group(2)))

    def call_part(self, part: Mapping[str, Any]) -> None:
        inner = mapping(part.get("server_tool_call")) or part
        self._request({**inner, "name": part.get("name", inner.get("name"))}, _id(part))

    def response_part(self, part: Mapping[str, Any]) -> None:
        for key in ("response", "result", "content", "output"):
            if key in part:
                self.responses.append(CallResponse(part[key], _id(part), text(part.get("name"))))
                return
        self.responses.append(CallResponse(None, _id(part), text(part.get("name"))))

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
        self.responses.append(CallResponse(content, call_id, text(origin.get("name")), False if failed else None))


_REPR: Final = re.compile(r"^ResponseFunctionToolCall\(arguments=('.*?'), call_id='([^']*)', name='([^']*)'", re.DOTALL)


def _id(part: Mapping[str, Any]) -> str | None:
    for key in ("call_id", "id", "tool_call_id", "tool_use_id", "toolUseId"):
        if (value := text(part.get(key))) is not None:
            return value
    return None


def _arguments(value: object) -> Any:
    data = parsed(value)
    return None if data is CUT else data


_PARTS: Final = {
    "text": _Builder.text_part,
    "input_text": _Builder.text_part,
    "output_text": _Builder.text_part,
    "tool_call": _Builder.call_part,
    "server_tool_call": _Builder.call_part,
    "tool_use": _Builder.call_part,
    "function_call": _Builder.call_part,
    "tool_call_response": _Builder.response_part,
    "server_tool_call_response": _Builder.response_part,
    "tool_result": _Builder.response_part,
    "function_call_output": _Builder.response_part,
}

_SHAPES: Final = (
    ("toolUse", _Builder.shaped_call),
    ("function_call", _Builder.shaped_call),
    ("tool_call", _Builder.shaped_call),
    ("toolResult", _Builder.shaped_response),
    ("function_response", _Builder.shaped_response),
    ("tool_call_result", _Builder.shaped_response),
    ("text", _Builder.shaped_text),
)


def last_user_text(conversation: Iterable[Message] | None) -> str | None:
    """The text of the last user message: what this run was asked."""
    found = None
    for message in conversation or ():
        if message.role == "user" and message.text and not message.responses:
            found = message.text
    return found


def final_text(conversation: Iterable[Message] | None) -> str | None:
    """The text of the last message, where it is the assistant's and asks for no call."""
    last = None
    for message in conversation or ():
        last = message
    if last is None or last.requests or last.responses or last.role not in ("assistant", ""):
        return None
    return last.text
