"""From the text that a judge's model answered to one check for each line, or to what is wrong with the answer.

What is wrong is said in a sentence, for it is quoted to the model when it is asked again. Nothing here raises: a model
may answer with anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias, cast

Object: TypeAlias = Mapping[str, Any]
Evidence: TypeAlias = Mapping[str, int | str]
"""``{"call": number}`` or ``{"quote": text}``."""

_KINDS: Final = {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}


@dataclass(frozen=True, slots=True)
class Check:
    """What the model said of one line: ``met`` is None where it could not tell.

    ``evidence`` is None where the model points to nothing.
    """

    met: bool | None
    why: str | None = None
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Invalid:
    """An answer that gives no checks, and the problem in words that complete "it is not usable: …"."""

    problem: str


class _ProblemError(Exception):
    """What is wrong with an answer; never leaves this file."""


def read_answer(text: str, lines: int) -> tuple[Check, ...] | Invalid:
    """The checks of this many lines, in the order of the lines.

    Prose and code fences around the JSON are passed over. A check belongs to the line of its ``id``; without one, to
    the line of its place. ``met`` is true, false or null and nothing that looks like it. What is missing of ``why``
    and ``evidence`` costs nothing.
    """
    try:
        return _in_order(_checks(_parsed(text), lines))
    except _ProblemError as error:
        return Invalid(str(error))


def _in_order(found: list[Object]) -> tuple[Check, ...]:
    """The checks by the numbers of their lines, which are as many."""
    places = [_place(check, place) for place, check in enumerate(found, 1)]
    if sorted(places) != list(range(1, len(found) + 1)):
        raise _ProblemError(_ids_are_wrong(places))
    by_line = dict(zip(places, found, strict=True))
    return tuple(_check(by_line[line], line) for line in sorted(by_line))


def _parsed(text: str) -> Any:
    """The JSON from the first ``{`` to the last ``}``."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise _ProblemError("it holds no JSON object")
    try:
        return _decoder.decode(text[start : end + 1])
    except json.JSONDecodeError as error:
        raise _ProblemError(f"it is not valid JSON ({error.msg}, at character {start + error.pos + 1})") from None
    except ValueError as error:  # a number of thousands of digits, or one that JSON does not have
        raise _ProblemError(f"it is not valid JSON ({str(error)[:100]})") from None
    except RecursionError:
        raise _ProblemError("it is not valid JSON (nested too deep)") from None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")


_decoder: Final = json.JSONDecoder(parse_constant=_no_number)


def _checks(answer: Any, lines: int) -> list[Object]:
    checks: Any = cast("Object", answer).get("checks") if isinstance(answer, dict) else None
    if not isinstance(checks, list):
        raise _ProblemError("it has no list of checks")
    found = cast("list[Object]", checks)
    if len(found) != lines:
        raise _ProblemError(f"it has {_count(len(found), 'check')} for {_count(lines, 'line')}")
    for place, check in enumerate(found, 1):
        if not isinstance(check, dict):
            raise _ProblemError(f"check {place} is {_kind(check)}, not an object")
    return found


def _place(check: Object, place: int) -> int:
    """The number of the line that the check is of."""
    id_ = check.get("id")
    if id_ is None:
        return place
    if isinstance(id_, str) and id_.isdecimal() and len(id_) < 10:
        return int(id_)
    if isinstance(id_, bool) or not isinstance(id_, int):
        raise _ProblemError(f"the id of check {place} is {_kind(id_)}, not a line's number")
    return id_


def _ids_are_wrong(places: list[int]) -> str:
    lines = range(1, len(places) + 1)
    for line in lines:
        if places.count(line) > 1:
            return f"it has {places.count(line)} checks of line {line}, not one"
    missing = next(line for line in lines if line not in places)
    return f"it has no check with the id {missing}: the ids are those of the lines, 1 to {len(places)}"


def _check(check: Object, line: int) -> Check:
    if "met" not in check:
        raise _ProblemError(f"the check of line {line} has no met")
    met = check["met"]
    if met is not None and not isinstance(met, bool):
        raise _ProblemError(f"met of line {line} is {_kind(met)}, not true, false or null")
    return Check(met, _text(check.get("why")), _evidence(check.get("evidence")))


def _evidence(value: Any) -> Evidence | None:
    """A call's number or a quote, where the model gave one that can be looked up."""
    if not isinstance(value, dict):
        return None
    given = cast("Object", value)
    call, quote = given.get("call"), _text(given.get("quote"))
    if isinstance(call, int) and not isinstance(call, bool):
        return {"call": call}
    return {"quote": quote} if quote else None


def _text(value: Any) -> str | None:
    """A text that is not blank, and that UTF-8 can carry: JSON may escape half a character."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    return (text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")) or None


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _kind(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _KINDS[type(value)]
