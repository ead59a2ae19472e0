"""Every name that otel_chloe writes: attributes, events, metrics, spans.

Names that conventions *read* stand with their convention. Where a name is not ours, the comment over it says whose it
is and how stable. The GenAI constants of the Python package `opentelemetry-semantic-conventions` are deprecated, so
their words are owned here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, NamedTuple

SCOPE: Final = "otel_chloe"
"""The instrumentation scope of our spans, events and metrics: how to tell our own spans from an agent's."""

# --- OpenTelemetry, stable -------------------------------------------------------------------------------------------
# semantic-conventions, model/error: low-cardinality; on evaluations where there is no score and something says why.
ERROR_TYPE: Final = "error.type"

# --- OpenTelemetry GenAI, status Development (semantic-conventions-genai, docs/gen-ai/gen-ai-events.md) ---------------
GEN_AI_EVALUATION_RESULT: Final = "gen_ai.evaluation.result"
"""The log event of one evaluation, parented to the span that was evaluated."""
GEN_AI_EVALUATION_NAME: Final = "gen_ai.evaluation.name"
GEN_AI_EVALUATION_SCORE_VALUE: Final = "gen_ai.evaluation.score.value"
GEN_AI_EVALUATION_SCORE_LABEL: Final = "gen_ai.evaluation.score.label"
GEN_AI_EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - no secret: input or output
GEN_AI_USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
GEN_AI_USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"

# In no convention yet: proposed as an evaluation span (semantic-conventions-genai #33), and in use elsewhere by that
# name (opensearch-genai-observability-sdk-py).
EVALUATION_SPAN: Final = "evaluation"
# In no convention yet: the name under which splunk-otel-util-genai records scores.
GEN_AI_EVALUATION_SCORE: Final = "gen_ai.evaluation.score"

# --- OpenInference (openinference-semantic-conventions 0.1.42) --------------------------------------------------------
OPENINFERENCE_SPAN_KIND: Final = "openinference.span.kind"
EVALUATOR: Final = "EVALUATOR"
OUTPUT_VALUE: Final = "output.value"
OUTPUT_MIME_TYPE: Final = "output.mime_type"
JSON_MIME_TYPE: Final = "application/json"

# --- Our own: attributes ---------------------------------------------------------------------------------------------
CHLOE_PASSED: Final = "chloe.passed"
CHLOE_STATE: Final = "chloe.state"
CHLOE_SEVERITY: Final = "chloe.severity"
CHLOE_RULE: Final = "chloe.rule"
CHLOE_RUN_END: Final = "chloe.run.end"
CHLOE_MARK_ID: Final = "chloe.mark.id"
CHLOE_MARK_REVISION: Final = "chloe.mark.revision"
CHLOE_SCORER_KEY: Final = "chloe.scorer.key"
CHLOE_SCORER_VERSION: Final = "chloe.scorer.version"
CHLOE_EXPECTED: Final = "chloe.expected"
"""What a program expects of a run, as JSON: read, and written on spans that start inside `expecting()`."""
CHLOE_JUDGE_MODEL: Final = "chloe.judge.model"
"""The judge's model, on an evaluation span: there ``gen_ai.request.model`` would make it look like a model call."""

# --- Our own: metrics ------------------------------------------------------------------------------------------------
CHLOE_EVALUATION_VALUE: Final = "chloe.evaluation.value"
CHLOE_MARKS: Final = "chloe.marks"
CHLOE_VIOLATIONS: Final = "chloe.violations"
CHLOE_RUNS: Final = "chloe.runs"
CHLOE_RUNS_OPEN: Final = "chloe.runs.open"
CHLOE_SPANS_LATE: Final = "chloe.spans.late"
CHLOE_REVISIONS: Final = "chloe.revisions"
CHLOE_ERRORS: Final = "chloe.errors"
CHLOE_JUDGE_CALLS: Final = "chloe.judge.calls"
CHLOE_JUDGE_DURATION: Final = "chloe.judge.duration"
CHLOE_JUDGE_TOKENS: Final = "chloe.judge.tokens"
CHLOE_JUDGE_COST: Final = "chloe.judge.cost"
CHLOE_JUDGE_QUEUE_SIZE: Final = "chloe.judge.queue.size"

# --- Values ----------------------------------------------------------------------------------------------------------
PASS: Final = "pass"  # noqa: S105 - no secret: with fail, the labels that the GenAI conventions give as examples
FAIL: Final = "fail"
OTHER: Final = "_other"
"""What a metric attribute says where its own word would make one series too many."""

REASON_LIMIT: Final = 1_024
"""Characters of a reason that an agent span carries."""
EXPLANATION_LIMIT: Final = 8_192
"""Characters of a reason that an evaluation span and event carry: a `calls` reason lists every tool used."""

Part = Literal["state", "score", "passed", "label", "reason"]
"""What an agent span says of one score name."""


class MarkKeys(NamedTuple):
    """The attribute keys of one score name on an agent span."""

    state: str
    score: str
    passed: str
    label: str
    reason: str


@lru_cache(maxsize=1_024)
def mark_keys(name: str) -> MarkKeys:
    """The keys of a score name: `mark_keys("calls").score` is `chloe.calls.score`."""
    return MarkKeys(*(f"chloe.{name}.{part}" for part in MarkKeys._fields))


def mark_attribute(name: str, part: Part) -> str:
    """One key of a score name: `mark_attribute("calls", "score")` is `chloe.calls.score`."""
    return mark_keys(name)[MarkKeys._fields.index(part)]


def evaluation_span(name: str) -> str:
    """The name of the evaluation span of a score name."""
    return f"{EVALUATION_SPAN} {name}"
