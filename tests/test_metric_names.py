"""Metrics have the same names and labels in Prometheus, by whichever way they come there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from backends import ALERTING, ROOT, collector, text, until
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from sink_backend import BROKEN, PASSED, Backend, a_run

from otel_chloe.mark import Failed, JudgeCall, Mark
from otel_chloe.sinks import Sinks, Watched

NO_EXPORT_MS = 3_600_000
"""No export comes by itself: the test asks for the one that it wants."""
ADDED = frozenset({"job", "instance", "le"})
"""Labels for Prometheus's own sake. Those of the scope begin with `otel_scope_`."""
METRICS = 14
"""Those of docs/marks.md."""


def shapes(page: str) -> dict[str, frozenset[str]]:
    """The names of the series of otel_chloe on a page of Prometheus's text, each with the names of its labels."""
    found: dict[str, frozenset[str]] = {}
    for name, labels in re.findall(r"^((?:chloe|gen_ai)_\w+)(?:\{(.*)\})? ", page, re.MULTILINE):
        if not name.endswith("_created"):
            keys = {key for key in re.findall(r'(\w+)="', labels) if not key.startswith("otel_scope_")}
            found[name] = found.get(name, frozenset()) | (keys - ADDED)
    return found


def everything(sinks: Sinks, backend: Backend) -> None:
    """Makes each metric that there is, with all its labels."""
    backend.health.count("spans_late")
    backend.health.error("some_error")
    revised = Mark(0.5, "a person looked", id="m3", revision=1)
    failed = Failed("broke", error="ValueError", id="m4")
    outcomes = (PASSED, BROKEN, Mark(7.0, "of 10", id="m5", version="v1", passed=True), revised, failed)
    sinks.emit(a_run(), [(a_run(), outcome) for outcome in outcomes])
    sinks.judge_called(
        JudgeCall(model="m", error=None, duration_s=0.5, input_tokens=10, output_tokens=2, cost_usd=0.01)
    )
    sinks.judge_called(JudgeCall(model="m", error="timeout", duration_s=0.5))
    sinks.publish(open_runs=1, judging=1)


@pytest.fixture
def both_ways(tmp_path: Path, needs: Callable[[str], str], backend: Backend):
    """What the Collector shows and what Python's own reader shows, of one provider."""
    exporter = pytest.importorskip("opentelemetry.exporter.prometheus")
    client = pytest.importorskip("prometheus_client")
    needs("go")
    with collector(tmp_path / "collector") as gate:
        otlp = PeriodicExportingMetricReader(
            OTLPMetricExporter(f"{gate.url('http')}/v1/metrics"), export_interval_millis=NO_EXPORT_MS
        )
        python = exporter.PrometheusMetricReader()
        meters = MeterProvider([otlp, python], resource=Resource.create({"service.name": "shop"}))
        try:
            everything(backend.sinks(meter_provider=meters, watched=(Watched("site_doctor"),)), backend)
            meters.force_flush()
            page = f"{gate.url('prometheus')}/metrics"
            until(lambda: "chloe_judge_queue_size" in text(page), "the metrics in the Collector")
            yield shapes(text(page)), shapes(client.generate_latest().decode())
        finally:
            meters.shutdown()


def test_names_and_labels_are_the_same_from_the_collector_and_from_pythons_reader(both_ways):
    collectors, pythons = both_ways

    assert collectors == pythons
    assert len({re.sub(r"_(bucket|sum|count)$", "", name) for name in collectors}) == METRICS


def test_the_alerts_and_the_dashboard_ask_for_names_that_there_are(both_ways):
    collectors, _ = both_ways
    asked = (ALERTING / "rules.yml").read_text() + (ROOT / "examples" / "grafana" / "otel_chloe.json").read_text()

    metrics = set(re.findall(r"\b(?:chloe|gen_ai)_\w+_(?:total|bucket|sum|count)\b", asked))

    assert metrics
    assert metrics <= set(collectors)
