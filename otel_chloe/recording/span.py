"""A span read from a recording, in the shape that SDK spans have (conventions.span.SpanLike).

Its classes are slotted but not frozen: a frozen dataclass takes three times as long to make, and a line of a recording
makes five of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ..part import Part
from .values import as_text, attributes_of, camel_keys, identifier, nanoseconds, objects_in, whole


@dataclass(slots=True)
class RecordedContext:
    """Which span: the ids as integers, as the SDK has them."""

    trace_id: int
    span_id: int
    is_remote: bool = False


@dataclass(frozen=True, slots=True)
class Numbered:
    """A value of an enum, with the ``name`` and ``value`` that the API's own enum gives it."""

    name: str
    value: int


UNSET: Final = Numbered("UNSET", 0)
OK: Final = Numbered("OK", 1)
ERROR: Final = Numbered("ERROR", 2)

INTERNAL: Final = Numbered("INTERNAL", 0)
SERVER: Final = Numbered("SERVER", 1)
CLIENT: Final = Numbered("CLIENT", 2)
PRODUCER: Final = Numbered("PRODUCER", 3)
CONSUMER: Final = Numbered("CONSUMER", 4)


@dataclass(frozen=True, slots=True)
class RecordedStatus:
    status_code: Numbered = UNSET
    description: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedScope:
    name: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedResource:
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    name: str
    timestamp: int
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedLink:
    context: RecordedContext
    attributes: dict[str, Any]


@dataclass(slots=True, eq=False)
class RecordedSpan:
    """One ended span of a recording. Events and links stay as they were written until they are asked for."""

    name: str
    context: RecordedContext
    parent: RecordedContext | None
    start_time: int | None
    end_time: int | None
    attributes: dict[str, Any]
    status: RecordedStatus
    kind: Numbered
    instrumentation_scope: RecordedScope | None
    resource: RecordedResource
    dropped_attributes: int
    _events: list[Any] | tuple[RecordedEvent, ...] = field(default=(), repr=False)
    _links: list[Any] | tuple[RecordedLink, ...] = field(default=(), repr=False)

    @property
    def events(self) -> tuple[RecordedEvent, ...]:
        if not isinstance(self._events, tuple):
            self._events = tuple(_event(raw) for raw in objects_in(self._events))
        return self._events

    @property
    def links(self) -> tuple[RecordedLink, ...]:
        if not isinstance(self._links, tuple):
            self._links = tuple(link for raw in objects_in(self._links) for link in _link(raw))
        return self._links


Found: TypeAlias = RecordedSpan | Part
"""What is read of a span: all of it, or at once the part that it is."""
Direct: TypeAlias = Callable[[dict[str, Any], RecordedResource, RecordedScope | None], Part | None]
"""Reads a span of OTLP/JSON as a part at once; None where it takes the whole span to tell."""


def _event(raw: dict[str, Any]) -> RecordedEvent:
    if "timeUnixNano" not in raw:
        raw = camel_keys(raw)
    return RecordedEvent(
        as_text(raw.get("name")) or "",
        nanoseconds(raw.get("timeUnixNano")) or 0,
        attributes_of(raw.get("attributes")),
    )


def _link(raw: dict[str, Any]) -> list[RecordedLink]:
    """Read one link; none where its ids are missing, as it then points nowhere."""
    if "traceId" not in raw:
        raw = camel_keys(raw)
    trace_id, span_id = identifier(raw.get("traceId"), 16), identifier(raw.get("spanId"), 8)
    if not trace_id or not span_id:
        return []
    context = RecordedContext(trace_id, span_id, is_remote(whole(raw.get("flags")) or 0))
    return [RecordedLink(context, attributes_of(raw.get("attributes")))]


def is_remote(flags: int) -> bool:
    """Tell from OTLP's span flags whether the parent (or the linked span) is remote; unknown is not remote."""
    return flags & _REMOTE == _REMOTE


# opentelemetry/proto/trace/v1: bit 8 says that the answer is known, bit 9 is the answer
_REMOTE: Final = 0x300
