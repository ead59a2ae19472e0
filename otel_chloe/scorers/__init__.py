"""What turns a run into marks: pure functions of a run and its rules, without telemetry and without a clock."""

from __future__ import annotations

from otel_chloe.scorers.calls import calls, kept, used_names
from otel_chloe.scorers.scoring import EXPECTATIONS, JUDGE_OFF, Due, due, outcomes, outcomes_under, rules_of

__all__ = [
    "EXPECTATIONS",
    "JUDGE_OFF",
    "Due",
    "calls",
    "due",
    "kept",
    "outcomes",
    "outcomes_under",
    "rules_of",
    "used_names",
]
