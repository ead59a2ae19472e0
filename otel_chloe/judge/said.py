"""What a judge's answer says, read by the type that was asked for. Nothing is guessed: what is unclear is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast

from otel_chloe.kit.definition import ValueType

_QUOTED: Final = 200
"""Characters of an answer that are quoted where it cannot be read."""
_LONGEST_LABEL: Final = 200
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_ALONE: Final = re.compile(rf"(?<![\w.,/:%$€£#-])({_NUMBER.pattern})(?![\w/%,:]|\.[0-9])")
_DIGITS: Final = re.compile(r"[0-9]+(?:[.,:/][0-9]+)*|\d")
_FENCED: Final = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_WORDS: Final = {"true": True, "yes": True, "pass": True, "false": False, "no": False, "fail": False}
_DECORATION: Final = "\"'`*_ \t\r\n"


_Value = TypeVar("_Value", bool, float)


class Unclear(ValueError):  # noqa: N818 - what the answer is
    """An answer that does not say what was asked."""


def value_of(answer: str, value_type: ValueType | None, labels: Sequence[str] = ()) -> bool | float | str:
    """The value that an answer gives: a number, a bool or a label, by the type. Raises :class:`Unclear`.

    A number is the only number of the answer, wherever it stands: ``8/10`` and ``50%`` are none. A bool is true,
    false, yes, no, pass, fail, 1 or 0 and nothing beside it. Either may be the one such value of a JSON object. A
    label is the whole answer, one of ``labels`` where there are any.
    """
    text = _bare(answer)
    if value_type == "categorical":
        return _label(text, labels)
    if value_type == "boolean":
        return _read(text, _as_bool, _is_bool, "true or false")
    return _read(text, _as_number, _is_number, "one number")


def _bare(answer: str) -> str:
    """An answer without the code fence around it."""
    text = answer.strip()
    fenced = _FENCED.fullmatch(text)
    return fenced[1].strip() if fenced else text


def _read(text: str, of_text: Callable[[str], _Value | None], wanted: Callable[[object], bool], what: str) -> _Value:
    """The value of a text, or the only one of its kind in a JSON object."""
    held = _object(text)
    if held is None:
        value = of_text(text)
    else:
        fitting = [value for value in held.values() if wanted(value)]
        value = of_text(json.dumps(fitting[0])) if len(fitting) == 1 else None
    if value is None:
        raise Unclear(f"the judge's answer is not {what}: {_quoted(text)}")
    return value


def _object(text: str) -> dict[str, object] | None:
    """The JSON object that an answer is, if it is one."""
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _as_number(text: str) -> float | None:
    """The only number in it."""
    if len(_DIGITS.findall(text)) != 1 and not _NUMBER.fullmatch(text):
        return None
    found = _ALONE.search(text)
    return float(found[1]) if found else None


def _as_bool(text: str) -> bool | None:
    word = text.strip(_DECORATION).rstrip(".!").strip(_DECORATION).casefold()
    if word in _WORDS:
        return _WORDS[word]
    number = float(word) if _NUMBER.fullmatch(word) else None
    return bool(number) if number in {0.0, 1.0} else None


def _label(text: str, labels: Sequence[str]) -> str:
    if not labels:
        if not text or len(text) > _LONGEST_LABEL:
            raise Unclear(f"the judge's answer is no label: {_quoted(text)}")
        return text
    word = text.strip(_DECORATION).rstrip(".!").strip(_DECORATION).casefold()
    for label in labels:
        if word == label.casefold() or text.casefold() == label.casefold():
            return label
    raise Unclear(f"the judge's answer is none of {', '.join(labels)}: {_quoted(text)}")


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _quoted(text: str) -> str:
    return f'"{text[:_QUOTED]}"' if text else "it is empty"
