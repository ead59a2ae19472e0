"""Values as instrumentations write them: JSON in strings, Python reprs, wrapped arguments and results."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

MAX_TEXT: Final = 8 * 1024 * 1024
"""Longer values are not parsed; they are only referred to."""


_decode: Final = json.JSONDecoder().raw_decode


def _loads(value: str) -> Any:
    """What json.loads gives, at half its cost where nothing stands around the value."""
    try:
        found, end = _decode(value)
    except ValueError:
        return json.loads(value)
    return found if end == len(value) else json.loads(value)


class Cut:
    """The value was not whole: it starts like JSON and does not parse."""


CUT: Final = Cut()


def parsed(value: object) -> Any:
    """The structure behind a value: JSON text is parsed, other values are as they are, CUT where JSON is broken."""
    if not isinstance(value, str):
        return value
    head = value[:64].lstrip()[:1]
    if head not in ("{", "[", '"') or len(value) > MAX_TEXT:
        return value
    try:
        return _loads(value)
    except (ValueError, RecursionError):
        return CUT if head in "{[" and looks_like_json(value) else value


_BEGUN: Final = re.compile(r'\s*[\[{][\s\[{]*(?:"|\Z)')


def looks_like_json(value: str) -> bool:
    """Whether a text that does not parse was once JSON, and not a Python repr or a sentence in brackets."""
    return _BEGUN.match(value) is not None


def structure(value: object) -> Any:
    """As :func:`parsed`, where a structure is expected: one that was encoded twice, or printed by Python, is one."""
    data = parsed(value)
    if not isinstance(data, str) or data[:1] not in ("{", "["):
        return data
    inner = parsed(data) if data is not value else data
    return literal(inner) if isinstance(inner, str) else inner


MOST_LEVELS: Final = 200


def too_deep(value: Any) -> bool:
    """Whether a value has more than 200 levels: then nothing can be said of it, for it cannot even be compared."""
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list, tuple))
            for inner in (each.values() if isinstance(each, dict) else each)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            if inner.__class__ is not str
        ]
        if not level:
            return False
    return True


_NO_MAPPINGS: Final = frozenset({str, type(None), list})


def mapping(value: Any) -> Mapping[str, Any] | None:
    """The value as a mapping with text keys, else None."""
    if value.__class__ is dict:  # nearly always, and far quicker to ask
        return value
    if value.__class__ in _NO_MAPPINGS:
        return None
    return value if isinstance(value, Mapping) else None  # pyright: ignore[reportUnknownVariableType]


def sequence(value: object) -> Sequence[Any] | None:
    """The value as a list or tuple, else None."""
    if isinstance(value, (list, tuple)):
        return cast("Sequence[Any]", value)
    return None


def text(value: object) -> str | None:
    """The value where it is a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


MAX_LITERAL: Final = 1024 * 1024
"""Longer texts are not read as Python: its parser takes a hundred times their memory."""
_QUOTED: Final = re.compile(r"""'(?:[^'\\\n]|\\[\\'"nrtxuU])*'|"(?:[^"\\\n]|\\[\\'"nrtxuU])*\"""")
_PLAIN: Final = re.compile(r"(?:[\s{}\[\](),:0-9.e+-]|None|True|False)*")


def literal(value: str) -> Any:
    """A Python repr of plain data as data; the text itself where it is not one.

    What holds anything but plain data is not given to Python's parser, which prints warnings of what it finds odd.
    """
    if (
        len(value) > MAX_LITERAL
        or value[:1] not in ("{", "[", "(", "'")
        or not _PLAIN.fullmatch(_QUOTED.sub("0", value))
    ):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return value


_REPR: Final = re.compile(r"^<?[A-Z]\w*(?:\(\w+=|\()[\w<'\"\[{]?|^<[\w.]+ object at 0x")


def is_repr(value: str) -> bool:
    """Whether a text is the Python repr of an object, not something that was said."""
    return _REPR.match(value[:200]) is not None and ("=" in value[:200] or value.startswith("<"))


_WRAPPER_KEYS: Final = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})


def arguments(value: object) -> Any:
    """A call's arguments: a mapping where they can be read as one, the text where not, None where there are none.

    Unwraps ``{"args": [], "kwargs": {...}}`` (decorators), and LangChain's ``{"input_str": "{'a': 1}"}``.
    """
    data = structure(value)
    if data is CUT:
        return None
    found = mapping(data)
    if found is None:
        return data if isinstance(data, str) else None
    return _unwrapped(found)


def _unwrapped(found: Mapping[str, Any]) -> Any:
    inner = found.get("input_str")
    if isinstance(inner, str) and ("inputs" not in found or set(found) > {"input_str", "tags"}):
        return arguments(inner)
    kwargs = mapping(found.get("kwargs"))
    if kwargs is not None and _WRAPPER_KEYS.issuperset(found):
        return kwargs if not found.get("args") else None
    return found


def result(value: object) -> Any:
    """A call's result without the envelope that a framework put round it (a LangChain ToolMessage, MCP blocks)."""
    data = parsed(value)
    if data is CUT:
        return value
    found = mapping(data)
    if found is None:
        inner = mapping(structure(data)) if isinstance(data, str) else None
        message = tool_message(inner) if inner is not None else None
        return message.get("content") if message is not None else data
    message = tool_message(found)
    return message.get("content") if message is not None else found


def tool_message(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The body of a serialized LangChain ToolMessage, wherever a serializer put it; None where it is none."""
    outer = mapping(found.get("output")) or found
    body = mapping(outer.get("data")) or mapping(outer.get("kwargs")) or outer
    return body if "content" in body and "tool_call_id" in body else None


def one_text(value: object) -> str | None:
    """The only text in a structured input: ``{"question": "..."}``, ``{"args": ["..."], "kwargs": {}}``."""
    if isinstance(value, str):
        return value if value and not is_repr(value) else None
    found = mapping(value)
    if found is None:
        return None
    values = [v for k, v in found.items() if k != "kwargs"] + list((mapping(found.get("kwargs")) or {}).values())
    flat: list[object] = []
    for item in values:
        inner = sequence(item)
        flat.extend([item] if inner is None else inner)
    texts = [v for v in flat if isinstance(v, str) and v]
    others = [v for v in flat if v is not None and not isinstance(v, (str, bool))]
    return texts[0] if len(texts) == 1 and not others and not is_repr(texts[0]) else None
