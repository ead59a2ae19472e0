"""An instrumented agent as a program: runs whose names come on standard input, sent to an OTLP endpoint each second.

``good`` is a run that keeps the rules, ``bad`` one that restarts a site twice, ``very bad`` one that deletes it. The
program ends when its input does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from opentelemetry import _logs, metrics, trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from typing_extensions import Self

import otel_chloe

RULES = {
    "agents": {
        "site_doctor": {
            "calls": {"mustCall": ["check_site"], "mustNotCall": ["delete_site"], "atMostOnce": ["restart_site"]},
            "expectations": {"should": ["says that it is mended"], "model": "scripted"},
            "severity": "page",
        }
    }
}
MET = json.dumps({"checks": [{"id": 1, "expectation": "says that it is mended", "why": "it does", "met": True}]})
REST = "rest"
TOOLS = {
    "good": ("check_site", "restart_site"),
    "bad": ("check_site", "restart_site", "restart_site"),
    "very bad": ("check_site", "delete_site"),
}


class Agent:
    """This program as a process, while a block lasts."""

    def __init__(self, endpoint: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # see backends.running
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.communicate(timeout=30)

    @property
    def resident_mib(self) -> float:
        """The memory that it takes now."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        (line,) = [line for line in lines if line.startswith("VmRSS:")]
        return int(line.split()[1]) / 1024

    def kill(self) -> None:
        """Ends it at once: nothing is waited for that is still to be sent."""
        self._process.kill()
        self._process.communicate()

    def run(self, kind: str) -> str:
        """Has it run once; the trace's id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{kind}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def rest(self) -> None:
        """Waits until all of its runs are scored."""
        assert self.run(REST) == "True"


def said(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def run(tracer: trace.Tracer, tools: tuple[str, ...]) -> str:
    """A run of the agent; its trace's id."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "site_doctor",
        "gen_ai.input.messages": said("user", "Mend the shop."),
        "gen_ai.output.messages": said("assistant", "It is mended."),
    }
    with tracer.start_as_current_span("invoke_agent site_doctor", attributes=attributes) as agent:
        for tool in tools:
            call = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.arguments": '{"site": "shop"}',
            }
            with tracer.start_as_current_span(f"execute_tool {tool}", attributes=call):
                pass
        return f"{agent.get_span_context().trace_id:032x}"


def main(endpoint: str) -> None:
    resource = Resource.create({"service.name": "shop"})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces"), schedule_delay_millis=500))
    trace.set_tracer_provider(tracers)
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{endpoint}/v1/metrics"), export_interval_millis=1_000)
    metrics.set_meter_provider(MeterProvider([reader], resource=resource))
    loggers = LoggerProvider(resource=resource)
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(f"{endpoint}/v1/logs")))
    _logs.set_logger_provider(loggers)
    attachment = otel_chloe.attach(RULES, settings={"settle_s": 0.1}, complete=lambda *_: MET)
    tracer = tracers.get_tracer("shop")
    for line in sys.stdin:
        word = line.strip()
        print(attachment.flush(600) if word == REST else run(tracer, TOOLS[word]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
