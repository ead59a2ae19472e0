"""Spans that other libraries wrap: Logfire's and OpenInference's."""

from __future__ import annotations

import contextlib
import gc
import json
import weakref

import pytest
from agent_app import FAILED, PASSED, App, agent_attributes, marks_of, messages, tool_attributes
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

logfire = pytest.importorskip("logfire", reason="needs logfire, which is not installed")
openinference = pytest.importorskip(
    "openinference.instrumentation", reason="needs openinference-instrumentation, which is not installed"
)


class TestOpenInference:
    """Its tracer gives out proxies that set the span's kind only in end(), on the span they wrap."""

    def tracer(self, app, **config):
        return openinference.OITracer(app.tracer, config=openinference.TraceConfig(**config))

    def test_an_agent_with_tools(self):
        with App() as app:
            tracer = self.tracer(app)
            with tracer.start_as_current_span("doctor", openinference_span_kind="agent") as span:
                span.set_attribute("agent.name", "site_doctor")
                with tracer.start_as_current_span("check", openinference_span_kind="tool") as tool:
                    tool.set_tool(name="check_site", parameters={})
                    tool.set_input({"site": "shop"})
                span.set_output("It is up.")

            assert app.marks("doctor") == PASSED
            assert app.reason("doctor") == "Used: check_site."
            assert app.scores() == [("site_doctor", 1.0)]

    def test_an_agent_whose_kind_is_set_late(self):
        """The proxy keeps the kind to itself until end(): the span that we see has none before."""
        with App() as app:
            tracer = self.tracer(app)
            with app.tracer.start_as_current_span("handle"), tracer.start_as_current_span("doctor") as span:
                span.set_attributes({"openinference.span.kind": "AGENT", "agent.name": "site_doctor"})
                with tracer.start_as_current_span("check") as tool:
                    tool.set_attributes({"openinference.span.kind": "TOOL", "tool.name": "delete_site"})

            assert app.marks("doctor") == FAILED
            assert app.marks("handle") == {}

    def test_both_vocabularies_on_one_span(self):
        with App() as app:
            tracer = self.tracer(app, enable_genai_semconv=True)
            with tracer.start_as_current_span("doctor", openinference_span_kind="agent") as span:
                span.set_attribute("agent.name", "site_doctor")
                with tracer.start_as_current_span("check", openinference_span_kind="tool") as tool:
                    tool.set_tool(name="check_site", parameters={})
                    tool.set_input({"site": "shop"})

            assert app.marks("doctor") == PASSED
            assert app.scores() == [("site_doctor", 1.0)]

    def test_hidden_inputs(self):
        with App() as app:
            tracer = self.tracer(app, hide_inputs=True, hide_outputs=True)
            with tracer.start_as_current_span("doctor", openinference_span_kind="agent") as span:
                span.set_input("Is the shop up?")
                span.set_attribute("agent.name", "site_doctor")
                with tracer.start_as_current_span("check", openinference_span_kind="tool") as tool:
                    tool.set_tool(name="check_site", parameters={})

            assert app.marks("doctor") == PASSED

    def test_decorators(self):
        with App() as app:
            tracer = self.tracer(app)

            @tracer.tool
            def check_site(site: str) -> str:
                return f"{site} is up"

            @tracer.agent(name="site_doctor")
            def ask(question: str) -> str:
                return check_site("shop")

            assert ask("Is the shop up?") == "shop is up"
            assert app.marks("site_doctor") == PASSED
            assert app.scores() == [("site_doctor", 1.0)]

    def test_its_own_provider(self):
        """It lets 10,000 attributes on a span, where the SDK lets 128."""
        with App() as app:
            exporter = InMemorySpanExporter()
            provider = openinference.TracerProvider(shutdown_on_exit=False)
            provider.add_span_processor(app.processor)
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            tracer = provider.get_tracer("app")
            with tracer.start_as_current_span("doctor", openinference_span_kind="agent") as span:
                span.set_attributes({"agent.name": "site_doctor", **{f"app.{n}": n for n in range(500)}})
                with tracer.start_as_current_span("check_site", openinference_span_kind="tool") as tool:
                    tool.set_tool(name="check_site", parameters={})
            app.flush()

            marked = [marks_of(each) for each in exporter.get_finished_spans() if each.name == "doctor"]
            assert marked == [PASSED]

    def test_suppressed_tracing_leaves_nothing_open(self):
        with App() as app:
            tracer = self.tracer(app)
            with (
                openinference.suppress_tracing(),
                tracer.start_as_current_span("doctor", openinference_span_kind="agent"),
            ):
                pass

            assert app.processor.stats()["runs_open"] == 0

    def test_the_proxy_is_freed_by_reference_counting(self):
        gc.collect()
        gc.disable()
        try:
            with App() as app:
                provider = TracerProvider(shutdown_on_exit=False)
                provider.add_span_processor(app.processor)
                app.tracer = provider.get_tracer("app")
                with self.tracer(app).start_as_current_span("doctor", openinference_span_kind="agent") as span:
                    ref = weakref.ref(span.__wrapped__)
                del span

                assert ref() is None
        finally:
            gc.enable()


def configured(*processors, **more):
    """A Logfire of its own that says nothing elsewhere."""
    return logfire.configure(
        local=True,
        send_to_logfire=False,
        console=False,
        metrics=False,
        inspect_arguments=False,
        additional_span_processors=list(processors),
        **more,
    )


@contextlib.contextmanager
def a_logfire(app, **more):
    """A Logfire that sends to the application's exporter through our processor."""
    exporter = InMemorySpanExporter()
    instance = configured(app.processor, SimpleSpanProcessor(exporter), **more)
    try:
        yield instance, exporter
    finally:
        instance.config.get_tracer_provider().force_flush()


def named(exporter, name):
    return [span for span in exporter.get_finished_spans() if span.name == name]


class TestLogfire:
    """It hands on_end another span than on_start, in a context of its own, and forwards no hook of the SDK's."""

    def test_an_agent_with_tools(self):
        with App() as app, a_logfire(app) as (lf, exporter):
            with lf.span("doctor") as span:
                span.set_attributes(agent_attributes("site_doctor"))
                with lf.span("check") as tool:
                    tool.set_attributes(tool_attributes("check_site"))
            app.flush()

            (agent,) = named(exporter, "doctor")
            assert marks_of(agent) == PASSED
            assert app.scores() == [("site_doctor", 1.0)]
            (evaluation,) = named(exporter, "evaluation calls")
            assert evaluation.parent.span_id == agent.context.span_id

    def test_spans_of_an_instrumentation_through_its_provider(self):
        with App() as app, a_logfire(app) as (lf, exporter):
            app.tracer = lf.config.get_tracer_provider().get_tracer("instrumentation")
            app.run("check_site", "delete_site")
            app.flush()

            (agent,) = named(exporter, "invoke_agent site_doctor")
            assert marks_of(agent) == FAILED
            assert app.scores() == [("site_doctor", 0.0)]

    def test_added_to_its_provider_later(self):
        with App() as app:
            exporter = InMemorySpanExporter()
            lf = configured(SimpleSpanProcessor(exporter))
            provider = lf.config.get_tracer_provider()
            provider.add_span_processor(app.processor)
            app.tracer = provider.get_tracer("instrumentation")
            app.run("check_site")
            app.flush()

            (agent,) = named(exporter, "invoke_agent site_doctor")
            assert marks_of(agent) == PASSED
            assert len(named(exporter, "evaluation calls")) == 1

    def test_nested_agents_below_a_plain_span(self):
        rules = {"agents": {"*": {"calls": {"mustNotCall": ["delete_site"]}}, "site_doctor": {"calls": {}}}}
        with App(rules) as app, a_logfire(app) as (lf, exporter):
            app.tracer = lf.config.get_tracer_provider().get_tracer("instrumentation")
            with lf.span("handle"), app.agent("planner"):
                app.run("delete_site")
            app.flush()

            assert [marks_of(each) for each in named(exporter, "invoke_agent planner")] == [FAILED]
            assert [marks_of(each) for each in named(exporter, "invoke_agent site_doctor")] == [PASSED]
            assert app.scores() == [("planner", 0.0), ("site_doctor", 1.0)]

    def test_its_pending_spans_are_no_runs(self):
        with App({"agents": {"*": {"calls": {}}}}) as app, a_logfire(app) as (lf, _):
            app.tracer = lf.config.get_tracer_provider().get_tracer("instrumentation")
            app.run("check_site")
            app.flush()

            assert app.processor.stats()["runs"] == 1
            assert app.processor.stats()["runs_open"] == 0

    def test_suppressed_instrumentation(self):
        with App() as app, a_logfire(app) as (lf, exporter):
            app.tracer = lf.config.get_tracer_provider().get_tracer("instrumentation")
            with (
                lf.suppress_instrumentation()
                if hasattr(lf, "suppress_instrumentation")
                else logfire.suppress_instrumentation()
            ):
                app.run("check_site")
            app.flush()

            assert app.processor.stats()["runs_open"] == 0
            assert named(exporter, "evaluation calls") == []

    def test_scrubbing_leaves_the_marks(self):
        with App() as app, a_logfire(app) as (lf, exporter):
            app.tracer = lf.config.get_tracer_provider().get_tracer("instrumentation")
            with app.agent() as span:
                span.set_attribute("gen_ai.input.messages", messages("user", "my password is secret"))
                app.call("check_site")
            app.flush()

            (agent,) = named(exporter, "invoke_agent site_doctor")
            assert marks_of(agent) == PASSED
            assert json.loads(json.dumps(dict(agent.attributes)))["chloe.calls.reason"] == "Used: check_site."

    def test_an_end_by_somebody_else(self):
        with App() as app, a_logfire(app) as (lf, exporter):
            app.tracer = lf.config.get_tracer_provider().get_tracer("instrumentation")
            span = app.start_agent()
            with trace.use_span(span):
                app.call("check_site")
            span.end()
            span.end()
            app.flush()

            assert [marks_of(each) for each in named(exporter, "invoke_agent site_doctor")] == [PASSED]
            assert len(app.events()) == 1
