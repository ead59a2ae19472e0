from __future__ import annotations

import gc
import logging
import signal
import threading
import time

import pytest
from ledger import LONG_S, Ledger, SteppedClock
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY
from opentelemetry.sdk.trace import TracerProvider

from otel_chloe.health import Health
from otel_chloe.pipeline import Work, Worker


@pytest.fixture
def ledger():
    made = Ledger()
    yield made
    made.free.set()


@pytest.fixture
def health():
    return Health(time.monotonic)


@pytest.fixture
def worker(ledger, health):
    made = Worker(ledger.work(), health, clock=time.monotonic)
    yield made
    ledger.free.set()
    made.shutdown(LONG_S)


def test_items_are_taken_in_order_on_one_daemon_thread_that_starts_with_the_first(worker, ledger):
    before = threading.active_count()
    assert worker._process.running is False
    for number in range(2_000):
        assert worker.hand_over(number)
    assert worker.flush(LONG_S)

    (thread,) = ledger.threads
    assert ledger.taken == list(range(2_000))
    assert thread.daemon
    assert thread.name == "otel_chloe"
    assert threading.active_count() == before + 1


def test_due_work_is_called_at_its_deadline(worker, ledger):
    ledger.deadline = time.monotonic() + 0.05
    worker.wake()
    assert ledger.ticked.wait(LONG_S)
    due, ledger.deadline = ledger.deadline, None
    while not ledger.ticks or ledger.ticks[-1] < due:
        ledger.ticked.clear()
        assert ledger.ticked.wait(LONG_S)

    assert ledger.ticks[-1] >= due


def test_a_stepped_clock_tells_the_time_of_due_work(ledger, health):
    clock = SteppedClock()
    worker = Worker(ledger.work(), health, clock=clock)
    ledger.deadline = 5_000.0
    worker.wake()
    assert worker.flush(LONG_S)
    clock.now = 6_000.0
    ledger.ticked.clear()
    worker.wake()
    assert ledger.ticked.wait(LONG_S)
    assert worker.shutdown(LONG_S)

    assert ledger.ticks[0] == 100.0
    assert 6_000.0 in ledger.ticks


def test_what_does_not_fit_the_queue_is_dropped_and_counted(ledger, health):
    worker = Worker(ledger.work(), health, clock=time.monotonic, queue_size=3)
    worker.hand_over("stuck")
    assert ledger.stuck.wait(LONG_S)

    assert [worker.hand_over(number) for number in range(5)] == [True, True, True, False, False]
    assert health.errors() == {"queue_full": 2}
    ledger.free.set()
    assert worker.shutdown(LONG_S)
    assert ledger.taken == ["stuck", 0, 1, 2]


def test_a_flush_closes_what_is_finished_and_a_shutdown_everything(worker, ledger):
    worker.hand_over(1)

    assert worker.flush(LONG_S)
    assert (ledger.taken, ledger.closed) == ([1], [False])
    worker.hand_over(2)
    assert worker.shutdown(LONG_S)
    assert (ledger.taken, ledger.closed) == ([1, 2], [False, True])


@pytest.mark.parametrize("ends", ["flush", "shutdown"])
def test_the_timeout_is_honoured_while_work_is_stuck(worker, ledger, ends):
    worker.hand_over("stuck")
    assert ledger.stuck.wait(LONG_S)
    began = time.monotonic()

    assert getattr(worker, ends)(0.05) is False
    assert time.monotonic() - began < 5.0
    ledger.free.set()


def test_a_shutdown_that_gave_up_does_not_wait_again(worker, ledger):
    worker.hand_over("stuck")
    assert ledger.stuck.wait(LONG_S)
    assert worker.shutdown(0.01) is False
    began = time.monotonic()

    assert worker.shutdown(LONG_S) is False
    assert time.monotonic() - began < 5.0
    ledger.free.set()


def test_a_shutdown_is_idempotent_and_refuses_what_comes_later(worker, ledger, health):
    worker.hand_over(1)

    assert worker.shutdown(LONG_S)
    assert worker.shutdown(LONG_S)
    assert worker.hand_over(2) is False
    worker.wake()
    assert worker.flush(LONG_S) is False
    assert (ledger.taken, ledger.closed) == ([1], [True])
    assert health.errors() == {"after_shutdown": 1}


def test_two_threads_that_shut_down_wait_for_the_same_drain(worker, ledger):
    worker.hand_over("stuck")
    assert ledger.stuck.wait(LONG_S)
    done = []
    threads = [threading.Thread(target=lambda: done.append(worker.shutdown(LONG_S))) for _ in range(2)]
    for thread in threads:
        thread.start()
    ledger.free.set()
    for thread in threads:
        thread.join(LONG_S)

    assert done == [True, True]
    assert ledger.closed == [True]


def test_a_shutdown_without_a_thread_starts_none_and_works_on_the_calling_thread(ledger, health):
    worker = Worker(ledger.work(), health, clock=time.monotonic)
    before = threading.active_count()

    assert worker.shutdown(LONG_S)
    assert ledger.closed == [True]
    assert threading.active_count() == before


def test_the_worker_cannot_wait_for_itself(worker, ledger):
    answers = []
    worker.hand_over(lambda: answers.extend([worker.flush(LONG_S), worker.shutdown(LONG_S)]))

    assert worker.flush(LONG_S)
    assert answers == [False, False]


def test_a_caller_that_works_in_the_threads_place_works_alone(ledger, health):
    """As from a user's function: it must not be waited for, nor start a thread beside."""
    answers = []
    work = Work(
        lambda item: answers.extend([worker.flush(LONG_S), worker.shutdown(LONG_S), worker.hand_over("later")]),
        ledger.tick,
        lambda everything: answers.append(worker._process.running),
    )
    worker: Worker[object] = Worker(work, health, clock=time.monotonic)
    worker._process.queue.put("waits")  # as a hand-over leaves it where no thread can be started

    assert worker.shutdown(LONG_S)
    assert answers == [False, False, False, False]


def test_a_failure_is_counted_logged_and_survived(worker, ledger, health, caplog):
    ledger.fails = ZeroDivisionError("of no use")
    for _ in range(3):
        worker.hand_over("fails")
    worker.hand_over(1)

    assert worker.flush(LONG_S)
    assert ledger.taken == [1]
    assert health.errors() == {"ZeroDivisionError": 3}
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "of no use" in caplog.text


def test_due_work_that_fails_is_called_again(ledger, health):
    clock = SteppedClock()

    def tick(now: float) -> float | None:
        ledger.tick(now)
        raise ZeroDivisionError

    worker = Worker(Work(ledger.take, tick, ledger.close), health, clock=clock)
    worker.wake()
    assert ledger.ticked.wait(LONG_S)
    while len(ledger.ticks) < 2:
        ledger.ticked.clear()
        clock.now += 2.0
        worker.wake()
        assert ledger.ticked.wait(LONG_S)
    assert worker.shutdown(LONG_S)

    assert health.errors()["ZeroDivisionError"] >= 2


def test_nothing_the_worker_does_is_instrumented_or_anybodys_child(worker):
    seen = []

    def look() -> None:
        seen.append((context_api.get_value(_SUPPRESS_INSTRUMENTATION_KEY), trace.get_current_span()))
        context_api.attach(context_api.set_value("left", "behind"))

    with TracerProvider().get_tracer("app").start_as_current_span("request"):
        worker.hand_over(look)
        worker.hand_over(lambda: seen.append(context_api.get_value("left")))
        assert worker.flush(LONG_S)

    assert seen[0] == (True, trace.INVALID_SPAN)


def test_a_hand_over_inside_a_signal_handler_inside_a_hand_over(worker, ledger):
    handled = 0

    def handler(*_):
        nonlocal handled
        handled += 1
        worker.hand_over(-handled)
        worker.wake()

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    handed = 0
    try:
        while handled < 100:
            worker.hand_over(handed)
            worker.wake()
            handed += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert worker.flush(LONG_S)
    assert sorted(ledger.taken) == sorted([*range(handed), *range(-handled, 0)])


def test_a_hand_over_inside_a_finaliser_inside_a_hand_over(worker, ledger):
    finalised = 0

    class Finalised:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            nonlocal finalised
            finalised += 1
            worker.hand_over("finalised")
            worker.wake()

    gc.collect()
    thresholds = gc.get_threshold()
    gc.set_threshold(3)
    try:
        for number in range(1_000):
            Finalised()
            worker.hand_over([number])  # a container: making it may start a collection
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()

    assert worker.flush(LONG_S)
    assert finalised == 1_000
    assert ledger.taken.count("finalised") == 1_000
    assert len(ledger.taken) == 2_000


def test_the_thread_starts_where_threading_itself_was_interrupted(worker, ledger):
    """As in a finaliser that runs inside threading.enumerate(): Thread.start() would wait for ever."""
    with threading._active_limbo_lock:
        assert worker.hand_over(1)

    assert worker.flush(LONG_S)
    assert ledger.taken == [1]


def test_a_child_starts_clean_where_fork_was_not_announced(ledger, health):
    forked = []
    work = Work(ledger.take, ledger.tick, ledger.close, lambda: forked.append(1))
    worker: Worker[object] = Worker(work, health, clock=time.monotonic)
    worker.hand_over("stuck")
    assert ledger.stuck.wait(LONG_S)
    worker._process.pid = -1  # as if this process were a child of the one that made the worker

    assert worker.hand_over("child's")
    assert worker.flush(LONG_S)
    assert (ledger.taken, forked) == (["child's"], [1])
    ledger.free.set()
    assert worker.shutdown(LONG_S)
