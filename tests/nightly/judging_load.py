"""An agent's process that has runs judged, a number of times a second, while its other thread works.

``scripted`` and ``child`` take an event that ends them: so do background functions of other benchmarks. Another event
is set when the processor is there: what its rules import is no part of judging.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent.parent)]

from agent_app import agent_attributes, messages, tool_attributes  # noqa: E402
from judge_script import checks, rules  # noqa: E402
from opentelemetry.context import Context  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult  # noqa: E402
from opentelemetry.trace import set_span_in_context  # noqa: E402

from otel_chloe import ScoringSpanProcessor  # noqa: E402
from otel_chloe.judge import child as child_judge  # noqa: E402
from otel_chloe.judge.launch import Launch  # noqa: E402

A_SECOND = 20
TEXT = "The shop answers with status 200 in 35 ms; its certificate holds for 42 days. " * 20
"""A run of some 4.6 kB: three results of a third each."""


class Counting(SpanExporter):
    def __init__(self) -> None:
        self.judged = 0

    def export(self, spans):
        self.judged += sum(
            span.name == "evaluation expectations" and span.attributes["chloe.state"] == "scored" for span in spans
        )
        return SpanExportResult.SUCCESS


async def answer(model, messages):
    await asyncio.sleep(0.05)
    return checks(True)


def scripted(stop: threading.Event, ready: threading.Event | None = None) -> int:
    """Judged by a ``complete=`` that answers after 50 ms. How many runs were judged."""
    return _judge(stop, ScoringSpanProcessor(rules(), complete=answer, settings={"settle_s": 0.2}), ready)


def child(stop: threading.Event, ready: threading.Event | None = None) -> int:
    """Judged by the judge's own process, whose litellm is a fake that answers after 50 ms."""
    child_judge._SHARED._launch = Launch(first_path=(str(HERE.parent / "fake_litellm"),))
    said = {**rules(), "judge": {"model": "met:0.05"}}
    return _judge(stop, ScoringSpanProcessor(said, settings={"settle_s": 0.2}), ready)


def _judge(stop: threading.Event, processor: ScoringSpanProcessor, ready: threading.Event | None) -> int:
    exporter = Counting()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("app")
    if ready is not None:
        ready.set()
    following = time.monotonic()
    while not stop.wait(max(0.0, following - time.monotonic())):
        following += 1 / A_SECOND
        _run(tracer)
    provider.force_flush(20_000)
    provider.shutdown()
    child_judge.shared_judge().close()
    return exporter.judged


def _run(tracer) -> None:
    said = agent_attributes("site_doctor")
    root = tracer.start_span("invoke_agent site_doctor", context=Context(), attributes=said)
    here = set_span_in_context(root, Context())
    for name in ("check_site", "restart_site", "check_site"):
        result = {**tool_attributes(name), "gen_ai.tool.call.result": TEXT}
        tracer.start_span(f"execute_tool {name}", context=here, attributes=result).end()
    root.set_attribute("gen_ai.output.messages", messages("assistant", "The shop is up."))
    root.end()
