"""Whether a value passes: the threshold, inclusive, in its direction; a bool is its own verdict."""

from __future__ import annotations

from otel_chloe.kit.definition import Definition

BETTER = {"higher_is_better": "or more", "lower_is_better": "or less"}


def passed(value: object, definition: Definition | None) -> bool | None:
    """Whether it passes; None where nothing tells. ``definition`` is the one whose threshold is for this score."""
    if isinstance(value, bool):
        return value
    if definition is None or definition.threshold is None or not isinstance(value, (int, float)):
        return None
    if definition.direction == "none":
        return None
    if definition.direction == "lower_is_better":
        return value <= definition.threshold
    return value >= definition.threshold


def reason(value: object, definition: Definition | None) -> str:
    """What to say of a value that came without a comment."""
    if isinstance(value, bool):
        return "It returned true." if value else "It returned false."
    if isinstance(value, str):
        return f'It returned "{value}".'
    if passed(value, definition) is None or definition is None or definition.threshold is None:
        return f"It returned {value}."
    return f"{value}: {definition.threshold:g} {BETTER[definition.direction]} passes."
