"""A usual span as a bare record: the least that a run needs, for the hot path.

Parts are made of records when a run closes.

A model call's input mostly repeats the one before and its answer. Then only the newest is held whole; of the earlier
ones it is enough to know how long they were.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, TypeAlias

from otel_chloe.semconv import CHLOE_EXPECTED

NAMED: Final[set[str]] = set()
"""Attributes that rules name, by which they tell runs apart: see :func:`keep`."""
KEPT: Final[set[str]] = {CHLOE_EXPECTED}
"""Attributes that are kept of any span, be it one that no convention knows."""
UNUSUAL: Final[set[str]] = set(KEPT)
"""Attributes that a record does not hold: a span with one of them is kept as a part. Conventions add their own."""


def keep(keys: Collection[str]) -> None:
    """Keep these attributes of the spans that end from now on, in this process."""
    for known in (NAMED, KEPT, UNUSUAL):
        known.update(keys)


Record: TypeAlias = list[Any] | tuple[Any, ...]
"""A model call is a list, since it may be shortened; the others are tuples.

The functions below use the places by number: a name is a look-up more, and they are the hottest there are.
"""

KIND: Final = 0
SPAN_ID: Final = 1
PARENT_ID: Final = 2
START: Final = 3
END: Final = 4
SCOPE: Final = 5
IDENT: Final = 6
"""The tool's name as the model wrote it, the model's response id, or the agent's name."""
FIRST: Final = 7
"""Arguments, or the input's messages; of a shortened model call the length of its input."""
SECOND: Final = 8
"""The result, or the output's messages; of a shortened model call how many calls it asked for."""
THIRD: Final = 9
"""A tool's call id, whether a model stopped to have tools called (None: not said), or whether an agent's span is of a
request to it."""
AGENT_OF: Final = 10
TALK: Final = 11
"""The conversation's id."""

ASKING: Final = ("tool_call", "tool_use", "toolUse", "function_call")
"""Words that stand in every shape of a request for a call."""
UNCOUNTED: Final = 1_000_000
"""More calls than any run has spans for: whoever compares takes the whole way."""

_TAIL: Final = 64
"""Characters at the end of an earlier input that are compared with the same place in a later one."""
_SAMPLE: Final = 40
"""Characters of an earlier answer that are looked for behind its input in a later one."""


def shorten(earlier: list[Any], later: Record) -> int:
    """Let go of what a later model call repeats of an earlier one: gives the characters that are free now.

    Nothing is let go where the later input is not the earlier one, its answer, and what came after. That is told at
    any length by the end of the earlier input, at its place, and by the answer right behind it; where a history writes
    answers otherwise, by a piece of it: the id of the first call that it asks for, which no other conversation has,
    else its middle.
    """
    old: str = earlier[7]
    told: str = earlier[8]
    new: str = later[7]
    end = len(old) - 1
    if len(new) <= end or new[end] != "," or earlier[2] != later[2]:
        return 0
    begin = end - _TAIL if end > _TAIL else 0
    if not new.startswith(old[begin:end], begin) or old[end] != "]":
        return 0
    # Without its last words, which say why the model stopped: a history leaves them out.
    cut = told.rfind("]", 1, -1)
    if (cut < _SAMPLE or not new.startswith(told[1:cut], end + 2)) and not _told_later(told, new, end):
        return 0
    earlier[8] = requests_in(earlier)
    earlier[7] = end + 1
    return end + 1 + len(told)


def _told_later(told: str, new: str, end: int) -> bool:
    at = told.find('"id"')
    if at < 0:
        at = len(told) // 2
    return new.find(told[at : at + _SAMPLE], end) >= 0


def requests_in(record: Record) -> int:
    """How many tool calls a model's answer asks for, counted without parsing it; UNCOUNTED where it may ask otherwise.

    The reasons of a model to stop are not believed: with some frameworks a turn that asks for tools says "stop".
    """
    told = record[8]
    if told.__class__ is int:
        return told
    if "tool" not in told and "function" not in told:
        return 0
    found: int = told.count('"type": "tool_call"') or told.count('"type":"tool_call"')
    return found or (UNCOUNTED if any(word in told for word in ASKING) else 0)
