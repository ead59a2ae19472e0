"""The agent span's place in a trace, as the OpenTelemetry context that spans, events and exemplars hang on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from opentelemetry import context as context_api
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from otel_chloe.run import Run


def agent_context(*, trace_id: int, span_id: int, sampled: bool) -> Context:
    """A context whose current span is the agent span, which may have ended long ago."""
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    span = NonRecordingSpan(SpanContext(trace_id=trace_id, span_id=span_id, is_remote=False, trace_flags=flags))
    # On an empty context: the worker's own has the key that suppresses instrumentation, which would suppress our
    # evaluation spans too (Logfire and OpenInference ask for it when a span starts).
    return set_span_in_context(span, Context())


def run_context(run: Run) -> Context:
    """The context of the span that a run's marks stand on; an empty one where its ids are not known."""
    if run.mark_trace_id is None or run.mark_span_id is None:
        return Context()
    try:
        trace_id, span_id = int(run.mark_trace_id, 16), int(run.mark_span_id, 16)
    except ValueError:  # a run that a user made, with names for ids
        return Context()
    return agent_context(trace_id=trace_id, span_id=span_id, sampled=run.sampled)


@contextmanager
def current(context: Context) -> Generator[None]:
    """Makes a context the current one for a while."""
    token = context_api.attach(context)
    try:
        yield
    finally:
        context_api.detach(token)
