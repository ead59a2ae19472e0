"""From an agent through the real Collector to Jaeger and Prometheus: what a person finds there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from backends import (
    LOOPBACK,
    ROOT,
    Program,
    built,
    collector,
    collector_variables,
    free_port,
    get,
    is_scraped,
    jaeger,
    prometheus,
    text,
    until,
)
from otlp_receiver import Receiver
from otlp_receiver import said as attributes
from stack_agent import Agent

from otel_chloe.semconv import GEN_AI_EVALUATION_NAME

GOOD_RUNS = 5


@dataclass
class Stack:
    """The programs, the agent that sends to them, and what it ran."""

    collector: Program
    jaeger: Program
    prometheus: Program
    events: Receiver
    bad: str
    good: list[str]

    def traces(self, **tags: str) -> list[dict[str, Any]]:
        """The traces in Jaeger that have a span with these tags."""
        query = f"service=shop&limit=100&lookback=1h&tags={quote(json.dumps(tags))}"
        found: list[dict[str, Any]] = get(f"{self.jaeger.url('query')}/api/traces?{query}")["data"]
        return found

    def failing(self) -> dict[str, Any]:
        """The failing run, with its evaluation span, which comes a little later."""

        def whole() -> dict[str, Any] | None:
            found = self.traces(**{"chloe.passed": "false"})
            names = {span["operationName"] for trace in found for span in trace["spans"]}
            return found[0] if {"evaluation calls", "evaluation expectations"} <= names else None

        return until(whole, "the failing run in Jaeger")

    def values(self, promql: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = get(f"{self.prometheus.url('query')}/api/v1/query?query={quote(promql)}")["data"][
            "result"
        ]
        return found


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, needs: Callable[[str], str]) -> Iterator[Stack]:
    needs("go")
    server = needs("prometheus")
    folder = tmp_path_factory.mktemp("stack")
    with ExitStack() as programs:
        traces = programs.enter_context(jaeger(folder / "jaeger"))
        sent_to = traces.url("http")
        events = programs.enter_context(closing(Receiver()))
        gate = programs.enter_context(
            collector(folder / "collector", traces=sent_to, events=events.url, KEPT_PERCENT="0")
        )
        scraped = f"{LOOPBACK}:{gate.ports['prometheus']}"
        scores = programs.enter_context(prometheus(folder / "prometheus", server, scrape=[scraped]))
        until(lambda: is_scraped(scores), "the first scrape")  # an exemplar is there for one interval of the export
        app = programs.enter_context(Agent(gate.url("http")))
        good = [app.run("good") for _ in range(GOOD_RUNS)]
        yield Stack(gate, traces, scores, events, app.run("very bad"), good)


@pytest.mark.parametrize("backends", [(), ("http://localhost:1", "http://localhost:1")], ids=["none", "both"])
def test_the_config_is_valid(tmp_path: Path, needs: Callable[[str], str], backends: tuple[str, ...]):
    needs("go")
    ports = {name: free_port() for name in ("grpc", "http", "health", "prometheus", "telemetry")}
    variables = collector_variables(tmp_path, ports, *backends)

    checked = subprocess.run(
        [built("collector"), "validate", "--config", str(ROOT / "collector-config.yaml")],
        capture_output=True,
        text=True,
        check=False,
        env=variables,
    )

    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_failing_run_is_found_by_its_mark_and_is_kept_whole(stack: Stack):
    found = stack.failing()

    assert found["traceID"] == stack.bad
    assert {span["operationName"] for span in found["spans"]} == {
        "invoke_agent site_doctor",
        "execute_tool check_site",
        "execute_tool delete_site",
        "evaluation calls",
        "evaluation expectations",
    }


def test_its_reason_is_on_the_agents_span(stack: Stack):
    found = stack.failing()

    (root,) = [span for span in found["spans"] if span["operationName"] == "invoke_agent site_doctor"]
    tags = {tag["key"]: tag["value"] for tag in root["tags"]}
    assert tags["chloe.calls.reason"] == "called delete_site, which it must not. Used: check_site, delete_site."


def test_the_evaluation_does_not_make_the_trace_longer(stack: Stack):
    found = stack.failing()

    (root,) = [span for span in found["spans"] if span["operationName"] == "invoke_agent site_doctor"]
    ends = [span["startTime"] + span["duration"] for span in found["spans"]]
    assert min(span["startTime"] for span in found["spans"]) == root["startTime"]
    assert max(ends) - (root["startTime"] + root["duration"]) <= 1  # Jaeger cuts both to microseconds


def test_good_runs_are_sampled_away(stack: Stack):
    stack.failing()

    def dropped() -> bool:
        return any(
            line.startswith("otelcol_processor_tail_sampling_global_count_traces_sampled")
            and 'sampled="false"' in line
            and float(line.rsplit(" ", 1)[1]) == GOOD_RUNS
            for line in text(f"{stack.collector.url('telemetry')}/metrics").splitlines()
        )

    until(dropped, "the decision on the good runs")
    assert {trace["traceID"] for trace in stack.traces()} == {stack.bad}


def test_prometheus_has_every_run_sampled_or_not(stack: Stack):
    until(lambda: stack.values("sum(chloe_runs_total) == 6"), "six runs in Prometheus")

    (violation,) = stack.values(
        'chloe_violations_total{chloe_rule="must_not_call", gen_ai_tool_name="delete_site"} == 1'
    )
    assert violation["metric"]["gen_ai_agent_name"] == "site_doctor"
    assert violation["metric"]["chloe_severity"] == "page"
    assert violation["metric"]["job"] == "shop"


def test_the_events_of_every_run_are_kept_sampled_or_not(stack: Stack):
    def of_calls() -> set[str] | None:
        found = {
            event.trace_id.hex()
            for event in stack.events.events
            if attributes(event.attributes)[GEN_AI_EVALUATION_NAME] == "calls"
        }
        return found if len(found) > GOOD_RUNS else None

    assert until(of_calls, "the events of six runs") == {stack.bad, *stack.good}


def test_an_exemplar_leads_from_a_score_to_its_trace(stack: Stack):
    def exemplars() -> set[str]:
        query = 'query=gen_ai_evaluation_score_bucket{gen_ai_evaluation_score_label="fail"}'
        found = get(
            f"{stack.prometheus.url('query')}/api/v1/query_exemplars?{quote(query, safe='=')}&start=0&end=9999999999"
        )
        return {each["labels"]["trace_id"] for series in found["data"] for each in series["exemplars"]}

    assert until(exemplars, "an exemplar of the failing score") == {stack.bad}


DASHBOARD = json.loads((ROOT / "examples" / "grafana" / "otel_chloe.json").read_text())
QUERIES = [(panel["title"], each["expr"]) for panel in DASHBOARD["panels"] for each in panel["targets"]]


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[f"{title} {n}" for n, (title, _) in enumerate(QUERIES)])
def test_every_query_of_the_dashboard_has_data(stack: Stack, title: str, query: str):
    for name, value in {"$__rate_interval": "1m", "$__range": "5m", "$agent": ".*"}.items():
        query = query.replace(name, value)

    assert until(lambda: stack.values(query), title)


def test_nobody_logs_an_error(stack: Stack):
    stack.failing()

    assert stack.collector.lines("\terror\t") == []
    assert stack.jaeger.lines('"level":"error"') == []
    assert stack.prometheus.lines("level=error") == []


def test_the_stack_starts_pages_and_stops_at_ctrl_c(needs: Callable[[str], str]):
    for program in ("go", "prometheus", "prometheus-alertmanager"):
        needs(program)
    said: list[str] = []
    with subprocess.Popen(
        [sys.executable, str(ROOT / "examples" / "stack" / "stack.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as stack:
        assert stack.stdout is not None
        for line in stack.stdout:
            said.append(line)
            if line.startswith("page"):
                os.killpg(stack.pid, signal.SIGINT)  # as a terminal does

    assert stack.returncode == 0
    assert said[-3:] == ["\n", "Stopping …\n", "Stopped.\n"]
    assert any(line.startswith("page      firing: site_doctor called delete_site") for line in said)


def test_compose_has_the_files_that_it_names():
    folder = ROOT / "examples" / "stack"
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    mounted = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])]

    assert [path for path in mounted if not (folder / path).exists()] == []
    assert all(not service["image"].endswith("latest") and ":" in service["image"] for service in services.values())
