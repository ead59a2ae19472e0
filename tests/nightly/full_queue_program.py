"""More runs than the judge's queue takes, while the judge never answers: says what memory it came to.

Arguments: runs, bytes of each. Texts are made of what takes the most room for its length.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
from collections import Counter

from agent_app import agent_attributes, messages
from judge_script import rules
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider

from otel_chloe import ScoringSpanProcessor

AT_ONCE = 5


async def never(model, messages):
    await asyncio.Event().wait()


def until_closed(processor: ScoringSpanProcessor, runs: int) -> None:
    """Until so many runs have gone to the judge or were refused: a flush would wait for the judge, too."""
    while processor.stats().get("runs", 0) < runs:
        processor.force_flush(1)


def main(runs: int, size: int) -> None:
    found: Counter[str] = Counter()
    processor = ScoringSpanProcessor(
        rules(), complete=never, on_mark=lambda run, outcome: found.update([getattr(outcome, "error", "") or "scored"])
    )
    provider = TracerProvider()
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("app")
    text = "\N{GREEN HEART}"
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(runs):
        root = tracer.start_span(
            "invoke_agent site_doctor", context=Context(), attributes=agent_attributes("site_doctor")
        )
        root.set_attribute("gen_ai.output.messages", messages("assistant", f"{number} {text * (size // 4)}"))
        root.end()
        del root
        if number % AT_ONCE == 0 or number == runs - 1:
            until_closed(processor, number + 1)
    gc.collect()
    held, peak = tracemalloc.get_traced_memory()
    refused = found["queue_full"]
    print(refused, runs - refused, held - before, peak - before, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
