"""What turns a run into marks: pure functions of a run and its rules, without telemetry and without a clock."""

from __future__ import annotations

from otel_chloe.scorers.calls import calls, kept, used_names
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
from otel_chloe.scorers.scoring import EXPECTATIONS, JUDGE_OFF, Due, due, outcomes, outcomes_under, rules_of

__all__ = [
    "EXPECTATIONS",
    "JUDGE_OFF",
    "Due",
    "call_arguments",
    "call_order",
    "calls",
    "due",
    "kept",
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
