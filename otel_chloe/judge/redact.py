"""Redaction: no key, token, password, card number, e-mail address or phone number of a run leaves the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import named
from .digits import only_digits
from .named import Kind
from .private import found


class Redactor:
    """Puts a placeholder in the place of each secret: ``<email-1>`` is the same address wherever it stands.

    One for each run: the same secret has the same number within one redactor, and it remembers what it has seen.

    Args:
        extra: A function of the user's that gets each text after that and gives what may be shown of it. A text for
            which it raises, or gives anything but a text, is withheld whole: ``<withheld>`` stands for it.
    """

    __slots__ = ("_extra", "_numbers", "withheld")

    def __init__(self, extra: Callable[[str], str] | None = None) -> None:
        self._extra = extra
        self._numbers: dict[Kind, dict[str, int]] = {}
        self.withheld = 0
        """How many texts the user's function failed on."""

    def text(self, value: str) -> str:
        """``value`` with placeholders for what is not to be shown. Never raises, whatever ``extra`` does."""
        return self._own("".join(self._parts(value)) if len(value) > 4 else value)

    def field(self, name: str, value: str) -> str:
        """The same for a field's value, whose name may tell that it is a secret: ``{"password": "hunter2"}``."""
        if named.is_secret_name(name):
            span = named.whole_value(value)
            if span is not None:
                return self._own(value[: span[0]] + self._placeholder("secret", value[span[0] :]))
        elif named.is_phone_name(name) and 5 <= len(only_digits(value)) <= 15 and len(value) <= 24:
            return self._own(self._placeholder("phone", value))
        return self.text(value)

    def _parts(self, value: str) -> Iterator[str]:
        at = 0
        for start, end, kind in found(value):
            yield value[at:start]
            yield self._placeholder(kind, value[start:end])
            at = end
        yield value[at:]

    def _placeholder(self, kind: Kind, value: str) -> str:
        if kind == "email":
            value = value.casefold()
        elif kind != "secret":
            value = only_digits(value) or value
        numbers = self._numbers.setdefault(kind, {})
        return f"<{kind}-{numbers.setdefault(value, len(numbers) + 1)}>"

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
