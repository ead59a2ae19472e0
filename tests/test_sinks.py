from __future__ import annotations

import gc
import json
import weakref

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, ParentBased, Sampler, SamplingResult
from opentelemetry.trace import StatusCode
from sink_backend import BROKEN, END_NS, PASSED, SPAN_ID, TRACE_ID, Backend, a_run

from otel_chloe.mark import Failed, Line, Mark, Pending, Unscored
from otel_chloe.sinks import mark_attributes, origin_of

# --- attributes ------------------------------------------------------------------------------------------------------


def test_the_attributes_of_a_mark():
    assert mark_attributes([BROKEN]) == (
        {
            "chloe.passed": False,
            "chloe.calls.state": "scored",
            "chloe.calls.score": 0.0,
            "chloe.calls.passed": False,
            "chloe.calls.reason": BROKEN.reason,
        },
        True,
    )


def test_the_attributes_of_what_has_no_score():
    attributes, complete = mark_attributes(
        [
            Unscored("cut short"),
            Pending(name="human"),
            Failed("no", name="tone"),
            Mark(None, "so it reads", name="mood", label="calm", value="calm"),
        ]
    )

    assert complete
    assert attributes == {
        "chloe.calls.state": "unscored",
        "chloe.calls.reason": "cut short",
        "chloe.human.state": "pending",
        "chloe.tone.state": "failed",
        "chloe.tone.reason": "no",
        "chloe.mood.state": "scored",
        "chloe.mood.label": "calm",
        "chloe.mood.reason": "so it reads",
    }


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ([], None),
        ([Mark(1, "")], None),
        ([Mark(1, "", passed=True)], True),
        ([Mark(1, "", passed=True), Mark(0.5, "", name="x")], True),
        ([Mark(1, "", passed=True), Mark(0, "", name="x", passed=False)], False),
        ([Mark(1, "", passed=True), Unscored("", name="x")], None),
        ([Pending(name="x"), Mark(1, "", passed=True)], None),
        ([Failed("", name="x"), Mark(0, "", passed=False)], False),
        ([Unscored("")], None),
    ],
)
def test_the_verdict_on_a_span(outcomes, verdict):
    assert mark_attributes(outcomes)[0].get("chloe.passed") is verdict


def test_a_reason_is_cut_and_may_be_left_out():
    long = Mark(1.0, "x" * 5_000, passed=True)

    assert len(mark_attributes([long])[0]["chloe.calls.reason"]) == 1_024
    assert "chloe.calls.reason" not in mark_attributes([long], reasons=False)[0]


@pytest.mark.parametrize(
    ("room", "keys", "complete"),
    [(-3, 0, False), (0, 0, False), (1, 1, False), (4, 1, False), (5, 5, True), (6, 5, True), (128, 5, True)],
)
def test_a_full_span_gets_the_verdict_alone_or_nothing(room, keys, complete):
    attributes, fits = mark_attributes([BROKEN], room=room)

    assert (len(attributes), fits) == (keys, complete)
    assert not attributes or attributes["chloe.passed"] is False


def test_without_a_verdict_a_full_span_gets_nothing():
    assert mark_attributes([Unscored("cut short")], room=1) == ({}, False)


def test_the_attributes_never_evict_one_of_the_users():
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("app")
    for taken in range(120, 129):
        span = tracer.start_span("invoke_agent", attributes={f"user.{n}": n for n in range(taken)})
        span.set_attributes(mark_attributes([PASSED], room=128 - taken)[0])

        assert sum(key.startswith("user.") for key in span.attributes) == taken
        span.end()


# --- evaluation span and event ---------------------------------------------------------------------------------------


def test_the_evaluation_span_is_a_child_of_the_agent_span_and_takes_none_of_its_time(backend):
    backend.sinks().emit(a_run(conversation="c1"), [(a_run(conversation="c1"), PASSED)])

    (span,) = backend.spans.get_finished_spans()
    assert span.name == "evaluation calls"
    assert span.instrumentation_scope.name == "otel_chloe"
    assert span.context.trace_id == int(TRACE_ID, 16)
    assert span.parent.span_id == int(SPAN_ID, 16)
    assert (span.start_time, span.end_time) == (END_NS, END_NS)
    assert span.status.status_code is StatusCode.UNSET
    attributes = dict(span.attributes)
    assert json.loads(attributes.pop("output.value")) == {
        "name": "calls",
        "state": "scored",
        "score": 1.0,
        "value": None,
        "passed": True,
        "label": None,
        "reason": "all well",
    }
    assert attributes == {
        "gen_ai.evaluation.name": "calls",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.score.label": "pass",
        "gen_ai.evaluation.explanation": "all well",
        "gen_ai.agent.name": "site_doctor",
        "gen_ai.conversation.id": "c1",
        "chloe.state": "scored",
        "chloe.passed": True,
        "chloe.run.end": "root_ended",
        "chloe.scorer.key": "calls",
        "chloe.scorer.version": "v1",
        "chloe.mark.id": "m1",
        "chloe.mark.revision": 0,
        "openinference.span.kind": "EVALUATOR",
        "output.mime_type": "application/json",
    }


@pytest.mark.parametrize(
    ("outcome", "value", "label", "error"),
    [
        (Mark(0.5, "", name="x"), 0.5, None, None),
        (Mark(0.5, "", name="x", passed=True), 0.5, "pass", None),
        (Mark(7.5, "", name="x", passed=False), 7.5, "fail", None),
        (Mark(None, "", name="x", value=True), 1.0, "pass", None),
        (Mark(None, "", name="x", value=False), 0.0, "fail", None),
        (Mark(None, "", name="x", value="calm", label="calm", passed=True), None, "calm", None),
        (Pending("waits", name="x"), None, None, None),
        (Unscored("cut short", name="x"), None, None, "gap"),
        (Failed("broke", name="x", error="KeyError"), None, None, "KeyError"),
    ],
)
def test_the_value_the_label_and_the_error_of_each_outcome(backend, outcome, value, label, error):
    backend.sinks().emit(a_run(), [(a_run(), outcome)])

    (span,) = backend.spans.get_finished_spans()
    (event,) = backend.logs.get_finished_logs()
    for attributes in (span.attributes, event.log_record.attributes):
        assert attributes.get("gen_ai.evaluation.score.value") == value
        assert attributes.get("gen_ai.evaluation.score.label") == label
        assert attributes.get("error.type") == error
        assert attributes["chloe.state"] == outcome.state
    failed = isinstance(outcome, Failed)
    assert (span.status.status_code is StatusCode.ERROR) is failed
    assert event.log_record.severity_text == ("WARN" if failed else "INFO")


def test_the_event_stands_at_the_agent_span_and_is_an_event_on_the_wire(backend):
    backend.sinks().emit(a_run(), [(a_run(), BROKEN)])

    encoded = encode_logs(backend.logs.get_finished_logs())
    assert encoded.SerializeToString()
    (scope,) = encoded.resource_logs[0].scope_logs
    (record,) = scope.log_records
    assert scope.scope.name == "otel_chloe"
    assert record.event_name == "gen_ai.evaluation.result"
    assert (record.trace_id.hex(), record.span_id.hex()) == (TRACE_ID, SPAN_ID)
    assert record.time_unix_nano == END_NS
    assert record.flags == 1


def test_a_sub_run_has_its_evaluation_at_its_own_span(backend):
    sub = a_run(agent="helper", span_id="00000000000000aa")
    handed_over = a_run(mark_span_id="00000000000000bb", sub_runs=(sub,))
    backend.sinks().emit(handed_over, [(handed_over, PASSED), (sub, BROKEN)])

    parents = [span.parent.span_id for span in backend.spans.get_finished_spans()]
    assert parents == [0xBB, 0xAA]


def test_reasons_may_be_kept_back_everywhere(backend):
    judged = Mark(0.5, "secret", id="m", lines=(Line(1, "says hello", met=True, why="secret"),))
    failed = Failed("secret", name="tone")
    backend.sinks(reasons=False).emit(a_run(), [(a_run(), judged), (a_run(), failed)])

    spans, logs = backend.spans.get_finished_spans(), backend.logs.get_finished_logs()
    assert len(spans) == len(logs) == 2
    assert not any("secret" in span.to_json() for span in spans)
    assert not any("secret" in str(log.log_record.attributes) for log in logs)


def test_the_lines_of_a_judge_are_in_the_output(backend):
    judged = Mark(0.5, "half", name="expectations", value=object(), lines=(Line(1, "says hello", met=None, why="?"),))
    backend.sinks().emit(a_run(), [(a_run(), judged)])

    (span,) = backend.spans.get_finished_spans()
    (line,) = json.loads(span.attributes["output.value"])["lines"]
    assert line == {"id": 1, "text": "says hello", "met": None, "why": "?", "evidence": None, "found": None}


def test_evaluation_spans_may_be_switched_off(backend):
    backend.sinks(evaluation_spans=False).emit(a_run(), [(a_run(), PASSED)])

    assert not backend.spans.get_finished_spans()
    assert backend.logs.get_finished_logs()


class Without(Sampler):
    """Drops evaluation spans, as a user's sampler may."""

    def should_sample(self, parent_context, trace_id, name, *args, **kwargs) -> SamplingResult:
        decision = trace.get_current_span(parent_context)
        assert decision.get_span_context().trace_flags.sampled
        return (
            ALWAYS_ON.should_sample(None, trace_id, name) if "evaluation" not in name else SamplingResult(Decision.DROP)
        )

    def get_description(self) -> str:
        return "Without"


def test_a_sampler_that_drops_evaluation_spans_is_counted():
    backend = Backend(sampler=Without())
    backend.sinks().emit(a_run(), [(a_run(), PASSED)])

    assert not backend.spans.get_finished_spans()
    assert backend.health.stats()["evaluation_spans_not_sampled"] == 1


def test_the_evaluation_span_of_a_run_that_was_not_sampled_is_not_exported():
    backend = Backend(sampler=ParentBased(ALWAYS_ON))
    backend.sinks().emit(a_run(sampled=False), [(a_run(sampled=False), PASSED)])

    assert not backend.spans.get_finished_spans()


class Suppressible(SpanProcessor):
    """Ignores spans while instrumentation is suppressed, as Logfire's processor does."""

    def __init__(self) -> None:
        self.ended = []

    def on_end(self, span) -> None:
        if not trace.context_api.get_value(trace.context_api._SUPPRESS_INSTRUMENTATION_KEY):
            self.ended.append(span.name)


def test_evaluation_spans_are_not_suppressed_where_the_worker_suppresses_its_own_work(backend):
    processor = Suppressible()
    backend.tracers.add_span_processor(processor)
    api = trace.context_api
    token = api.attach(api.set_value(api._SUPPRESS_INSTRUMENTATION_KEY, True))
    backend.sinks().emit(a_run(), [(a_run(), PASSED)])
    api.detach(token)

    assert processor.ended == ["evaluation calls"]


# --- where evaluation spans go ---------------------------------------------------------------------------------------


def test_without_a_tracer_provider_spans_go_where_the_runs_own_span_goes(backend):
    other = Backend()
    sinks = backend.sinks(tracer_provider=None)
    for home in (backend, other, backend):
        span = home.tracers.get_tracer("app").start_span("invoke_agent")
        sinks.emit(a_run(), [(a_run(), Mark(1.0, "", id=None))], origin=origin_of(span))

    (first, second), (only,) = backend.spans.get_finished_spans(), other.spans.get_finished_spans()
    assert {span.name for span in (first, second, only)} == {"evaluation calls"}
    assert only.resource.attributes["service.name"] == "shop"
    assert only.instrumentation_scope.name == "otel_chloe"
    assert only.parent.span_id == int(SPAN_ID, 16)


def test_an_origin_keeps_no_span_alive():
    span = TracerProvider(shutdown_on_exit=False).get_tracer("app").start_span("invoke_agent")
    origin, ended = origin_of(span), weakref.ref(span)
    span.end()
    del span
    gc.collect()

    assert origin is not None
    assert ended() is None


@pytest.mark.parametrize("span", [None, object(), trace.INVALID_SPAN])
def test_what_is_no_span_of_the_sdk_has_no_origin(span):
    assert origin_of(span) is None


def test_no_origin_and_no_provider_means_the_global_provider(backend):
    backend.sinks(tracer_provider=None).emit(a_run(), [(a_run(), PASSED)])

    assert not backend.spans.get_finished_spans()
    assert backend.health.stats()["errors"] == 0
