"""Loads rules. A wrong file fails here, at start, with the place and with what to write instead."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from otel_chloe.config.changes import file_read
from otel_chloe.config.document import Document, Key, read_document
from otel_chloe.config.rules import AgentRules, FileRead, Rules, ScorerRule
from otel_chloe.errors import ConfigError
from otel_chloe.expected import ExpectedCalls, camel, contradictions, relaxed, unknown_key
from otel_chloe.record import keep

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from otel_chloe.config.schema import RulesFile

_logger = logging.getLogger("otel_chloe.config")


class _Problem(NamedTuple):
    path: tuple[Key, ...]
    text: str
    at_key: bool = False


def read_rules(source: str | PathLike[str] | Mapping[str, object]) -> Rules:
    """Read and check rules: what :func:`otel_chloe.config.load_rules` does where there are any."""
    file = None if isinstance(source, Mapping) else _file(source)  # before it is read: what is written then is a change
    document = _document(source)
    rules = _rules(document, None if isinstance(source, Mapping) else document.name)
    keep({key for entry in [rules.everyone, *rules.alone.values()] if entry and entry.where for key in entry.where})
    _warn(document, rules)
    return rules if file is None else replace(rules, file=file)


def _file(source: object) -> FileRead | None:
    return file_read(cast("str | PathLike[str]", source)) if isinstance(source, str | PathLike) else None


def _document(source: object) -> Document:
    if isinstance(source, Mapping):
        return Document("rules", _plain(cast("Mapping[object, object]", source)))
    if isinstance(source, str) and "\n" in source:
        raise ConfigError("rules: this is a text of several lines, not a path. Write a path, or give a mapping.")
    if isinstance(source, str | PathLike):
        return read_document(cast("str | PathLike[str]", source))
    kind = type(source).__name__
    raise ConfigError(f"rules: {source!r} is a {kind}. Write the path of a rules file, or give a mapping.")


def _plain(value: object) -> object:
    """Any kind of mapping as a dict, which is what the schema takes."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    return value


def _rules(document: Document, name: str | None) -> Rules:
    from pydantic import ValidationError

    from otel_chloe.config.schema import RulesFile

    try:
        file = RulesFile.model_validate(document.value)
    except ValidationError as error:
        raise _config_error(document, _problems(document, error)) from None
    lacking = "lines need a model to judge them. Write judge: {model: …}, or model: beside the lines."
    scorers, wrong = _scorers(document, file, name)
    unjudged = [_Problem(("agents", name, "expectations"), lacking, at_key=True) for name in file.unjudged()]
    if unjudged or wrong:
        raise _config_error(document, [*unjudged, *wrong])
    return file.rules(name, scorers)


def _scorers(
    document: Document, file: RulesFile, source: str | None
) -> tuple[dict[str, tuple[ScorerRule, ...]], list[_Problem]]:
    """The scorers that each entry names, and what is wrong with those that cannot be had."""
    named = {name: entry.scorers for name, entry in (file.agents or {}).items() if entry.scorers}
    if not named:
        return {}, []
    from otel_chloe.config.found import WrongScorerError, scorer_rule  # only for who has scorers

    places = [str(Path.cwd())] if source is None else [str(Path(source).resolve().parent), str(Path.cwd())]
    found: dict[str, tuple[ScorerRule, ...]] = {}
    problems: list[_Problem] = []
    for agent, entries in named.items():
        rules: dict[str, ScorerRule] = {}
        for i, entry in enumerate(entries):
            path = ("agents", agent, "scorers", i)
            try:
                rule = scorer_rule(entry, places)
            except WrongScorerError as error:
                problems.append(_Problem(_at_key(document.value, path, error.key), str(error)))
                continue
            if rule.scorer.name in rules:
                problems.append(_Problem(path, f"a second scorer {rule.scorer.name}. Write name: and another name."))
            rules[rule.scorer.name] = rule
        found[agent] = tuple(rules.values())
    return found, problems


def _at_key(value: Any, path: tuple[Key, ...], key: str) -> tuple[Key, ...]:
    """The path of a scorer's key; of the scorer, where it is named alone."""
    for step in path:
        value = value[step]
    return (*path, key) if isinstance(value, Mapping) else path


def _problems(document: Document, error: ValidationError) -> list[_Problem]:
    return [_problem(document, details) for details in error.errors(include_url=False)]


def _problem(document: Document, details: ErrorDetails) -> _Problem:
    from otel_chloe.config.schema import keys_at

    loc = details["loc"]
    is_key = bool(loc) and loc[-1] == "[key]"
    path = _written(document.value, loc[:-1] if is_key else loc)
    kind = details["type"]
    if kind == "extra_forbidden":
        return _Problem(path, _extra_key(path[-1], loc[:-1], details["input"]), at_key=True)
    if kind == "missing":
        return _Problem(path, f"{path[-1]} is missing. Write it, such as {path[-1]}: my_scorers:covers_cities.")
    if kind == "invalid_key":
        return _Problem(path, f"the key {path[-1]!r} is not a text. Write it in quotes.", at_key=True)
    if kind in {"model_type", "dict_type"}:
        return _Problem(path, _no_mapping(details["input"], keys_at(loc)))
    known = details.get("ctx", {}).get("error")
    return _Problem(path, str(known or details["msg"]), at_key=is_key)


def _extra_key(key: Key, above: tuple[Key, ...], value: object) -> str:
    """An unknown key, one that belongs elsewhere, or one that stands there in its other spelling too."""
    from otel_chloe.config.schema import keys_at, places_of

    known = keys_at(above)
    for name in known:
        if key in {name, camel(name)}:
            return f"{camel(name)} is given twice, in both spellings. Write it once."
    places = places_of(key)
    if places:
        return f"unknown key {key!r}. It belongs {' or '.join(places)}."
    if not above and isinstance(value, Mapping):
        ofs = {spelling for name in keys_at(("agents", "*")) for spelling in (name, camel(name))}
        if ofs & set(cast("Mapping[object, object]", value)):
            return f"unknown key {key!r}. It is an agent's: write it below agents."
    return unknown_key(key, known)


def _no_mapping(value: object, known: Sequence[str]) -> str:
    keys = f"the keys {', '.join(camel(name) for name in known)}" if known else "a key for each agent"
    what = "nothing stands here" if value is None else f"{value!r} is not a mapping"
    return f"{what}. Write a mapping with {keys}."


def _written(value: object, loc: Sequence[int | str]) -> tuple[Key, ...]:
    """The path as the file spells it: the schema may name a key in its other spelling."""
    path: list[Key] = []
    for step in loc:
        key: Key = step
        if isinstance(value, Mapping):
            items = cast("Mapping[Key, object]", value)
            if key not in items:
                same = [k for k in items if isinstance(k, str) and camel(k) == camel(str(step))]
                key = same[0] if same else key
            value = items.get(key)
        elif isinstance(value, list | tuple) and isinstance(step, int):
            value = cast("Sequence[object]", value)[step]
        path.append(key)
    return tuple(path)


def _config_error(document: Document, problems: Sequence[_Problem]) -> ConfigError:
    placed = [(document.place(problem.path, at_key=problem.at_key), problem) for problem in problems]
    placed.sort(key=lambda pair: pair[0] or (0, 0))
    return ConfigError("\n".join(f"{document.at(place)}: {_said(problem)}" for place, problem in placed))


def _said(problem: _Problem) -> str:
    # A key that is no text cannot be told from an index; its own message names it.
    path = problem.path[:-1] if problem.at_key and not isinstance(problem.path[-1], str) else problem.path
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    return f"{where}: {problem.text}" if where else problem.text


def _warn(document: Document, rules: Rules) -> None:
    """Warn about what can be meant, but hardly is."""
    everyone = _doubts(rules.everyone) if rules.everyone else []
    inherited = {problem.text for problem in everyone}
    named = [problem for entry in [*rules.alone.values(), *rules.joined.values()] for problem in _doubts(entry)]
    own = [problem for problem in named if problem.text not in inherited]
    own += [problem for entry in rules.joined.values() for problem in _relaxed(rules.everyone, entry)]
    own += [problem for entry in [rules.everyone, *rules.alone.values()] if entry for problem in _pointless(entry)]
    for problem in dict.fromkeys(everyone + own):
        _logger.warning("%s: %s", document.at(document.place(problem.path)), _said(problem))


def _doubts(entry: AgentRules) -> list[_Problem]:
    at: tuple[Key, ...] = ("agents", entry.agent)
    found: list[_Problem] = []
    if entry.calls is not None:
        found += [_Problem((*at, "calls"), text) for text in contradictions(entry.calls)]
        found += [_Problem((*at, "calls"), _exact(name)) for name in _names(entry.calls) if "*" in name]
    if entry.expectations is not None:
        found += [_Problem((*at, "expectations"), text) for text in contradictions(entry.expectations.outcome)]
    if "*" in entry.agent and entry.agent != "*":
        found.append(_Problem(at, _exact(entry.agent)))
    return found


def _relaxed(everyone: AgentRules | None, joined: AgentRules) -> list[_Problem]:
    """Single values of an agent, which win, under which a run breaks a rule for everyone less easily."""
    if everyone is None or everyone.calls is None or joined.calls is None:
        return []
    return [
        _Problem(
            ("agents", joined.agent, "calls", key),
            f'{getattr(joined.calls, key)} relaxes {camel(rule)} of "*" for this agent, where {key} is '
            f'{getattr(everyone.calls, key)}. Leave {key} out here, or write it in "*" too if that is meant',
        )
        for key, rule in relaxed(everyone.calls, joined.calls)
    ]


def _pointless(entry: AgentRules) -> list[_Problem]:
    """Thresholds that no score of their scorer can be compared with. ``entry`` is one as it was written."""
    found: list[_Problem] = []
    for i, scorer in enumerate(each.scorer for each in entry.scorers):
        if scorer.threshold is None:
            continue
        why = "its direction is none, so nothing passes or fails" if scorer.direction == "none" else None
        if scorer.value_type == "boolean":
            why = "its values are true or false, which pass or fail by themselves"
        if why is not None:
            text = f"the threshold of {scorer.name} is for nothing: {why}"
            found.append(_Problem(("agents", entry.agent, "scorers", i), text))
    return found


def _names(expected: ExpectedCalls) -> list[str]:
    return [*expected.must_call, *expected.must_not_call, *expected.at_most_once]


def _exact(name: str) -> str:
    return f"{name!r} is taken as it stands: names are exact, there are no patterns"
