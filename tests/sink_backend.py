"""Real providers with exporters in memory, and a run with marks: what the tests of the sinks share."""

from __future__ import annotations

import time

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_chloe.health import Health
from otel_chloe.mark import Mark, Violation
from otel_chloe.run import Run
from otel_chloe.sinks import Sinks

try:
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter
except ImportError:  # its name before 1.39
    from opentelemetry.sdk._logs.export import InMemoryLogExporter as InMemoryLogRecordExporter

TRACE_ID, SPAN_ID, END_NS = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", 1_700_000_000_000_000_000
PASSED = Mark(1.0, "all well", passed=True, id="m1", version="v1", key="calls")
BROKEN = Mark(
    0.0,
    "called delete_site, which it must not; used: delete_site",
    passed=False,
    id="m2",
    violations=(Violation("must_not_call", "delete_site"),),
    severity="page",
)


def a_run(**more) -> Run:
    facts = {"agent": "site_doctor", "trace_id": TRACE_ID, "span_id": SPAN_ID, "start_ns": 1, "end_ns": END_NS}
    return Run(**{**facts, **more})


class Backend:
    """Real providers with exporters that keep what they got."""

    def __init__(self, **tracer_options) -> None:
        resource = Resource({"service.name": "shop"})
        self.spans = InMemorySpanExporter()
        self.tracers = TracerProvider(resource=resource, shutdown_on_exit=False, **tracer_options)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], resource=resource, shutdown_on_exit=False)
        self.logs = InMemoryLogRecordExporter()
        self.loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        self.health = Health(time.monotonic)

    def sinks(self, **more) -> Sinks:
        given = {"tracer_provider": self.tracers, "meter_provider": self.meters, "logger_provider": self.loggers}
        return Sinks(self.health, **{**given, **more})

    def points(self, name: str) -> dict[tuple[tuple[str, str], ...], object]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            tuple(sorted((point.attributes or {}).items())): point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        }

    def values(self, name: str) -> dict[tuple[tuple[str, str], ...], float]:
        return {labels: point.value for labels, point in self.points(name).items()}
