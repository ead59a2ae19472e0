"""A span's end: twice, with other wrappers on it, and with processors beside ours that raise."""

from __future__ import annotations

import pytest
from agent_app import PASSED, App, Kept, agent_attributes
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor


class TestEndedTwice:
    def test_the_agent(self):
        with App() as app:
            span = app.start_agent()
            with trace.use_span(span):
                app.call("check_site")
            span.end()
            span.end()

            assert app.marks() == PASSED
            assert len(app.events()) == 1

    def test_the_tool(self):
        with App() as app:
            with app.agent(), app.tool("check_site") as tool, app.tool("restart_site") as again:
                again.end()
                tool.end()

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]

    def test_end_time_is_passed_on(self):
        with App() as app:
            app.start_agent(start_time=1_000).end(end_time=2_000)

            assert app.span().end_time == 2_000

    def test_end_time_is_passed_on_by_position(self):
        with App() as app:
            app.start_agent(start_time=1_000).end(3_000)

            assert app.span().end_time == 3_000
            assert app.span("evaluation calls").end_time == 3_000


class Wrapping(SpanProcessor):
    """Puts a wrapper of its own on each span's end(), as instrumentations do."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def on_start(self, span, parent_context=None):
        inner = span.end

        def end(*args, **kwargs):
            self.ended.append(span.name)
            span.set_attribute("wrapped", True)
            inner(*args, **kwargs)

        span.end = end

    def force_flush(self, timeout_millis=30_000):
        return True  # see agent_app.Kept


class TestAnotherWrapperOnEnd:
    @pytest.mark.parametrize("where", ["before", "after"])
    @pytest.mark.parametrize("twice", [True, False])
    def test_both_act_and_the_span_ends_once(self, where, twice):
        wrapping, kept = Wrapping(), Kept()
        with App(**{where: [wrapping, kept]}) as app:
            with app.agent() as span:
                app.call("check_site")
            if twice:
                span.end()

            assert app.marks() == PASSED
            assert app.span().attributes["wrapped"] is True
            assert wrapping.ended.count("invoke_agent site_doctor") == 1 + twice
            assert [each.name for each in kept.spans].count("invoke_agent site_doctor") == 1

    def test_one_put_on_by_the_application_itself(self):
        with App() as app:
            span = app.start_agent()
            inner = span.end
            said = []
            span.end = lambda end_time=None: (said.append("theirs"), inner(end_time))
            with trace.use_span(span):
                app.call("check_site")
            span.end()

            assert app.marks() == PASSED
            assert said == ["theirs"]

    def test_one_that_forgot_to_call_ours_leaves_the_final_mark_to_the_event(self):
        with App() as app:
            span = app.start_agent()
            span.end = lambda end_time=None: type(span).end(span, end_time)
            with trace.use_span(span):
                app.call("check_site")
            span.end()

            assert app.scores() == [("site_doctor", 1.0)]


class Raising(SpanProcessor):
    """Raises at one hook of one span."""

    def __init__(self, hook: str, name: str) -> None:
        self.hook, self.name = hook, name

    def on_start(self, span, parent_context=None):
        self.act("on_start", span)

    def on_end(self, span):
        self.act("on_end", span)

    def act(self, hook, span):
        if hook == self.hook and span.name == self.name:
            raise LookupError(span.name)


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("hook", ["on_start", "on_end"])
@pytest.mark.parametrize("name", ["invoke_agent site_doctor", "execute_tool restart_site"])
def test_processors_that_raise_beside_ours_harm_no_other_run(where, hook, name):
    with App(**{where: [Raising(hook, name)]}) as app:
        with pytest.raises(LookupError), app.agent():
            app.call("check_site", "restart_site")
        with app.tracer.start_as_current_span("another", attributes=agent_attributes("site_doctor")):
            app.call("check_site")
        app.stop()

        assert app.processor.stats()["runs_open"] == 0
        assert ("site_doctor", 1.0) in app.scores()
        assert app.marks("another") == PASSED
