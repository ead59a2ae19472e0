"""A TracerProvider with our processor and exporters in memory, and agents that run in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span
from sink_backend import InMemoryLogRecordExporter

from otel_chloe import ScoringSpanProcessor

RULES = {
    "agents": {
        "site_doctor": {
            "calls": {"mustCall": ["check_site"], "mustNotCall": ["delete_site"], "atMostOnce": ["restart_site"]}
        }
    }
}
PASSED = {"chloe.passed": True, "chloe.calls.state": "scored", "chloe.calls.score": 1.0, "chloe.calls.passed": True}
FAILED = {"chloe.passed": False, "chloe.calls.state": "scored", "chloe.calls.score": 0.0, "chloe.calls.passed": False}


def messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def agent_attributes(name: str) -> dict[str, Any]:
    """What a usual agent span says when it starts."""
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.input.messages": messages("user", "Is the shop up?"),
    }


def tool_attributes(name: str, call_id: str | None = None) -> dict[str, Any]:
    said = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": '{"site": "shop"}',
        "gen_ai.tool.call.result": "up",
    }
    return said if call_id is None else {**said, "gen_ai.tool.call.id": call_id}


def marks_of(span: ReadableSpan) -> dict[str, Any]:
    """Our attributes on a span, without the reason."""
    said = dict(span.attributes or {})
    return {key: said[key] for key in said if key.startswith("chloe.") and not key.endswith(".reason")}


class Kept(SpanProcessor):
    """Keeps every span that ends, sampled or not."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """True: older SDKs stop at the first processor that does not say so, and theirs says nothing."""
        return True


class App:
    """An application: a provider with our processor among others, and what the exporters got.

    Leaving it shuts all down, and demands that as much went wrong as ``errors`` says (None: it may be anything).
    """

    def __init__(
        self,
        rules: Any = RULES,
        *,
        before: Sequence[SpanProcessor] = (),
        after: Sequence[SpanProcessor] = (),
        batch: bool = False,
        exporter_first: bool = False,
        settings: dict[str, Any] | None = None,
        complete: Any = None,
        redact: Any = None,
        on_mark: Any = None,
        scorers: Sequence[Any] = (),
        errors: int | None = 0,
        **provider_options: Any,
    ) -> None:
        self.errors = errors
        self.stopped = False
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.log_exporter = InMemoryLogRecordExporter()
        self.loggers = LoggerProvider(shutdown_on_exit=False)
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self.log_exporter))
        self.processor = self.scoring(
            rules, settings=settings, complete=complete, redact=redact, on_mark=on_mark, scorers=scorers
        )
        self.provider = TracerProvider(shutdown_on_exit=False, **provider_options)
        exporting = (BatchSpanProcessor if batch else SimpleSpanProcessor)(self.exporter)
        own = (exporting, self.processor) if exporter_first else (self.processor, exporting)
        for processor in (*before, *own, *after):
            self.provider.add_span_processor(processor)
        self.tracer = self.provider.get_tracer("app")

    def scoring(self, rules: Any = RULES, **more: Any) -> ScoringSpanProcessor:
        """A processor of ours that sends events and metrics here."""
        return ScoringSpanProcessor(rules, meter_provider=self.meters, logger_provider=self.loggers, **more)

    def __enter__(self) -> App:  # noqa: PYI034 - nobody makes another of it
        return self

    def __exit__(self, *exception: object) -> None:
        self.provider.shutdown()
        self.meters.shutdown()
        self.loggers.shutdown()
        if exception[0] is None and self.errors is not None:
            stats = self.processor.stats()
            assert stats["errors"] == self.errors, stats

    # --- what the application does -----------------------------------------------------------------------------------

    @contextmanager
    def agent(self, name: str = "site_doctor", output: str = "It is up.", **options: Any) -> Iterator[Span]:
        options.setdefault("attributes", agent_attributes(name))
        with self.tracer.start_as_current_span(f"invoke_agent {name}", **options) as span:
            yield span
            span.set_attribute("gen_ai.output.messages", messages("assistant", output))

    def start_agent(self, name: str = "site_doctor", **options: Any) -> Span:
        """An agent span that somebody ends later."""
        return self.tracer.start_span(f"invoke_agent {name}", attributes=agent_attributes(name), **options)

    @contextmanager
    def tool(self, name: str, call_id: str | None = None, **options: Any) -> Iterator[Span]:
        options.setdefault("attributes", tool_attributes(name, call_id))
        with self.tracer.start_as_current_span(f"execute_tool {name}", **options) as span:
            yield span

    def call(self, *names: str, **options: Any) -> None:
        """Call tools one after the other."""
        for name in names:
            with self.tool(name, **options):
                pass

    def run(self, *tools: str, agent: str = "site_doctor") -> None:
        """A whole run."""
        with self.agent(agent):
            self.call(*tools)

    # --- what came of it ---------------------------------------------------------------------------------------------

    def flush(self) -> None:
        assert self.stopped or self.provider.force_flush(20_000)

    def stop(self) -> None:
        """Shuts our processor down, which closes what is open."""
        self.processor.shutdown()
        self.stopped = True

    def exported(self, name: str) -> list[ReadableSpan]:
        self.flush()
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def span(self, name: str = "invoke_agent site_doctor") -> ReadableSpan:
        (span,) = self.exported(name)
        return span

    def marks(self, name: str = "invoke_agent site_doctor") -> dict[str, Any]:
        return marks_of(self.span(name))

    def reason(self, name: str = "invoke_agent site_doctor") -> Any:
        return (self.span(name).attributes or {}).get("chloe.calls.reason")

    def events(self) -> list[dict[str, Any]]:
        """The evaluation events, as their attributes and the id of the span that they hang on."""
        self.flush()
        records = [each.log_record for each in self.log_exporter.get_finished_logs()]
        assert {record.event_name for record in records} <= {"gen_ai.evaluation.result"}
        return [{**(record.attributes or {}), "span_id": record.span_id} for record in records]

    def scores(self) -> list[tuple[Any, Any]]:
        """The agent and score of each event, sorted."""
        said = [(e.get("gen_ai.agent.name"), e.get("gen_ai.evaluation.score.value")) for e in self.events()]
        return sorted(said, key=str)

    def counted(self, metric: str, **labels: str) -> float:
        """The sum of a metric's points that carry these labels (dots as double underscores)."""
        self.flush()
        wanted = {key.replace("__", "."): value for key, value in labels.items()}
        data = self.reader.get_metrics_data()
        return sum(
            point.value
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
            if wanted.items() <= dict(point.attributes or {}).items()
        )
