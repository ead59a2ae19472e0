"""The kit for users' own scorers: how they are defined, how they are called, and what they may return.

Pure: it knows nothing of telemetry, threads or models. Who runs scorers stands on higher floors.
"""

from __future__ import annotations

from otel_chloe.kit.context import ScorerContext, context_of
from otel_chloe.kit.definition import AnyScorer, CodeScorer, Definition, JudgeScorer, as_scorer, as_scorers
from otel_chloe.kit.doubles import owners_of, without_double
from otel_chloe.kit.returns import failure, outcomes_of
from otel_chloe.kit.run_code import is_async, lacking, score_async
from otel_chloe.kit.scorer import Scorer

__all__ = [
    "AnyScorer",
    "CodeScorer",
    "Definition",
    "JudgeScorer",
    "Scorer",
    "ScorerContext",
    "as_scorer",
    "as_scorers",
    "context_of",
    "failure",
    "is_async",
    "lacking",
    "outcomes_of",
    "owners_of",
    "score_async",
    "without_double",
]
