"""The doctor on where telemetry is sent to: whether somebody listens there, and on a port of the protocol."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from agent_app import RULES
from example_programs import program
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from otlp_receiver import Receiver

from otel_chloe import attach
from otel_chloe.attachment.findings import Finding
from otel_chloe.attachment.reach import End, reach_found
from otel_chloe.cli import main


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is reached without one."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def listening() -> Iterator[str]:
    with closing(Receiver()) as receiver:
        yield receiver.url


@pytest.fixture
def closed() -> Iterator[str]:
    """An address that is taken, and where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def told(*ends: End) -> list[Finding]:
    return list(reach_found(ends))


def test_an_address_where_somebody_listens_is_well(listening: str) -> None:
    assert told(End(f"{listening}/v1/traces", "http"), End(listening.removeprefix("http://"), "grpc")) == []


def test_an_address_where_nobody_listens_is_told_once(closed: str) -> None:
    [found] = told(End(f"http://{closed}/v1/traces", "http"), End(f"http://{closed}/v1/metrics", "http"))

    assert (found.level, found.said) == ("wrong", f"nothing answers at {closed} (Connection refused)")
    assert found.fix is not None


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (End("localhost:4318", "grpc"), "4318 is mostly the port of OTLP over HTTP; this is sent by gRPC"),
        (
            End("http://localhost:4317/v1/traces", "http"),
            "4317 is mostly the port of OTLP over gRPC; this is sent by HTTP",
        ),
    ],
)
def test_a_port_of_the_other_protocol_is_told(end: End, said: str) -> None:
    assert said in [each.said for each in told(end)]


@pytest.mark.parametrize("endpoint", ["unix:///run/otel.sock", "dns:///collector:4317", "http://[::", "", "collector"])
def test_what_is_no_host_and_port_is_left_alone(endpoint: str) -> None:
    assert told(End(endpoint, None)) == []


def test_what_goes_through_a_proxy_is_left_alone(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "")

    assert told(End(f"http://{closed}", "http")) == []


GRPC = """
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from otel_chloe.attachment.reach import end_of
print(*end_of(OTLPSpanExporter(endpoint="http://localhost:4317")))
"""


def test_the_exporter_of_grpc_is_known() -> None:
    """In a program of its own: grpc, once imported, changes how this one forks."""
    assert program("-c", GRPC).stdout == "localhost:4317 grpc\n"


def test_an_attachments_exporters_are_looked_at(closed: str) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"http://{closed}/v1/traces")))
    attachment = attach(RULES, provider=provider)
    first = attachment.doctor().first
    attachment.detach()

    assert first is not None
    assert first.said == f"nothing answers at {closed} (Connection refused)"


def test_the_command_looks_at_the_variable(
    closed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:secret@{closed}")

    assert main(["doctor", "--rules", "examples/rules.yaml"]) == 1
    said = capsys.readouterr().out
    assert f"nothing answers at {closed}" in said
    assert "secret" not in said
