"""The pages in docs: that their tables are what the code has, and that links and names in all pages are real."""

from __future__ import annotations

import re
import shutil
from dataclasses import fields
from itertools import zip_longest
from typing import get_args

import pytest
from example_programs import ROOT, blocks, quoted, rows
from sink_backend import BROKEN, Backend, a_run

from otel_chloe import gaps, semconv
from otel_chloe.assembly.explained import Role
from otel_chloe.attachment.instrumentor import DISABLED_VARIABLE, OTLP_VARIABLE
from otel_chloe.cli import main
from otel_chloe.config import RULES_VARIABLE, Settings
from otel_chloe.config.table import MEANINGS, OTHER_VARIABLES, variable
from otel_chloe.conventions.table import CONVENTIONS
from otel_chloe.judge.launch import PYTHON_VARIABLE
from otel_chloe.mark import JudgeCall
from otel_chloe.sinks import Watched, mark_attributes
from otel_chloe.sinks.phoenix import KEY_VARIABLE

PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))]
CODES = {
    value: name
    for name, value in vars(gaps).items()
    if name.isupper() and isinstance(value, str)
}  # fmt: skip
NAMES = {value for value in vars(semconv).values() if isinstance(value, str)}
ON_SPANS = {key for name in ("calls", "expectations", "<name>") for key in semconv.mark_keys(name)}


def default(value: object) -> str:
    """A default as the table writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if value != "" else "none"


def written(value: str) -> bool:
    """Whether some room of the package makes gaps with this code."""
    named = {"gaps.py", "prompt.py"}  # where codes are defined, and put into words
    files = (file for file in (ROOT / "otel_chloe").rglob("*.py") if file.name not in named)
    return any(re.search(rf"\b{CODES[value]}\b", file.read_text("utf-8")) for file in files)


def test_the_settings_table_is_the_settings():
    assert rows("docs/settings.md", "setting") == [
        [f"`{field.name}`", f"`{variable(field.name)}`", default(field.default), *MEANINGS[field.name]]
        for field in fields(Settings)
    ]


def test_the_variables_are_those_that_are_read():
    assert rows("docs/settings.md", "variable") == [[f"`{name}`", what] for name, what in OTHER_VARIABLES.items()]
    assert {RULES_VARIABLE, OTLP_VARIABLE, DISABLED_VARIABLE, PYTHON_VARIABLE, KEY_VARIABLE} == set(OTHER_VARIABLES)


def test_the_collectors_variables_are_those_that_its_config_reads():
    config = (ROOT / "collector-config.yaml").read_text("utf-8")
    read = dict(re.findall(r"\$\{env:(\w+):-([^}]*)\}", config))
    told = {
        name: default
        for names, defaults, _ in rows("docs/backends.md", "variable")
        for name, default in zip_longest(quoted(names), quoted(defaults))
    }

    assert set(told) == set(read)
    assert {name: default for name, default in told.items() if default} == {
        name: read[name] for name, default in told.items() if default
    }
    assert all(re.search(rf"^#.*\b{name}\b", config, re.MULTILINE) for name in read)


def test_every_gap_is_explained():
    table = rows("docs/what-counts.md", "gap")

    assert [cells[0].strip("`") for cells in table] == list(CODES)
    assert {cells[0].strip("`") for cells in table if cells[1] == "yes"} == set(gaps.MAY_HIDE_CALLS)
    assert all(len(cells) == 4 and all(cells) for cells in table)


def test_gaps_that_nothing_writes_are_named_as_such():
    text = (ROOT / "docs/what-counts.md").read_text("utf-8")
    reserved = re.search(r"^Reserved, .*$", text, re.MULTILINE)

    assert (set(quoted(reserved[0])) if reserved else set()) == {code for code in CODES if not written(code)}


def test_every_convention_is_in_the_table_of_instrumentations():
    table = rows("docs/what-counts.md", "instrumentation")

    assert all(len(cells) == 5 and all(cells) for cells in table)
    for convention in CONVENTIONS:
        assert any(cells[0].startswith(convention.title) for cells in table), convention.title
    named = {code for cells in table for code in quoted(cells[4])} - {"service.name"}
    assert named <= set(CODES)


def test_why_spans_are_one_call_is_explained():
    source = (ROOT / "otel_chloe/assembly/explained.py").read_text("utf-8")
    reasons = re.findall(r'(?:return f?|where = )"([^":{]+)', source.split("def _why_folded")[1].split("    # ---")[0])
    table = {cells[0] for cells in rows("docs/what-counts.md", "why")}

    assert len(reasons) == 8
    assert all(any(reason.strip() in why for why in table) for reason in reasons)
    assert {cells[0].strip("`") for cells in rows("docs/what-counts.md", "role")} == set(get_args(Role))


def test_the_explained_example_is_what_the_command_prints(tmp_path, monkeypatch, capsys):
    shutil.copy(ROOT / "tests/spans/pydantic-ai-v5/SMCP-native.otlp.jsonl", tmp_path / "spans.otlp.jsonl")
    monkeypatch.chdir(tmp_path)
    command, printed = blocks("docs/what-counts.md", "console")[0].split("\n", 1)

    assert command == "$ otel-chloe runs spans.otlp.jsonl --explain"
    assert main(command.split()[2:]) == 0
    assert capsys.readouterr().out == printed


def test_the_attributes_of_the_agents_span_are_all_there():
    table = {cells[0].strip("`") for cells in rows("docs/marks.md", "attribute")}

    assert table >= {semconv.CHLOE_PASSED, *semconv.mark_keys("<name>")}
    assert {key.replace(".calls.", ".<name>.") for key in mark_attributes([BROKEN])[0]} <= table


@pytest.fixture
def backend():
    """What a run with a broken rule leaves in a backend."""
    backend = Backend()
    sinks = backend.sinks(watched=[Watched("site_doctor")])
    sinks.emit(a_run(conversation="c"), [(a_run(conversation="c"), BROKEN)])
    sinks.judge_called(JudgeCall(model="m", error="server", duration_s=1, input_tokens=1, output_tokens=1, cost_usd=1))
    sinks.publish(open_runs=1, judging=1)
    return backend


def test_the_attributes_of_evaluations_are_all_there(backend):
    table = {cells[0].strip("`") for cells in rows("docs/marks.md", "attribute")}
    beside = {semconv.OPENINFERENCE_SPAN_KIND, semconv.OUTPUT_VALUE, semconv.OUTPUT_MIME_TYPE}
    [span] = backend.spans.get_finished_spans()
    [event] = backend.logs.get_finished_logs()

    assert set(span.attributes) <= table | beside
    assert set(event.log_record.attributes) <= table
    assert beside <= set(quoted((ROOT / "docs/marks.md").read_text("utf-8")))


def test_the_metrics_are_those_that_go_out(backend):
    table = {cells[0].strip("`"): cells[1:] for cells in rows("docs/marks.md", "metric")}
    told = [
        metric
        for resource in backend.reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    ]

    assert {metric.name for metric in told} <= set(table)
    for metric in told:
        kind, unit, attributes = table[metric.name]
        assert quoted(unit) == [metric.unit]
        assert ("histogram" in kind) == (type(metric.data).__name__ == "Histogram")
        assert all(set(point.attributes) <= set(quoted(attributes)) for point in metric.data.data_points)


def test_every_metric_of_ours_is_in_the_table():
    table = {cells[0].strip("`") for cells in rows("docs/marks.md", "metric")}
    source = "".join(file.read_text("utf-8") for file in (ROOT / "otel_chloe/sinks").glob("*metrics.py"))
    made = re.findall(r"(?:create_(?:histogram|counter|up_down_counter)\(\s*|\n    \()semconv\.(\w+)", source)

    assert table == {getattr(semconv, name) for name in made}


@pytest.mark.parametrize("page", PAGES)
def test_every_name_of_telemetry_is_a_real_one(page):
    named = [
        name for name in quoted((ROOT / page).read_text("utf-8")) if re.fullmatch(r"(chloe|gen_ai)\.[\w.<>]+", name)
    ]

    assert set(named) <= NAMES | ON_SPANS


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "SECURITY.md"])
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", (ROOT / page).read_text("utf-8")):
        assert target.startswith("https://") or ((ROOT / page).parent / target).exists(), target
