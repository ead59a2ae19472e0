"""Any value that a tool was given or gave, as what JSON can hold, whatever it is and however large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, TypeAlias, cast

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

DEEPEST: Final = 24
LONGEST_NUMBER: Final = 1_000
"""Bits of an integer, above which only its size is shown: Python refuses to write very long ones."""


@dataclass(slots=True)
class Room:
    """How many values may still be taken over, and how many were not."""

    left: int
    cut: int = 0
    size: int = 0
    """Characters of what was taken over, about."""
    above: list[int] = field(default_factory=list[int])
    """The containers around the value at hand, by id: one that contains itself has no end."""


def plain(value: object, room: Room) -> Plain:
    """``value`` for JSON: mappings, lists, texts, numbers; anything else as its ``repr``. Never raises.

    Long texts stay whole, and are not copied. Of a list or mapping that is longer than the room, the middle is cut,
    and the mark says how many items.
    """
    kind = type(value)
    room.left -= 1
    if kind is str:
        text = cast("str", value)
        room.size += len(text) + 2
        return text
    room.size += 8
    if kind is dict or kind is list:
        return _container(value, room)
    if value is None or kind is bool:
        return cast("Plain", value)
    if kind is float and isfinite(cast("float", value)):
        return cast("float", value)
    try:
        return _integer(cast("int", value), room) if kind is int else _odd(value, room)
    except Exception:  # noqa: BLE001 - any object of the user's may raise anything when it is looked at
        return f"(a {kind.__name__} that cannot be shown)"


def _integer(value: int, room: Room) -> Plain:
    if value.bit_length() > LONGEST_NUMBER:
        return f"(an integer of {value.bit_length():,} bits)"
    room.size += value.bit_length() // 3
    return value


def _odd(value: Any, room: Room) -> Plain:
    """What is neither of JSON's own types."""
    if isinstance(value, (list, tuple, Mapping, set, frozenset)):
        return _container(value, room)
    if isinstance(value, int):
        return _integer(int(value), room)
    if isinstance(value, float):
        return float(value) if isfinite(value) else str(float(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return plain(_bytes(bytes(cast("bytes", value))), room)
    return plain(str.__str__(value) if isinstance(value, str) else str(repr(value)), room)


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"({len(value):,} bytes)"


def _container(value: Any, room: Room) -> Plain:
    if id(value) in room.above:
        return "(itself again)"
    if len(room.above) >= DEEPEST:
        room.cut += 1
        return "[… nested deeper …]"
    room.above.append(id(value))
    try:
        shown = _mapping if isinstance(value, Mapping) else _list
        return shown(value, room)
    finally:
        room.above.pop()


def _mapping(value: Any, room: Room) -> Plain:
    shown: dict[str, Plain] = {}
    before, cut, _ = _kept(len(value), room)
    keys: list[object] = list(value)
    for key in keys[:before]:
        if type(key) is str:
            room.size += len(key) + 4
            shown[key] = plain(value[key], room)
        else:
            shown[_key(key, room)] = plain(value[key], room)
    if cut:
        shown[f"[… {cut:,} items cut …]"] = None
        for key in keys[before + cut :]:
            shown[_key(key, room)] = plain(value[key], room)
    return shown


def _list(value: Any, room: Room) -> Plain:
    items: list[object] = list(value)
    before, cut, after = _kept(len(items), room)
    shown = [plain(item, room) for item in items[:before]]
    if cut:
        shown.append(f"[… {cut:,} items cut …]")
        shown += [plain(item, room) for item in items[len(items) - after :]]
    return shown


def _kept(length: int, room: Room) -> tuple[int, int, int]:
    """How many items at the start, cut, and at the end. One at least, so that one sees what kind they are."""
    most = max(room.left, 2)
    if length <= most:
        return length, 0, 0
    before = (most + 1) // 2
    after = most - before
    room.cut += length - before - after
    return before, length - before - after, after


def _key(key: object, room: Room) -> str:
    written = str.__str__(key) if isinstance(key, str) else repr(key)
    room.size += len(written) + 4
    return written
