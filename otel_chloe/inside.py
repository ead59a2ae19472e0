"""What a program expects of the runs that start inside a block of it: a value, and the JSON that carries it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from otel_chloe.errors import ConfigError
from otel_chloe.expected import ExpectedCalls, ExpectedOutcome, snake_keys

LISTS: Final = {
    ExpectedCalls: ("must_call", "must_not_call", "at_most_once"),
    ExpectedOutcome: ("should", "should_not"),
}
"""What is joined where two are added; of all else the one that stood first holds."""
MOST_BYTES: Final = 65_536
"""The longest text that is read: what spans carry is not to be trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What is added to the rules of a run, and what its scorers are given of it.

    ``calls`` and ``outcome`` are rules more; ``input``, ``expected`` and ``metadata`` are for scorers that ask for
    them, and are plain JSON values.
    """

    calls: ExpectedCalls | None = None
    outcome: ExpectedOutcome | None = None
    input: Any = None
    expected: Any = None
    metadata: Mapping[str, Any] | None = None

    def within(self, inner: Inside) -> Inside:
        """This with what a block inside adds: rules are joined, of the other values the inner ones win."""
        return Inside(
            calls=added(self.calls, inner.calls),
            outcome=added(self.outcome, inner.outcome),
            input=self.input if inner.input is None else inner.input,
            expected=self.expected if inner.expected is None else inner.expected,
            metadata={**(self.metadata or {}), **(inner.metadata or {})} or None,
        )

    def to_json(self) -> str:
        """The text that a span carries. Raises ConfigError where a value is no JSON."""
        said = {name: _plain(getattr(self, name)) for name in KEYS}
        try:
            return json.dumps({name: value for name, value in said.items() if value is not None}, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"expecting: {error}. Give values that JSON has: texts, numbers, lists, mappings."
            ) from None

    @classmethod
    def from_json(cls, text: object) -> Inside | None:
        """What a span carries, None where it cannot be read. It never raises: anybody may have written it."""
        if not isinstance(text, str) or len(text) > MOST_BYTES:
            return None
        try:
            said = snake_keys(json.loads(text), KEYS, "expecting")
            calls, outcome = said.pop("calls", None), said.pop("outcome", None)
            return cls(
                calls=None if calls is None else ExpectedCalls.from_mapping(calls),
                outcome=None if outcome is None else ExpectedOutcome.from_mapping(outcome),
                **said,
            )
        except (ValueError, TypeError, RecursionError):  # a ConfigError is a ValueError
            return None


KEYS: Final = tuple(field.name for field in fields(Inside))


def added(base: Any, more: Any) -> Any:
    """Both rules in one: their lists joined, each item once. What ``base`` says else stays, so nothing is relaxed."""
    if base is None or more is None:
        return more if base is None else base
    kind: Any = type(base)  # pyright: ignore[reportUnknownVariableType] - one of the two in LISTS
    joined = {name: (*getattr(base, name), *getattr(more, name)) for name in LISTS[kind]}
    others = {name: getattr(base, name) for name in (field.name for field in fields(kind)) if name not in joined}
    if kind is ExpectedOutcome:
        told = [text for text in dict.fromkeys((base.situation, more.situation)) if text]
        others["situation"] = "\n".join(told) or None
        joined = {name: tuple(dict.fromkeys(lines)) for name, lines in joined.items()}
    return kind(**joined, **others)


def _plain(value: Any) -> Any:
    """A rule as the mapping that it can be written as."""
    if not isinstance(value, ExpectedCalls | ExpectedOutcome):
        return value
    said = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: item for name, item in said.items() if item not in ((), None)}
