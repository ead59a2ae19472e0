"""`otel-chloe schema`: what it takes, and what it refuses, is what the rules file takes and refuses."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from example_programs import ROOT

from otel_chloe.cli import main
from otel_chloe.config import load_rules
from otel_chloe.config.json_schema import rules_schema
from otel_chloe.errors import ConfigError

SCHEMA = rules_schema()
WORDS = {
    "$defs", "$ref", "$schema", "additionalProperties", "allOf", "anyOf", "default", "description", "enum",
    "exclusiveMinimum", "items", "maximum", "minProperties", "minimum", "pattern", "patternProperties", "properties",
    "required", "title", "type",
}  # fmt: skip
TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool}


def is_number(value: Any, *, whole: bool) -> bool:
    return isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)


def fits_type(schema: dict[str, Any], value: Any) -> bool:
    kind = schema.get("type")
    if isinstance(kind, list):
        return any(fits_type({"type": each}, value) for each in kind)
    if kind in {"number", "integer"}:
        return is_number(value, whole=kind == "integer")
    return kind is None or isinstance(value, TYPES[kind])


def fits(schema: dict[str, Any], value: Any) -> bool:
    """What the words of JSON Schema that stand in ours mean. Any other word is an error, not a pass."""
    assert set(schema) <= WORDS, set(schema) - WORDS
    if "$ref" in schema:
        return fits(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], value)
    if "anyOf" in schema:
        return any(fits(choice, value) for choice in schema["anyOf"])
    checks = [
        fits_type(schema, value),
        "enum" not in schema or value in schema["enum"],
    ]
    if not all(checks):
        return False
    if isinstance(value, dict):
        return fits_mapping(schema, value)
    if isinstance(value, list):
        return all(fits(schema["items"], item) for item in value)
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    if not isinstance(value, bool):
        return fits_number(schema, value)
    return True


def fits_number(schema: dict[str, Any], value: float) -> bool:
    return (
        value >= schema.get("minimum", value)
        and value <= schema.get("maximum", value)
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
    )


def fits_mapping(schema: dict[str, Any], value: dict[str, Any]) -> bool:
    if set(schema) <= {"type", "description"}:
        return True  # the arguments of a scorer, which are anybody's
    assert schema["additionalProperties"] is False
    if len(value) < schema.get("minProperties", 0):
        return False
    if not set(schema.get("required", ())) <= set(value):
        return False
    for key, item in value.items():
        patterns = [below for pattern, below in schema.get("patternProperties", {}).items() if re.search(pattern, key)]
        below = schema.get("properties", {}).get(key) or next(iter(patterns), None)
        if below is None or not fits(below, item):
            return False
    return not any(set(rule["not"]["required"]) <= set(value) for rule in schema.get("allOf", ()))


def loads(value: Any) -> bool:
    try:
        load_rules(value)
    except ConfigError:
        return False
    return True


CASES: list[dict[str, Any]] = [
    {},
    {"agents": {}},
    {"agents": {"a": {"calls": {"mustCall": ["x"], "must_not_call": ["y"], "count": "executed", "per": "name"}}}},
    {"agents": {"a": {"calls": {"mustCall": ["x"], "must_call": ["y"]}}}},
    {"agents": {"a": {"calls": {"mustCal": ["x"]}}}},
    {"agents": {"a": {"calls": {"mustCall": "x"}}}},
    {"agents": {"a": {"calls": {"mustCall": [" "]}}}},
    {"agents": {"a": {"calls": {"mustCall": None}}}},
    {"agents": {"a": {"calls": {"count": "all"}}}},
    {"agents": {"a": {"calls": None}}},
    {"agents": {" ": {}}},
    {"agents": []},
    {"agents": {"a": {"purpose": "Keeps sites up.", "severity": "page"}}},
    {"agents": {"a": {"severity": "loud"}}},
    {"agents": {"a": {"where": {"service.name": "shop"}}}},
    {"agents": {"a": {"where": {"service.name": None}}}},
    {"agents": {"a": {"where": {"service.name": ["shop"], "x": 1}}}},
    {"agents": {"a": {"where": {" ": "shop"}}}},
    {"agents": {"a": {"where": "shop"}}},
    {"agents": {"a": {"where": {}}}},
    {"agents": {"a": {"scorers": ["otel_chloe.scorers:tool_error_rate"]}}},
    {"agents": {"a": {"scorers": "otel_chloe.scorers:tool_error_rate"}}},
    {"agents": {"a": {"scorers": [" "]}}},
    {"agents": {"a": {"scorers": [{"with": {"limit": 3}}]}}},
    {"agents": {"a": {"scorers": [{"arguments": {"limit": 3}, "use": "otel_chloe.scorers:max_calls"}]}}},
    {"agents": {"a": {"scorers": [
        {"use": "otel_chloe.scorers:max_calls", "with": {"limit": 3}, "name": "few", "threshold": 1, "sample": 0.5,
         "severity": "page"},
        {"use": "otel_chloe.scorers:max_calls", "with": {"limit": 9}},
    ]}}},
    {"agents": {"a": {"scorers": [{"use": "otel_chloe.scorers:tool_error_rate", "threshold": "0.5"}]}}},
    {"agents": {"a": {"scorers": [{"use": "otel_chloe.scorers:tool_error_rate", "sample": 2}]}}},
    {"agents": {"a": {"expectations": {"model": "m", "should": ["a"], "shouldNot": ["b"]}}}},
    {"agents": {"a": {"expectations": {"threshold": 1, "minDecided": 0, "sample": 0.5}}}},
    {"agents": {"a": {"expectations": {"threshold": 1.5}}}},
    {"agents": {"a": {"expectations": {"sample": -0.1}}}},
    {"judge": {"model": "m", "timeout_s": 1, "concurrency": 2, "usdPerHour": 0}},
    {"judge": {"timeout_s": 0}},
    {"judge": {"concurrency": 0}},
    {"judge": {"concurrency": True}},
    {"settings": {"settleS": 0, "max_spans": 1, "reasons": False}},
    {"settings": {"settleS": 0, "settle_s": 1}},
    {"settings": {"max_spans": 1.5}},
    {"settings": {"reasons": "no"}},
    {"setting": {}},
]  # fmt: skip


@pytest.mark.parametrize("rules", CASES, ids=json.dumps)
def test_it_takes_what_the_rules_file_takes(rules):
    assert fits(SCHEMA, rules) is loads(rules)


@pytest.mark.parametrize("path", ["examples/rules.yaml", "examples/site_doctor/rules.yaml"])
def test_it_takes_the_examples(path):
    assert fits(SCHEMA, yaml.safe_load((ROOT / path).read_text("utf-8")))


@pytest.mark.parametrize("rules", CASES, ids=json.dumps)
def test_a_validator_of_json_schema_says_the_same(rules):
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema, which is not installed")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)

    assert validator.is_valid(rules) is fits(SCHEMA, rules)


def test_every_setting_says_what_it_is():
    settings = SCHEMA["$defs"]["SettingsEntry"]["properties"]

    assert settings["settleS"]["description"] == "seconds that a run whose root has ended waits for late spans"
    assert settings["settle_s"]["default"] == 2.0


def test_the_command_prints_it(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
