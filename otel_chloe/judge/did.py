"""A run's calls as a judge reads them: an indented JSON list, one field a line, in a budget of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from otel_chloe.run import ToolCall

from .clip import Clipper, as_text
from .plain import Plain, Room, plain
from .redact import Redactor
from .room import cost, cost_at_least, level

A_CALL: Final = 96
"""Tokens below which a call is not worth showing: rather fewer calls."""
A_TEXT: Final = 24
"""Tokens below which a text is not."""
FRAME: Final = 28
"""Tokens of a call's own keys, brackets and number."""
NAME: Final = 60
"""Tokens of a tool's or agent's name at most."""
EDGE: Final = 3
"""Calls at the start and at the end whose texts get more room than others'."""
MORE: Final = 4
"""How much more; errors too."""
WIDEST: Final = 2
"""Tokens of a character at most."""
MOST_VALUES: Final = 20_000
ROUNDS: Final = 12

_written: Final = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Did:
    """The list, and in words what was cut from it."""

    text: str
    cut: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """One call that is shown; ``parts`` are its input, output and error, with texts that are still whole."""

    number: int
    call: ToolCall
    parts: dict[str, Plain]
    weight: int
    dropped: int
    """Items and levels that its structures lost."""
    size: int
    """Characters that it takes with nothing cut, about."""


class Calls:
    """The calls of one run, to be shown in whatever room there is."""

    __slots__ = ("_calls", "_keep", "_redactor", "_values", "entries")

    def __init__(self, made: Sequence[ToolCall], redactor: Redactor, tokens: int) -> None:
        """``tokens`` is the room at the very most: it decides how many calls are looked at."""
        self._calls = made
        self._redactor = redactor
        self._keep = max(3, tokens // A_CALL)
        self._values = max(64, min(MOST_VALUES, 8 * tokens // max(1, min(len(made), self._keep))))
        self.entries = self._chosen()

    def wanted(self) -> int:
        """Tokens that they take with nothing cut, about; where calls are left out, more than there are."""
        fixed, texts = self._measured()
        return (fixed + sum(want for want, _ in texts)) * 5 // 4 + 40

    def size(self) -> int:
        """Characters of the calls that are looked at, about; cheaper to know than :meth:`wanted`."""
        return sum(entry.size for entry in self.entries)

    def left_out(self) -> bool:
        return len(self.entries) < len(self._calls)

    def shown(self, tokens: int) -> Did:
        """The list in ``tokens``: long texts are cut first, then calls and items in the middle."""
        if WIDEST * self.size() <= tokens:
            did = self._written(tokens)
            if cost(did.text) <= tokens:
                return did
        room = tokens
        for _ in range(ROUNDS):
            fixed, texts = self._measured()
            limit = level(texts, room - fixed)
            if limit < A_TEXT and any(want > limit * weight for want, weight in texts) and self._fewer():
                continue
            did = self._written(limit)
            if (taken := cost(did.text)) <= tokens:
                return did
            room = room * tokens // taken - 8
            if room < fixed and not self._fewer():
                break
        count = len(self._calls)
        return Did(f'["[… {count:,} calls cut …]"]', (f"all {count:,} calls",))

    def _fewer(self) -> bool:
        """Takes fewer calls, and fewer items of each list, if there are any to leave out."""
        if len(self.entries) <= 3 and self._values <= 16:
            return False
        self._keep = max(3, min(self._keep, len(self.entries)) * 2 // 3)
        self._values = max(16, self._values // 2)
        self.entries = self._chosen()
        return True

    def _chosen(self) -> list[_Entry]:
        return [self._entry(index) for index in kept(self._calls, self._keep)]

    def _entry(self, index: int) -> _Entry:
        call = self._calls[index]
        room = Room(self._values)
        parts: dict[str, Plain] = {}
        if call.arguments is not None:
            parts["input"] = plain(call.arguments, room)
        if call.result is not None:
            room.left = self._values
            parts["output"] = plain(call.result, room)
        if call.error is not None:
            parts["error"] = error = as_text(call.error)
            room.size += len(error or "")
        edge = index < EDGE or index >= len(self._calls) - EDGE
        size = room.size + 4 * FRAME + sum(len(name) for name in _names(call) if name)
        return _Entry(index + 1, call, parts, MORE if edge else 1, room.cut, size)

    def _measured(self) -> tuple[int, list[tuple[int, int]]]:
        """Tokens of all but the texts, and of each text with its weight."""
        fixed = 8
        texts: list[tuple[int, int]] = []
        for entry in self.entries:
            fixed += FRAME + sum(min(NAME, cost_at_least(name, NAME)) for name in _names(entry.call) if name)
            for part, value in entry.parts.items():
                weight = entry.weight * (MORE if part == "error" else 1)
                for text in _texts(value):
                    if isinstance(text, int):
                        fixed += text
                    else:
                        texts.append((cost_at_least(text, 200_000) + 1, weight))
        return fixed, texts

    def _written(self, limit: int) -> Did:
        items: list[str] = []
        cuts = _Cuts()
        after = 0
        for entry in self.entries:
            if entry.number > after + 1:
                items.append(_left_out(after + 1, entry.number - 1))
                cuts.calls.append((after + 1, entry.number - 1))
            items.append(self._item(entry, limit, cuts))
            after = entry.number
        if after < len(self._calls):
            items.append(_left_out(after + 1, len(self._calls)))
            cuts.calls.append((after + 1, len(self._calls)))
        text = "[\n" + ",\n".join(items) + "\n]" if items else "[]"
        return Did(text, tuple(cuts.words(len(self._calls))))

    def _item(self, entry: _Entry, limit: int, cuts: _Cuts) -> str:
        clipper = Clipper(self._redactor)
        call = entry.call
        fields: dict[str, Plain] = {"number": entry.number}
        for key, name in zip(("tool", "agent"), _names(call), strict=True):
            if name is not None:
                fields[key] = clipper.text(name, NAME)
        if call.ok is False:
            fields["ok"] = False
        if call.ran is False:
            fields["ran"] = False
        for part, value in entry.parts.items():
            weight = entry.weight * (MORE if part == "error" else 1)
            before = clipper.cut
            fields[part] = clipper.value(value, limit * weight)
            if clipper.cut > before:
                cuts.texts.append((entry.number, part, clipper.cut - before))
        if entry.dropped:
            cuts.items.append((entry.number, entry.dropped))
        lines = [f'  "{key}": {_written(value)}' for key, value in fields.items()]
        return " {\n" + ",\n".join(lines) + "\n }"


class _Cuts:
    """What was cut from the list."""

    __slots__ = ("calls", "items", "texts")

    MOST: Final = 8

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []
        self.texts: list[tuple[int, str, int]] = []
        self.items: list[tuple[int, int]] = []

    def words(self, count: int) -> Iterator[str]:
        if self.calls:
            gone = sum(last - first + 1 for first, last in self.calls)
            where = ", ".join(f"{first:,} to {last:,}" for first, last in self.calls[: self.MOST])
            more = ", …" if len(self.calls) > self.MOST else ""
            yield f"{gone:,} of {count:,} calls ({where}{more})"
        if len(self.texts) <= self.MOST:
            for number, part, characters in self.texts:
                yield f"{characters:,} characters of call {number:,}'s {part}"
        else:
            gone = sum(cut for *_, cut in self.texts)
            yield f"{gone:,} characters in {len(self.texts):,} inputs, outputs and errors of calls"
        if len(self.items) <= self.MOST:
            for number, items in self.items:
                yield f"{items:,} items of call {number:,}"
        else:
            yield f"{sum(cut for _, cut in self.items):,} items in {len(self.items):,} calls"


def kept(made: Sequence[ToolCall], most: int) -> list[int]:
    """Which calls are shown: the first and the last, and between them those that failed, as far as there is room."""
    if len(made) <= most:
        return list(range(len(made)))
    edge = max(1, most // 3)
    failed = [index for index in range(edge, len(made) - edge) if _failed(made[index])]
    slots = most - 2 * edge
    if len(failed) > slots:
        failed = failed[: slots // 2] + failed[len(failed) - (slots - slots // 2) :]
    start = edge + slots - len(failed)
    return sorted({*range(start), *failed, *range(len(made) - edge, len(made))})


def _failed(call: ToolCall) -> bool:
    return call.error is not None or call.ok is False


def _names(call: ToolCall) -> tuple[str | None, str | None]:
    return as_text(call.name), as_text(call.agent)


def _left_out(first: int, last: int) -> str:
    what = f"call {first:,}" if first == last else f"calls {first:,} to {last:,}"
    return f' "[… {what} cut …]"'


def _texts(value: Plain) -> Iterator[str | int]:
    """The texts in a value, and the tokens of what is no text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield 3 + min(NAME, cost_at_least(key, NAME))
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield 1
            yield from _texts(item)
    else:
        yield cost(str(value)) + 1
