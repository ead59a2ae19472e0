"""Judges many runs, and says after each part of them how much memory the process holds: argv: runs, parts."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from agent_app import agent_attributes, messages, tool_attributes
from judge_script import checks, rules
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import set_span_in_context

from otel_chloe import ScoringSpanProcessor

AT_ONCE = 200


class Counting(SpanExporter):
    def __init__(self) -> None:
        self.judged = 0

    def export(self, spans):
        self.judged += sum(
            span.name == "evaluation expectations" and span.attributes["chloe.state"] == "scored" for span in spans
        )
        return SpanExportResult.SUCCESS


async def complete(model, messages):
    return checks(True)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def one_run(tracer, number: int) -> None:
    said = agent_attributes("site_doctor")
    root = tracer.start_span("invoke_agent site_doctor", context=Context(), attributes=said)
    here = set_span_in_context(root, Context())
    for name in ("check_site", "restart_site"):
        tracer.start_span(f"execute_tool {name}", context=here, attributes=tool_attributes(name)).end()
    root.set_attribute("gen_ai.output.messages", messages("assistant", f"The shop is up, for the {number}th time."))
    root.end()


def main(runs: int, parts: int) -> None:
    exporter = Counting()
    provider = TracerProvider()
    processor = ScoringSpanProcessor(rules(), complete=complete, meter_provider=MeterProvider(), settings={})
    provider.add_span_processor(processor)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=10_000))
    tracer = provider.get_tracer("app")
    for _ in range(parts):
        for number in range(runs // parts):
            one_run(tracer, number)
            if number % AT_ONCE == AT_ONCE - 1:
                assert provider.force_flush(60_000)
        assert provider.force_flush(60_000)
        gc.collect()
        print(exporter.judged, len(gc.get_objects()), resident(), processor.stats()["errors"], flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
