from __future__ import annotations

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from sink_backend import BROKEN, PASSED, SPAN_ID, TRACE_ID, a_run

from otel_chloe import semconv
from otel_chloe.mark import Mark, Unscored, Violation
from otel_chloe.run import Run
from otel_chloe.sinks import Recent, Watched
from otel_chloe.sinks.metrics import MAX_BORN, FewWords

MINE = (("gen_ai.agent.name", "site_doctor"), ("gen_ai.evaluation.name", "calls"))


def test_scores_lie_in_buckets_made_for_them(backend):
    sinks = backend.sinks()
    for score in (0.0, 0.05, 0.55, 1.0):
        sinks.emit(a_run(), [(a_run(), Mark(score, ""))])

    point = backend.points(semconv.GEN_AI_EVALUATION_SCORE)[MINE]
    assert point.explicit_bounds == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert point.bucket_counts == (1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0)


def test_the_closed_attributes_of_marks_and_scores(backend):
    backend.sinks().emit(a_run(), [(a_run(), PASSED), (a_run(), BROKEN), (a_run(), Unscored("", id="u"))])

    assert set(backend.points(semconv.GEN_AI_EVALUATION_SCORE)) == {
        (*MINE, ("gen_ai.evaluation.score.label", "fail")),
        (("chloe.scorer.version", "v1"), *MINE, ("gen_ai.evaluation.score.label", "pass")),
    }
    assert backend.values(semconv.CHLOE_MARKS) == {
        (("chloe.severity", "page"), ("chloe.state", "scored"), *MINE, ("gen_ai.evaluation.score.label", "fail")): 1,
        (("chloe.state", "scored"), *MINE, ("gen_ai.evaluation.score.label", "pass")): 1,
        (("chloe.state", "unscored"), ("error.type", "gap"), *MINE): 1,
    }


def test_numbers_over_1_have_a_histogram_of_their_own_and_what_none_takes_is_counted(backend):
    sinks = backend.sinks()
    for score in (7.5, -1.0, float("nan"), float("inf")):
        sinks.emit(a_run(), [(a_run(), Mark(score, ""))])

    assert not backend.points(semconv.GEN_AI_EVALUATION_SCORE)
    assert backend.points(semconv.CHLOE_EVALUATION_VALUE)[MINE].sum == 7.5
    assert backend.health.errors() == {"not_recordable": 3}


def test_runs_equal_the_calls_marks_of_an_agent_sub_runs_included(backend):
    sinks = backend.sinks()
    sub = a_run(agent="helper", span_id="00000000000000aa")
    run = a_run(sub_runs=(sub,), end="settled")
    tone = Mark(0.5, "", name="tone")
    sinks.emit(run, [(run, PASSED), (run, tone), (sub, Mark(1.0, "", id="s"))])
    sinks.emit(run, [(run, Mark(0.7, "", name="expectations"))], completed=False)

    assert backend.values(semconv.CHLOE_RUNS) == {
        (("chloe.run.end", "settled"), ("gen_ai.agent.name", "site_doctor")): 1,
        (("chloe.run.end", "root_ended"), ("gen_ai.agent.name", "helper")): 1,
    }
    assert backend.health.stats() == {"errors": 0, "marks": 4, "runs": 1}


def test_exemplars_lead_to_the_run_on_the_wire(backend):
    backend.sinks().emit(a_run(), [(a_run(), BROKEN)])

    encoded = encode_metrics(backend.reader.get_metrics_data())
    assert encoded.SerializeToString()
    found = {}
    for metric in encoded.resource_metrics[0].scope_metrics[0].metrics:
        for point in [*metric.histogram.data_points, *metric.sum.data_points]:
            found.setdefault(metric.name, []).extend(
                (exemplar.trace_id.hex(), exemplar.span_id.hex()) for exemplar in point.exemplars
            )
    for name in ("gen_ai.evaluation.score", "chloe.marks", "chloe.violations", "chloe.runs"):
        assert found[name] == [(TRACE_ID, SPAN_ID)], name


def test_a_run_that_was_not_sampled_leaves_no_exemplar(backend):
    run = a_run(sampled=False)
    backend.sinks().emit(run, [(run, PASSED)])

    (point,) = backend.points(semconv.GEN_AI_EVALUATION_SCORE).values()
    assert point.count == 1
    assert not point.exemplars


def test_a_violation_counted_early_is_not_counted_again(backend):
    sinks = backend.sinks()
    violation = Violation("must_not_call", "delete_site")
    sinks.violation(a_run(), violation, severity="page")
    sinks.violation(a_run(), violation, severity="page")
    sinks.emit(a_run(), [(a_run(), BROKEN)])
    other = a_run(span_id="00000000000000aa")
    twice = Mark(0.0, "", id="m3", violations=(violation, violation))
    sinks.emit(other, [(other, twice)])

    labels = (
        ("chloe.rule", "must_not_call"),
        ("gen_ai.agent.name", "site_doctor"),
        ("gen_ai.tool.name", "delete_site"),
    )
    assert backend.values(semconv.CHLOE_VIOLATIONS) == {
        (labels[0], ("chloe.severity", "page"), *labels[1:]): 1,
        labels: 1,
    }


def test_a_mark_is_emitted_once_and_a_revision_only_counted(backend):
    sinks = backend.sinks()
    late = Mark(0.0, "", id="m1", revision=1, violations=(Violation("must_call", "x"),), passed=False)
    sinks.emit(a_run(), [(a_run(), PASSED)])
    for outcome in (PASSED, late, late):
        sinks.emit(a_run(), [(a_run(), outcome)], completed=False)

    revisions = [span.attributes["chloe.mark.revision"] for span in backend.spans.get_finished_spans()]
    assert revisions == [0, 1]
    assert len(backend.logs.get_finished_logs()) == 2
    assert sum(point.count for point in backend.points(semconv.GEN_AI_EVALUATION_SCORE).values()) == 1
    assert sum(backend.values(semconv.CHLOE_MARKS).values()) == 1
    assert backend.values(semconv.CHLOE_REVISIONS) == {(("gen_ai.evaluation.name", "calls"),): 1}
    assert not backend.points(semconv.CHLOE_VIOLATIONS)
    assert backend.health.stats()["repeated_marks"] == 2


def test_the_memory_of_what_was_emitted_is_bounded():
    recent = Recent(10)

    assert [recent.add(number) for number in (1, 2, 1)] == [True, True, False]
    for number in range(1_000):
        recent.add(number)
    assert len(recent._new) + len(recent._old) <= 20
    assert all(number in recent for number in range(990, 1_000))


def test_the_series_of_named_agents_and_scorers_start_at_0(backend):
    watched = Watched("site_doctor", ("calls", "tone"), (Violation("must_not_call", "delete_site"),), "page")
    backend.sinks(watched=[watched]).look()

    marks = backend.values(semconv.CHLOE_MARKS)
    assert len(marks) == 4
    assert {*marks.values(), *backend.values(semconv.CHLOE_RUNS).values()} == {0}
    assert len(backend.values(semconv.CHLOE_RUNS)) == 7
    assert backend.values(semconv.CHLOE_VIOLATIONS) == {
        (
            ("chloe.rule", "must_not_call"),
            ("chloe.severity", "page"),
            ("gen_ai.agent.name", "site_doctor"),
            ("gen_ai.tool.name", "delete_site"),
        ): 0
    }
    assert list(backend.values(semconv.CHLOE_SPANS_LATE).values()) == [0]
    assert list(backend.values(semconv.CHLOE_RUNS_OPEN).values()) == [0]


def test_at_most_a_thousand_series_start_at_0(backend):
    backend.sinks(watched=[Watched(f"agent {number}") for number in range(700)]).look()

    assert len(backend.values(semconv.CHLOE_MARKS)) == MAX_BORN
    assert not backend.points(semconv.CHLOE_RUNS)


def test_a_born_series_is_the_one_that_marks_are_counted_in(backend):
    sinks = backend.sinks(watched=[Watched("site_doctor", severity="page")])
    sinks.emit(a_run(), [(a_run(), BROKEN)])

    assert sorted(backend.values(semconv.CHLOE_MARKS).values()) == [0, 1]


def test_agents_that_no_rule_names_are_few(backend):
    sinks = backend.sinks(watched=[Watched("site_doctor")])
    for number in range(60):
        run = a_run(agent=f"stranger {number}")
        sinks.emit(run, [(run, Mark(1.0, ""))])
    sinks.emit(a_run(), [(a_run(), Mark(1.0, ""))])
    sinks.emit(a_run(agent=None), [])

    counted = {}
    for labels, value in backend.values(semconv.CHLOE_RUNS).items():
        name = dict(labels)["gen_ai.agent.name"]
        counted[name] = counted.get(name, 0) + value
    assert counted["site_doctor"] == 1
    assert counted["stranger 49"] == 1
    assert "stranger 50" not in counted
    assert counted["_other"] == 11


def test_a_word_that_was_seen_stays():
    few = FewWords(["named"], limit=1)

    assert [few.of(word) for word in ("a", "b", "named", "a", None)] == ["a", "_other", "named", "a", "_other"]


def test_the_counts_of_otel_chloe_itself_are_published_as_they_change(backend):
    sinks = backend.sinks()
    backend.health.count("spans_late", 3)
    backend.health.error("queue_full", 2)
    sinks.publish(open_runs=5)
    sinks.publish(open_runs=2)
    backend.health.error("queue_full")
    sinks.publish(open_runs=2)

    assert backend.values(semconv.CHLOE_RUNS_OPEN) == {(): 2}
    assert backend.values(semconv.CHLOE_SPANS_LATE) == {(): 3}
    assert backend.values(semconv.CHLOE_ERRORS) == {(("error.type", "queue_full"),): 3}


# --- one that fails --------------------------------------------------------------------------------------------------


class Broken:
    """A provider of any kind whose every call raises."""

    def __getattr__(self, name: str):
        raise ConnectionError(name)


@pytest.mark.parametrize("broken", ["tracer_provider", "meter_provider", "logger_provider"])
def test_a_sink_that_fails_is_counted_and_does_not_stop_the_others(backend, broken, caplog):
    sinks = backend.sinks(**{broken: Broken()})
    sinks.emit(a_run(), [(a_run(), PASSED)])
    sinks.publish(open_runs=1)
    backend.health.write_log()

    worked = {
        "tracer_provider": bool(backend.spans.get_finished_spans()),
        "meter_provider": backend.reader.get_metrics_data() is not None,
        "logger_provider": bool(backend.logs.get_finished_logs()),
    }
    assert worked == {name: name != broken for name in worked}
    assert backend.health.errors()["ConnectionError"] >= 1
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("ids", [{}, {"trace_id": "my trace", "span_id": "my span"}])
def test_a_run_without_real_ids_is_counted_and_leaves_no_span(backend, ids):
    run = Run(agent="site_doctor", **ids)
    backend.sinks().emit(run, [(run, PASSED)])

    assert not backend.spans.get_finished_spans()
    assert sum(backend.values(semconv.CHLOE_RUNS).values()) == 1
    assert backend.health.stats()["errors"] == 0
