"""Time and ids that a test decides."""

from __future__ import annotations

from itertools import count

from opentelemetry.sdk.trace.id_generator import IdGenerator


class SteppingClock:
    """A clock that stands still until it is stepped. Call it for the seconds.

    Args:
        start_s: What it shows at first, in seconds.
        each_s: How far it goes on by itself whenever it is read, in seconds.
    """

    def __init__(self, start_s: float = 0.0, *, each_s: float = 0.0) -> None:
        self.now_s = start_s
        self.each_s = each_s

    def __call__(self) -> float:
        """The seconds that it shows."""
        now_s, self.now_s = self.now_s, self.now_s + self.each_s
        return now_s

    def ns(self) -> int:
        """The same in nanoseconds, for what wants them."""
        return round(self() * 1e9)

    def step(self, seconds: float) -> None:
        """Let time pass: never backwards."""
        if seconds < 0:
            raise ValueError(f"Time does not run backwards: {seconds}.")
        self.now_s += seconds


class CountingIds(IdGenerator):
    """Trace and span ids 1, 2, 3…, so that what a test prints is the same every time.

    Give it to the provider: ``TracerProvider(id_generator=CountingIds())``.
    """

    def __init__(self) -> None:
        self._traces = count(1)
        self._spans = count(1)

    def generate_trace_id(self) -> int:
        return next(self._traces)

    def generate_span_id(self) -> int:
        return next(self._spans)
