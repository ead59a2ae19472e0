"""`attach()` to the providers of other products: nothing of theirs is replaced."""

from __future__ import annotations

import pytest
from agent_app import PASSED, RULES
from agent_script import run_script
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from otlp_receiver import Receiver
from otlp_receiver import said as of
from own_provider import Setup

from otel_chloe import ScoringSpanProcessor, attach


@pytest.fixture
def setup():
    made = Setup()
    yield made
    made.provider.shutdown()


class TestOtherPeoplesProviders:
    """Fakes with the shapes of products, and the real Phoenix and Logfire; others are in nightly_products.py."""

    def test_phoenix_keeps_its_own_exporter(self):
        """`phoenix.otel.TracerProvider.add_span_processor` takes its default processor away unless told not to."""

        class Phoenix(TracerProvider):
            def __init__(self):
                super().__init__(shutdown_on_exit=False)
                self._default_processor = True

            def add_span_processor(self, span_processor, *args, replace_default_processor=True, **kwargs):
                if self._default_processor and replace_default_processor:
                    self._active_span_processor._span_processors = ()
                    self._default_processor = False
                super().add_span_processor(span_processor, *args, **kwargs)

        provider = Phoenix()
        exporter = InMemorySpanExporter()
        provider.add_span_processor(SimpleSpanProcessor(exporter), replace_default_processor=False)
        attachment = attach(RULES, provider=provider)
        with provider.get_tracer("app").start_as_current_span("a"):
            pass

        assert [span.name for span in exporter.get_finished_spans()] == ["a"]
        attachment.detach()

    def test_a_wrapper_that_gives_on(self):
        """Logfire's global provider keeps the SDK's in `provider`; others keep theirs in `__wrapped__`."""
        for name in ("provider", "__wrapped__"):
            inner = Setup()
            wrapper = type("Wrapper", (), {"get_tracer": inner.provider.get_tracer})()
            setattr(wrapper, name, inner.provider)
            attachment = attach(RULES, provider=wrapper)
            inner.run("check_site")

            assert inner.marks() == [PASSED]
            assert attach(RULES, provider=inner.provider) is attachment
            attachment.detach()
            assert inner.processors() == (inner.exporting,)

    def test_a_product_that_stands_in_for_on_start_of_its_processors(self, setup):
        """Traceloop puts a function of its own in the place of `on_start`, on the processor itself."""
        attachment = attach(RULES, provider=setup.provider)
        inner = attachment.processor.on_start
        attachment.processor.on_start = lambda span, parent_context=None: inner(span, parent_context)
        setup.run("check_site")

        assert setup.marks() == [PASSED]

    def test_a_provider_with_a_processor_of_its_own_that_goes_to_many(self):
        class Wrapping(SpanProcessor):
            def __init__(self, processor):
                self.processor = processor

            def on_start(self, span, parent_context=None):
                self.processor.on_start(span, parent_context)

            def on_end(self, span):
                self.processor.on_end(span)

        made = Setup()
        scoring = ScoringSpanProcessor(RULES)
        made.provider.add_span_processor(Wrapping(scoring))

        assert attach(RULES, provider=made.provider).processor is scoring
        scoring.shutdown()

    def test_phoenix(self):
        pytest.importorskip("phoenix.otel", reason="needs arize-phoenix-otel, which is not installed")
        receiver = Receiver()
        try:
            said = run_script(f"""
            from phoenix.otel import register
            from otel_chloe import attach
            provider = register(endpoint="{receiver.url}/v1/traces", verbose=False, batch=True)
            before = provider._active_span_processor._span_processors
            attachment = attach(RULES)
            say(len(before), provider._active_span_processor._span_processors == (*before, attachment.processor))
            tracer = trace.get_tracer("app")
            with tracer.start_as_current_span("invoke_agent a", attributes=agent_attributes("site_doctor")):
                with tracer.start_as_current_span("execute_tool", attributes=tool_attributes("check_site")):
                    pass
            say(attachment.flush(), provider.force_flush())
            attachment.detach()
            say(provider._active_span_processor._span_processors == before)
            """)
        finally:
            receiver.close()

        assert said == ["1 True", "True True", "True"]
        marked = {span.name: of(span.attributes).get("chloe.passed") for span in receiver.spans}
        assert marked["invoke_agent a"] is True

    def test_logfire(self):
        pytest.importorskip("logfire", reason="needs logfire, which is not installed")
        said = run_script("""
        import logfire
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        from otel_chloe import attach
        exporter = InMemorySpanExporter()
        logfire.configure(send_to_logfire=False, console=False, metrics=False, inspect_arguments=False,
                          additional_span_processors=[SimpleSpanProcessor(exporter)])
        attachment = attach(RULES)
        tracer = trace.get_tracer("app")
        with tracer.start_as_current_span("invoke_agent site_doctor", attributes=agent_attributes("site_doctor")):
            with tracer.start_as_current_span("execute_tool", attributes=tool_attributes("check_site")):
                pass
        say(attachment.flush(), [marks_of(each).get("chloe.passed") for each in exporter.get_finished_spans()
                                 if each.name.startswith("invoke")])
        say(attach(RULES) is attachment)
        attachment.detach()
        say(len(attachment.provider._active_span_processor._span_processors))
        """)

        assert said == ["True [True]", "True", "1"]
