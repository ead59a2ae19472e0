"""What is whole of JSON that was cut: everything before the cut, in containers that say that they were not closed."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, Final


class CutObject(dict[str, Any]):
    """An object that the cut left open: more may have stood in it."""


class CutList(list[Any]):
    """A list that the cut left open: more may have stood in it."""


CUT_TYPES: Final = (CutObject, CutList)

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_SCALAR: Final = re.compile(r"(?:true|false|null|-?\d[\d.eE+-]*)(?=[ \t\r\n]*[,\]}])")
_MOST_LEVELS: Final = 200


class _EndError(Exception):
    """Nothing more is whole."""


def salvaged(text: str) -> CutObject | CutList | None:
    """Read a text that begins as JSON does, and ends before it is over; None where nothing of it is whole.

    A loop, not recursion: the depth is the sender's, and what is deeper than 200 levels counts as cut. A string,
    number or key that may go on after the cut is left out. Nothing is ever added.
    """
    reading = _Reading(text)
    with suppress(_EndError, ValueError):
        reading.values()
    return reading.top


class _Reading:
    """Takes one value after the other. Containers that are open are of the types that say so; closed ones are not."""

    __slots__ = ("at", "keys", "open", "text", "top")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[Any] = []
        self.keys: list[str | None] = []
        self.top: CutObject | CutList | None = None

    def values(self) -> None:
        while True:
            self._skip()
            char = self._char()
            if char in "}]":
                self._close(char)
                continue
            if self.open and len(self.open[-1]):
                self._expect(",")
            if self.open and self.keys[-1] is not None:
                self.keys[-1] = self._key()
            self._value()

    def _char(self) -> str:
        if self.at >= len(self.text):
            raise _EndError
        return self.text[self.at]

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _expect(self, char: str) -> None:
        self._skip()
        if self._char() != char:
            raise _EndError
        self.at += 1
        self._skip()

    def _key(self) -> str:
        if self._char() != '"':
            raise _EndError
        key = self._string()
        self._expect(":")
        return key

    def _string(self) -> str:
        """A whole string. Raises ValueError where it is cut."""
        found: str
        found, self.at = _scan(self.text, self.at + 1, True)
        return found

    def _value(self) -> None:
        char = self._char()
        if char in "{[":
            if len(self.open) >= _MOST_LEVELS:
                raise _EndError
            held: Any = CutObject() if char == "{" else CutList()
            self.at += 1
            self._put(held)
            self.open.append(held)
            self.keys.append("" if char == "{" else None)
        elif char == '"':
            self._put(self._string())
        else:
            scalar = _SCALAR.match(self.text, self.at)
            if scalar is None or not self.open:
                raise _EndError
            self.at = scalar.end()
            self._put(json.loads(scalar.group()))

    def _put(self, value: Any) -> None:
        if not self.open:
            if not isinstance(value, CUT_TYPES):
                raise _EndError
            self.top = value
        elif (key := self.keys[-1]) is not None:
            self.open[-1][key] = value
        else:
            self.open[-1].append(value)

    def _close(self, char: str) -> None:
        """Have what was open be a plain container where it stands. Closing the outermost one would be no cut."""
        held = self.open[-1] if len(self.open) > 1 else None
        if held is None or isinstance(held, CutObject) != (char == "}"):
            raise _EndError
        self.open.pop()
        self.keys.pop()
        self.at += 1
        above = self.open[-1]
        whole: Any = dict(held) if char == "}" else list(held)
        if (key := self.keys[-1]) is not None:
            above[key] = whole
        else:
            above[-1] = whole


_scan: Final[Any] = json.decoder.scanstring  # type: ignore[attr-defined]  # json's own, at C's speed; not in its stubs
