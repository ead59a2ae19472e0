"""otel_chloe scores live AI-agent runs from their OpenTelemetry spans."""

from __future__ import annotations

from otel_chloe.errors import ChloeError, ConfigError, InputError
from otel_chloe.expected import ExpectedCalls, ExpectedOutcome
from otel_chloe.mark import Failed, Line, Mark, Pending, Unscored, Violation
from otel_chloe.processor import ScoringSpanProcessor
from otel_chloe.run import Gap, Run, ToolCall
from otel_chloe.scorers import calls

__all__ = [
    "ChloeError",
    "ConfigError",
    "ExpectedCalls",
    "ExpectedOutcome",
    "Failed",
    "Gap",
    "InputError",
    "Line",
    "Mark",
    "Pending",
    "Run",
    "ScoringSpanProcessor",
    "ToolCall",
    "Unscored",
    "Violation",
    "calls",
]
