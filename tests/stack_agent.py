"""An instrumented agent as a program: runs whose names come on standard input, sent to an OTLP endpoint each second.

``good`` is a run that keeps the rules, ``bad`` one that deletes a site. It ends when its input does.
"""

from __future__ import annotations

import json
import sys

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

import otel_chloe

RULES = {
    "agents": {
        "site_doctor": {
            "calls": {"mustCall": ["check_site"], "mustNotCall": ["delete_site"], "atMostOnce": ["restart_site"]},
            "severity": "page",
        }
    }
}
TOOLS = {"good": ("check_site", "restart_site"), "bad": ("check_site", "delete_site")}


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
    otel_chloe.attach(RULES, settings={"settle_s": 0.1})
    tracer = tracers.get_tracer("shop")
    for line in sys.stdin:
        print(run(tracer, TOOLS[line.strip()]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
