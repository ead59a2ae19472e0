"""What turns a run into marks: pure functions of a run and its rules, without telemetry and without a clock.

The ready-made scorers are imported when one is first asked for: who has only rules does not pay for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from otel_chloe.scorers.calls import calls, kept, used_names
from otel_chloe.scorers.scoring import EXPECTATIONS, JUDGE_OFF, Due, due, mark_id, outcomes, outcomes_under, rules_of

if TYPE_CHECKING:
    from otel_chloe.scorers.limits import (
        max_calls,
        max_cost,
        max_duration,
        max_model_calls,
        max_tokens,
        no_loops,
        tool_error_rate,
    )
    from otel_chloe.scorers.order import call_arguments, call_order, only_tools
    from otel_chloe.scorers.output import output_contains, output_equals, output_json, output_matches

_ROOMS: Final = {
    "limits": (
        "max_calls",
        "max_cost",
        "max_duration",
        "max_model_calls",
        "max_tokens",
        "no_loops",
        "tool_error_rate",
    ),
    "order": ("call_arguments", "call_order", "only_tools"),
    "output": ("output_contains", "output_equals", "output_json", "output_matches"),
}
_READY_MADE: Final = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "EXPECTATIONS",
    "JUDGE_OFF",
    "Due",
    "call_arguments",
    "call_order",
    "calls",
    "due",
    "kept",
    "mark_id",
    "max_calls",
    "max_cost",
    "max_duration",
    "max_model_calls",
    "max_tokens",
    "no_loops",
    "only_tools",
    "outcomes",
    "outcomes_under",
    "output_contains",
    "output_equals",
    "output_json",
    "output_matches",
    "rules_of",
    "tool_error_rate",
    "used_names",
]


def __getattr__(name: str) -> Any:
    room = _READY_MADE.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{room}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
