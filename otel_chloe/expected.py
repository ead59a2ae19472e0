"""What a run is expected to do: which tools it calls, and what comes of it.

Both classes check what they are given when they are made, so that a wrong rule is met before any run is. Below them
stand the checks themselves, which the rules file uses too: one mistake has one wording.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast, get_args

from otel_chloe.errors import ConfigError

Count: TypeAlias = Literal["attempted", "executed", "succeeded"]
"""Which calls count: all of them, those that ran, or those that succeeded."""
Per: TypeAlias = Literal["name", "arguments"]
"""What ``at_most_once`` takes for a second call: the same tool, or the same tool with equal arguments."""

COUNTS: Final[tuple[Count, ...]] = get_args(Count)
PERS: Final[tuple[Per, ...]] = get_args(Per)

_Choice = TypeVar("_Choice", bound=str)


@dataclass(frozen=True, slots=True)
class ExpectedCalls:
    """The tools a run must call, must never call, and may call once at most.

    A name matches a call's short name or the name as the model wrote it, exactly and case-sensitively; there are no
    patterns. An empty list is no rule. The lists are kept as tuples that hold each name once.

    ``count`` says which calls count: ``attempted`` (all), ``executed`` or ``succeeded``. ``per`` is for
    ``at_most_once`` alone: ``name`` allows one call of the tool, ``arguments`` one call with the same arguments.
    A tool in both ``must_call`` and ``at_most_once`` is to be called exactly once.

    Raises :class:`~otel_chloe.errors.ConfigError` where a value is wrong; the message says what to write.
    """

    must_call: Sequence[str] = ()
    must_not_call: Sequence[str] = ()
    at_most_once: Sequence[str] = ()
    count: Count = field(default="attempted", kw_only=True)
    per: Per = field(default="name", kw_only=True)

    def __post_init__(self) -> None:
        for key in ("must_call", "must_not_call", "at_most_once"):
            names = checked_list(getattr(self, key), key)
            object.__setattr__(self, key, tuple(dict.fromkeys(names)))
        checked_choice(self.count, COUNTS, "count")
        checked_choice(self.per, PERS, "per")

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> ExpectedCalls:
        """Make it from a mapping with snake_case or camelCase keys, such as ``{"mustCall": ["check_site"]}``."""
        return cls(**snake_keys(mapping, CALLS_KEYS, "expected calls"))


@dataclass(frozen=True, slots=True)
class ExpectedOutcome:
    """What was true when the run happened, and what the agent should and should not have said or done about it.

    ``situation`` is shown to the judge and expects nothing by itself. Each line of ``should`` and ``should_not`` is
    judged on its own. The lists are kept as tuples, in their order.

    Raises :class:`~otel_chloe.errors.ConfigError` where a value is wrong; the message says what to write.
    """

    situation: str | None = None
    should: Sequence[str] = ()
    should_not: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.situation is not None:
            checked_text(self.situation, "situation")
        for key in ("should", "should_not"):
            object.__setattr__(self, key, checked_list(getattr(self, key), key))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> ExpectedOutcome:
        """Make it from a mapping with snake_case or camelCase keys, such as ``{"shouldNot": ["guesses"]}``."""
        return cls(**snake_keys(mapping, OUTCOME_KEYS, "expected outcome"))


CALLS_KEYS: Final = ("must_call", "must_not_call", "at_most_once", "count", "per")
OUTCOME_KEYS: Final = ("situation", "should", "should_not")


def contradictions(expected: ExpectedCalls | ExpectedOutcome) -> list[str]:
    """What no run can keep: a tool that must and must not be called, a line that should and should not hold."""
    if isinstance(expected, ExpectedCalls):
        wanted, banned = expected.must_call, expected.must_not_call
        return [f"{n} is in must_call and in must_not_call: no run can pass" for n in wanted if n in banned]
    wanted, banned = expected.should, expected.should_not
    return [f"{line!r} is in should and in should_not: no run can meet both" for line in wanted if line in banned]


def relaxed(rules: ExpectedCalls, joined: ExpectedCalls) -> list[tuple[str, str]]:
    """Which option of rules that others were joined to makes one of them easier to keep: (option, rule)."""
    more = COUNTS.index(rules.count) - COUNTS.index(joined.count)
    # A ban is kept more easily where fewer calls count, a call that must be made where more do.
    easier = ("must_not_call", "at_most_once") if more < 0 else ("must_call",) if more > 0 else ()
    found = [("count", rule) for rule in easier if getattr(rules, rule)]
    if rules.at_most_once and (rules.per, joined.per) == ("name", "arguments"):
        found.append(("per", "at_most_once"))
    return found


def checked_text(value: object, key: str = "") -> str:
    """The value, if it is a text that is not blank."""
    if not isinstance(value, str):
        raise ConfigError(f"{_of(key)}{value!r} is {_kind(value)}, not a text. {_as_text(value)}")
    if not value.strip():
        raise ConfigError(f"{_of(key)}an empty text stands here. Write a text, or leave it out.")
    return value


def checked_list(value: object, key: str = "") -> tuple[str, ...]:
    """The value as a tuple, if it is a list, tuple or set of texts that are not blank."""
    return tuple(checked_text(item, f"{key}[{i}]" if key else "") for i, item in enumerate(checked_items(value, key)))


def checked_items(value: object, key: str = "") -> list[object]:
    """The items of a list, tuple or set. A set has no order: its items come sorted."""
    if isinstance(value, list | tuple):
        return list(cast("Iterable[object]", value))
    if isinstance(value, set | frozenset):
        return sorted(cast("Iterable[object]", value), key=str)
    if isinstance(value, str):
        raise ConfigError(f'{_of(key)}{value!r} is one text, not a list. Write a list: ["{value}"].')
    raise ConfigError(f'{_of(key)}{value!r} is {_kind(value)}, not a list. Write a list, such as ["a", "b"].')


def checked_choice(value: object, choices: tuple[_Choice, ...], key: str = "") -> _Choice:
    """The value, if it is one of the words."""
    for choice in choices:
        if value == choice:
            return choice
    close = nearest(str(value), choices)
    meant = f" Did you mean {close}?" if close else ""
    raise ConfigError(f"{_of(key)}{value!r} is not one of the words here.{meant} Write one of: {', '.join(choices)}.")


def snake_keys(mapping: object, known: Sequence[str], what: str) -> dict[str, Any]:
    """The mapping with its keys in snake_case, each of them one of the known ones. Its values are not checked."""
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"{what}: {mapping!r} is {_kind(mapping)}. Write a mapping with the keys {', '.join(known)}.")
    spellings = {camel(key): key for key in known} | {key: key for key in known}
    found: dict[str, Any] = {}
    for key, value in cast("Mapping[object, object]", mapping).items():
        name = spellings.get(key) if isinstance(key, str) else None
        if name is None:
            raise ConfigError(f"{what}: {unknown_key(key, known)}")
        if name in found:
            raise ConfigError(f"{what}: {camel(name)} is given twice, in both spellings. Write it once.")
        found[name] = value
    return found


def unknown_key(key: object, known: Iterable[str]) -> str:
    """What to say of a key that is not known, in the spelling that its writer uses."""
    text = str(key)
    spelled = [_spelled(name, text) for name in known]
    close = nearest(text, spelled)
    if close:
        return f"unknown key {text!r}. Did you mean {close}?"
    return f"unknown key {text!r}. The keys here are {', '.join(spelled)}."


_SHOWN_IN_CAMEL: Final = frozenset({"must_call", "must_not_call", "at_most_once", "should_not"})
"""The keys that are in camelCase in the docs, as in the seed systems; all others are in snake_case there."""


def _spelled(name: str, text: str) -> str:
    """A key in the spelling of the text; where one word tells none, in that of the docs."""
    is_camel = "_" not in text and (text != text.lower() or name in _SHOWN_IN_CAMEL)
    return camel(name) if is_camel else name


def nearest(word: str, choices: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """The choice that the word most likely stands for, whatever its case, dashes and underscores; None if none does.

    ``likeness`` is how like they must be, from 0 to 1.
    """
    from difflib import get_close_matches  # only where something is wrong

    folded = {_folded(choice): choice for choice in choices}
    close = get_close_matches(_folded(word), folded, n=1, cutoff=likeness)
    return folded[close[0]] if close else None


def camel(key: str) -> str:
    """``must_not_call`` as ``mustNotCall``."""
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _folded(word: str) -> str:
    return word.replace("_", "").replace("-", "").replace(" ", "").lower()


def _of(key: str) -> str:
    return f"{key}: " if key else ""


def _as_text(value: object) -> str:
    """What to write where a text is wanted."""
    if isinstance(value, bool):
        return "Write it in quotes."  # as it was written: yes, no, on and off are read so too
    if value is None or isinstance(value, Mapping | list | tuple):
        return "Write a text."
    return f'Write it in quotes: "{value}".'


def _kind(value: object) -> str:
    """What a value is, in the words of somebody who writes a rules file."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, Mapping):
        return "a mapping"
    return f"a {type(value).__name__}"
