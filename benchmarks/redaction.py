#!/usr/bin/env python3
"""Microseconds a kB of redacting and of fencing, for usual texts and for hostile ones, and the longest step.

    python benchmarks/redaction.py

Prints processor time, the best of seven. Held to: 150 microseconds a kB for usual texts, and 5 ms for any one step that
keeps the interpreter's lock, in texts of 1 MB too.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from otel_chloe.judge.fence import Fence
from otel_chloe.judge.redact import Redactor

PROSE = (
    "The site checker found that the shop is down since noon, and the pages answer with an error; so the agent "
    "restarted it. Tell bob@example.com, or look at https://status.example.com/incidents/4711?x=1. "
)
RECORD = {
    "id": "550e8400-e29b-41d4-a716-446655440000",
    "time": "2026-11-30T10:30:00Z",
    "total_tokens": 1234,
    "latency_ms": 12.345,
    "items": [{"name": "widget", "price": 12.5, "quantity": 3, "sku": "A-1234-B"}],
    "trace": "4bf92f3577b34da6a3ce929d0e0e4736",
}
TEXTS = {
    "prose, 1 kB": (PROSE * 6)[:1_000],
    "prose, 100 kB": (PROSE * 500)[:100_000],
    "JSON, 1 kB": json.dumps([RECORD] * 4)[:1_000],
    "JSON, 100 kB": json.dumps([RECORD] * 500)[:100_000],
    "log lines, 100 kB": "2026-11-30 21:24:37,123 INFO [worker-3] 10.0.0.1:8080 GET /v1/items/42 200 0.012s\n" * 1_200,
    "hex, 100 kB": "4bf92f3577b34da6a3ce929d0e0e4736 " * 3_000,
    "addresses, 100 kB": "bob.miller@mail.example.com, " * 3_400,
    "hostile: a@b.co": "a@b.co " * 14_000,
    "hostile: 4111 1111": "4111 1111 " * 10_000,
    "hostile: token:": "token: a " * 11_000,
    "hostile: BEGIN": "-----BEGIN PRIVATE KEY-----" * 3_700,
}


def us_a_kb(work: Callable[[str], object], text: str) -> float:
    best = float("inf")
    for _ in range(7):
        began = time.process_time()
        work(text)
        best = min(best, time.process_time() - began)
    return best * 1e6 / (len(text) / 1_000)


def longest_step_ms(text: str) -> float:
    """Processor time of the longest line that runs while ``text`` is redacted, the best of two.

    Between two lines the interpreter may switch threads, so that no step keeps its lock for longer.
    """
    best = float("inf")
    for _ in range(2):
        worst, last = 0.0, time.thread_time()

        def step(*_: object) -> Callable[..., object]:
            nonlocal worst, last
            worst = max(worst, time.thread_time() - last)
            last = time.thread_time()
            return step

        sys.settrace(step)
        Redactor().text(text)
        sys.settrace(None)
        best = min(best, worst)
    return best * 1e3


def main() -> None:
    fence = Fence("0123456789abcdef")
    print(f"{'':24}redact  fence   µs a kB")
    for name, text in TEXTS.items():
        redacted = us_a_kb(lambda text: Redactor().text(text), text)
        print(f"{name:24}{redacted:6.1f}{us_a_kb(fence.inside, text):7.1f}")
    for name in ("prose, 100 kB", "JSON, 100 kB", "hostile: a@b.co"):
        text = (TEXTS[name] * 11)[:1_000_000]
        print(f"1 MB of {name.split(',')[0]:20} longest step {longest_step_ms(text):.2f} ms")


if __name__ == "__main__":
    main()
