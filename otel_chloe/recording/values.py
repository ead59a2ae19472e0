"""OTLP's scalar fields and AnyValue, read from JSON: ids, times, enums and attribute values as Python ones.

Tolerant on purpose: what cannot be read is None (or 0 for an id) and never an exception, because one strange value must
not cost the span it stands on.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import Any, Final, cast


def identifier(value: Any, size: int) -> int:
    """Read a trace id (size 16) or span id (size 8), in hex of any case or in base64; 0 where there is none."""
    if value.__class__ is not str:
        return 0
    try:
        if value.endswith("="):  # 8 and 16 bytes always leave padding in base64, and hex never has any
            raw = base64.b64decode(value.translate(_URL_SAFE), validate=True)
            return int.from_bytes(raw, "big") if len(raw) == size else 0
        if len(value) > 2 * size:
            return 0
        return max(int(value, 16), 0)
    except ValueError:
        return 0


def as_object(value: Any) -> dict[str, Any]:
    """Take a JSON object; anything else is an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Take a JSON list; anything else is an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]  # JSON is Any


def as_text(value: Any) -> str | None:
    """Take a JSON string; anything else is None."""
    return value if isinstance(value, str) else None


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Take the objects of a JSON list, and leave out what else it holds."""
    return [element for element in as_list(value) if isinstance(element, dict)]


def hex_id(text: str, digits: int) -> int:
    """Read an id as the standard writes it. Raises TypeError or ValueError for everything else."""
    number = int(text, 16)
    if number <= 0 or len(text) != digits:
        raise ValueError(text)
    return number


def nanoseconds(value: Any) -> int | None:
    """Read a time. OTLP's 0 means unset."""
    return whole(value) or None


def whole(value: Any) -> int | None:
    """Read an integer, which OTLP/JSON writes as a string where it has 64 bits, and as a number elsewhere."""
    try:
        if value.__class__ is str or value.__class__ is int:
            return int(value)
        if value.__class__ is float and value.is_integer():
            return int(value)
    except ValueError:
        pass
    return None


def attributes_of(pairs: Any) -> dict[str, Any]:
    """Read a list of KeyValue. The loop is the hottest of the whole reader: strings and integers are taken inline."""
    found: dict[str, Any] = {}
    try:
        for pair in pairs or ():
            value = pair["value"]
            if "stringValue" in value:
                text = value["stringValue"]
                if text.__class__ is not str:
                    return _attributes_with_care(pairs)
                found[pair["key"]] = text
            elif "intValue" in value:
                found[pair["key"]] = int(value["intValue"])
            else:
                found[pair["key"]] = any_value(value)
        "".join(found)  # the quickest way to find a key that is no text: a TypeError
    except (KeyError, TypeError, ValueError):
        return _attributes_with_care(pairs)
    return found


def _attributes_with_care(pairs: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in objects_in(pairs):
        key = as_text(pair.get("key", ""))  # proto3 JSON leaves empty fields out
        if key is not None:
            found[key] = any_value(pair.get("value"))
    return found


def any_value(raw: Any) -> Any:
    """Read one AnyValue: an empty or unreadable one is None. A loop, not recursion: the depth is the sender's."""
    kind, value = _one_of(raw)
    if kind not in _NESTED:
        return _scalar(kind, value)
    top: list[Any] = [None]
    todo: list[tuple[Any, Any, Any]] = [(raw, top, 0)]
    while todo:
        raw, holder, place = todo.pop()
        kind, value = _one_of(raw)
        if kind not in _NESTED:
            holder[place] = _scalar(kind, value)
            continue
        inner: Any = [] if kind == "arrayValue" else {}
        holder[place] = inner
        for key, child in _children(value, kind):
            if kind == "arrayValue":
                inner.append(None)
            else:
                inner[key] = None  # taken now, so that the order is the sender's although the loop goes backwards
            todo.append((child, inner, key))
    return top[0]


_NESTED: Final = ("arrayValue", "kvlistValue")


def _children(value: Any, kind: str) -> Iterable[tuple[Any, Any]]:
    values = as_list(as_object(value).get("values"))
    if kind == "arrayValue":
        return enumerate(values)
    pairs = [(pair.get("key", ""), pair.get("value")) for pair in objects_in(values)]
    return [(key, child) for key, child in pairs if isinstance(key, str)]


def _one_of(raw: Any) -> tuple[str, Any]:
    """Take the field of an AnyValue that is set, in either spelling; ("", None) where none is."""
    for kind, value in as_object(raw).items():
        if value is not None:
            return _CAMEL.get(kind, kind), value
    return "", None


def _scalar(kind: str, value: Any) -> Any:
    read = _SCALARS.get(kind)
    if read is None:
        return None
    try:
        return read(value)
    except (ValueError, TypeError, OverflowError):
        return None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else {"true": True, "false": False}.get(value)


def _double(value: Any) -> float | None:
    # proto3 JSON writes "NaN" and "Infinity" as strings, which float() reads; Go writes 1.0 as 1
    return None if isinstance(value, bool) else float(value)


def binary(value: Any) -> bytes | None:
    """Read base64 in either alphabet, with or without its padding."""
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value.translate(_URL_SAFE) + "=" * (-len(value) % 4))
    except (binascii.Error, ValueError):
        return None


_URL_SAFE: Final = str.maketrans("-_", "+/")

_SCALARS: Final[dict[str, Callable[[Any], Any]]] = {
    "stringValue": as_text,
    "intValue": whole,
    "boolValue": _boolean,
    "doubleValue": _double,
    "bytesValue": binary,
}

_CAMEL: Final[dict[str, str]] = {
    "string_value": "stringValue",
    "int_value": "intValue",
    "bool_value": "boolValue",
    "double_value": "doubleValue",
    "bytes_value": "bytesValue",
    "array_value": "arrayValue",
    "kvlist_value": "kvlistValue",
}


def camel_keys(raw: dict[str, Any]) -> dict[str, Any]:
    """Spell the keys of one object in camelCase, for senders that keep the proto's own snake_case."""
    return {_camel(key): value for key, value in raw.items()}


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
