"""The README: every example in it runs, and every command in it prints what it shows."""

from __future__ import annotations

import logging
import re
import shlex

import pytest
from example_programs import ROOT, blocks, load, program

from otel_chloe.cli import main
from otel_chloe.config import load_rules

PYTHON = blocks("README.md", "python")
RULES, LINES = blocks("README.md", "yaml")
ATTACH, FUNCTION = PYTHON
(PROVIDERS,) = [block for block in blocks("docs/attach.md", "python") if "MeterProvider" in block]
CONSOLE = [block for block in blocks("README.md", "console") if block.startswith("$ ")]

TRACES = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
"""
RUN = """
tracer = trace.get_tracer("my_agent")
agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "site_doctor"}
with tracer.start_as_current_span("invoke_agent site_doctor", attributes=agent):
    for name in ["delete_site"]:
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        tracer.start_span(f"execute_tool {name}", attributes=tool).end()
"""


@pytest.fixture
def received():
    """A backend for the examples."""
    return load("examples/site_doctor/backend.py").Backend()


@pytest.fixture
def folder(tmp_path):
    """A folder with the README's rules in it."""
    (tmp_path / "rules.yaml").write_text(RULES, "utf-8")
    return tmp_path


def test_the_lines_are_judged(tmp_path):
    from agent_app import App
    from judge_script import Judge, checks

    (tmp_path / "rules.yaml").write_text(LINES, "utf-8")
    judge = Judge(checks(True, False))
    with App(tmp_path / "rules.yaml", complete=judge) as app:
        app.run("check_site")
        app.processor.force_flush(10_000)

        (span,) = [span for span in app.exporter.get_finished_spans() if span.name == "evaluation expectations"]

    assert span.attributes["gen_ai.evaluation.score.value"] == 0.5
    assert "invents a cause" in span.attributes["gen_ai.evaluation.explanation"]
    assert [model for model, _ in judge.asked] == ["anthropic/claude-haiku-4.5"]


def test_the_rules_load_and_hold_for_whom_they_say(folder, caplog):
    with caplog.at_level(logging.WARNING):
        rules = load_rules(folder / "rules.yaml")

    assert not caplog.records
    assert rules.for_run("site_doctor").calls.must_not_call == ("drop_database", "delete_site")
    assert rules.for_run("another").calls.must_not_call == ("drop_database",)


def test_attaching_takes_two_lines():
    assert len(ATTACH.splitlines()) == 2


def test_they_put_the_marks_on_the_agents_span(folder, received):
    """At a plain exit: the example flushes nothing."""
    with received.listening() as url:
        done = program("-c", TRACES + ATTACH + RUN, cwd=folder, OTEL_EXPORTER_OTLP_ENDPOINT=url)

    assert done.returncode == 0, done.stderr
    root = next(span for span in received.spans() if span.name == "invoke_agent site_doctor")
    assert root.attributes["chloe.passed"] is False
    assert root.attributes["chloe.calls.score"] == 0.0
    assert [span.name for span in received.spans()].count("evaluation calls") == 1


def test_without_the_other_providers_a_warning_has_the_lines_of_the_page(folder, received):
    with received.listening() as url:
        done = program("-c", TRACES + ATTACH + RUN, cwd=folder, OTEL_EXPORTER_OTLP_ENDPOINT=url)

    lines = [" ".join(line.split()) for line in done.stderr.splitlines()]
    wanted = [
        "from opentelemetry.sdk.metrics import MeterProvider",
        "from opentelemetry.sdk._logs import LoggerProvider",
    ]
    for line in wanted:
        assert line in lines
        assert line in PROVIDERS


def test_with_the_other_providers_events_and_metrics_go_out(folder, received):
    with received.listening() as url:
        done = program("-c", TRACES + PROVIDERS + ATTACH + RUN, cwd=folder, OTEL_EXPORTER_OTLP_ENDPOINT=url)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [event.attributes["gen_ai.evaluation.score.label"] for event in received.events()] == ["fail"]
    broken = {
        (point.attributes["chloe.rule"], point.attributes["gen_ai.tool.name"])
        for point in received.points()
        if point.metric == "chloe.violations" and point.value
    }
    assert broken == {("must_call", "check_site"), ("must_not_call", "delete_site")}


def test_the_function_gives_the_mark_that_the_readme_says():
    done = program("-c", FUNCTION)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.splitlines()[0])
def test_a_command_prints_what_the_readme_shows(block, monkeypatch, capsys):
    """A line of three dots stands for any lines."""
    monkeypatch.chdir(ROOT)
    command, _, shown = block.partition("\n")
    main(shlex.split(command)[2:])
    pattern = re.escape(shown).replace(re.escape("...\n"), r"(?:.*\n)*?")

    assert re.fullmatch(pattern, capsys.readouterr().out), shown


def test_score_ends_with_1_as_the_readme_says(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)

    assert main(["score", "examples/spans.otlp.jsonl", "--rules", "examples/rules.yaml"]) == 1
    assert capsys.readouterr().err == ""


def test_the_make_targets_are_there():
    told = re.findall(r"^make (\w+)", "\n".join(blocks("README.md", "console")), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text("utf-8")

    assert told == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in told)
