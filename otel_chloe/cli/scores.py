"""Reads scores that people gave: CSV with a header, or JSON lines; one a row."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from ..errors import InputError
from ..expected import unknown_key
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
    return _objects(name, text) if text.lstrip()[:1] == "{" else _table(name, text)


def parsed(text: str) -> bool | int | float | str:
    """A score as it is written: true or false, a number, else a label."""
    known = {"true": True, "false": False}.get(text.strip().lower())
    if known is not None:
        return known
    try:
        return int(text)
    except ValueError:
        with suppress(ValueError):
            return float(text)
    return text


def _objects(name: str, text: str) -> Iterator[Row]:
    for number, each in enumerate(text.splitlines(), 1):
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
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = reader.fieldnames or ()
        lacking = [each for each in NEEDED if each not in names]
        if lacking:
            raise InputError(
                f"{name}:1: no column {', '.join(lacking)}. Write a first line such as {','.join(NEEDED)},reason."
            )
        for said in reader:
            given: dict[str, Any] = {key: value for key, value in said.items() if value not in ("", None)}
            yield _row(f"{name}:{reader.line_num}", _typed(given))
    except csv.Error as error:
        yield Row(f"{name}:{reader.line_num}", {}, f"not CSV: {error}.")


def _typed(given: dict[str, Any]) -> dict[str, Any]:
    """The cells of a row as what they are; one that is no whole number is left to be refused."""
    numbers = {key: int(given[key]) for key in _WHOLE if str(given.get(key, "")).isdigit()}
    return {**given, **numbers, **({"score": parsed(given["score"])} if "score" in given else {})}


def _row(place: str, said: Mapping[Any, Any]) -> Row:
    for key in said:
        if key not in COLUMNS:
            extra = "more cells than columns" if key is None else unknown_key(key, COLUMNS)
            return Row(place, {}, extra)
    lacking = [key for key in NEEDED[:-1] if said.get(key) is None]
    if lacking:
        return Row(place, {}, f"{', '.join(lacking)}: nothing stands here.")
    return Row(place, {key: value for key, value in said.items() if key not in _TOLD and value is not None})
