"""Messages of a conversation, in any of the shapes that instrumentations write, as one shape.

Known by shape, not by name: OTel GenAI parts, OpenAI chat and Responses items, Anthropic and Bedrock blocks, Gemini
parts, LangChain (plain, ``data`` and ``lc`` envelopes), Haystack. What is not understood stands as UNSEEN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from otel_chloe.conventions.message_parts import REPR, MessageParts
from otel_chloe.conventions.salvage import CUT_TYPES, CutObject, salvaged
from otel_chloe.conventions.values import CUT, mapping, sequence, structure, text
from otel_chloe.part import UNSEEN, CallResponse, Message

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
    """The messages in a value, None where it holds none. Where it was cut, those before the cut, and UNSEEN."""
    data = structure(value)
    if data is CUT and isinstance(value, str):
        data = salvaged(value)
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
    told = [_message(item) for item in items]
    if isinstance(data, CUT_TYPES):
        told.append(None)
    if None not in told:
        return tuple(told)  # type: ignore[arg-type]  # none is None
    seen = any(message is not None for message in told)
    return tuple(message or _UNSEEN for message in told) if seen else None if isinstance(data, CUT_TYPES) else ()


_UNSEEN: Final = Message(UNSEEN)


def _message(item: object) -> Message | None:
    found = mapping(item)
    if found is None:
        return None
    said = _said(found) if found.__class__ is not CutObject else None
    if said is not None:
        return said
    body = found
    builder = MessageParts()
    if not _OTEL_MESSAGE.issuperset(found):
        body = _body(found)
        builder.item(body)
    role = _role(found, body)
    content = body.get("parts", body.get("content"))
    builder.content(content)
    builder.tool_calls(body.get("tool_calls"))
    responses = tuple(builder.responses)
    call_id = text(body.get("tool_call_id"))
    if isinstance(found, CUT_TYPES):
        return Message(role, None, tuple(builder.requests), responses)
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
    if said is None or REPR.match(said):
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
    """Output messages with the pieces of a streamed answer (they carry an empty finish reason) put together.

    What ends the answer may hold the rest of it, or all of it once more.
    """
    if not told or not any(message.finish == "" for message in told):
        return told
    asked = {request.id for message in told if message.finish != "" for request in message.requests if request.id}
    pieces: list[str] = []
    found: list[Message] = []
    for message in told:
        if message.finish == "" and all(request.id in asked for request in message.requests):
            pieces.append(message.text or "")
        else:
            said, rest = "".join(pieces), message.text or ""
            found.append(replace(message, text=(rest if rest == said else said + rest) or None))
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


def last_user_text(conversation: Iterable[Message] | None) -> str | None:
    """The text of the last user message: what this run was asked."""
    found = None
    for message in conversation or ():
        if message.role == "user" and message.text and not message.responses:
            found = message.text
        elif message.role == UNSEEN:
            found = None
    return found


def final_text(conversation: Iterable[Message] | None) -> str | None:
    """The text of the last message, where it is the assistant's and asks for no call."""
    last = None
    for message in conversation or ():
        last = message
    if last is None or last.requests or last.responses or last.role not in ("assistant", ""):
        return None
    return last.text
