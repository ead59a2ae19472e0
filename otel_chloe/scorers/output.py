"""What a run said at last: its words, a pattern, or JSON of a certain shape."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.errors import ConfigError
from otel_chloe.expected import checked_text
from otel_chloe.gaps import HIDES_OUTPUT
from otel_chloe.mark import Mark, Unscored
from otel_chloe.run import Run
from otel_chloe.scorers.names import broken, is_cut, kept

_QUOTED: Final = 200


def output_equals(run: Run, *, text: str, ignore_case: bool = False) -> Mark | Unscored:
    """Whether the output is this text: 1 or 0. White space around either does not matter."""
    name = "output_equals"
    checked_text(text, f"{name}: text")
    said = _output(name, run)
    if isinstance(said, Unscored):
        return said
    equal = _folded(said.strip(), ignore=ignore_case) == _folded(text.strip(), ignore=ignore_case)
    if not equal and is_cut(run):
        return _cut(name)
    return kept(name, "the output is that text.") if equal else broken(name, f"the output is {_quoted(said)}")


def output_contains(run: Run, *, text: str, ignore_case: bool = False) -> Mark | Unscored:
    """Whether the output has this text in it: 1 or 0."""
    name = "output_contains"
    checked_text(text, f"{name}: text")
    said = _output(name, run)
    if isinstance(said, Unscored):
        return said
    if _folded(text, ignore=ignore_case) in _folded(said, ignore=ignore_case):
        return kept(name, f"the output contains {_quoted(text)}")
    return _cut(name) if is_cut(run) else broken(name, f"the output does not contain {_quoted(text)}")


def output_matches(run: Run, *, pattern: str) -> Mark | Unscored:
    """Whether the regular expression (Python's) is found in the output: 1 or 0. ``^...$`` is for all of it."""
    name = "output_matches"
    checked_text(pattern, f"{name}: pattern")
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{name}: pattern: {pattern!r} is no regular expression: {error}.") from None
    said = _output(name, run)
    if isinstance(said, Unscored):
        return said
    found = wanted.search(said)
    if found is not None:
        return kept(name, f"the output has {_quoted(found[0])}")
    return _cut(name) if is_cut(run) else broken(name, f"nothing in the output matches {_quoted(pattern)}")


def output_json(run: Run, *, schema: Mapping[str, Any] | None = None) -> Mark | Unscored:
    """Whether the output is JSON, and where a JSON schema is given, whether it keeps that: 1 or 0.

    A code fence around it does not matter. With a schema it needs the package jsonschema: ``otel-chloe[jsonschema]``.
    """
    name = "output_json"
    validator = None if schema is None else _validator(name, schema)
    said = _output(name, run)
    if isinstance(said, Unscored):
        return said
    try:
        value = json.loads(_unfenced(said))
    except (ValueError, RecursionError) as error:
        return _cut(name) if is_cut(run) else broken(name, f"the output is no JSON: {error}.")
    problem = None if validator is None else next(iter(validator.iter_errors(value)), None)
    if problem is None:
        return kept(name, "the output is JSON." if schema is None else "the output keeps the schema.")
    return broken(name, f"the output does not keep the schema at {problem.json_path}: {problem.message[:_QUOTED]}.")


def _validator(name: str, schema: Mapping[str, Any]) -> Any:
    """Whoever checks by the schema; its references lead nowhere outside of it."""
    try:
        validators: Any = importlib.import_module("jsonschema.validators")  # an extra: only for who has schemas
    except ImportError:
        raise ConfigError(f"{name}: a schema needs the package jsonschema. Install otel-chloe[jsonschema].") from None
    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except validators.exceptions.SchemaError as error:
        raise ConfigError(f"{name}: schema: {error.json_path}: {error.message}.") from None
    return kind(schema)


def _output(name: str, run: Run) -> str | Unscored:
    """What the run said. A run of which everything was seen and that said nothing, said an empty text."""
    if run.output is not None:
        return run.output
    for gap in run.gaps:
        if gap.code in HIDES_OUTPUT:
            detail = f": {gap.detail}" if gap.detail else ""
            return Unscored(f"the output is not known ({gap.code}{detail})", name=name)
    if not run.complete:
        return Unscored(f"the output is not known (cut short, end {run.end})", name=name, error="incomplete")
    return ""


def _cut(name: str) -> Unscored:
    return Unscored("a value was cut when it was recorded, perhaps the output (truncated)", name=name)


def _unfenced(text: str) -> str:
    found = re.fullmatch(r"\s*```\w*\n(.*?)\n?```\s*", text, re.DOTALL)
    return found[1] if found else text


def _folded(text: str, *, ignore: bool) -> str:
    return text.casefold() if ignore else text


def _quoted(text: str) -> str:
    return f'"{text[:_QUOTED]}"' + ("." if len(text) <= _QUOTED else "…")
