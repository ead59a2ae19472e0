"""Messages as a rolling hash: two histories that begin alike have the same state where they still are alike.

What is hashed are the texts, requests and results in the messages, one by one: a history may cut the same answer into
more messages than the model gave, or fewer. System messages are left out: a program may change them from call to call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from otel_chloe.part import Message

State = bytes
"""Stands for all messages up to a place."""
START: Final[State] = b""
_ASSISTANT: Final = ("assistant", "")


def states(messages: Iterable[Message], state: State = START) -> list[State]:
    """The state after each of the messages, the first of them coming after ``state``."""
    from hashlib import blake2b  # it loads OpenSSL: only where runs are stitched

    found: list[State] = []
    for message in messages:
        if message.role != "system":
            for said in _said(message):
                state = blake2b(state + said.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        found.append(state)
    return found


def system_of(messages: Iterable[Message]) -> int:
    """A number for the system messages: equal where they are equal."""
    return hash(tuple(message.text for message in messages if message.role == "system"))


def is_answer(message: Message) -> bool:
    """Whether a message is a model's, and says or asks for something."""
    return bool(message.requests) or (message.role in _ASSISTANT and bool(message.text))


def text_in(result: Any) -> str | None:
    """The text that a tool gave as its result, where it gave one: as a text, or as a list of text parts."""
    if isinstance(result, str):
        return result.strip() or None
    if isinstance(result, list) and len(result) == 1 and isinstance(result[0], dict):  # pyright: ignore[reportUnknownArgumentType]
        part = cast("dict[str, Any]", result[0])
        return text_in(part.get("text", part.get("content")))
    return None


def _said(message: Message) -> Iterator[str]:
    if message.text and (text := message.text.strip()):
        yield f"t\0{message.role or 'assistant'}\0{text}"
    for request in message.requests:
        yield f"r\0{request.id or ''}\0{request.name}\0{_plain(request.arguments)}"
    for response in message.responses:
        yield f"a\0{response.id or ''}\0{_plain(response.result)}"


def _plain(value: Any) -> str:
    """A value as a text that is equal where values are. Values that are nested too deep for one are all alike."""
    if isinstance(value, str):
        return value.strip()
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except (RecursionError, TypeError, ValueError):
        return "..."
