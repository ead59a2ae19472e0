"""Cuts the middle out of a text, and redacts what is left of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from . import named
from .plain import Plain, Room, plain
from .redact import Redactor
from .room import cost, cost_at_least, ends, starts

MARK: Final = 14
"""Tokens that a mark takes."""
KEY: Final = 60
"""Tokens of a field's name at most."""
A_CARD: Final = 10**11
"""No card's number is smaller."""
TRIES: Final = 6
VALUES: Final = 2_000
"""Values in a structure that stands where a text should."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HOLDERS: Final = frozenset({"value", "values", "data", "raw", "content"})
_NAMERS: Final = ("name", "key", "header", "field")


@dataclass(slots=True)
class Clipper:
    """Shows texts and values in so many tokens; counts the characters that it cut."""

    redactor: Redactor
    cut: int = 0

    def text(self, text: str, tokens: int, name: str | None = None) -> str:
        """``text``, redacted, in ``tokens`` at most, but for the mark; ``name`` is its field's, where it is one's."""
        if 2 * len(text) <= tokens or cost_at_least(text, tokens) <= tokens:
            shown = sound(self.redactor.text(text) if name is None else self.redactor.field(name, text))
            if 2 * len(shown) <= tokens or cost(shown) <= max(tokens, MARK):  # a mark would save nothing
                return shown
        elif name is not None and named.kind_of_field(name) == "secret":
            return self.redactor.field(name, text)
        return self._middle_cut(text, tokens)

    def value(self, value: Plain, tokens: int, name: str | None = None) -> Plain:
        """``value`` with each text in it, keys included, in ``tokens`` at most."""
        if type(value) is str:
            return self.text(value, tokens, name)
        if isinstance(value, dict):
            return self._mapping(value, tokens, name)
        if isinstance(value, list):
            return [self.value(item, tokens, name) for item in value]
        return self._number(value, name) if type(value) is int else value

    def _mapping(self, value: dict[str, Plain], tokens: int, name: str | None) -> Plain:
        shown: dict[str, Plain] = {}
        for key, item in value.items():
            inner = _whose(value) or name or key if key in _HOLDERS else key
            written = self.redactor.text(key) if len(key) < MARK else self.text(key, KEY)
            while written in shown:  # two addresses in one spelling, or two keys cut alike
                written += "'"
            shown[written] = self.value(item, tokens, inner)
        return shown

    def _number(self, value: int, name: str | None) -> Plain:
        """A number may be a card's, or by its name a phone's or a password."""
        if -A_CARD < value < A_CARD and (name is None or named.kind_of_field(name) is None):
            return value
        written = str(value)
        shown = self.redactor.text(written) if name is None else self.redactor.field(name, written)
        return value if shown == written else shown

    def _middle_cut(self, text: str, tokens: int) -> str:
        """Start and end in equal parts, cut between words where there are some."""
        room = tokens - MARK
        for _ in range(TRIES):
            if room < 4:
                break
            start = _word_end(text, starts(text, room // 2))
            end = max(start, _word_start(text, ends(text, room - room // 2)))
            shown = (
                self.redactor.part(text, 0, start)
                + mark(end - start, "characters")
                + self.redactor.part(text, end, len(text))
            )
            shown = sound(shown)
            if (taken := cost(shown)) <= tokens:
                self.cut += end - start
                return shown
            room = room * tokens // taken - 2
        self.cut += len(text)
        return mark(len(text), "characters")


def sound(text: str) -> str:
    """Half a surrogate pair cannot be sent anywhere."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def as_text(value: Any) -> str | None:
    """What should be a text, whatever it is."""
    if value is None or type(value) is str:
        return value
    taken = plain(value, Room(VALUES))
    return taken if isinstance(taken, str) else json.dumps(taken, ensure_ascii=False)


def _whose(fields: dict[str, Plain]) -> str | None:
    """The name in ``{"name": "password", "value": "hunter2"}``."""
    for key in _NAMERS:
        name = fields.get(key)
        if isinstance(name, str):
            return name
    return None


def mark(count: int, what: str) -> str:
    """What stands in the place of what was cut."""
    return f"[… {count:,} {what} cut …]"


def _word_end(text: str, at: int) -> int:
    """``at``, or where the word before it ended, if that is near."""
    near = max(text.rfind(" ", at - 40, at), text.rfind("\n", at - 40, at)) if at > 80 else -1
    return at if near < 0 else near + 1


def _word_start(text: str, at: int) -> int:
    if len(text) - at <= 80:
        return at
    near = [found for found in (text.find(" ", at, at + 40), text.find("\n", at, at + 40)) if found >= 0]
    return min(near) if near else at
