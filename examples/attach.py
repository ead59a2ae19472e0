"""The smallest way in: an agent that is instrumented already, and the lines that score it.

Where the telemetry goes, the usual variables say:

    OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 python examples/attach.py
"""

from __future__ import annotations

from pathlib import Path

from opentelemetry import _logs, metrics, trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from otel_chloe import ScoringSpanProcessor  # 1

# What your application has already: providers and exporters. Metrics and events need the second and the third.
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())]))
logs = LoggerProvider()
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
_logs.set_logger_provider(logs)

scoring = ScoringSpanProcessor(Path(__file__).parent / "rules.yaml")  # 2
provider.add_span_processor(scoring)  # 3

# Your agent. Here it is a function, and the spans are made by hand; an instrumentation makes them for you. They carry
# no prompts, arguments or results: rules of calls need none.
tracer = trace.get_tracer("my_agent")


def call(tool: str) -> None:
    """A tool call, as the GenAI conventions tell it."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    with tracer.start_as_current_span(f"execute_tool {tool}", attributes=attributes):
        print(tool)


def run() -> None:
    """A run of the agent."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "site_doctor"}
    with tracer.start_as_current_span("invoke_agent site_doctor", attributes=attributes):
        call("check_site")
        call("restart_site")


if __name__ == "__main__":
    run()
    provider.force_flush()
    print(scoring.stats())
