"""Spans that are unusual: unsampled, below another process's, full, cut, late."""

from __future__ import annotations

import pytest
from agent_app import FAILED, PASSED, App, Kept, agent_attributes, marks_of, tool_attributes
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, ParentBased, Sampler, SamplingResult
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags

UNSAMPLED, SAMPLED = TraceFlags(TraceFlags.DEFAULT), TraceFlags(TraceFlags.SAMPLED)
NAMED = {"agents": {"site_doctor": {"calls": {"mustCall": ["check_site"]}}}}
FREE = {"agents": {"*": {"calls": {}}}}


class Deciding(Sampler):
    def __init__(self, decide) -> None:
        self.decide = decide

    def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, links=None, trace_state=None):
        return SamplingResult(self.decide(name), attributes)

    def get_description(self):
        return "Deciding"


def remote(flags=SAMPLED, trace_id=7, span_id=9):
    parent = NonRecordingSpan(SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags))
    return trace.set_span_in_context(parent)


class TestSampling:
    def test_a_recorded_span_that_is_not_sampled_is_scored(self):
        kept = Kept()
        with App(after=[kept], sampler=Deciding(lambda name: Decision.RECORD_ONLY)) as app:
            app.run("check_site")

            assert app.scores() == [("site_doctor", 1.0)]
            assert app.exporter.get_finished_spans() == ()
            assert marks_of(next(span for span in kept.spans if span.name == "invoke_agent site_doctor")) == PASSED
            assert app.counted("chloe.marks", chloe__state="scored") == 1

    def test_a_dropped_run_is_not_seen(self):
        with App(sampler=ALWAYS_OFF) as app:
            app.run("check_site")

            assert app.events() == []
            assert app.processor.stats()["runs_open"] == 0

    def test_a_run_below_an_unsampled_remote_parent_is_not_seen(self):
        with App() as app:
            with app.agent(context=remote(UNSAMPLED)):
                app.call("check_site")

            assert app.events() == []

    def test_an_evaluation_span_that_the_sampler_drops_is_counted(self):
        def decide(name):
            return Decision.DROP if name.startswith("evaluation") else Decision.RECORD_AND_SAMPLE

        with App(sampler=ParentBased(Deciding(decide), local_parent_sampled=Deciding(decide))) as app:
            app.run("check_site")

            assert len(app.events()) == 1
            assert app.exported("evaluation calls") == []
            assert app.processor.stats()["evaluation_spans_not_sampled"] == 1

    def test_a_sampler_that_raises_at_the_evaluation_span_costs_that_span_alone(self):
        def decide(name):
            if name.startswith("evaluation"):
                raise LookupError(name)
            return Decision.RECORD_AND_SAMPLE

        with App(sampler=Deciding(decide), errors=1) as app:
            app.run("check_site")

            assert app.marks() == PASSED
            assert len(app.events()) == 1
            assert app.counted("chloe.marks", chloe__state="scored") == 1

    def test_a_sampler_that_raises_is_the_applications_own_affair(self):
        def decide(name):
            if "broken" in name:
                raise LookupError(name)
            return Decision.RECORD_AND_SAMPLE

        with App(sampler=Deciding(decide)) as app:
            with app.agent():
                with pytest.raises(LookupError):
                    app.call("broken")
                app.call("check_site")

            assert app.marks() == PASSED


class TestRemoteParents:
    def test_an_agent_below_one_is_a_run(self):
        with App() as app:
            with app.agent(context=remote()):
                app.call("check_site")

            assert app.marks() == PASSED
            assert app.span().context.trace_id == 7
            assert app.scores() == [("site_doctor", 1.0)]

    def test_two_agents_below_the_same_one_are_two_runs(self):
        with App() as app:
            for tool in ("check_site", "delete_site"):
                with app.agent(context=remote()):
                    app.call(tool)

            assert app.scores() == [("site_doctor", 0.0), ("site_doctor", 1.0)]

    def test_a_service_below_one_with_an_agent_in_it(self):
        with App() as app:
            with app.tracer.start_as_current_span("POST /", context=remote(), kind=SpanKind.SERVER):
                app.run("check_site")

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]


class TestAFullSpan:
    @pytest.mark.parametrize("limits", [None, SpanLimits(max_span_attributes=40), SpanLimits(max_attributes=30)])
    @pytest.mark.parametrize("free", range(8))
    @pytest.mark.parametrize("tools", [["check_site"], ["delete_site"]])
    def test_loses_no_attribute_of_the_users(self, limits, free, tools):
        most = {None: 128}.get(limits) or limits.max_span_attributes
        with App(span_limits=limits or SpanLimits()) as app:
            with app.agent() as span:
                app.call(*tools)
                own = {f"app.{n}": n for n in range(most - free - len(agent_attributes("")) - 1)}
                span.set_attributes(own)

            exported = app.span()
            expected = PASSED if tools == ["check_site"] else FAILED
            assert exported.dropped_attributes == 0
            assert own.items() <= dict(exported.attributes).items()
            if free >= 5:
                assert marks_of(exported) == expected
            else:
                assert marks_of(exported) == ({"chloe.passed": expected["chloe.passed"]} if free else {})
            assert app.processor.stats().get("no_room_on_span", 0) == (free < 5)
            assert app.scores() == [("site_doctor", expected["chloe.calls.score"])]

    def test_without_limits_takes_all(self):
        with App(span_limits=SpanLimits(max_span_attributes=SpanLimits.UNSET, max_attributes=SpanLimits.UNSET)) as app:
            with app.agent() as span:
                app.call("check_site")
                span.set_attributes({f"app.{n}": n for n in range(500)})

            assert app.marks() == PASSED

    def test_that_lost_attributes_is_marked_with_a_gap(self):
        """The name of the agent was the oldest attribute, and is gone: the span's name still tells it."""
        with App(span_limits=SpanLimits(max_span_attributes=40)) as app:
            with app.agent() as span:
                app.call("check_site")
                span.set_attributes({f"app.{n}": n for n in range(60)})

            assert app.span().dropped_attributes > 0
            assert marks_of(app.span()) == {}
            assert app.processor.stats()["runs_open"] == 0


def test_values_cut_at_a_length_change_no_mark():
    with App(span_limits=SpanLimits(max_span_attribute_length=14)) as app:
        with app.agent(attributes={**agent_attributes("site_doctor"), "gen_ai.input.messages": "[" + "x" * 99}):
            app.call("check_site", "restart_site")

        assert app.marks() == PASSED
        assert app.reason() == "Used: check_si"
        assert app.scores() == [("site_doctor", 1.0)]


class TestLateSpans:
    def test_a_tool_that_ends_after_the_agent_counts_as_called(self):
        with App(NAMED) as app:
            with app.agent():
                late = app.tracer.start_span("execute_tool check_site", attributes=tool_attributes("check_site"))
            late.end()

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]
            assert app.counted("chloe.marks", chloe__state="scored") == 1

    def test_a_span_open_below_the_agent_that_may_be_a_call_leaves_the_attributes_undecided(self):
        """What the attributes say of a part of the run must never contradict the event, which knows the whole."""
        with App(NAMED) as app:
            with app.agent():
                late = app.tracer.start_span("work")
            late.set_attributes(tool_attributes("check_site"))
            late.end()

            assert app.scores() == [("site_doctor", 1.0)]
            assert app.marks() == {"chloe.calls.state": "unscored"}

    def test_a_forbidden_call_that_is_open_when_the_agent_ends_breaks_the_rule(self):
        with App() as app:
            with app.agent():
                app.call("check_site")
                late = app.tracer.start_span("execute_tool delete_site", attributes=tool_attributes("delete_site"))
            late.end()

            assert app.marks() == FAILED
            assert app.scores() == [("site_doctor", 0.0)]

    def test_a_tool_that_starts_after_the_agent_ended(self):
        with App(NAMED) as app:
            with app.agent() as span:
                pass
            app.call("check_site", context=trace.set_span_in_context(span))

            assert app.marks() == FAILED
            assert app.scores() == [("site_doctor", 1.0)]

    def test_a_tool_that_ends_after_its_run_was_closed_is_counted(self):
        with App(NAMED) as app:
            with app.agent():
                late = app.tracer.start_span("execute_tool check_site", attributes=tool_attributes("check_site"))
            app.flush()
            assert [event["chloe.run.end"] for event in app.events()] == ["settled"]
            late.end()

            assert len(app.events()) == 1
            assert app.processor.stats()["spans_late"] == app.counted("chloe.spans.late") == 1
            assert app.processor.stats()["runs"] == 1
            assert app.processor.stats()["runs_open"] == 0

    @pytest.mark.parametrize("ends", [True, False])
    def test_a_model_call_that_is_open_when_its_run_is_closed_is_no_run_of_its_own(self, ends):
        with App(NAMED) as app:
            with app.agent():
                late = app.tracer.start_span("chat", attributes={"gen_ai.operation.name": "chat"})
            app.flush()
            if ends:
                late.end()
                app.flush()
            app.stop()

            assert [event["chloe.run.end"] for event in app.events()] == ["settled"]
            assert app.processor.stats()["runs"] == 1
            assert app.processor.stats().get("spans_late", 0) == ends

    def test_a_tool_that_starts_after_its_run_was_closed_is_counted(self):
        with App(NAMED) as app:
            with app.agent() as span:
                pass
            app.flush()
            app.call("check_site", context=trace.set_span_in_context(span))

            assert len(app.events()) == 1
            assert app.processor.stats()["spans_late"] == 1
            assert app.processor.stats()["runs"] == 1
            assert app.processor.stats()["runs_open"] == 0

    def test_an_agent_that_starts_after_the_run_was_closed_is_a_run(self):
        """A leaked context: nobody reset what the first run had made current."""
        with App(NAMED) as app:
            with app.agent() as span:
                pass
            app.flush()
            with app.agent(context=trace.set_span_in_context(span)):
                app.call("check_site")

            assert [marks_of(each) for each in app.exported("invoke_agent site_doctor")] == [FAILED, PASSED]
            assert app.scores() == [("site_doctor", 0.0), ("site_doctor", 1.0)]
