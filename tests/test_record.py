"""What examples/record.yaml has the real Collector write is read by the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from backends import LOOPBACK, ROOT, built, free_port, running, until
from example_programs import program
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from own_provider import Setup


def test_a_recording_of_the_collector_shows_the_runs(tmp_path: Path, needs: Callable[[str], str]):
    needs("go")
    ports = {"grpc": free_port(), "http": free_port()}
    argv = [built("collector"), "--config", str(ROOT / "examples" / "record.yaml")]
    variables = {"GRPC_PORT": str(ports["grpc"]), "HTTP_PORT": str(ports["http"]), "RECORDING": "mine"}
    app = Setup()
    app.run("check_site", "delete_site")
    file = tmp_path / "mine.otlp.jsonl"
    with running("collector", argv, tmp_path, ports, f"tcp://{LOOPBACK}:{ports['http']}", **variables) as gate:
        exporter = OTLPSpanExporter(f"{gate.url('http')}/v1/traces")
        exporter.export(app.exporter.get_finished_spans())
        until(lambda: file.exists() and file.read_text().endswith("\n"), "the recording")
        exporter.shutdown()
        assert gate.lines("\terror\t", "\twarn\t") == []

    [run] = map(json.loads, program("-m", "otel_chloe", "runs", str(file), "--format", "json").stdout.splitlines())
    assert run["agent"] == "site_doctor"
    assert [call["name"] for call in run["tool_calls"]] == ["check_site", "delete_site"]
