"""Redaction: no key, token, password, card number, e-mail address or phone number of a run leaves the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import named
from .digits import only_digits
from .named import Kind
from .private import LONGEST, OVERLAP, found

SHORTEST: Final = 18
"""Characters of the shortest secret that is one word of letters and digits."""
AROUND: Final = 512
"""Characters around a part that are looked at. It reaches back farther within one word, and to where a key begins."""


class Redactor:
    """Puts a placeholder in the place of each secret: ``<email-1>`` is the same address wherever it stands.

    One for each run: the same secret has the same number within one redactor, and it remembers what it has seen.

    Args:
        extra: A function of the user's that gets each text after that and gives what may be shown of it. A text for
            which it raises, or gives anything but a text, is withheld whole: ``<withheld>`` stands for it.
    """

    __slots__ = ("_extra", "_numbers", "_written", "withheld")

    def __init__(self, extra: Callable[[str], str] | None = None) -> None:
        self._extra = extra
        self._numbers: dict[Kind, dict[str, int]] = {}
        self._written: dict[tuple[Kind, str], str] = {}
        """The placeholders by what they stand for, as it was spelt."""
        self.withheld = 0
        """How many texts the user's function failed on."""

    def text(self, value: str) -> str:
        """``value`` with placeholders for what is not to be shown. Never raises, whatever ``extra`` does."""
        if len(value) < SHORTEST and value.isidentifier():
            return value if self._extra is None else self._own(value)
        return self._own(self._shown(value, 0, len(value)))

    def field(self, name: str, value: str) -> str:
        """The same for a field's value, whose name may tell that it is a secret: ``{"password": "hunter2"}``."""
        kind = named.kind_of_field(name)
        if kind == "secret":
            span = named.whole_value(value)
            if span is not None:
                return self._own(value[: span[0]] + self._placeholder("secret", value[span[0] :]))
        elif kind == "phone" and 5 <= len(only_digits(value)) <= 15 and len(value) <= 24:
            return self._own(self._placeholder("phone", value))
        return self.text(value)

    def part(self, value: str, start: int, end: int) -> str:
        """``value[start:end]``, where a secret that the cut goes through is replaced like any other.

        What stands around the part is looked at too: the name of a password may stand before it.
        """
        first = _context_start(value, start)
        around = value[first : min(end + AROUND, len(value))]
        return self._own(self._shown(around, start - first, end - first))

    def _shown(self, value: str, start: int, end: int) -> str:
        parts: list[str] = []
        at, known = start, self._written
        for begin, stop, kind in found(value):
            if stop <= start:
                continue
            if begin >= end:
                break
            hidden = value[begin:stop]
            parts += value[at:begin], known.get((kind, hidden)) or self._placeholder(kind, hidden)
            at = stop
        if not parts:
            return value[start:end]
        parts.append(value[at:end])
        return "".join(parts)

    def _placeholder(self, kind: Kind, value: str) -> str:
        same = value
        if kind == "email":
            same = value.casefold()
        elif kind != "secret":
            same = only_digits(value) or value
        numbers = self._numbers.setdefault(kind, {})
        written = self._written[kind, value] = f"<{kind}-{numbers.setdefault(same, len(numbers) + 1)}>"
        return written

    def _own(self, value: str) -> str:
        """What the user's function leaves of it."""
        if self._extra is None:
            return value
        try:
            shown = self._extra(value)
        except Exception:  # noqa: BLE001 - whatever it raises, the text must not go out raw
            shown = None
        if isinstance(shown, str):  # pyright: ignore[reportUnnecessaryIsInstance] - it is the user's
            return shown
        self.withheld += 1
        return named.WITHHELD


def _context_start(value: str, start: int) -> int:
    near = max(0, start - AROUND)
    far = max(0, start - OVERLAP)
    if far < near:
        near = max(value.rfind(" ", far, near), value.rfind("\n", far, near), far)
    key = value.rfind("-----BEGIN", max(0, start - LONGEST), near)
    return near if key < 0 else key
