"""Marks stand on the agent span when it is exported, and go out as spans, events and metrics."""

from __future__ import annotations

import json

import pytest
from agent_app import FAILED, PASSED, App, marks_of
from opentelemetry.trace import SpanKind

STAR = {"agents": {"*": {"calls": {"mustNotCall": ["delete_site"]}}}}
BOTH = {
    "agents": {
        "*": {"calls": {"mustNotCall": ["delete_site"]}},
        "site_doctor": {"calls": {"mustCall": ["check_site"]}},
    }
}


@pytest.mark.parametrize("exporter_first", [True, False])
@pytest.mark.parametrize("batch", [True, False])
class TestMarksOnTheExportedSpan:
    def test_of_a_run_that_keeps_the_rules(self, batch, exporter_first):
        with App(batch=batch, exporter_first=exporter_first) as app:
            app.run("check_site", "restart_site")

            assert app.marks() == PASSED
            assert app.reason() == "Used: check_site, restart_site."

    def test_of_a_run_that_breaks_them(self, batch, exporter_first):
        with App(batch=batch, exporter_first=exporter_first) as app:
            app.run("delete_site")

            assert app.marks() == FAILED
            assert "delete_site" in app.reason()


def test_a_run_goes_out_as_span_event_and_metrics_too():
    with App() as app:
        app.run("check_site")

        (event,) = app.events()
        agent = app.span()
        evaluation = app.span("evaluation calls")
        assert event["span_id"] == agent.context.span_id
        assert evaluation.parent is not None
        assert evaluation.parent.span_id == agent.context.span_id
        assert evaluation.context.trace_id == agent.context.trace_id
        assert evaluation.start_time == evaluation.end_time == agent.end_time
        assert evaluation.attributes is not None
        assert evaluation.attributes["chloe.mark.id"] == event["chloe.mark.id"]
        assert event["gen_ai.evaluation.score.value"] == app.marks()["chloe.calls.score"] == 1.0
        assert event["gen_ai.evaluation.explanation"] == app.reason()
        assert app.counted("chloe.marks", chloe__state="scored", gen_ai__agent__name="site_doctor") == 1
        assert app.counted("chloe.runs", chloe__run__end="root_ended") == 1
        assert app.counted("chloe.runs.open") == 0


def test_a_broken_rule_is_a_violation_once():
    with App() as app:
        app.run("check_site", "delete_site", "delete_site")

        assert app.counted("chloe.violations", gen_ai__tool__name="delete_site") == 1


def test_a_forbidden_call_is_counted_while_its_run_is_open():
    with App() as app, app.agent():
        app.call("delete_site")
        assert app.counted("chloe.violations", gen_ai__tool__name="delete_site") == 1
        assert app.events() == []


def test_a_run_without_tools_is_marked():
    with App() as app:
        app.run()

        assert app.marks() == FAILED
        assert app.reason().endswith("Used: nothing.")


class TestNestedAgents:
    def test_the_outermost_agent_has_the_calls_of_all(self):
        with App(STAR) as app:
            with app.agent("planner"):
                app.run("delete_site")

            assert app.marks("invoke_agent planner") == FAILED
            assert app.marks() == {}
            assert app.scores() == [("planner", 0.0)]

    def test_a_sub_run_has_marks_where_rules_name_its_agent(self):
        with App(BOTH) as app:
            with app.agent("planner"):
                app.run("check_site")
                app.call("delete_site")

            assert app.marks("invoke_agent planner") == FAILED
            assert app.marks() == PASSED  # rules for everyone hold for top-level runs
            assert app.scores() == [("planner", 0.0), ("site_doctor", 1.0)]
            assert app.processor.stats()["runs"] == 1
            assert app.counted("chloe.runs", gen_ai__agent__name="site_doctor") == 1

    def test_a_sub_run_is_marked_though_the_outer_agent_has_no_rules(self):
        with App() as app:
            with app.agent("planner"), app.tool("ask_doctor"):
                app.run("restart_site")

            assert app.marks("invoke_agent planner") == {}
            assert app.marks() == FAILED
            assert app.scores() == [("site_doctor", 0.0)]

    def test_the_same_agent_outermost_has_both_rules(self):
        with App(BOTH) as app:
            app.run("check_site", "delete_site")

            assert app.marks() == FAILED
            assert app.scores() == [("site_doctor", 0.0)]

    def test_two_sub_runs_of_one_agent_each_have_their_own_mark(self):
        with App(BOTH) as app:
            with app.agent("planner"):
                app.run("check_site")
                app.run("restart_site")

            good, bad = app.exported("invoke_agent site_doctor")
            assert (marks_of(good), marks_of(bad)) == (PASSED, FAILED)
            assert app.scores() == [("planner", 1.0), ("site_doctor", 0.0), ("site_doctor", 1.0)]

    @pytest.mark.parametrize("name", ["invoke_agent planner", "plan"])
    def test_a_sub_run_is_scored_alone_though_the_outer_agent_says_only_at_its_end_what_it_is(self, name):
        with App(BOTH) as app:
            with app.tracer.start_as_current_span(name) as outer:
                app.call("delete_site")
                with app.tool("ask_doctor"):
                    app.run("check_site")
                outer.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"})

            assert app.scores() == [("planner", 0.0), ("site_doctor", 1.0)]
            assert app.marks(name) == FAILED
            assert app.marks() == PASSED
            assert app.reason() == "Used: check_site."


class TestSpansAbove:
    @pytest.mark.parametrize(
        "root",
        [
            {"kind": SpanKind.SERVER, "attributes": {"http.request.method": "POST"}},
            {"kind": SpanKind.INTERNAL, "attributes": {"http.method": "POST"}},
            {"kind": SpanKind.CONSUMER},
            {"kind": SpanKind.INTERNAL},
        ],
    )
    def test_of_other_trades_delimit_no_run(self, root):
        with App() as app:
            with app.tracer.start_as_current_span("POST /ask", **root):
                app.run("check_site")
                app.run("delete_site")

            good, bad = app.exported("invoke_agent site_doctor")
            assert (marks_of(good), marks_of(bad)) == (PASSED, FAILED)
            assert app.marks("POST /ask") == {}
            assert app.scores() == [("site_doctor", 0.0), ("site_doctor", 1.0)]

    @pytest.mark.parametrize(
        "workflow",
        [
            {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "nightly"},
            {"traceloop.span.kind": "workflow", "traceloop.entity.name": "nightly"},
            {"openinference.span.kind": "CHAIN"},
        ],
    )
    def test_of_a_workflow_carry_no_mark_of_the_agent_below(self, workflow):
        with App(BOTH) as app:
            with app.tracer.start_as_current_span("nightly", attributes=workflow):
                app.run("check_site")

            assert app.marks() == PASSED
            assert app.marks("nightly") == {}
            assert app.scores() == [("site_doctor", 1.0)]

    def test_runs_are_closed_while_the_request_above_goes_on(self):
        with App() as app, app.tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER):
            app.run("check_site")
            assert app.scores() == [("site_doctor", 1.0)]


class TestKindKnownOnlyAtTheEnd:
    def test_of_a_root(self):
        with App() as app:
            with app.tracer.start_as_current_span("ask") as span:
                app.call("check_site")
                span.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "site_doctor"})

            assert app.marks("ask") == PASSED
            assert app.scores() == [("site_doctor", 1.0)]

    @pytest.mark.parametrize("name", ["invoke_agent site_doctor", "invoke_agent"])
    def test_of_a_root_that_calls_an_agent_elsewhere(self, name):
        """Its kind is CLIENT, as the conventions want it."""
        with App() as app:
            with app.tracer.start_as_current_span(name, kind=SpanKind.CLIENT) as span:
                app.call("check_site")
                span.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "site_doctor"})

            assert app.scores() == [("site_doctor", 1.0)]
            assert app.marks(name) == PASSED

    def test_of_a_model_call_alone(self):
        with App({"agents": {"*": {"calls": {}}}}) as app:
            with app.tracer.start_as_current_span("chat gpt", kind=SpanKind.CLIENT) as span:
                span.set_attribute("gen_ai.operation.name", "chat")

            assert len(app.events()) == 1

    def test_of_an_agent_below_a_plain_root(self):
        with App() as app:
            with app.tracer.start_as_current_span("handle"), app.tracer.start_as_current_span("ask") as span:
                app.call("delete_site")
                span.set_attributes({"openinference.span.kind": "AGENT", "agent.name": "site_doctor"})

            assert app.marks("ask") == FAILED
            assert app.marks("handle") == {}

    def test_of_the_tool(self):
        with App() as app:
            with app.agent(), app.tracer.start_as_current_span("check") as span:
                span.set_attributes({"openinference.span.kind": "TOOL", "tool.name": "check_site"})

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]


def test_the_marks_of_a_handed_over_run_stand_on_the_agent_that_ends_last():
    rules = {"agents": {"triage": {"calls": {"mustCall": ["check_site"], "mustNotCall": ["delete_site"]}}}}
    with App(rules) as app:
        with app.tracer.start_as_current_span("flow", attributes={"gen_ai.operation.name": "invoke_workflow"}):
            with app.agent("triage"):
                app.call("transfer_to_site_doctor")
            with app.agent("site_doctor"):
                app.call("check_site")

        assert app.marks("invoke_agent triage") == {}
        assert app.marks() == PASSED
        (event,) = app.events()
        assert event["gen_ai.agent.name"] == "triage"
        assert event["span_id"] == app.span().context.span_id


class TestWithoutRules:
    def test_runs_are_counted_and_nothing_is_scored(self):
        with App(None) as app:
            app.run("check_site")

            assert app.marks() == {}
            assert app.events() == []
            assert app.exported("evaluation calls") == []
            assert app.processor.stats()["runs"] == app.counted("chloe.runs") == 1
            assert app.processor.stats().get("marks", 0) == 0

    def test_of_an_agent_that_no_rule_names(self):
        with App() as app:
            app.run("delete_site", agent="stranger")

            assert app.marks("invoke_agent stranger") == {}
            assert app.events() == []
            assert app.counted("chloe.runs", gen_ai__agent__name="stranger") == 1


class TestSwitches:
    def test_reasons_off(self):
        with App(settings={"reasons": False}) as app:
            app.run("check_site")

            assert app.marks() == PASSED
            assert app.reason() is None
            (event,) = app.events()
            assert "gen_ai.evaluation.explanation" not in event
            assert "Used" not in json.dumps(dict(app.span("evaluation calls").attributes or {}))

    def test_reasons_off_of_a_run_that_breaks_a_rule(self):
        with App(settings={"reasons": False}) as app:
            app.run("delete_site")

            assert app.marks() == FAILED
            assert app.reason() is None

    def test_evaluation_spans_off(self):
        with App(settings={"evaluation_spans": False}) as app:
            app.run("check_site")

            assert len(app.events()) == 1
            assert [span.name for span in app.exporter.get_finished_spans()] == [
                "execute_tool check_site",
                "invoke_agent site_doctor",
            ]

    def test_both_stand_in_the_rules_too(self):
        settings = {"reasons": False, "evaluationSpans": False}
        with App({"agents": {"*": {"calls": {}}}, "settings": settings}) as app:
            app.run("check_site")

            assert app.marks() == PASSED
            assert app.reason() is None
            assert app.exported("evaluation calls") == []


def test_our_own_evaluation_spans_open_no_run():
    with App({"agents": {"*": {"calls": {}}}}) as app:
        app.run("check_site")
        app.flush()
        app.run("check_site")
        app.flush()

        assert len(app.exported("evaluation calls")) == 2
        assert app.processor.stats()["runs"] == 2
        assert app.processor.stats()["runs_open"] == 0
