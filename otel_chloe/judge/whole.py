"""A run that fits for certain, shown as it is: nearly every run is one, and none of its parts is measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from json.encoder import encode_basestring
from typing import Any, Final, TypeAlias, cast

from otel_chloe.run import Run, ToolCall

from .clip import Clipper, sound
from .did import FRAME, NAME, WIDEST
from .plain import Plain, Room, plain
from .quoted import quoted
from .redact import Redactor
from .room import cost
from .trim import WITHHELD_TEXTS, Trimmed

_LEAST_VALUES: Final = 64
"""Values of one argument or result that are shown, whatever the budget."""
_FLAT: Final = 16
_A_NUMBER: Final = 10**18
_written: Final = json.JSONEncoder(ensure_ascii=False).encode

_Part: TypeAlias = "tuple[ToolCall, Plain, Plain]"
"""A call, its arguments and its result as JSON can hold them."""


def whole(run: Run, redactor: Redactor, tokens: int) -> Trimmed | None:
    """All of a run, as :func:`~.trim.trimmed` shows it; None where that may have to cut something."""
    prompt, said, agent, error = run.prompt, run.output, run.agent, run.error
    long = WIDEST * (_length(agent) + _length(error))
    share = (tokens - long) * 2 // 5
    left = (tokens - long) // WIDEST - _length(prompt) - _length(said)
    if run.sub_runs or not _fit(agent, error, prompt, said, tokens=tokens, share=share):
        return None
    parts = _parts(run.tool_calls, left, max(_LEAST_VALUES, 4 * tokens // max(1, len(run.tool_calls))))
    if parts is None:
        return None
    clipper, withheld = Clipper(redactor), redactor.withheld
    agent, error, prompt, said = (
        None if text is None else sound(redactor.text(text)) for text in (agent, error, prompt, said)
    )
    did = _list(parts, clipper, tokens)
    texts = [text for text in (prompt, said, did, agent, error) if text]
    # A placeholder may be longer than what it stands for.
    if clipper.cut or WIDEST * sum(map(len, texts)) > tokens:
        return None
    if not _fit(agent, error, prompt, said, tokens=tokens, share=share):
        return None
    cut = (WITHHELD_TEXTS,) if redactor.withheld > withheld else ()
    return Trimmed(prompt, said, did, None, agent, error, cut, sum(map(cost, texts)))


def _length(text: Any) -> int:
    return len(text) if type(text) is str else 0


def _fit(
    agent: str | None, error: str | None, prompt: str | None, said: str | None, *, tokens: int, share: int
) -> bool:
    """Whether each fits its own part of the budget, and is a text."""
    for text, room in ((agent, NAME), (error, tokens // 10), (prompt, share), (said, share)):
        if text is not None and (type(text) is not str or WIDEST * len(text) > room):
            return False
    return True


def _parts(made: Sequence[ToolCall], left: int, values: int) -> list[_Part] | None:
    """The calls, if all that they hold takes ``left`` characters at most, and none more than so many values."""
    parts: list[_Part] = []
    left -= 4 * FRAME * len(made)
    for call in made:
        if left < 0:
            return None
        for text in (call.name, call.agent, call.error):
            if type(text) is str:
                left -= len(text)
            elif text is not None:
                return None
        room = Room(values)
        given = _taken(call.arguments, room)
        room.left = values
        parts.append((call, given, _taken(call.result, room)))
        if room.cut:
            return None
        left -= room.size
    return parts if left >= 0 else None


def _taken(value: object, room: Room) -> Plain:
    """The same as :func:`plain`; a text, or a few of them under their names, is looked at and not copied."""
    kind = type(value)
    if kind is str:
        text = cast("str", value)
        room.size += len(text) + 2
        return text
    if value is None:
        return None
    if kind is dict and _is_flat(cast("dict[Any, Any]", value), room):
        return cast("Plain", value)
    return plain(value, room)


def _is_flat(fields: dict[Any, Any], room: Room) -> bool:
    """Whether it holds nothing but what JSON takes as it is; then its size is known too."""
    size = 8
    if len(fields) > _FLAT:
        return False
    for key, item in fields.items():
        size += 28
        if type(key) is not str:
            return False
        if type(item) is str:
            size += len(item)
        elif not (item is None or type(item) is bool or (type(item) is int and -_A_NUMBER < item < _A_NUMBER)):
            return False
        size += len(key)
    room.size += size
    return True


def _list(parts: Sequence[_Part], clipper: Clipper, tokens: int) -> str:
    if not parts:
        return "[]"
    items = [_item(number, part, clipper, tokens) for number, part in enumerate(parts, 1)]
    return "[\n" + ",\n".join(items) + "\n]"


def _item(number: int, part: _Part, clipper: Clipper, tokens: int) -> str:
    """As :meth:`~.did.Calls.shown` writes it."""
    call, given, result = part
    item = f' {{\n  "number": {number},\n  "tool": {encode_basestring(clipper.text(call.name, NAME))}'
    if call.agent is not None:
        item += f',\n  "agent": {encode_basestring(clipper.text(call.agent, NAME))}'
    if call.ok is False:
        item += ',\n  "ok": false'
    if call.ran is False:
        item += ',\n  "ran": false'
    if call.arguments is not None:
        item += f',\n  "input": {_value(given, clipper, tokens)}'
    if call.result is not None:
        item += f',\n  "output": {_value(result, clipper, tokens)}'
    if call.error is not None:
        item += f',\n  "error": {quoted(clipper.text(call.error, tokens))}'
    return item + "\n }"


def _value(value: Plain, clipper: Clipper, tokens: int) -> str:
    if type(value) is str:
        return quoted(clipper.text(value, tokens))
    shown = clipper.value(value, tokens)
    return _object(shown) if type(shown) is dict else _written(shown)


def _object(fields: dict[str, Plain]) -> str:
    """The same as the encoder's, which is made anew for everything but a text."""
    written: list[str] = []
    for key, item in fields.items():
        if type(item) is str:
            written.append(f"{encode_basestring(key)}: {quoted(item)}")
        elif type(item) is int:
            written.append(f"{encode_basestring(key)}: {item}")
        else:
            return _written(fields)
    return "{" + ", ".join(written) + "}"
