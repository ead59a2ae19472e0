"""The usual spans of an OTLP/JSON recording as parts at once: most spans are, and the step between costs more.

Where this gives a part, :func:`otel_chloe.conventions.read` would give the same of the whole span, but for the
attributes that no run needs.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Any, Final

from ..conventions import FINISH, OPERATION, READ_OF_USUAL, USUAL_READER, identify_usual, usual_kind
from ..part import AGENT, Kind, Part
from .otlp_json import kind_of, status_of
from .span import CLIENT, RecordedResource, RecordedScope, is_remote
from .values import any_value, hex_id

_ABSENT: Final = object()
_PART: Final = 1_000
"""The memory of a part without its texts, about."""


def usual_part(raw: dict[str, Any], resource: RecordedResource, scope: RecordedScope | None) -> Part | None:
    """Read a usual span, whose attributes are texts; None where it is not usual.

    Raises KeyError, TypeError, ValueError or OverflowError where it differs from the standard.
    """
    get = raw.get
    if scope is None or get("events") or get("links"):
        return None
    values = {pair["key"]: pair["value"] for pair in get("attributes") or ()}
    kind = usual_kind(_operation(values), values, scope.name)
    texts = _texts(values, kind) if kind is not None else None
    if kind is None or texts is None:
        return None
    name, parent_id, status = raw["name"], get("parentSpanId"), get("status")
    if name.__class__ is not str:
        raise TypeError(name)
    part = Part(
        kind,
        hex_id(raw["traceId"], 32),
        hex_id(raw["spanId"], 16),
        hex_id(parent_id, 16) if parent_id else None,
        int(raw["startTimeUnixNano"]),
        int(raw["endTimeUnixNano"]),
        0,
        name,
        scope.name,
        USUAL_READER,
        texts,
    )
    part.size = _PART + sum(map(getsizeof, texts.values()))
    part.resource = resource
    part.dropped = int(get("droppedAttributesCount") or 0)
    part.remote_parent = bool(parent_id) and is_remote(get("flags") or 0)
    if status:
        said = status_of(status)
        part.status, part.message = said.status_code.value, said.description
    identify_usual(part)
    part.client = kind is AGENT and kind_of(get("kind")) is CLIENT
    return part


def _operation(values: dict[str, Any]) -> Any:
    value: Any = values.get(OPERATION)
    return value.get("stringValue") if value.__class__ is dict else None


def _texts(values: dict[str, Any], kind: Kind) -> dict[str, Any] | None:
    """The attributes that are read of a usual span; None where one that should be a text is none."""
    texts: dict[str, Any] = {}
    for key in READ_OF_USUAL[kind]:
        value: Any = values.get(key, _ABSENT)
        if value is not _ABSENT:
            text = texts[key] = value.get("stringValue") if value.__class__ is dict else None
            if text.__class__ is not str:
                return None
    if FINISH in values:
        texts[FINISH] = any_value(values[FINISH])
    return texts
