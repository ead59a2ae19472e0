"""The doctor: what is found of a set-up, and what is to be fixed first."""

from __future__ import annotations

import pytest
from agent_app import RULES, agent_attributes, tool_attributes
from example_programs import load
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased

from otel_chloe import Scorer, attach
from otel_chloe.attachment.checks import judge_found, models_asked
from otel_chloe.attachment.content import content_found
from otel_chloe.attachment.findings import Diagnosis, Finding
from otel_chloe.cli import main
from otel_chloe.config import ScorerRule, load_rules

JUDGED = {"judge": {"model": "anthropic/claude-haiku-4.5"}, "agents": {"a": {"expectations": {"should": ["be"]}}}}


@pytest.fixture
def clear(monkeypatch):
    """No variables of anybody's."""
    for name in ("ANTHROPIC_API_KEY", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER", "OTEL_CHLOE_RULES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def backend():
    """Where metrics and events can be sent."""
    with load("examples/site_doctor/backend.py").Backend().listening() as url:
        yield url


def examined(rules=RULES, *, run=(), exporter=True, resource=None, otlp=None, **more):
    """The doctor's findings of a provider, by what they are about."""
    provider = TracerProvider(
        shutdown_on_exit=False,
        resource=Resource(resource or {"service.name": "shop"}),
        sampler=more.pop("sampler", None),
    )
    if exporter:
        provider.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    attachment = attach(rules, provider=provider, otlp=otlp, **more)
    tracer = provider.get_tracer("app")
    for tool in run:
        with tracer.start_as_current_span("invoke_agent", attributes=agent_attributes("site_doctor")):
            tracer.start_span("execute_tool", attributes=tool_attributes(tool)).end()
    attachment.processor.force_flush()
    found = attachment.doctor()
    attachment.detach()
    return found


def about(found, what):
    return [(each.level, each.said) for each in found.findings if each.about == what]


class TestAnAttachment:
    def test_of_a_whole_set_up_is_told(self, clear):
        found = examined(run=["check_site", "delete_site", "restart_site"])

        assert about(found, "service") == [("ok", "shop")]
        assert about(found, "spans") == [("ok", "SimpleSpanProcessor -> InMemorySpanExporter")]
        assert about(found, "rules") == [("ok", "rules of the program: agents site_doctor")]
        assert about(found, "runs") == [("ok", "3 scored so far, of site_doctor")]
        assert about(found, "tools") == [("ok", "check_site, delete_site, restart_site")]
        assert about(found, "never seen") == []
        assert about(found, "errors") == [("ok", "none")]

    def test_ends_with_what_to_fix_first(self, clear, backend):
        text = str(examined(otlp=backend))

        assert text.splitlines()[-1].startswith("Fix first: runs: none scored so far. Let the agent run once")

    def test_without_providers_for_metrics_and_events(self, clear):
        found = examined()

        assert about(found, "metrics") == [("warn", "they go nowhere: there is no MeterProvider")]
        assert about(found, "events") == [("warn", "they go nowhere: there is no LoggerProvider")]

    def test_with_those_of_otlp_or_given_ones(self, clear, backend):
        meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
        found = examined(otlp=backend.replace("://", "://user:secret@"), meter_provider=meters)

        assert about(found, "metrics") == [("ok", "MeterProvider -> InMemoryMetricReader")]
        assert about(found, "events") == [
            ("ok", f"LoggerProvider -> OTLPLogExporter {backend}/v1/logs"),
        ]
        assert "secret" not in str(found)

    def test_names_that_no_run_has_shown(self, clear):
        found = examined({"agents": {"site_docter": {"calls": {"mustNotCall": ["delete_sites"]}}}}, run=["delete_site"])

        assert about(found, "never seen") == [
            ("warn", "agent site_docter; the nearest that is: site_doctor"),
            ("warn", "tool delete_sites (mustNotCall of site_docter); the nearest that is: delete_site"),
        ]

    def test_a_forbidden_tool_that_none_calls_is_well(self, clear):
        rules = {"agents": {"site_doctor": {"calls": {"mustNotCall": ["drop_database"]}}}}

        assert about(examined(rules, run=["check_site"]), "never seen") == [
            ("note", "tool drop_database (mustNotCall of site_doctor)")
        ]

    @pytest.mark.parametrize(
        ("sampler", "said"),
        [
            (TraceIdRatioBased(0.1), "TraceIdRatioBased{0.1} hides 90% of all traces"),
            (ParentBased(TraceIdRatioBased(0.25)), "hides 75% of all traces"),
            (ALWAYS_OFF, "AlwaysOffSampler hides 100% of all traces"),
        ],
    )
    def test_what_head_sampling_hides(self, clear, sampler, said):
        ((level, told),) = about(examined(sampler=sampler), "sampling")

        assert level == "warn"
        assert said in told

    def test_without_rules_exporter_and_name(self, clear):
        found = examined({}, exporter=False, resource={"a": "b"})

        assert about(found, "rules") == [("wrong", "none: runs are counted, and nothing is scored")]
        assert found.first.about == "rules"
        assert about(found, "spans") == [("warn", "no exporter of spans was found")]
        assert [level for level, said in about(found, "service") if "OTEL_SERVICE_NAME" in said] == ["note"]

    def test_that_somebody_took_out(self, clear):
        provider = TracerProvider(shutdown_on_exit=False)
        attachment = attach(RULES, provider=provider)
        provider._active_span_processor._span_processors = ()

        assert attachment.doctor().first.about == "scoring"
        attachment.detach()

    def test_where_batches_are_sent(self, clear):
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:9/v1/traces")))
        attachment = attach(RULES, provider=provider)

        assert about(attachment.doctor(), "spans") == [
            ("ok", "BatchSpanProcessor -> OTLPSpanExporter http://127.0.0.1:9/v1/traces")
        ]
        attachment.detach()


class TestTheJudge:
    def test_without_its_key(self, clear, monkeypatch):
        (found,) = judge_found(load_rules(JUDGED))
        assert (found.level, found.said) == ("wrong", "anthropic/claude-haiku-4.5: ANTHROPIC_API_KEY is not set")

        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
        (found,) = judge_found(load_rules(JUDGED))
        assert (found.level, found.said) == ("ok", "anthropic/claude-haiku-4.5, by the key in ANTHROPIC_API_KEY")

    def test_of_a_scorer_of_ones_own_is_one_that_is_asked_unless_it_asks_in_its_own_way(self):
        judges = [
            Scorer.llm_judge(name="kind", model="gpt-5", rubric="Is it kind?"),
            Scorer.llm_judge(name="short", model="mine", rubric="Is it short?", complete=lambda model, messages: "1"),
        ]
        rules = load_rules(JUDGED).with_scorers(tuple(ScorerRule(scorer=each) for each in judges))

        assert models_asked(rules) == ["anthropic/claude-haiku-4.5", "gpt-5"]

    def test_with_a_function_of_the_program(self, clear):
        assert about(examined(JUDGED, complete=lambda model, messages: ""), "judge") == [
            ("ok", "anthropic/claude-haiku-4.5, through a function of the program")
        ]


def content(package: str, **environ: str) -> tuple[str, str, str]:
    """What is found of one family of instrumentations."""
    (found,) = content_found(environ, lambda name: name == package)
    return found.level, found.said, found.fix or ""


GENAI, OPT_IN = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "OTEL_SEMCONV_STABILITY_OPT_IN"


class TestContent:
    @pytest.mark.parametrize(
        ("package", "environ", "level"),
        [
            ("opentelemetry-util-genai", {}, "note"),
            ("opentelemetry-util-genai", {GENAI: "span_only"}, "ok"),
            ("opentelemetry-util-genai", {GENAI: "SPAN_AND_EVENT"}, "ok"),
            ("opentelemetry-util-genai", {GENAI: "true"}, "note"),
            ("opentelemetry-util-genai", {GENAI: "EVENT_ONLY"}, "ok"),
            ("opentelemetry-instrumentation-openai-v2", {GENAI: "true"}, "ok"),
            ("opentelemetry-instrumentation-openai-v2", {GENAI: "SPAN_ONLY"}, "note"),
            (
                "opentelemetry-instrumentation-openai-v2",
                {GENAI: "SPAN_ONLY", OPT_IN: "http,gen_ai_latest_experimental"},
                "ok",
            ),
            ("openinference-instrumentation", {}, "ok"),
            ("openinference-instrumentation", {"OPENINFERENCE_HIDE_INPUTS": "true"}, "note"),
            ("openinference-instrumentation", {"OPENINFERENCE_HIDE_OUTPUTS": "1"}, "note"),
            ("openinference-instrumentation", {"OPENINFERENCE_HIDE_OUTPUT_MESSAGES": "True"}, "note"),
            ("openinference-instrumentation", {"OPENINFERENCE_HIDE_INPUTS": "false"}, "ok"),
            ("opentelemetry-semantic-conventions-ai", {}, "ok"),
            ("opentelemetry-semantic-conventions-ai", {"TRACELOOP_TRACE_CONTENT": "false"}, "note"),
        ],
    )
    def test_is_on_or_off_by_each_familys_own_variables(self, package, environ, level):
        found, said, fix = content(package, **environ)

        assert found == level
        assert all(f"{name}={value}" in said for name, value in environ.items() if name != OPT_IN)
        assert bool(fix) == (level == "note")

    def test_of_what_is_not_installed_nothing_is_said(self):
        assert list(content_found({}, lambda name: False)) == []


class TestTheCommand:
    def test_says_what_to_fix_first(self, clear, capsys):
        assert main(["doctor", "--rules", "examples/rules.yaml", "examples/spans.otlp.jsonl"]) == 1

        last = capsys.readouterr().out.splitlines()[-1]
        assert last.startswith("Fix first: never seen: tool drop_database (mustNotCall of *).")

    def test_ends_with_0_where_all_is_well(self, clear, capsys, rules_file):
        path = rules_file("agents: {site_doctor: {calls: {mustCall: [check_site]}}}")

        assert main(["doctor", "--rules", str(path), "examples/spans.otlp.jsonl"]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == "All is well."

    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            ("OTEL_SDK_DISABLED", "true", "OTEL_SDK_DISABLED=true: there are no spans"),
            ("OTEL_CHLOE_DISABLED", "true", "nothing is attached without code"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio", "hides 90% of all traces"),
            ("OTEL_TRACES_SAMPLER", "always_off", "hides 100% of all traces"),
        ],
    )
    def test_looks_at_the_variables(self, clear, capsys, monkeypatch, name, value, said):
        monkeypatch.setenv(name, value)
        monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.1")

        assert main(["doctor", "--rules", "examples/rules.yaml"]) == 1
        assert said in capsys.readouterr().out

    def test_takes_the_rules_of_the_variable(self, clear, capsys, monkeypatch, rules_file):
        monkeypatch.setenv("OTEL_CHLOE_RULES", str(rules_file("agents: {b: {calls: {}}}")))

        assert main(["doctor"]) == 0
        assert "agents b" in capsys.readouterr().out

    def test_wrong_rules_and_settings_end_with_2(self, clear, capsys, monkeypatch, rules_file):
        assert main(["doctor", "--rules", str(rules_file("agent: {}"))]) == 2
        monkeypatch.setenv("OTEL_CHLOE_SETTLE_S", "soon")
        assert main(["doctor"]) == 2
        assert "OTEL_CHLOE_SETTLE_S: 'soon' cannot stand here" in capsys.readouterr().err

    def test_asks_the_judge_only_when_told_to(self, clear, capsys, monkeypatch, rules_file):
        asked = []

        async def expectations(prompt, result, expected, model):
            from otel_chloe import Failed

            asked.append(model)
            return Failed("no such key")

        monkeypatch.setattr("otel_chloe.alone.expectations", expectations)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        path = str(rules_file("judge: {model: anthropic/claude-haiku-4.5}"))
        main(["doctor", "--rules", path])
        assert asked == []

        assert main(["doctor", "--rules", path, "--judge"]) == 1
        assert asked == ["anthropic/claude-haiku-4.5"]
        assert "no such key" in capsys.readouterr().out


def test_what_is_wrong_comes_before_what_may_be():
    found = Diagnosis(
        (
            Finding("warn", "a", "first", "mend a"),
            Finding("note", "b", "second", "read b"),
            Finding("wrong", "c", "third", "mend c"),
        )
    )

    assert str(found).splitlines() == [
        "! a           first",
        "              -> mend a",
        "· b           second",
        "✗ c           third",
        "              -> mend c",
        "",
        "Fix first: c: third. mend c",
    ]
