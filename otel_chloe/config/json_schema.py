"""The JSON Schema of the rules file, for editors: which keys there are, in either spelling, and what they take."""

from __future__ import annotations

from typing import Any, Final, cast

from otel_chloe.config.schema import RulesFile, spelled
from otel_chloe.config.settings import Settings
from otel_chloe.config.table import MEANINGS
from otel_chloe.expected import camel

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SCORER: Final = {"$ref": "#/$defs/ScorerEntry"}
_NULL: Final = {"type": "null"}


def rules_schema() -> dict[str, Any]:
    """The schema as a mapping. What it takes, ``load_rules`` takes, but for what spans more than one key."""
    made = RulesFile.model_json_schema(by_alias=False)
    shapes: dict[str, dict[str, Any]] = {name: _entry(shape) for name, shape in made.pop("$defs").items()}
    for key, meaning in MEANINGS.items():
        for either in {key, camel(key)}:
            shapes["SettingsEntry"]["properties"][either] |= {
                "description": meaning.what,
                "default": getattr(Settings(), key),
            }
    return {"$schema": DIALECT, "title": "Rules of otel_chloe", **_entry(made, title=False), "$defs": shapes}


def _entry(shape: dict[str, Any], *, title: bool = True) -> dict[str, Any]:
    """One mapping of the file: every key in both spellings, but never a key in both at once."""
    written: dict[str, Any] = {spelled(name): _value(value) for name, value in shape["properties"].items()}
    doubled = [name for name in written if camel(name) != name]
    said: dict[str, Any] = {
        "type": "object",
        "description": " ".join(str(shape.get("description", "")).replace("``", "").split()),
        "properties": {
            either: value for name, value in written.items() for either in dict.fromkeys((camel(name), name))
        },
        "additionalProperties": False,
    }
    # A copy for each spelling, since descriptions are added to them.
    said["properties"] = {name: dict(value) for name, value in said["properties"].items()}
    if "required" in shape:
        said["required"] = shape["required"]
    if doubled:
        said["allOf"] = [{"not": {"required": [camel(name), name]}} for name in doubled]
    return {"title": shape["title"], **said} if title else said


def _value(value: Any) -> dict[str, Any]:
    """What a key takes. That it may be left out does not mean that it may be empty."""
    found = cast("dict[str, Any]", {key: item for key, item in value.items() if key not in {"default", "title"}})
    choices = [choice for choice in found.pop("anyOf", ()) if choice != _NULL]
    found |= choices[0] if len(choices) == 1 else {}
    if found.get("items") == _SCORER:
        found["items"] = {"anyOf": [{"type": "string", "pattern": r"\S"}, _SCORER]}  # named alone, or with more
    # An agent may have any name that is not blank.
    return found | {"additionalProperties": False} if "patternProperties" in found else found
