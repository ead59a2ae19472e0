"""JSON documents that go over many lines: one, several behind each other, or one that broke."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from .forms import JsonForms, is_item
from .json_text import NotJsonError, parsed
from .problems import ONE_A_LINE, Problems
from .span import Found

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")


@dataclass(slots=True)
class Document:
    """The lines of a document, and the number of the first one."""

    start: int
    lines: list[bytes]
    size: int

    def add(self, line: bytes) -> None:
        self.lines.append(line)
        self.size += len(line)


class _BrokenError(Exception):
    def __init__(self, at: int, what: str, detail: str) -> None:
        super().__init__(what)
        self.at = at
        self.what = what
        self.detail = detail


def document_spans(held: Document, forms: JsonForms, problems: Problems) -> Iterator[Found]:
    """Read what the held lines make together."""
    text = b"".join(held.lines)
    held.lines.clear()  # a document may be large: once is enough
    try:
        value = parsed(text)
    except NotJsonError:
        yield from _several(text, held.start, forms, problems)
    else:
        problems.place = held.start
        yield from forms.spans(value)


def _several(text: bytes, start: int, forms: JsonForms, problems: Problems) -> Iterator[Found]:
    """Read documents that follow each other; after a broken place, the lines that are whole requests by themselves."""
    position = 0
    try:
        decoded = _decoded(text)
        while (position := _after_space(decoded, position)) < len(decoded):
            problems.place = start + decoded.count("\n", 0, position)
            value, end = _next_document(decoded, position)
            yield from forms.spans(value)
            position = end
    except _BrokenError as broken:
        problems.place = start + text.count(b"\n", 0, broken.at)
        problems.add(
            broken.what,
            f"The JSON document cannot be read on from here: {broken.detail}. "
            f"{ONE_A_LINE}, or one whole document; was the file cut short?",
        )
        yield from _salvaged(text[position:], forms)


def _decoded(text: bytes) -> str:
    """Decode to a text whose positions are those of the bytes, which JSON's syntax allows: all of it is ASCII."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _BrokenError(error.start, "not UTF-8", f"byte {error.start + 1:,} of it") from None
    return text.decode("latin-1")


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _next_document(text: str, position: int) -> tuple[Any, int]:
    """Find the end of a document with json's decoder, which can tell it, and parse it as everything else."""
    try:
        _, end = _DECODER.raw_decode(text, position)
        return parsed(text[position:end].encode("latin-1")), end
    except json.JSONDecodeError as error:
        raise _BrokenError(error.pos, "not JSON", error.msg) from None
    except NotJsonError as error:
        raise _BrokenError(position, error.what, error.detail) from None
    except RecursionError:
        raise _BrokenError(position, "nested too deeply", "more than 200 levels") from None
    except ValueError:  # an integer of thousands of digits
        raise _BrokenError(position, "not JSON", "a number out of range") from None


def _salvaged(text: bytes, forms: JsonForms) -> Iterator[Found]:
    for line in text.splitlines():
        value = _item(line)
        if value is not None:
            yield from forms.spans(value)


def stands_alone(line: bytes) -> bool:
    """Tell whether a line is a whole request by itself."""
    return not line.rstrip().endswith(b",") and _item(line) is not None


def _item(line: bytes) -> Any:
    line = line.strip().removesuffix(b",")  # an element of a list
    if not (line.startswith(b"{") and line.endswith(b"}")):
        return None
    try:
        value = parsed(line)
    except NotJsonError:
        return None
    return value if is_item(value) else None
