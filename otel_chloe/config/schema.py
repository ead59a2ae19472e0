"""The shape of the rules file, as pydantic models: what may stand where, and what it becomes.

Every key has a snake_case and a camelCase spelling. Values are checked by the functions that also check what users make
in Python, so that a mistake has one wording. In an entry, None means "not said": joining two entries needs to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from otel_chloe.config.rules import (
    SEVERITIES,
    AgentRules,
    Expectations,
    JudgeRules,
    Rules,
    ScorerRule,
    Severity,
    joined_scorers,
)
from otel_chloe.config.settings import (
    Settings,
    address,
    amount,
    amount_or_none,
    dollars,
    number,
    positive_seconds,
    seconds,
    share,
    switch,
)
from otel_chloe.errors import ConfigError
from otel_chloe.expected import (
    COUNTS,
    OUTCOME_KEYS,
    PERS,
    Count,
    ExpectedCalls,
    ExpectedOutcome,
    Per,
    checked_choice,
    checked_items,
    checked_text,
)

EVERYONE: Final = "*"
WITH: Final = "with"


def _given(value: object) -> object:
    if value is None:
        raise ConfigError("nothing stands here. Write a value, or leave the key out.")
    return value


def _use(value: object) -> object:
    """What a scorer is named by; in Python a scorer or a function may stand there itself."""
    return value if callable(value) else checked_text(value)


def _scorer(value: object) -> object:
    """A scorer that is named alone is one with nothing but a name."""
    if isinstance(value, Mapping | ScorerEntry):
        return cast("object", value)
    return {"use": _use(value)}


def _arguments(value: object) -> object:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{value!r} is not a mapping. Write the arguments by name, such as {{limit: 10}}.")
    return {checked_text(key): item for key, item in cast("Mapping[object, object]", value).items()}


def _where(value: object) -> object:
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(f"{value!r} has no attributes. Write them with their values, such as {{service.name: shop}}.")
    for key, item in cast("Mapping[object, object]", value).items():
        if not isinstance(item, str | int | float):
            raise ConfigError(f"{checked_text(key)}: {item!r} is no value of an attribute. Write a text or a number.")
    return cast("object", value)


def _by(check: Callable[[object], object]) -> BeforeValidator:
    """Check with a function that may take more than the value: pydantic would pass it something of its own."""

    def checked(value: object) -> object:
        return check(value)

    return BeforeValidator(checked)


T = TypeVar("T")
Said = Annotated[T | None, BeforeValidator(_given)]
"""A value that may be left out, but not left empty: an empty list of rules is a rule that somebody forgot to write."""

Text = Annotated[str, _by(checked_text), WithJsonSchema({"type": "string", "pattern": r"\S"})]
Texts = Annotated[list[Text], _by(checked_items)]
Share = Annotated[float, _by(share), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]
Seconds = Annotated[float, _by(seconds), WithJsonSchema({"type": "number", "minimum": 0})]
PositiveSeconds = Annotated[float, _by(positive_seconds), WithJsonSchema({"type": "number", "exclusiveMinimum": 0})]
Number = Annotated[float, _by(number), WithJsonSchema({"type": "number"})]
Use = Annotated[Any, _by(_use), WithJsonSchema({"type": "string", "pattern": r"\S"})]
Arguments = Annotated[dict[str, Any], _by(_arguments), WithJsonSchema({"type": "object"})]
Attribute = Annotated[Any, WithJsonSchema({"type": ["string", "number", "boolean"]})]
Where = Annotated[dict[Text, Attribute], _by(_where), Field(json_schema_extra={"minProperties": 1})]
Dollars = Annotated[float, _by(dollars), WithJsonSchema({"type": "number", "minimum": 0})]
Amount = Annotated[int, _by(amount), WithJsonSchema({"type": "integer", "minimum": 1})]
AmountOrNone = Annotated[int, _by(amount_or_none), WithJsonSchema({"type": "integer", "minimum": 0})]
Address = Annotated[
    str, _by(address), WithJsonSchema({"type": "string", "pattern": r"^(https?://[^/\s?#]+[^\s?#]*)?$"})
]
Switch = Annotated[bool, _by(switch)]
CountWord = Annotated[Count, BeforeValidator(lambda value: checked_choice(value, COUNTS))]
PerWord = Annotated[Per, BeforeValidator(lambda value: checked_choice(value, PERS))]
SeverityWord = Annotated[Severity, BeforeValidator(lambda value: checked_choice(value, SEVERITIES))]


class Entry(BaseModel):
    """A mapping in the file: its own keys and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)

    def said(self) -> dict[str, Any]:
        """The values that were given, by their snake_case names."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in given.items() if value is not None}


class JudgeEntry(Entry):
    """``judge:``, the model that judges and its limits."""

    model: Said[Text] = None
    timeout_s: Said[PositiveSeconds] = None
    concurrency: Said[Amount] = None
    usd_per_hour: Said[Dollars] = None
    usd_per_day: Said[Dollars] = None
    usd_per_million_input: Said[Dollars] = None
    usd_per_million_output: Said[Dollars] = None


class SettingsEntry(Entry):
    """``settings:``, the same keys as :class:`~otel_chloe.config.Settings`."""

    settle_s: Said[Seconds] = None
    idle_s: Said[PositiveSeconds] = None
    max_spans: Said[Amount] = None
    max_bytes: Said[Amount] = None
    max_open_runs: Said[Amount] = None
    max_open_bytes: Said[Amount] = None
    remembered_runs: Said[AmountOrNone] = None
    reasons: Said[Switch] = None
    evaluation_spans: Said[Switch] = None
    baggage: Said[Switch] = None
    reload_s: Said[Seconds] = None
    shutdown_s: Said[Seconds] = None
    phoenix: Said[Address] = None


class CallsEntry(Entry):
    """``calls:``, the tools of one agent."""

    must_call: Said[Texts] = None
    must_not_call: Said[Texts] = None
    at_most_once: Said[Texts] = None
    count: Said[CountWord] = None
    per: Said[PerWord] = None


class ExpectationsEntry(Entry):
    """``expectations:``, the lines that a model judges."""

    situation: Said[Text] = None
    should: Said[Texts] = None
    should_not: Said[Texts] = None
    threshold: Said[Share] = None
    min_decided: Said[Share] = None
    sample: Said[Share] = None
    model: Said[Text] = None


class ScorerEntry(Entry):
    """A scorer: where it is found, and what the rules say of it."""

    # `with` is no name in Python; under another name it must not be taken.
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=None, populate_by_name=False)

    use: Use
    arguments: Said[Arguments] = Field(default=None, alias=WITH)
    name: Said[Text] = None
    threshold: Said[Number] = None
    sample: Said[Share] = None
    severity: Said[SeverityWord] = None


Scorers = Annotated[list[Annotated[ScorerEntry, _by(_scorer)]], _by(checked_items)]


class AgentEntry(Entry):
    """The rules of one agent, or of every agent."""

    purpose: Said[Text] = None
    calls: Said[CallsEntry] = None
    expectations: Said[ExpectationsEntry] = None
    severity: Said[SeverityWord] = None
    scorers: Said[Scorers] = None
    where: Said[Where] = None


class RulesFile(Entry):
    """The whole file."""

    judge: Said[JudgeEntry] = None
    agents: Said[dict[Text, AgentEntry]] = None
    settings: Said[SettingsEntry] = None

    def unjudged(self) -> Iterator[str]:
        """The agents that have lines and no model to judge them."""
        agents = self.agents or {}
        model = self.judge.model if self.judge else None
        everyone = agents.get(EVERYONE, AgentEntry())
        for name, entry in agents.items():
            if _lines(entry) and not (model or _model(entry) or _model(everyone)):
                yield name

    def rules(self, source: str | None, scorers: Mapping[str, tuple[ScorerRule, ...]]) -> Rules:
        """The plain values. It takes a file without :meth:`unjudged` agents, and the scorers that it names."""
        agents = dict(self.agents or {})
        judge = JudgeRules(**self.judge.said()) if self.judge else JudgeRules()
        everyone = agents.pop(EVERYONE, None)
        base = everyone or AgentEntry()
        model = _model(base) or judge.model
        shared = scorers.get(EVERYONE, ())
        return Rules(
            everyone=_frozen(EVERYONE, everyone, model, shared, everyone.where) if everyone else None,
            alone={
                name: _frozen(name, entry, model, scorers.get(name, ()), entry.where) for name, entry in agents.items()
            },
            joined={
                name: _frozen(name, _joined(base, entry), model, joined_scorers(shared, scorers.get(name, ())))
                for name, entry in agents.items()
            },
            judge=judge,
            settings=Settings(**self.settings.said()) if self.settings else Settings(),
            source=source,
        )


_APART: Final = frozenset({"scorers", "where"})
_AnyEntry = TypeVar("_AnyEntry", bound=Entry)


def _joined(base: _AnyEntry, entry: _AnyEntry) -> _AnyEntry:
    """Both entries in one: lists are joined, each item once; of single values, those of ``entry`` win.

    Scorers are joined once they are found, by their names; each entry keeps a ``where`` of its own.
    """
    values = base.said()
    for name, value in entry.said().items():
        if name in _APART:
            continue
        values[name] = _join(values.get(name), value)
    return entry.model_copy(update=values)


def _join(base: Any, value: Any) -> Any:
    if isinstance(base, Entry) and isinstance(value, Entry):
        return _joined(base, value)
    if isinstance(base, list) and isinstance(value, list):
        return list(dict.fromkeys([*cast("list[str]", base), *cast("list[str]", value)]))
    return value


def _frozen(
    name: str,
    entry: AgentEntry,
    model: str | None,
    scorers: tuple[ScorerRule, ...],
    where: Mapping[str, object] | None = None,
) -> AgentRules:
    return AgentRules(
        agent=name,
        purpose=entry.purpose,
        calls=ExpectedCalls(**entry.calls.said()) if entry.calls else None,
        expectations=_expectations(entry.expectations, model) if entry.expectations else None,
        severity=entry.severity,
        scorers=scorers,
        where=where,
    )


def _expectations(entry: ExpectationsEntry, model: str | None) -> Expectations:
    said: dict[str, Any] = {"model": model} | entry.said()
    outcome = {key: said.pop(key) for key in OUTCOME_KEYS if key in said}
    return Expectations(outcome=ExpectedOutcome(**outcome), **said)


def _lines(entry: AgentEntry) -> bool:
    return entry.expectations is not None and bool(entry.expectations.should or entry.expectations.should_not)


def _model(entry: AgentEntry) -> str | None:
    return entry.expectations.model if entry.expectations else None


_SHAPES: Final[dict[tuple[str, ...], type[Entry]]] = {
    (): RulesFile,
    ("judge",): JudgeEntry,
    ("settings",): SettingsEntry,
    ("agents", "*"): AgentEntry,
    ("agents", "*", "calls"): CallsEntry,
    ("agents", "*", "expectations"): ExpectationsEntry,
    ("agents", "*", "scorers", "*"): ScorerEntry,
}


def keys_at(path: tuple[object, ...]) -> list[str]:
    """The snake_case keys that may stand in the mapping at this place; none where any key may."""
    shape = _SHAPES.get(tuple("*" if i in {1, 3} and path[0] == "agents" else str(part) for i, part in enumerate(path)))
    return [spelled(name) for name in shape.model_fields] if shape else []


_PLACES: Final[dict[tuple[str, ...], str]] = {
    (): "at the top",
    ("judge",): "in judge",
    ("settings",): "in settings",
    ("agents", "*"): "below an agent's name",
    ("agents", "*", "calls"): "in an agent's calls",
    ("agents", "*", "expectations"): "in an agent's expectations",
}


def places_of(key: object) -> list[str]:
    """Where in the file a key of this name, in either spelling, may stand, in words."""
    return [
        place
        for path, place in _PLACES.items()
        if any(key in {name, to_camel(name)} for name in _SHAPES[path].model_fields)
    ]


def spelled(name: str) -> str:
    """A key as the file has it."""
    return WITH if name == "arguments" else name
