"""Lines judged on live runs, with the real SDK and a judge by script."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_app import App, marks_of
from judge_script import JUDGED, Judge, Stuck, checks, rules
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF


def judged_spans(app: App) -> list[dict[str, Any]]:
    found = [span for span in app.exporter.get_finished_spans() if span.name == "evaluation expectations"]
    return [dict(span.attributes or {}) for span in found]


def points(app: App, name: str) -> dict[frozenset[tuple[str, Any]], Any]:
    """The values of a counter, by its attributes."""
    data = app.reader.get_metrics_data()
    found = {}
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                if metric.name == name:
                    for point in metric.data.data_points:
                        value = point.value if hasattr(point, "value") else point.count
                        found[frozenset((point.attributes or {}).items())] = value
    return found


def marks_counted(app: App, **labels: str) -> int:
    wanted = {"gen_ai.evaluation.name": "expectations", **labels}
    return sum(value for key, value in points(app, "chloe.marks").items() if wanted.items() <= dict(key).items())


def test_a_flush_has_runs_judged_and_their_marks_out():
    judge = Judge(checks(True))
    with App(JUDGED, complete=judge) as app:
        app.run("check_site")
        assert app.processor.force_flush(10_000)

        (said,) = judged_spans(app)
        assert said["gen_ai.evaluation.score.value"] == 1.0
        assert said["gen_ai.evaluation.score.label"] == "pass"
        assert said["chloe.judge.model"] == "test/judge"
        assert said["chloe.judge.calls"] == 1
        assert said["chloe.judge.duration"] >= 0
        (line,) = json.loads(said["output.value"])["lines"]
        assert (line["text"], line["met"], line["why"]) == ("says that the site is up", True, "so it is")
        assert [model for model, _ in judge.asked] == ["test/judge"]


def test_the_judges_mark_is_beside_the_span_not_on_it():
    with App(JUDGED, complete=Judge(checks(False))) as app:
        app.run("check_site")
        app.processor.force_flush(10_000)

        agent = next(span for span in app.exporter.get_finished_spans() if span.name == "invoke_agent site_doctor")
        assert (
            marks_of(agent)
            == {
                "chloe.calls.state": "scored",
                "chloe.calls.score": 1.0,
                "chloe.calls.passed": True,
            }
            or marks_of(agent)["chloe.calls.score"] == 1.0
        )
        assert "chloe.expectations.score" not in marks_of(agent)


def test_events_and_metrics_carry_the_mark_and_the_calls():
    with App(JUDGED, complete=Judge(checks(False))) as app:
        app.run("check_site")
        app.processor.force_flush(10_000)

        assert marks_counted(app, **{"gen_ai.evaluation.score.label": "fail"}) == 1
        assert sum(points(app, "chloe.judge.calls").values()) == 1
        assert sum(points(app, "chloe.judge.duration").values()) == 1
        assert sum(points(app, "chloe.judge.queue.size").values()) == 0
        assert sum(points(app, "chloe.runs").values()) == 1
        names = [log.log_record.attributes["gen_ai.evaluation.name"] for log in app.log_exporter.get_finished_logs()]
        assert sorted(names) == ["calls", "expectations"]


def test_a_judge_that_fails_gives_no_number():
    def fails() -> str:
        raise RuntimeError("no way")

    with App(JUDGED, complete=Judge(fails)) as app:
        app.run("check_site")
        app.processor.force_flush(10_000)

        (said,) = judged_spans(app)
        assert said["chloe.state"] == "failed"
        assert said["error.type"] == "RuntimeError"
        assert "gen_ai.evaluation.score.value" not in said
        assert marks_counted(app, **{"chloe.state": "failed"}) == 1


def test_what_is_not_sampled_is_unscored_and_counted():
    judge = Judge()
    with App(rules(sample=0.0), complete=judge) as app:
        app.run("check_site")
        app.processor.force_flush(10_000)

        assert judge.asked == []
        assert marks_counted(app, **{"chloe.state": "unscored", "error.type": "sampled_out"}) == 1


def test_runs_whose_calls_failed_are_all_judged():
    judge = Judge()
    with App(rules(sample=0.0), complete=judge) as app:
        app.run("delete_site")
        app.processor.force_flush(10_000)

        assert len(judge.asked) == 1


def test_a_trace_that_is_not_sampled_is_not_judged():
    judge = Judge()
    with App(JUDGED, complete=judge, sampler=ALWAYS_OFF) as app:
        app.run("check_site")
        app.processor.force_flush(10_000)

        assert judge.asked == []


def test_a_shutdown_waits_for_the_judge():
    app = App(JUDGED, complete=Judge())
    app.run("check_site")
    app.provider.shutdown()

    assert [said["chloe.state"] for said in judged_spans(app)] == ["scored"]


def test_a_shutdown_that_cannot_wait_marks_what_is_left_as_unscored():
    judge = Stuck()
    app = App(JUDGED, complete=judge, settings={"shutdown_s": 1.0})
    app.run("check_site", "check_site")
    app.run("check_site")
    app.provider.shutdown()
    judge.let_go.set()

    assert [said["error.type"] for said in judged_spans(app)] == ["deadline", "deadline"]


def test_a_flush_that_takes_too_long_says_so_and_loses_nothing():
    judge = Stuck()
    with App(JUDGED, complete=judge) as app:
        app.run("check_site")
        assert not app.processor.force_flush(100)
        judge.let_go.set()
        assert app.processor.force_flush(10_000)

        assert [said["chloe.state"] for said in judged_spans(app)] == ["scored"]


def test_on_mark_gets_every_outcome_with_its_run():
    seen: list[tuple[str | None, str, str]] = []
    with App(
        JUDGED,
        complete=Judge(),
        on_mark=lambda run, outcome: seen.append((run.agent, outcome.name, outcome.state)),
    ) as app:
        app.run("check_site")
        app.processor.force_flush(10_000)

    assert seen == [("site_doctor", "calls", "scored"), ("site_doctor", "expectations", "scored")]


def test_on_mark_that_raises_is_counted_and_harms_nobody():
    def raises(*_: Any) -> None:
        raise KeyError("odd")

    with App(JUDGED, complete=Judge(), on_mark=raises, errors=2) as app:
        app.run("check_site")
        app.processor.force_flush(10_000)

        assert len(judged_spans(app)) == 1
        assert app.processor.stats()["errors.KeyError"] == 2


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_gateway_may_be_sync_or_async(kind: str):
    async def answer(model: str, messages: list[dict[str, str]]) -> str:
        del model, messages
        return checks(True)

    with App(JUDGED, complete=Judge() if kind == "sync" else answer) as app:
        app.run("check_site")
        app.processor.force_flush(10_000)

        assert [said["chloe.state"] for said in judged_spans(app)] == ["scored"]
