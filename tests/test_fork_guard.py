"""No fork while another thread is in the middle of what a child could not finish."""

from __future__ import annotations

import os
import threading

import pytest

from otel_chloe.pipeline.forks import ForkGuard

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def forked(child) -> bool:
    """Whether what a forked child was asked is so."""
    if (pid := os.fork()) == 0:
        os._exit(0 if child() else 1)
    return os.waitpid(pid, 0)[1] == 0


def free(guard) -> bool:
    with guard.held():
        return True


def held_by_a_thread(guard, *, until: threading.Event, seconds: float) -> tuple[threading.Thread, list[str]]:
    """A thread that holds the lock until it is told to let go, or for so long; and what it did."""
    holds, done = threading.Event(), []

    def hold() -> None:
        with guard.held():
            holds.set()
            until.wait(seconds)
            done.append("let go")

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    assert holds.wait(20)
    return thread, done


def test_a_fork_waits_for_the_block_to_end():
    guard = ForkGuard()
    thread, done = held_by_a_thread(guard, until=threading.Event(), seconds=0.05)

    assert forked(lambda: done == ["let go"] and free(guard))
    thread.join(20)
    assert free(guard)


def test_a_fork_does_not_wait_for_ever():
    guard, over = ForkGuard(), threading.Event()
    thread, done = held_by_a_thread(guard, until=over, seconds=60)

    assert forked(lambda: not done and free(guard))
    over.set()
    thread.join(20)
    assert done == ["let go"]


def test_a_fork_inside_the_block_by_its_own_thread_passes():
    guard = ForkGuard()

    with guard.held():
        assert forked(lambda: free(guard))


def test_a_fork_gets_its_turn_though_the_block_is_entered_again_at_once():
    guard, over, counted = ForkGuard(), threading.Event(), []

    def work() -> None:
        while not over.is_set():
            with guard.held():
                counted.append("in")
                sum(range(1_000))
                counted.append("out")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    outside = [forked(lambda: counted[-1:] != ["in"]) for _ in range(10)]
    over.set()
    thread.join(20)

    assert all(outside)
