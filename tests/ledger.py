"""Work for a worker that writes down what it was given."""

from __future__ import annotations

import threading

from otel_chloe.pipeline import Work

LONG_S = 20.0
"""A deadline that only a deadlock reaches."""


class SteppedClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Ledger:
    """Work that writes down what it was given, and may be told to get stuck or to fail."""

    def __init__(self) -> None:
        self.taken: list[object] = []
        self.threads: set[threading.Thread] = set()
        self.ticks: list[float] = []
        self.closed: list[bool] = []
        self.ticked = threading.Event()
        self.stuck = threading.Event()
        self.free = threading.Event()
        self.deadline: float | None = None
        self.fails: BaseException | None = None

    def take(self, item: object) -> None:
        self.threads.add(threading.current_thread())
        if item == "stuck":
            self.stuck.set()
            assert self.free.wait(LONG_S)
        if item == "fails" and self.fails is not None:
            raise self.fails
        if callable(item):
            item()
        self.taken.append(item)

    def tick(self, now: float) -> float | None:
        self.ticks.append(now)
        self.ticked.set()
        return self.deadline

    def close(self, everything: bool) -> None:
        self.closed.append(everything)

    def work(self) -> Work[object]:
        return Work(self.take, self.tick, self.close)
