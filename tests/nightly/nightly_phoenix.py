"""The real Phoenix, from PyPI, in headless Chromium: the demo's failing run is found by a filter on its marks.

Phoenix is heavy, so it has an environment of its own in the user's cache, made where there is none.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from backends import LOOPBACK, ROOT, Program, free_port, get, running, until
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from packages import python_with
from stack_agent import MET, RULES, TOOLS, run

from otel_chloe import attach

PACKAGES = ("arize-phoenix==20.26.1", "selenium==4.51.0")
PICTURE = ROOT / "docs" / "phoenix.png"
MOST_BYTES = 300_000
PROJECT = "shop"
SPANS = 16
"""Three runs with their tools, and a span for each mark."""
BY_MARKS = "annotations['calls'].label == 'fail' and annotations['expectations'].score == 1"
BY_ATTRIBUTES = "parent_id is None and attributes['chloe']['calls']['score'] < 1"
FILTERED = """
query ($id: ID!, $by: String) {
  node(id: $id) { ... on Project { spans(filterCondition: $by, first: 50) { edges { node { spanId } } } } }
}
"""


@pytest.fixture(scope="module")
def python() -> str:
    """The Python of Phoenix's environment."""
    return python_with("phoenix", PACKAGES)


@contextmanager
def phoenix(folder: Path, python: str) -> Iterator[Program]:
    """Phoenix, with nothing in it. Ports: http, grpc."""
    ports = {name: free_port() for name in ("http", "grpc")}
    with running(
        "phoenix",
        [str(Path(python).parent / "phoenix"), "serve"],
        folder,
        ports,
        f"http://{LOOPBACK}:{ports['http']}/healthz",
        within_s=300,
        PHOENIX_WORKING_DIR=str(folder / "data"),
        PHOENIX_HOST=LOOPBACK,
        PHOENIX_PORT=str(ports["http"]),
        PHOENIX_GRPC_PORT=str(ports["grpc"]),
        PHOENIX_TELEMETRY_ENABLED="false",
        PHOENIX_ALLOW_EXTERNAL_RESOURCES="false",
    ) as program:
        yield program


class Shown:
    """Three runs in a Phoenix."""

    def __init__(self, url: str, traces: dict[str, str]) -> None:
        self.url = url
        self.traces = traces
        self.project: str = get(f"{url}/v1/projects/{PROJECT}")["data"]["id"]

    def spans(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = get(f"{self.url}/v1/projects/{PROJECT}/spans?limit=100")["data"]
        return found

    def annotations(self) -> list[dict[str, Any]]:
        ids = [("span_ids", each["context"]["span_id"]) for each in self.spans()]
        query = urllib.parse.urlencode([("limit", "100"), *ids])
        found: list[dict[str, Any]] = get(f"{self.url}/v1/projects/{PROJECT}/span_annotations?{query}")["data"]
        return found

    def found_by(self, condition: str) -> set[str]:
        """The kinds of the runs whose agent spans a filter finds."""
        body = json.dumps({"query": FILTERED, "variables": {"id": self.project, "by": condition}}).encode()
        asked = urllib.request.Request(f"{self.url}/graphql", body, {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=20) as answer:
            edges = json.loads(answer.read())["data"]["node"]["spans"]["edges"]
        ids = {each["node"]["spanId"] for each in edges}
        kinds = {trace: kind for kind, trace in self.traces.items()}
        return {kinds[each["context"]["trace_id"]] for each in self.spans() if each["context"]["span_id"] in ids}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, python: str) -> Iterator[Shown]:
    with phoenix(tmp_path_factory.mktemp("phoenix"), python) as program:
        url = program.url("http")
        resource = Resource.create({"service.name": "shop", "openinference.project.name": PROJECT})
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
        settings = {"settle_s": 0.1, "phoenix": url}
        attachment = attach(RULES, provider=provider, settings=settings, complete=lambda *_: MET)
        traces = {kind: run(provider.get_tracer("shop"), tools) for kind, tools in TOOLS.items()}
        assert attachment.flush()
        assert provider.force_flush()
        until(lambda: get(f"{url}/v1/projects/{PROJECT}"), "the project")
        made = Shown(url, traces)
        until(lambda: len(made.spans()) == SPANS, "all spans are there")
        until(lambda: len(made.annotations()) == 2 * len(traces), "all annotations are there")
        assert attachment.stats()["annotations"] == 2 * len(traces)
        attachment.detach()
        provider.shutdown()
        yield made
        assert program.lines(" ERROR ", "Traceback") == []


def test_each_mark_is_one_annotation_of_its_agents_span(shown: Shown):
    agents = {each["context"]["span_id"]: each for each in shown.spans() if each["span_kind"] == "AGENT"}
    kinds = {trace: kind for kind, trace in shown.traces.items()}
    said = {
        (kinds[agents[each["span_id"]]["context"]["trace_id"]], each["name"]): each["result"]
        for each in shown.annotations()
    }

    assert {key: (result["score"], result["label"]) for key, result in said.items()} == {
        ("good", "calls"): (1.0, "pass"),
        ("bad", "calls"): (0.0, "fail"),
        ("very bad", "calls"): (0.0, "fail"),
        **{(kind, "expectations"): (1.0, "pass") for kind in TOOLS},
    }
    assert said["very bad", "calls"]["explanation"].startswith("called delete_site, which it must not.")


def test_what_is_sent_again_is_there_once(shown: Shown):
    (one, *_) = shown.annotations()
    again = {key: one[key] for key in ("span_id", "name", "annotator_kind", "result", "metadata", "identifier")}
    body = json.dumps({"data": [{**again, "result": {"score": one["result"]["score"], "label": "again"}}]}).encode()
    for data in (body, json.dumps({"data": [again]}).encode()):  # and back, for the other tests
        url = f"{shown.url}/v1/span_annotations?sync=true"
        with urllib.request.urlopen(urllib.request.Request(url, data, {"content-type": "application/json"})) as answer:
            assert answer.status == 200

    assert len(shown.annotations()) == 2 * len(TOOLS)


@pytest.mark.parametrize("condition", [BY_MARKS, BY_ATTRIBUTES])
def test_a_filter_on_the_marks_finds_the_failing_runs(shown: Shown, condition: str):
    assert shown.found_by(condition) == {"bad", "very bad"}


def test_a_person_finds_the_failing_runs(shown: Shown, python: str, needs: Callable[[str], str], tmp_path: Path):
    needs("chromium")
    needs("chromedriver")
    drawn = tmp_path / "phoenix.png"
    browser = [python, str(Path(__file__).with_name("phoenix_browser.py"))]
    page = f"{shown.url}/projects/{shown.project}/spans"
    done = subprocess.run(
        [*browser, page, BY_MARKS, "3", "2", str(drawn)], capture_output=True, text=True, timeout=300, check=False
    )

    assert done.returncode == 0, done.stderr[-3_000:]
    rows = done.stdout.splitlines()
    assert all(any(shown.traces[kind] in row for row in rows) for kind in ("bad", "very bad")), rows
    assert all("calls μ 0.00" in row for row in rows), rows
    assert drawn.stat().st_size < MOST_BYTES
    if not PICTURE.exists() or os.environ.get("CHLOE_DRAW"):  # another one each night would be a change each night
        PICTURE.write_bytes(drawn.read_bytes())
