"""What a convention may ask of a span: the shape that SDK spans, OTLP protobuf and recorded JSON share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class SpanContextLike(Protocol):
    @property
    def trace_id(self) -> int: ...
    @property
    def span_id(self) -> int: ...
    @property
    def is_remote(self) -> bool: ...


class EventLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def attributes(self) -> Mapping[str, Any] | None: ...


class LinkLike(Protocol):
    @property
    def context(self) -> SpanContextLike: ...


class StatusLike(Protocol):
    @property
    def status_code(self) -> Any: ...  # an enum of the SDK: .value is 0 unset, 1 ok, 2 error
    @property
    def description(self) -> str | None: ...


class ScopeLike(Protocol):
    @property
    def name(self) -> str: ...


class ResourceLike(Protocol):
    @property
    def attributes(self) -> Mapping[str, Any]: ...


class SpanLike(Protocol):
    """An ended span, named as opentelemetry.sdk.trace.ReadableSpan names things. Times are nanoseconds."""

    @property
    def name(self) -> str: ...
    @property
    def context(self) -> SpanContextLike | None: ...
    @property
    def parent(self) -> SpanContextLike | None: ...
    @property
    def start_time(self) -> int | None: ...
    @property
    def end_time(self) -> int | None: ...
    @property
    def attributes(self) -> Mapping[str, Any] | None: ...
    @property
    def events(self) -> Sequence[EventLike]: ...
    @property
    def links(self) -> Sequence[LinkLike]: ...
    @property
    def status(self) -> StatusLike | None: ...
    @property
    def kind(self) -> Any: ...  # an enum of the API: .value is 0 internal, 1 server, 2 client, 3 producer, 4 consumer
    @property
    def instrumentation_scope(self) -> ScopeLike | None: ...
    @property
    def resource(self) -> ResourceLike: ...
    @property
    def dropped_attributes(self) -> int: ...
