"""How fast a thread of an agent is, and how long it is kept waiting, while runs are judged beside it.

Arguments: what judges, seconds. It measures slices of work of some 100 us each, first alone, then beside the judging,
and prints a line for each.
"""

from __future__ import annotations

import os
import sys
import threading
from time import perf_counter

import judging_load


def slices(seconds: float) -> list[float]:
    """How long each slice took, in seconds."""
    took = []
    until = perf_counter() + seconds
    while (began := perf_counter()) < until:
        x = 0
        for i in range(1_500):
            x += i * i
        took.append(perf_counter() - began)
    return took


def tell(took: list[float], judged: int) -> None:
    took.sort()
    rate = len(took) / sum(took)
    p999 = took[int(len(took) * 0.999)]
    print(rate, p999 * 1_000, took[-1] * 1_000, judged, os.getloadavg()[0], flush=True)


def main(what: str, seconds: float) -> None:
    tell(slices(seconds), 0)
    stop, ready, judged = threading.Event(), threading.Event(), []
    thread = threading.Thread(target=lambda: judged.append(getattr(judging_load, what)(stop, ready)), daemon=True)
    thread.start()
    ready.wait(60)
    took = slices(seconds)
    stop.set()
    thread.join(60)
    tell(took, judged[0])


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
