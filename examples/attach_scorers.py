"""Scorers of one's own on live runs: a function and a judge, attached, and their marks in the telemetry.

    python examples/attach_scorers.py

The judge is answered by a script, so it needs no key; leave ``complete=`` out, and the model is asked.
"""

from __future__ import annotations

import json
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_chloe import DeferredScore, Score, Scorer, ScorerContext, attach, expecting
from otel_chloe.testing import ScriptedJudge


# A function of the run. Its marks stand on the agent's span when that is exported.
@Scorer.code(threshold=1.0)
def names_cities(ctx: ScorerContext) -> float:
    """The share of the cities asked for that the answer names."""
    cities = ctx.input["cities"]
    return sum(city in (ctx.output or "") for city in cities) / len(cities)


# Several scores at once, one of which a person gives later.
def reply(output: str) -> list[Score | DeferredScore]:
    """How long the answer is; and whether it helps, which no program can say."""
    return [Score("words", len(output.split())), DeferredScore("helpful", reason="a person reads it on Friday")]


# A model. It is asked when the run is over, off the agent's threads: its mark goes out beside the span.
is_kind = Scorer.llm_judge(
    name="is_kind",
    model="claude-haiku-4-5",
    rubric="Is the answer kind? Reply with a number from 0 to 1.",
    threshold=0.8,
    complete=ScriptedJudge("0.9"),
)


def agent(question: str) -> str:
    """Your agent. Here the spans are made by hand; an instrumentation makes them for you."""
    answer = f"With pleasure! It is 22 C in Rome, to answer {question!r}."
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather"}
    with trace.get_tracer("my_agent").start_as_current_span("invoke_agent weather", attributes=attributes) as span:
        span.set_attribute("gen_ai.output.messages", json.dumps(said))
    return answer


def printed(span: ReadableSpan) -> dict[str, Any]:
    """What is ours on a span."""
    said = span.attributes or {}
    if span.name.startswith("evaluation"):
        names = ("state", "score.value", "score.label", "explanation")
        keys = ["chloe.state", *(f"gen_ai.evaluation.{name}" for name in names[1:])]
        return {key.rpartition("evaluation.")[2]: said[key] for key in keys if key in said}
    return {key: said[key] for key in sorted(said) if key.startswith("chloe.") and key != "chloe.expected"}


def main() -> None:
    """Run the agent once, and print what was exported."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    attachment = attach(
        {},  # rules may stand beside them
        scorers=[names_cities, reply, is_kind],
        meter_provider=MeterProvider(),  # yours, if you have some
        logger_provider=LoggerProvider(),
    )
    with expecting(input={"cities": ["Rome", "Oslo"]}):  # what the scorers are given of these runs
        agent("Is it warm?")
    attachment.flush()
    for span in exporter.get_finished_spans():
        print(span.name)
        for key, value in printed(span).items():
            print(f"    {key} = {value}")


if __name__ == "__main__":
    main()
