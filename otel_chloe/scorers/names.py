"""What the ready-made scorers share: how a tool is named, what hides calls, and how their marks are made."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from otel_chloe.errors import ConfigError
from otel_chloe.expected import checked_list
from otel_chloe.gaps import TRUNCATED
from otel_chloe.mark import Mark, Unscored
from otel_chloe.run import Run, ToolCall
from otel_chloe.scorers.calls import hides_calls, used

_SHOWN: Final = 120
"""Characters of arguments that stand in a reason."""


def is_named(call: ToolCall, tool: str) -> bool:
    """Whether the call is of this tool, by its short name or as the model wrote it."""
    return tool in {call.name, call.raw_name}


def tools_of(tools: object, scorer: str) -> tuple[str, ...]:
    """The names of tools that a scorer was given."""
    return checked_list(tools, f"{scorer}: tools")


def limit_of(limit: object, scorer: str) -> float:
    """The number that a scorer was given as its limit."""
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit >= 0:
        raise ConfigError(f"{scorer}: limit: {limit!r} is no number from 0. Write one, such as limit=10.")
    return limit


def kept(name: str, text: str) -> Mark:
    """The mark of a run that did as it should."""
    return Mark(1.0, text, name=name, value=True, passed=True)


def broken(name: str, text: str) -> Mark:
    """The mark of one that did not."""
    return Mark(0.0, text, name=name, value=False, passed=False)


def unseen(name: str, run: Run) -> Unscored | None:
    """Why nothing can be said of the whole of a run's calls: some may not have been seen."""
    hidden = hides_calls(run)
    if hidden is None:
        return None
    text = f"the run is incomplete ({hidden}), so calls may be missing from it. {used(run.tool_calls)}"
    return Unscored(text, name=name, error="incomplete")


def unknown(name: str, what: str) -> Unscored:
    """Why nothing can be said: the spans do not tell."""
    return Unscored(f"{what}: the spans do not say", name=name)


def is_cut(run: Run) -> bool:
    """Whether texts of the run may have lost their ends."""
    return any(gap.code == TRUNCATED for gap in run.gaps)


def parsed(arguments: object) -> object:
    """Arguments as a value: a text that is a JSON object counts as that object."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return arguments if not isinstance(value, dict) else cast("dict[str, object]", value)


def comparable(value: object) -> Hashable:
    """A value that equals another exactly if the two are equal; a bool is no number."""
    if value is None or isinstance(value, (str, int, float)):
        return (isinstance(value, bool), value)
    if isinstance(value, Mapping):
        items = cast("Mapping[Hashable, object]", value).items()
        return ("mapping", frozenset((key, comparable(item)) for key, item in items))
    if isinstance(value, (list, tuple)):
        return ("list", tuple(comparable(item) for item in cast("Sequence[object]", value)))
    return ("other", repr(value))


def holds(whole: object, part: object) -> bool:
    """Whether a value has everything that the part has: keys may be more, lists may not."""
    of, wanted = _mapping(whole), _mapping(part)
    if of is None or wanted is None:
        return comparable(whole) == comparable(part)
    return all(key in of and holds(of[key], item) for key, item in wanted.items())


def _mapping(value: object) -> Mapping[object, object] | None:
    return cast("Mapping[object, object]", value) if isinstance(value, Mapping) else None


def shown(value: object) -> str:
    """Arguments as a reason shows them."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def listed(names: Iterable[Any]) -> str:
    """Names, each once."""
    return ", ".join(dict.fromkeys(map(str, names)))
