"""Content that is sent as log records: one for each message (deprecated), or one for a whole model call.

Source: semantic-conventions-genai, docs/gen-ai/gen-ai-events; before 1.37 each message was an event of its own. The
name is the record's, or its attribute ``event.name``: Semantic Kernel writes with Python's logging, the body as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.values import mapping, parsed, sequence
from otel_chloe.part import LogEvent

DETAILS: Final = "gen_ai.client.inference.operation.details"
CHOICE: Final = "gen_ai.choice"
MESSAGES: Final[Mapping[str, str]] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
"""Events that are one message of a model call's input, with its role."""
CONTENT_EVENTS: Final = frozenset({DETAILS, CHOICE, *MESSAGES})
"""Names of the log records that carry content. Every other one is let pass, our own among them."""
EVENT_NAME: Final = "event.name"

MOST_NODES: Final = 256
"""Values that are looked at to tell how large a record is."""


def logged(log: LogEvent) -> Mapping[str, Any]:
    """What a log record says, in the form of a span event's attributes."""
    body = parsed(log.body)
    said = mapping(body)
    if log.name == DETAILS:
        attributes = mapping(log.attributes) or {}
        return {**attributes, **said} if said else attributes
    if said is None:
        return {"content": body} if isinstance(body, str) else mapping(log.attributes) or {}
    if log.name == CHOICE:
        message = mapping(said.get("message")) or said
        return {"message": {"role": "assistant", **message, "finish_reason": said.get("finish_reason")}}
    return said


def weight(*values: object) -> int:
    """About how many characters of text some values hold, told from their first ones where they are many."""
    waiting: list[Any] = list(values)
    found = seen = 0
    while waiting:
        value: Any = waiting.pop()
        seen += 1
        if isinstance(value, str):
            found += len(value)
        elif (inner := mapping(value)) is not None:
            waiting.extend(inner.values())
        elif (items := sequence(value)) is not None:
            waiting.extend(items)
        if seen >= MOST_NODES:
            return found * (seen + len(waiting)) // seen
    return found
