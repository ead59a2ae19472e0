#!/usr/bin/env python3
"""How many marks a second `calls` gives, against a plain check of the same names.

    python benchmarks/calls.py

A run of ten calls under three rules. The plain check counts the names in a loop, tests three lists and writes the
reason. Both are timed in turn, in one process, and the medians are compared. Held to: 0.5 of the plain check's rate.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

from otel_chloe import ExpectedCalls, Run, ToolCall, calls

HELD_TO = 0.5
ROUNDS = 60
MARKS = 2_000

NAMES = [
    "check_site",
    "read_log",
    "check_site",
    "find_cause",
    "read_log",
    "restart_site",
    "check_site",
    "tell",
    "note",
    "end",
]
MUST, MUST_NOT, ONCE = ["check_site", "tell"], ["delete_site", "drop_database"], ["restart_site"]
RUN = Run(tool_calls=[ToolCall(name, {"site": "shop.example"}, ok=True) for name in NAMES])
RULES = ExpectedCalls(MUST, MUST_NOT, ONCE)


def plain(names: list[str]) -> tuple[float, str]:
    """The same rules, in the fewest lines."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    wrong = [f"never called {name}" for name in MUST if name not in counts]
    wrong += [f"called {name}" for name in MUST_NOT if name in counts]
    wrong += [f"called {name} more than once" for name in ONCE if counts.get(name, 0) > 1]
    return (0.0 if wrong else 1.0), f"{'; '.join(wrong)}Used: {', '.join(names)}."


def seconds(score: Callable[[], object]) -> float:
    """How long it takes to give many marks."""
    began = perf_counter()
    for _ in range(MARKS):
        score()
    return perf_counter() - began


def main() -> int:
    ours, theirs = lambda: calls(RUN, RULES), lambda: plain(NAMES)
    assert calls(RUN, RULES).reason == plain(NAMES)[1]
    for each in (ours, theirs):
        seconds(each)
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    mine, other = (MARKS / median(pair[index] for pair in pairs) for index in (0, 1))
    print(f"calls  {mine:>12,.0f} marks/s")
    print(f"plain  {other:>12,.0f} marks/s")
    print(f"ratio  {mine / other:>12.2f}  (held to {HELD_TO})")
    return 0 if mine / other >= HELD_TO else 1


if __name__ == "__main__":
    sys.exit(main())
