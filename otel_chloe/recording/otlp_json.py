"""OTLP/JSON: the spans of an ExportTraceServiceRequest that a JSON parser has read.

Tempo's exports are read here too: they differ only in the names around the spans and in base64 ids.
"""

from __future__ import annotations

from typing import Any, Final

from .problems import Problems
from .span import (
    CLIENT,
    CONSUMER,
    ERROR,
    INTERNAL,
    OK,
    PRODUCER,
    SERVER,
    UNSET,
    Direct,
    Found,
    Numbered,
    RecordedContext,
    RecordedResource,
    RecordedScope,
    RecordedSpan,
    RecordedStatus,
    is_remote,
)
from .values import as_list, as_object, as_text, attributes_of, camel_keys, hex_id, identifier, objects_in, whole

_SCOPE_SPANS: Final = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
_ODD: Final = (KeyError, TypeError, ValueError, OverflowError)  # the last: an infinite time
_SCOPE: Final = ("scope", "instrumentationLibrary", "instrumentation_library")


class OtlpJson:
    """Reads the spans of requests, one after the other.

    The lines of a recording repeat their resource and scope: the last ones are kept, so that spans share them.
    ``direct`` is asked first for each span.
    """

    __slots__ = ("_direct", "_problems", "_raw_resource", "_raw_scope", "_resource", "_scope")

    def __init__(self, problems: Problems, direct: Direct) -> None:
        self._problems = problems
        self._direct = direct
        self._raw_resource: Any = None
        self._resource = RecordedResource({})
        self._raw_scope: Any = None
        self._scope: RecordedScope | None = None

    def spans(self, groups: Any) -> list[Found]:
        """Read a list of ResourceSpans. What is not readable is reported, and the rest still counts."""
        found: list[Found] = []
        for group in groups if groups.__class__ is list else self._odd("resourceSpans"):
            if group.__class__ is dict:
                self._read(group, found)
            else:
                self._odd("resourceSpans")
        return found

    def _read(self, group: dict[str, Any], found: list[Found]) -> None:
        direct = self._direct
        resource = self._resource_of(group.get("resource"))
        for scoped in self._objects(group.get("scopeSpans") or first_of(group, _SCOPE_SPANS), "scopeSpans"):
            scope = self._scope_of(scoped.get("scope") or first_of(scoped, _SCOPE))
            for raw in self._objects(scoped.get("spans"), "spans"):
                try:
                    found.append(direct(raw, resource, scope) or _span(raw, resource, scope))
                except _ODD:  # noqa: PERF203  # a try costs nothing since 3.11
                    self._read_with_care(raw, resource, scope, found)

    def _read_with_care(
        self, raw: dict[str, Any], resource: RecordedResource, scope: RecordedScope | None, found: list[Found]
    ) -> None:
        repaired = _repaired(raw)
        if repaired["traceId"] and repaired["spanId"]:
            found.append(_span(repaired, resource, scope))
        else:
            self._refuse(raw, repaired)

    def _objects(self, values: Any, name: str) -> list[Any]:
        if values.__class__ is list:
            for value in values:
                if value.__class__ is not dict:
                    break
            else:
                return values
        return [] if values is None else self._odd(name, values)

    def _odd(self, name: str, values: Any = None) -> list[dict[str, Any]]:
        self._problems.add(
            f"{name} is not a list of objects", "That part is skipped. Expected OTLP/JSON as its encoding says."
        )
        return objects_in(values)

    def _resource_of(self, raw: Any) -> RecordedResource:
        if raw is not self._raw_resource and raw != self._raw_resource:
            self._raw_resource = raw
            self._resource = RecordedResource(attributes_of(as_object(raw).get("attributes")))
        return self._resource

    def _scope_of(self, raw: Any) -> RecordedScope | None:
        if raw != self._raw_scope:
            self._raw_scope = raw
            self._scope = _scope(raw)
        return self._scope

    def _refuse(self, raw: dict[str, Any], repaired: dict[str, Any]) -> None:
        which, digits = ("span", 16) if repaired["traceId"] else ("trace", 32)
        value = first_of(raw, (f"{which}Id", f"{which}_id"))
        self._problems.add(
            f"a span has no usable {which} id",
            f"The span {shown(raw.get('name'))} is skipped; its id is {shown(value)}. Expected {digits} hex digits.",
        )


def _span(raw: dict[str, Any], resource: RecordedResource, scope: RecordedScope | None) -> RecordedSpan:
    """Read a span as the standard writes it; raises one of _ODD where it differs.

    All that most spans do not need is left to _repaired: this runs for every span of a recording.
    """
    get = raw.get
    trace_id = hex_id(raw["traceId"], 32)
    parent_id, status, name, flags = get("parentSpanId"), get("status"), raw["name"], get("flags")
    if name.__class__ is not str:
        raise TypeError(name)
    return RecordedSpan(
        name,
        RecordedContext(trace_id, hex_id(raw["spanId"], 16)),
        RecordedContext(trace_id, hex_id(parent_id, 16), is_remote(flags) if flags else False) if parent_id else None,
        int(raw["startTimeUnixNano"]) or None,
        int(raw["endTimeUnixNano"]) or None,
        attributes_of(get("attributes")),
        status_of(status) if status else _NO_STATUS,
        _KINDS.get(get("kind"), INTERNAL),
        scope,
        resource,
        int(get("droppedAttributesCount") or 0),
        get("events") or (),
        get("links") or (),
    )


def _repaired(raw: dict[str, Any]) -> dict[str, Any]:
    """Spell a span as the standard does: its keys, ids and numbers. An id that is not usable is ""."""
    fixed = camel_keys(raw)
    for key, size in _IDS:
        number = identifier(fixed.get(key), size)
        fixed[key] = f"{number:0{2 * size}x}" if number else ""
    for key in _NUMBERS:
        fixed[key] = whole(fixed.get(key)) or 0
    for key in _LISTS:
        fixed[key] = as_list(fixed.get(key))
    fixed["name"] = as_text(fixed.get("name")) or ""
    fixed["kind"] = fixed["kind"] if isinstance(fixed.get("kind"), (int, str)) else 0
    return fixed


_IDS: Final = (("traceId", 16), ("spanId", 8), ("parentSpanId", 8))
_NUMBERS: Final = ("startTimeUnixNano", "endTimeUnixNano", "droppedAttributesCount", "flags")
_LISTS: Final = ("events", "links")


def first_of(raw: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Take the field that stands under one of its historical names."""
    for name in names:
        value = raw.get(name)
        if value is not None:
            return value
    return None


def kind_of(value: Any) -> Numbered:
    """Read a span kind, by OTLP's number (the API's plus one) or its name."""
    return _KINDS.get(value, INTERNAL) if isinstance(value, (int, str)) else INTERNAL


def status_of(raw: Any) -> RecordedStatus:
    """Read a status, its code by number or name."""
    status = as_object(raw)
    code, message = status.get("code"), as_text(status.get("message"))
    known = _CODES.get(code, UNSET) if isinstance(code, (int, str)) else UNSET
    return RecordedStatus(known, message) if message else _STATUSES[known]


def _scope(raw: Any) -> RecordedScope | None:
    if not isinstance(raw, dict):
        return None
    scope = as_object(raw)
    return RecordedScope(as_text(scope.get("name")) or "", as_text(scope.get("version")))


def shown(value: Any) -> str:
    """Show a value of a recording in a message: short, whatever it is."""
    text = (
        ascii(value) if isinstance(value, (str, int, float)) else "missing" if value is None else type(value).__name__
    )
    return text if len(text) <= 60 else text[:57] + "..."


_KINDS: Final[dict[Any, Numbered]] = {}
for _number, _kind in enumerate((INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER), start=1):
    for _spelling in (_number, str(_number), f"SPAN_KIND_{_kind.name}", _kind.name, _kind.name.lower()):
        _KINDS[_spelling] = _kind

_CODES: Final[dict[int | str, Numbered]] = {}
for _number, _code in enumerate((UNSET, OK, ERROR)):
    for _spelling in (_number, str(_number), f"STATUS_CODE_{_code.name}", _code.name, _code.name.capitalize()):
        _CODES[_spelling] = _code

_STATUSES: Final = {code: RecordedStatus(code) for code in (UNSET, OK, ERROR)}
_NO_STATUS: Final = _STATUSES[UNSET]
