"""`attach()`: finds the provider, adds to it, is one however often it is called, and takes itself out again."""

from __future__ import annotations

import json
import logging

import pytest
from agent_app import FAILED, PASSED, RULES, agent_attributes
from agent_script import run_script
from example_programs import load
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from own_provider import Setup

from otel_chloe import Attachment, ConfigError, Scorer, ScoringSpanProcessor, attach
from otel_chloe.attachment.exporting import checked_url
from otel_chloe.config import load_rules

OTHER = {"agents": {"another": {"calls": {"mustCall": ["check_site"]}}}}


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

    @pytest.mark.parametrize(
        ("given", "is_told"),
        [({}, True), ({"rules": {}}, False), ({"scorers": [Scorer.code(len, name="n")]}, False)],
        ids=["nothing", "no rules on purpose", "scorers"],
    )
    def test_by_nothing_is_told_once(self, setup, caplog, monkeypatch, given, is_told):
        monkeypatch.delenv("OTEL_CHLOE_RULES", raising=False)
        for _ in range(2):
            attach(provider=setup.provider, **given)

        told = [record.getMessage() for record in caplog.records if "no rules and no scorers" in record.getMessage()]
        assert len(told) == is_told

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
