"""A usual span as a bare record: the least that a run needs, for the hot path. Parts are made of records when a run closes.

A model call's input mostly repeats the one before and its answer. Then only the newest is held whole; of the earlier
ones it is enough to know how long they were.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Record: TypeAlias = list[Any] | tuple[Any, ...]
"""A model call is a list, since it may be shortened; the others are tuples."""

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
"""A tool's call id, or whether a model stopped to have tools called (None: not said)."""
AGENT_OF: Final = 10
TALK: Final = 11
"""The conversation's id."""

_TAIL: Final = 64
"""Characters at each end of an input that are compared."""


def size_of(record: Record) -> int:
    """The text that a record holds, in characters."""
    first, second = record[FIRST], record[SECOND]
    return (len(first) if first.__class__ is str else 0) + (len(second) if second.__class__ is str else 0)


def repeats(earlier: Record, later: Record) -> bool:
    """Whether a model call's input begins with an earlier one's; told by the ends of the earlier, at any length."""
    old, new = earlier[FIRST], later[FIRST]
    if old.__class__ is not str or new.__class__ is not str or earlier[PARENT_ID] != later[PARENT_ID]:
        return False
    end = len(old) - 1
    if len(new) <= end or new[end] != "," or old[end] != "]":
        return False
    begin = end - _TAIL if end > _TAIL else 0
    return new[begin:end] == old[begin:end] and new[:_TAIL] == old[:_TAIL]


def shorten(record: list[Any]) -> int:
    """Let go of what a later record repeats; gives the characters that are free now."""
    freed = size_of(record)
    record[END] = record[START]
    record[SECOND] = requests_in(record)
    record[FIRST] = len(record[FIRST])
    return freed


def requests_in(record: Record) -> int:
    """How many tool calls a model's answer asks for, counted without parsing it."""
    told = record[SECOND]
    if told.__class__ is int:
        return told  # type: ignore[no-any-return]
    if record[THIRD] is False or told.__class__ is not str:
        return 0
    return told.count('"type": "tool_call"') or told.count('"type":"tool_call"')  # type: ignore[no-any-return]
