"""Jaeger's JSON export: its spans, with the OTLP fields that Jaeger keeps as tags put back where they came from.

The mapping is the one of the Collector's translator (pkg/translator/jaeger), the other way round. What it has lost
stays lost: arrays are JSON text, times are microseconds, links have no attributes.
"""

from __future__ import annotations

from typing import Any, Final

from .otlp_json import kind_of, shown
from .problems import Problems
from .span import (
    ERROR,
    OK,
    UNSET,
    Numbered,
    RecordedContext,
    RecordedEvent,
    RecordedLink,
    RecordedResource,
    RecordedScope,
    RecordedSpan,
    RecordedStatus,
)
from .values import as_list, as_object, as_text, binary, identifier, objects_in, whole

# The tags in which Jaeger keeps what OTLP has fields for
# (opentelemetry-specification, common/mapping-to-non-otlp and trace/sdk_exporters/jaeger).
_SPAN_KIND: Final = "span.kind"
_STATUS_CODE: Final = "otel.status_code"
_STATUS_DESCRIPTION: Final = "otel.status_description"
_ERROR: Final = "error"
_SCOPE_NAMES: Final = ("otel.scope.name", "otel.library.name")
_SCOPE_VERSIONS: Final = ("otel.scope.version", "otel.library.version")
_DROPPED: Final = "otel.dropped_attributes_count"
_EVENT_NAME: Final = "event"
_SERVICE_NAME: Final = "service.name"
_NO_SERVICE_NAME: Final = "OTLPResourceNoServiceName"
"""What Jaeger calls a service that has no name."""

_CODES: Final[dict[str, Numbered]] = {"OK": OK, "ERROR": ERROR, "UNSET": UNSET}


class Jaeger:
    """Reads the spans of Jaeger traces, one after the other."""

    __slots__ = ("_problems",)

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def spans(self, trace: dict[str, Any]) -> list[RecordedSpan]:
        """Read one element of ``data``. What is not readable is reported, and the rest still counts."""
        resources = {name: _resource(process) for name, process in as_object(trace.get("processes")).items()}
        found: list[RecordedSpan] = []
        spans = as_list(trace.get("spans"))
        for raw in map(as_object, spans):
            context = _context(raw)
            if context is not None:
                found.append(_span(raw, context, resources))
            else:
                self._problems.add(
                    "a Jaeger span has no usable ids",
                    f"The span {shown(raw.get('operationName'))} is skipped. Expected traceID and spanID in hex.",
                )
        return found


def _span(raw: dict[str, Any], context: RecordedContext, resources: dict[str, RecordedResource]) -> RecordedSpan:
    tags = _tags(raw.get("tags"))
    start = whole(raw.get("startTime"))
    parent, links = _references(raw, context)
    return RecordedSpan(
        as_text(raw.get("operationName")) or "",
        context,
        parent,
        start * 1000 if start else None,
        (start + (whole(raw.get("duration")) or 0)) * 1000 if start else None,
        tags,
        _status(tags),
        kind_of(tags.pop(_SPAN_KIND, None)),
        _scope(tags),
        _resource_of(raw, resources),
        whole(tags.pop(_DROPPED, None)) or 0,
        _events(raw.get("logs")),
        links,
    )


def _context(raw: dict[str, Any]) -> RecordedContext | None:
    trace_id, span_id = identifier(raw.get("traceID"), 16), identifier(raw.get("spanID"), 8)
    return RecordedContext(trace_id, span_id) if trace_id and span_id else None


def _references(raw: dict[str, Any], own: RecordedContext) -> tuple[RecordedContext | None, tuple[RecordedLink, ...]]:
    """Read references: the first CHILD_OF of the same trace is the parent, all others are links."""
    parent_id = identifier(raw.get("parentSpanID"), 8)
    parent = RecordedContext(own.trace_id, parent_id) if parent_id else None
    links: list[RecordedLink] = []
    for reference in objects_in(raw.get("references")):
        context = _context(reference)
        if context is None:
            continue
        if parent is None and reference.get("refType") == "CHILD_OF" and context.trace_id == own.trace_id:
            parent = context
        elif context != parent:
            links.append(RecordedLink(context, {}))
    return parent, tuple(links)


def _resource_of(raw: dict[str, Any], resources: dict[str, RecordedResource]) -> RecordedResource:
    if raw.get("process"):  # Jaeger's search index keeps it in the span
        return _resource(raw["process"])
    return resources.get(as_text(raw.get("processID")) or "", _NO_RESOURCE)


def _resource(raw: Any) -> RecordedResource:
    process = as_object(raw)
    attributes = _tags(process.get("tags"))
    name = as_text(process.get("serviceName"))
    if name is not None and name != _NO_SERVICE_NAME:
        attributes[_SERVICE_NAME] = name
    return RecordedResource(attributes)


def _status(tags: dict[str, Any]) -> RecordedStatus:
    """Take the status out of the tags. A true ``error`` tag alone is how OpenTracing says it."""
    failed = tags.get(_ERROR) in (True, "true")
    if failed:
        del tags[_ERROR]
    code, description = as_text(tags.pop(_STATUS_CODE, None)), as_text(tags.pop(_STATUS_DESCRIPTION, None))
    known = _CODES.get((code or "").upper(), UNSET)
    return RecordedStatus(ERROR if failed and known is UNSET else known, description)


def _scope(tags: dict[str, Any]) -> RecordedScope | None:
    name, version = _first_popped(tags, _SCOPE_NAMES), _first_popped(tags, _SCOPE_VERSIONS)
    return None if name is None and version is None else RecordedScope(name or "", version)


def _first_popped(tags: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    found: str | None = None
    for key in keys:
        value = as_text(tags.pop(key, None))
        found = value if found is None else found
    return found


def _events(logs: Any) -> tuple[RecordedEvent, ...]:
    found: list[RecordedEvent] = []
    for log in objects_in(logs):
        fields = _tags(log.get("fields"))
        name = as_text(fields.pop(_EVENT_NAME, None)) or ""
        found.append(RecordedEvent(name, (whole(log.get("timestamp")) or 0) * 1000, fields))
    return tuple(found)


def _tags(raw: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for tag in objects_in(raw):
        key = as_text(tag.get("key"))
        if key is not None:
            found[key] = _value(tag.get("type"), tag.get("value"))
    return found


def _value(kind: Any, value: Any) -> Any:
    """Read a tag by its type: int64 may be a string (JavaScript's numbers are too short for it), binary is base64."""
    if kind == "int64":
        return whole(value)
    if kind == "float64":
        return _float(value)
    if kind == "bool":
        return value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value))
    if kind == "binary":
        return binary(value)
    return value if isinstance(value, (str, bool, int, float)) else None


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


_NO_RESOURCE: Final = RecordedResource({})
