"""Ctrl-C at every single step of what a hook and a flush do with the worker: the next one works all the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from otel_chloe.health import Health
from otel_chloe.pipeline import worker as worker_module
from otel_chloe.pipeline.work import Work
from otel_chloe.pipeline.worker import Worker

MOST_STEPS = 5_000


class _Interrupt:
    """Raises KeyboardInterrupt at the n-th bytecode that this thread runs in the worker's module."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != worker_module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def _interrupted(call: Callable[[], object], at: int) -> bool:
    """Whether the call came to this step, and was interrupted there."""
    tracer = _Interrupt(at)
    sys.settrace(tracer)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return tracer.left <= 0


@pytest.mark.parametrize("what", ["wake", "hand_over", "flush"])
def test_the_next_flush_works(what: str):
    for step in range(1, MOST_STEPS):
        taken: list[int] = []
        work: Work[int] = Work(taken.append, lambda _: None, lambda _: None)
        worker: Worker[int] = Worker(work, Health(lambda: 0.0), clock=lambda: 0.0, shutdown_s=5.0)
        call = {"wake": worker.wake, "hand_over": lambda: worker.hand_over(1), "flush": lambda: worker.flush(5.0)}[what]  # noqa: B023 - called at once

        reached = _interrupted(call, step)
        worker.hand_over(2)

        assert worker.flush(5.0), step
        assert 2 in taken, step
        assert worker.shutdown(5.0), step
        if not reached:
            return
    raise AssertionError("it never ends")
