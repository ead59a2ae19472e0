"""`attach()`: finds the provider, adds to it, is one however often it is called, and takes itself out again."""

from __future__ import annotations

import json
import logging

import pytest
from agent_app import FAILED, PASSED, RULES, agent_attributes, marks_of, tool_attributes
from agent_script import run_script
from example_programs import load
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_chloe import Attachment, ConfigError, ScoringSpanProcessor, attach
from otel_chloe.attachment.exporting import checked_url
from otel_chloe.config import load_rules

OTHER = {"agents": {"another": {"calls": {"mustCall": ["check_site"]}}}}


class Setup:
    """An application's own set-up: a provider and an exporter."""

    def __init__(self, provider=None) -> None:
        self.exporter = InMemorySpanExporter()
        self.exporting = SimpleSpanProcessor(self.exporter)
        self.provider = TracerProvider(shutdown_on_exit=False) if provider is None else provider
        self.provider.add_span_processor(self.exporting)

    def run(self, *tools, agent="site_doctor"):
        tracer = self.provider.get_tracer("app")
        with tracer.start_as_current_span(f"invoke_agent {agent}", attributes=agent_attributes(agent)):
            for tool in tools:
                with tracer.start_as_current_span(f"execute_tool {tool}", attributes=tool_attributes(tool)):
                    pass

    def marks(self):
        return [marks_of(each) for each in self.exporter.get_finished_spans() if each.name.startswith("invoke_agent")]

    def processors(self):
        return self.provider._active_span_processor._span_processors


@pytest.fixture
def setup():
    made = Setup()
    yield made
    made.provider.shutdown()


class TestAttach:
    def test_scores_the_runs_of_the_provider(self, setup):
        attachment = attach(RULES, provider=setup.provider)
        setup.run("check_site")
        setup.run("delete_site")

        assert attachment.flush() is True
        assert setup.marks() == [PASSED, FAILED]
        assert attachment.stats()["runs"] == 2

    def test_leaves_every_other_processor_where_it_is(self, setup):
        attachment = attach(RULES, provider=setup.provider)

        assert setup.processors() == (setup.exporting, attachment.processor)

    def test_hands_on_what_it_is_given(self, setup):
        said, reader = [], InMemoryMetricReader()
        attachment = attach(
            RULES,
            provider=setup.provider,
            on_mark=lambda run, outcome: said.append((run.agent, outcome.score)),
            meter_provider=MeterProvider([reader], shutdown_on_exit=False),
            settings={"evaluation_spans": False},
        )
        setup.run("check_site")
        attachment.flush()

        assert said == [("site_doctor", 1.0)]
        assert reader.get_metrics_data() is not None
        assert [each.name for each in setup.exporter.get_finished_spans()] == [
            "execute_tool check_site",
            "invoke_agent site_doctor",
        ]

    def test_takes_the_rules_of_the_variable(self, setup, rules_file, monkeypatch):
        monkeypatch.setenv("OTEL_CHLOE_RULES", str(rules_file(json.dumps(RULES))))
        attach(provider=setup.provider)
        setup.run("check_site")

        assert setup.marks() == [PASSED]

    @pytest.mark.parametrize("more", [{"scorers": [3]}, {"settings": {"settles": 1}}])
    def test_that_is_wrong_adds_nothing(self, setup, more):
        with pytest.raises(ConfigError):
            attach(RULES, provider=setup.provider, otlp="http://127.0.0.1:9", **more)

        assert setup.processors() == (setup.exporting,)

    def test_is_the_function_and_not_a_room_of_its_name(self):
        said = run_script("""
        import otel_chloe.attachment.instrumentor
        import otel_chloe.attachment.attaching
        from otel_chloe import attach
        say(type(otel_chloe.attach).__name__, attach is otel_chloe.attach)
        """)

        assert said == ["function True"]


class TestOtlp:
    def test_sends_metrics_and_events_where_the_application_has_no_providers(self, setup):
        backend = load("examples/site_doctor/backend.py").Backend()
        with backend.listening() as url:
            attachment = attach(RULES, provider=setup.provider, otlp=url)
            setup.run("delete_site")
            assert attachment.flush() is True
            attachment.detach()

        assert {request.path for request in backend.requests} == {"/v1/metrics", "/v1/logs"}
        assert [event.attributes["gen_ai.evaluation.score.label"] for event in backend.events()] == ["fail"]
        assert {point.metric for point in backend.points()} >= {"chloe.runs", "chloe.violations"}

    def test_leaves_the_providers_alone_that_are_given(self, setup):
        reader = InMemoryMetricReader()
        backend = load("examples/site_doctor/backend.py").Backend()
        with backend.listening() as url:
            meters = MeterProvider([reader], shutdown_on_exit=False)
            attachment = attach(RULES, provider=setup.provider, otlp=url, meter_provider=meters)
            setup.run("check_site")
            attachment.flush()
            attachment.detach()

        assert {request.path for request in backend.requests} == {"/v1/logs"}
        assert reader.get_metrics_data() is not None

    def test_leaves_the_applications_own_alone(self):
        said = run_script("""
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk._logs import LoggerProvider
        from otel_chloe import attach
        metrics.set_meter_provider(MeterProvider())
        trace.set_tracer_provider(TracerProvider())
        first = attach(RULES, otlp="http://127.0.0.1:9")
        say(first.meters, type(first.loggers).__name__, type(_logs.get_logger_provider()).__name__)
        say("grpc" in sys.modules)
        """)

        assert said == ["None LoggerProvider ProxyLoggerProvider", "False"]

    @pytest.mark.parametrize(
        ("url", "said"),
        [
            ("localhost:4318", r"is no such address\. Write the address of an OTLP/HTTP receiver"),
            ("http://", "is no such address"),
            ("http://localhost:port", "is no such address"),
            (4318, "is no such address"),
            ("http://localhost:4318/v1/traces", r"Write it without /v1/traces: 'http://localhost:4318'"),
        ],
    )
    def test_of_no_address(self, setup, url, said):
        with pytest.raises(ConfigError, match=said):
            attach(RULES, provider=setup.provider, otlp=url)

    def test_of_the_port_of_grpc_is_warned_about(self, caplog):
        assert checked_url("https://user:pw@collector:4317/otlp/") == "https://user:pw@collector:4317/otlp"
        assert "4317 is mostly the port of OTLP over gRPC" in caplog.text
        assert "pw" not in caplog.text


class TestASecondTime:
    def test_gives_the_same(self, setup):
        first = attach(RULES, provider=setup.provider)

        assert attach(dict(RULES), provider=setup.provider) is first
        assert attach(load_rules(RULES), provider=setup.provider) is first
        assert setup.processors() == (setup.exporting, first.processor)

    def test_with_other_rules_is_refused(self, setup, rules_file):
        attach(rules_file(json.dumps(RULES)), provider=setup.provider)

        with pytest.raises(ConfigError, match=r"scored by .*rules\.yaml already, and would be by other rules too"):
            attach(OTHER, provider=setup.provider)

    def test_says_what_it_does_not_take(self, setup, caplog):
        first = attach(RULES, provider=setup.provider)
        with caplog.at_level(logging.WARNING):
            assert attach(RULES, provider=setup.provider, on_mark=print) is first

        assert [record.getMessage().split(".")[0] for record in caplog.records] == [
            "attach: attached already, so on_mark is not taken"
        ]

    def test_finds_a_processor_that_was_added_by_hand(self, setup):
        processor = ScoringSpanProcessor(RULES)
        setup.provider.add_span_processor(processor)
        attachment = attach(RULES, provider=setup.provider)

        assert attachment.processor is processor
        assert setup.processors() == (setup.exporting, processor)

    def test_of_another_provider_is_another(self, setup):
        other = Setup()
        first, second = attach(RULES, provider=setup.provider), attach(OTHER, provider=other.provider)

        assert first is not second
        second.detach()


class TestDetach:
    def test_restores_the_provider(self, setup):
        attachment = attach(RULES, provider=setup.provider)
        attachment.detach()
        setup.run("check_site")

        assert setup.processors() == (setup.exporting,)
        assert setup.marks() == [{}]
        assert not [name for name in vars(setup.provider) if "chloe" in name]

    def test_scores_what_is_open(self, setup):
        said = []
        attachment = attach(RULES, provider=setup.provider, on_mark=lambda run, outcome: said.append(run.end))
        span = setup.provider.get_tracer("app").start_span("run", attributes=agent_attributes("site_doctor"))
        attachment.detach()
        span.end()

        assert said == ["shutdown"]

    def test_twice_is_once(self, setup):
        attachment = attach(RULES, provider=setup.provider)
        attachment.detach()
        second = attach(OTHER, provider=setup.provider)
        attachment.detach()

        assert attach(OTHER, provider=setup.provider) is second

    def test_from_a_provider_that_lets_none_go(self, caplog):
        class Hiding:
            def __init__(self, provider):
                self.add_span_processor = provider.add_span_processor
                self.get_tracer = provider.get_tracer

        inner = Setup()
        attachment = attach(RULES, provider=Hiding(inner.provider))
        inner.run("check_site")
        with caplog.at_level(logging.WARNING):
            attachment.detach()
        inner.run("check_site")

        assert inner.marks() == [PASSED, {}]
        assert "a Hiding lets no processor go" in caplog.text


class TestWithoutAProvider:
    SCRIPT = """
        from otel_chloe import attach
        try:
            attach(RULES)
        except Exception as error:
            say(type(error).__name__, error)
    """

    def test_says_what_to_call_first(self):
        (said,) = run_script(self.SCRIPT)

        assert said.startswith("ConfigError attach: the OpenTelemetry SDK has no TracerProvider yet")
        assert "Call attach() after what sets it up: trace.set_tracer_provider(TracerProvider()) or " in said

    def test_names_the_product_that_is_imported(self):
        (said,) = run_script("\n        sys.modules['phoenix.otel'] = sys" + self.SCRIPT)

        assert " or phoenix.otel.register(); or start the program with opentelemetry-instrument." in said

    def test_names_a_provider_that_does_nothing(self):
        (said,) = run_script("\n        trace.set_tracer_provider(trace.NoOpTracerProvider())" + self.SCRIPT)

        assert "the one that does nothing" in said

    def test_takes_the_global_one_once_it_is_set(self):
        said = run_script("""
        from otel_chloe import attach
        trace.set_tracer_provider(TracerProvider())
        app = App({}, errors=None)
        attachment = attach(RULES)
        app.tracer = trace.get_tracer("app")
        app.run("check_site")
        say(attachment.flush(), attachment.stats()["runs"], attach(RULES) is attachment)
        """)

        assert said == ["True 1 True"]

    def test_a_given_one_that_takes_no_processors(self):
        with pytest.raises(ConfigError, match=r"^provider: a int takes no span processors"):
            attach(RULES, provider=7)


class TestOtherPeoplesProviders:
    """Fakes with the shapes of products that are not installed here; the real ones below and elsewhere."""

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
        said = run_script("""
        from phoenix.otel import register
        from otel_chloe import attach
        provider = register(endpoint="http://127.0.0.1:9/v1/traces", verbose=False, batch=True)
        before = provider._active_span_processor._span_processors
        attachment = attach(RULES)
        say(len(before), provider._active_span_processor._span_processors == (*before, attachment.processor))
        attachment.detach()
        say(provider._active_span_processor._span_processors == before)
        os._exit(0)  # nobody listens there: its exporter would try for a while
        """)

        assert said == ["1 True", "True"]

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


def test_an_attachment_tells_what_it_is(setup):
    attachment = attach(RULES, provider=setup.provider)

    assert isinstance(attachment, Attachment)
    assert attachment.provider is setup.provider
    assert attachment.processor.rules == load_rules(RULES)


def test_a_dropped_provider_is_freed(setup):
    import gc
    import weakref

    made = Setup()
    ref = weakref.ref(made.provider)
    attach(RULES, provider=made.provider)
    del made
    gc.collect()

    assert ref() is None


def test_flush_sends_what_batches_hold():
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=600_000))
    attachment = attach(RULES, provider=provider)
    made = Setup(provider)
    made.run("check_site")

    assert attachment.flush() is True
    assert min(each.name for each in exporter.get_finished_spans()) == "evaluation calls"
    provider.shutdown()
