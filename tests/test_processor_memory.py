"""What a run leaves behind: nothing that waits for the garbage collector, and no more than the ids remembered."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref

import pytest
from agent_app import App, agent_attributes, tool_attributes
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from otel_chloe import ScoringSpanProcessor

BELOW = {"agents": {"*": {"calls": {"mustNotCall": ["x"]}}, "site_doctor": {"calls": {"mustCall": ["check_site"]}}}}
BARE_AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "site_doctor"}


@pytest.fixture(autouse=True)
def no_collector():
    """Frees by reference counting alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def application(rules):
    """A provider with our processor alone: an exporter would keep the spans itself."""
    app = App(rules)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(app.processor)
    app.tracer = provider.get_tracer("app")
    return app


def plain_run(app, refs):
    with app.agent() as span, app.tool("check_site") as tool:
        refs += [weakref.ref(span), weakref.ref(tool)]


def unusual_run(app, refs):
    with (
        app.agent(attributes=BARE_AGENT) as span,
        app.tool("check_site", attributes={"openinference.span.kind": "TOOL", "tool.name": "x"}) as tool,
    ):
        refs += [weakref.ref(span), weakref.ref(tool)]


def nested_run(app, refs):
    with app.agent("planner") as outer, app.agent() as span, app.tool("check_site") as tool:
        refs += [weakref.ref(outer), weakref.ref(span), weakref.ref(tool)]


def run_below_a_plain_root(app, refs):
    with app.tracer.start_as_current_span("handle") as root, app.tracer.start_as_current_span("ask") as span:
        app.call("check_site")
        span.set_attributes(agent_attributes("site_doctor"))
        refs += [weakref.ref(root), weakref.ref(span)]


def run_that_raises(app, refs):
    def fail():
        with app.agent() as span, app.tool("check_site") as tool:
            refs.extend([weakref.ref(span), weakref.ref(tool)])
            raise LookupError

    with pytest.raises(LookupError):
        fail()


def run_ended_twice(app, refs):
    span = app.start_agent()
    refs.append(weakref.ref(span))
    span.end()
    span.end()


def run_with_a_wrapper_on_end(app, refs):
    span = app.start_agent()
    refs.append(weakref.ref(span))
    weak, inner = weakref.ref(span), vars(span).get("end")  # the span's own method would be a cycle by itself
    span.end = lambda: inner() if inner else type(weak()).end(weak())
    span.end()


def silent_root(app, refs):
    with app.tracer.start_as_current_span("GET /") as span, app.tracer.start_as_current_span("SELECT") as below:
        refs += [weakref.ref(span), weakref.ref(below)]


RUNS = [
    plain_run,
    unusual_run,
    nested_run,
    run_below_a_plain_root,
    run_that_raises,
    run_ended_twice,
    run_with_a_wrapper_on_end,
    silent_root,
]


@pytest.mark.parametrize("rules", [None, BELOW], ids=["no rules", "rules"])
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
class TestSpansAreFreedByReferenceCounting:
    def test_as_soon_as_they_ended(self, run, rules):
        with application(rules) as app:
            refs: list[weakref.ref] = []
            run(app, refs)

            assert [ref() for ref in refs if ref() is not None] == []

    def test_and_when_their_run_was_closed(self, run, rules):
        with application(rules) as app:
            refs: list[weakref.ref] = []
            run(app, refs)
            assert app.processor.force_flush(20_000)

            assert [ref() for ref in refs if ref() is not None] == []
            assert app.processor.stats()["runs_open"] == 0


def test_an_open_span_that_is_abandoned_is_held_until_its_run_is_closed_and_no_longer():
    with application(BELOW) as app:
        root, below = app.start_agent(), None
        with trace.use_span(root):
            below = app.tracer.start_span("execute_tool check_site", attributes=tool_attributes("check_site"))
        refs = [weakref.ref(root), weakref.ref(below)]
        del root, below
        app.processor.shutdown()

        assert [ref() for ref in refs if ref() is not None] == []


def test_an_open_span_below_a_run_that_was_closed_is_let_go():
    with application(BELOW) as app:
        with app.agent():
            below = app.tracer.start_span("execute_tool check_site")
        ref = weakref.ref(below)
        assert app.processor.force_flush(20_000)
        del below
        app.processor.shutdown()

        assert ref() is None


def test_the_hook_of_a_freed_span_that_somebody_kept_does_nothing():
    with application(BELOW) as app:
        span = app.start_agent()
        end, ref = span.end, weakref.ref(span)
        span.end()
        del span

        assert ref() is None
        end()
        assert app.processor.stats()["errors"] == 0


def test_the_hook_takes_itself_off_the_span():
    with application(BELOW) as app:
        span = app.start_agent()
        assert "end" in vars(span)
        span.end()

        assert "end" not in vars(span)
        assert isinstance(span, ReadableSpan)


def test_an_exception_in_a_hook_keeps_no_span():
    """A logged exception would keep its frames, and in them the span."""

    class Odd(dict):
        def copy(self):
            raise LookupError

    with application(BELOW) as app:
        app.errors = None
        span = app.start_agent()
        span._attributes = Odd()
        ref = weakref.ref(span)
        span.end()
        del span

        assert ref() is None


def test_the_processor_itself_is_freed_with_its_provider():
    app = application(BELOW)
    app.run("check_site")
    app.__exit__(None)
    for thread in threading.enumerate():
        if thread.name == "otel_chloe":
            thread.join(20)  # it was told to end, and has done so but for the last step
    freed = threading.Event()
    weakref.finalize(app.processor, freed.set)
    del app
    # The bare thread that starts the worker's may still be in its last step.
    assert any(freed.wait(0.1) for _ in range(200) if gc.collect() >= 0)


@pytest.mark.parametrize("many", [200, 1_000])
def test_what_is_left_of_runs_that_were_open_together_is_their_ids(many):
    processor = ScoringSpanProcessor(BELOW)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("app")

    def runs(count):
        spans = [tracer.start_span("invoke_agent x", attributes=agent_attributes("site_doctor")) for _ in range(count)]
        for span in spans:
            tool = tracer.start_span("execute_tool check_site", trace.set_span_in_context(span))
            tool.set_attributes(tool_attributes("check_site"))
            tool.end()
        for span in spans:
            span.end()
        assert processor.force_flush(60_000)

    runs(2)  # what is made once for all runs
    tracemalloc.start()
    try:
        runs(many)
        gc.collect()  # of the interpreter, the room that it keeps for tuples
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        processor.shutdown()

    assert left / many <= 400


def test_more_runs_than_can_be_scored_are_left_alone_and_counted(monkeypatch):
    """Where agents keep the worker from its work, what is held has a limit all the same."""
    with App(BELOW, settings={"max_open_runs": 1}, errors=3) as app:
        with monkeypatch.context() as busy:
            busy.setattr(app.processor._pipeline, "wake", lambda: None)
            spans = [app.start_agent() for _ in range(1_005)]

        assert app.processor.stats()["runs_open"] == 1_002
        assert app.processor.stats()["errors.too_many_open_runs"] == 3
        for span in spans:
            span.end()
        app.processor.force_flush()
        app.exporter.clear()
        app.run("check_site")
        assert app.marks()["chloe.calls.passed"] is True
