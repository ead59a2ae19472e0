"""OTLP's scalar fields and AnyValue, read from JSON: ids, times, enums and attribute values as Python ones.

Tolerant on purpose: what cannot be read is None (or 0 for an id) and never an exception, because one strange value must
not cost the span it stands on.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, Final


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
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]  # JSON is Any


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
                number = value["intValue"]
                found[pair["key"]] = int(number) if number.__class__ is str else whole(number)
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
    """Read one AnyValue: an empty or unreadable one is None."""
    kind, value = _one_of(raw)
    if kind == "arrayValue" and (texts := _texts(value)) is not None:
        return texts
    return _nested(kind, value) if kind in _NESTED else _scalar(kind, value)


def _texts(value: Any) -> list[str] | None:
    """Read a list of texts, as most lists are; None where it is something else."""
    try:
        texts = [child["stringValue"] for child in value["values"]]
        "".join(texts)
    except (KeyError, TypeError):
        return None
    return texts


def _nested(kind: str, value: Any) -> Any:
    """Read a list or a map. A loop, not recursion: the depth is the sender's."""
    top: Any = _NESTED[kind]()
    todo: list[tuple[Any, Any]] = [(top, value)]
    while todo:
        holder, value = todo.pop()
        for child in as_list(as_object(value).get("values")):
            is_map = holder.__class__ is dict
            kind, value = _one_of(as_object(child).get("value") if is_map else child)
            made: Any = _NESTED[kind]() if kind in _NESTED else _scalar(kind, value)
            if kind in _NESTED:
                todo.append((made, value))
            if not is_map:
                holder.append(made)
            elif (key := as_text(as_object(child).get("key", ""))) is not None:
                holder[key] = made
    return top


def _one_of(raw: Any) -> tuple[str, Any]:
    """Take the field of an AnyValue that is set; ("", None) where none is."""
    if raw.__class__ is dict:
        for kind, value in raw.items():
            if value is not None:
                return kind, value
    return "", None


def _scalar(kind: str, value: Any) -> Any:
    try:
        return _SCALARS[kind](value)
    except (KeyError, ValueError, TypeError, OverflowError):
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

# Each in both spellings: some senders keep the proto's own.
_SCALARS: Final[dict[str, Callable[[Any], Any]]] = {
    "stringValue": as_text,
    "string_value": as_text,
    "intValue": whole,
    "int_value": whole,
    "boolValue": _boolean,
    "bool_value": _boolean,
    "doubleValue": _double,
    "double_value": _double,
    "bytesValue": binary,
    "bytes_value": binary,
}

_NESTED: Final[dict[str, type[list[Any] | dict[str, Any]]]] = {
    "arrayValue": list,
    "array_value": list,
    "kvlistValue": dict,
    "kvlist_value": dict,
}


def camel_keys(raw: dict[str, Any]) -> dict[str, Any]:
    """Spell the keys of one object in camelCase, for senders that keep the proto's own snake_case."""
    return {_camel(key): value for key, value in raw.items()}


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
