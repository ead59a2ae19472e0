"""One outcome as an evaluation span and as a `gen_ai.evaluation.result` log event."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Final

from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

from otel_chloe import semconv
from otel_chloe.mark import Failed, Mark, Outcome, Pending
from otel_chloe.run import Run

from .context import current

Attributes = dict[str, str | bool | int | float]

_LINES_LIMIT: Final = 100
"""Lines of a judge's answer that the JSON output carries."""


def score_value(outcome: Outcome) -> float | None:
    """The number of an outcome: a Mark's score, or 0 and 1 for a boolean. Only a Mark has one."""
    if not isinstance(outcome, Mark):
        return None
    if outcome.score is not None:
        return float(outcome.score)
    return float(outcome.value) if isinstance(outcome.value, bool) else None


def score_label(outcome: Outcome) -> str | None:
    """The word of an outcome: its own label, else pass or fail where a threshold or a boolean tells."""
    if not isinstance(outcome, Mark):
        return None
    if outcome.label is not None:
        return outcome.label
    verdict = outcome.passed
    if verdict is None and isinstance(outcome.value, bool):
        verdict = outcome.value
    if verdict is None:
        return None
    return semconv.PASS if verdict else semconv.FAIL


def error_type(outcome: Outcome) -> str | None:
    """Why there is no score: one word, of few. A pending outcome is no error."""
    return None if isinstance(outcome, Mark | Pending) else outcome.error


def evaluation_attributes(run: Run, outcome: Outcome, *, reasons: bool = True) -> Attributes:
    """What the evaluation span and event say alike."""
    said = {
        semconv.GEN_AI_EVALUATION_NAME: outcome.name,
        semconv.GEN_AI_EVALUATION_SCORE_VALUE: score_value(outcome),
        semconv.GEN_AI_EVALUATION_SCORE_LABEL: score_label(outcome),
        semconv.GEN_AI_EVALUATION_EXPLANATION: _explanation(outcome) if reasons else None,
        semconv.GEN_AI_AGENT_NAME: run.agent,
        semconv.GEN_AI_CONVERSATION_ID: run.conversation,
        semconv.CHLOE_STATE: outcome.state,
        semconv.CHLOE_PASSED: outcome.passed if isinstance(outcome, Mark) else None,
        semconv.CHLOE_SEVERITY: outcome.severity,
        semconv.CHLOE_RUN_END: run.end,
        semconv.CHLOE_SCORER_KEY: outcome.key,
        semconv.CHLOE_SCORER_VERSION: outcome.version,
        semconv.CHLOE_MARK_ID: outcome.id,
        semconv.CHLOE_MARK_REVISION: outcome.revision,
        semconv.ERROR_TYPE: error_type(outcome),
        **_judged(outcome),
    }
    return {key: value for key, value in said.items() if value is not None}


def _judged(outcome: Outcome) -> dict[str, str | int | float | None]:
    """What a judgement took."""
    took = None if isinstance(outcome, Pending) else outcome.judged
    if took is None:
        return {}
    return {
        semconv.CHLOE_JUDGE_MODEL: took.model,
        semconv.CHLOE_JUDGE_CALLS: took.calls,
        semconv.CHLOE_JUDGE_DURATION: took.duration_s,
        semconv.CHLOE_JUDGE_COST: took.cost_usd,
        semconv.GEN_AI_USAGE_INPUT_TOKENS: took.input_tokens,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: took.output_tokens,
    }


def _explanation(outcome: Outcome) -> str | None:
    return outcome.reason[: semconv.EXPLANATION_LIMIT] if outcome.reason else None


def emit_span(
    tracer: Tracer, context: Context, run: Run, outcome: Outcome, *, attributes: Attributes, reasons: bool = True
) -> bool:
    """Emits the evaluation span; False if a sampler dropped it.

    It starts and ends at the run's end: a judge's minutes must not stretch the trace that it judged.
    """
    with current(context):
        span = tracer.start_span(
            semconv.evaluation_span(outcome.name),
            context=context,
            kind=SpanKind.INTERNAL,
            attributes={
                **attributes,
                semconv.OPENINFERENCE_SPAN_KIND: semconv.EVALUATOR,
                semconv.OUTPUT_VALUE: _as_json(outcome, reasons=reasons),
                semconv.OUTPUT_MIME_TYPE: semconv.JSON_MIME_TYPE,
            },
            start_time=run.end_ns,
        )
        recorded = span.is_recording()
        if isinstance(outcome, Failed):
            span.set_status(Status(StatusCode.ERROR, _explanation(outcome) if reasons else outcome.error))
        span.end(end_time=run.end_ns)
    return recorded


def _as_json(outcome: Outcome, *, reasons: bool) -> str:
    output: dict[str, object] = {"name": outcome.name, "state": outcome.state}
    if isinstance(outcome, Mark):
        output |= {"score": outcome.score, "value": outcome.value, "passed": outcome.passed, "label": outcome.label}
    if reasons:
        output["reason"] = _explanation(outcome)
        if isinstance(outcome, Mark) and outcome.lines:
            output["lines"] = [asdict(line) for line in outcome.lines[:_LINES_LIMIT]]
    # default=str: a scorer's value may be any object, and a mark must not be lost for it.
    return json.dumps(output, ensure_ascii=False, default=str)


def emit_event(logger: Logger, context: Context, run: Run, outcome: Outcome, *, attributes: Attributes) -> None:
    """Emits the `gen_ai.evaluation.result` event, with the agent span's ids, at the run's end."""
    failed = isinstance(outcome, Failed)
    value = score_value(outcome)
    said = outcome.state if value is None else f"{value:g}"
    with current(context):
        logger.emit(
            LogRecord(
                timestamp=run.end_ns,
                context=context,
                event_name=semconv.GEN_AI_EVALUATION_RESULT,
                severity_number=SeverityNumber.WARN if failed else SeverityNumber.INFO,
                severity_text="WARN" if failed else "INFO",
                body=f"evaluation: {outcome.name}={said}",
                attributes=attributes,
            )
        )
