"""Reads scores that people gave: CSV with a header, or JSON lines; one a row."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from ..errors import InputError
from ..expected import nearest
from ..recording.source import STANDARD_INPUT

COLUMNS: Final = (
    "trace_id", "span_id", "name", "score", "reason", "waits_for", "agent", "id", "key", "version", "revision",
    "end_ns", "file",
)  # fmt: skip
"""What a row may say: as ``pending`` prints it."""
NEEDED: Final = ("trace_id", "span_id", "name", "score")
_TOLD: Final = ("waits_for", "file")
"""For people, and not sent."""
_WHOLE: Final = ("revision", "end_ns")


class Row(NamedTuple):
    """One row: where it stands, and what it says as arguments of ``resolve``; or what is wrong with it."""

    place: str
    given: dict[str, Any]
    wrong: str | None = None

    @property
    def empty(self) -> bool:
        """Whether nobody has written a score yet."""
        return self.wrong is None and self.given.get("score") is None


def rows(path: str) -> Iterator[Row]:
    """Every row of a file, ``-`` for standard input. Raises InputError where it cannot be read at all."""
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        raw = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name}: not UTF-8. Save it as UTF-8.") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{name}: cannot be read ({why}).") from None
    begin = text.lstrip()[:1]
    if begin == "[":
        raise InputError(f"{name}: a JSON list. Write one object a line.")
    return _objects(name, text) if begin == "{" else _table(name, text)


def parsed(text: str) -> bool | int | float | str:
    """A score as it is written: true or false, a number, else a label."""
    known = {"true": True, "false": False}.get(text.strip().lower())
    if known is not None:
        return known
    if text.isascii() and "_" not in text:  # Python reads 1_000 and the digits of every script
        for number in (int, float):
            with suppress(ValueError):
                return number(text)
    return text


def _objects(name: str, text: str) -> Iterator[Row]:
    for number, each in enumerate(text.split("\n"), 1):  # other ends of lines may stand within a text
        if not each.strip():
            continue
        place = f"{name}:{number}"
        try:
            value: object = json.loads(each)
        except (ValueError, RecursionError):
            yield Row(place, {}, "not JSON. Write one object a line.")
            continue
        if not isinstance(value, dict):
            yield Row(place, {}, "no JSON object. Write one object a line.")
        else:
            yield _row(place, cast("dict[str, Any]", value))


def _table(name: str, text: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        columns = _columns(name, next(filter(any, reader), cast("list[str]", [])))
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _cells(f"{name}:{reader.line_num}", columns, cells)
    except csv.Error as error:
        yield Row(f"{name}:{reader.line_num}", {}, f"not CSV: {error}. From here on nothing was read.")


def _delimiter(text: str) -> str:
    """What stands between the cells: where a comma is for decimals, spreadsheets write semicolons."""
    first = text.lstrip().partition("\n")[0]
    return max(",;\t", key=first.count)


def _columns(name: str, cells: Sequence[str]) -> list[str]:
    columns = [cell.strip() for cell in cells]
    lacking = [each for each in NEEDED if each not in columns]
    if lacking:
        raise InputError(
            f"{name}:1: no column {', '.join(lacking)}. Write a first line such as {','.join(NEEDED)},reason."
        )
    for index, each in enumerate(columns):
        if each and each not in COLUMNS:
            raise InputError(f"{name}:1: {_unknown('column', each)}")
        if each and each in columns[:index]:
            raise InputError(f"{name}:1: the column {each} is there twice. Leave one out.")
    return columns


def _cells(place: str, columns: Sequence[str], cells: Sequence[str]) -> Row:
    """A row of a table: its cells as what they are; one that is no whole number is left to be refused."""
    if len(cells) > len(columns):
        return Row(place, {}, "more cells than columns. Write a text with a comma in quotes.")
    given: dict[str, Any] = {key: cell.strip() for key, cell in zip(columns, cells, strict=False) if cell.strip()}
    for key in _WHOLE:
        if given.get(key, "").isascii() and given.get(key, "").isdecimal():
            given[key] = int(given[key])
    return _row(place, {**given, "score": parsed(given["score"])} if "score" in given else given)


def _unknown(what: str, key: str) -> str:
    close = nearest(key, COLUMNS)
    advice = f"Did you mean {close}?" if close else f"Known are {', '.join(COLUMNS)}."
    return f"unknown {what} {key!r}. {advice}"


def _row(place: str, said: Mapping[Any, Any]) -> Row:
    for key in said:
        if key not in COLUMNS:
            return Row(place, {}, _unknown("key", key))
    lacking = [key for key in NEEDED[:-1] if said.get(key) is None]
    if lacking:
        return Row(place, {}, f"{', '.join(lacking)}: nothing stands here.")
    return Row(place, {key: value for key, value in said.items() if key not in _TOLD and value is not None})
