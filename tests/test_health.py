from __future__ import annotations

import gc
import logging
import signal
import threading

import pytest

from otel_chloe.health import MAX_NAMES, Counts, Health, QuietLog
from otel_chloe.semconv import mark_attribute, mark_keys


class SteppedClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_counts_by_name():
    counts = Counts()
    counts.add("b")
    counts.add("a", 5)
    counts.add("a", 0)

    assert counts.snapshot() == {"a": 5, "b": 1}
    assert counts["a"] == 5
    assert counts["never"] == 0


def test_reading_a_count_does_not_move_it():
    counts = Counts()
    counts.add("a")

    assert [counts["a"] for _ in range(3)] == [1, 1, 1]


def test_no_count_is_lost_between_threads():
    counts = Counts()
    threads = [threading.Thread(target=lambda: [counts.add("a") for _ in range(20_000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert counts["a"] == 80_000


def test_no_count_is_lost_when_a_signal_handler_counts_inside_a_count():
    counts = Counts()
    handled = 0

    def handler(*_):
        nonlocal handled
        handled += 1
        counts.add("a")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    counted = 0
    try:
        while handled < 50:
            counts.add("a")
            counted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert counts["a"] == counted + handled


def test_no_count_is_lost_when_a_finaliser_counts_inside_a_count():
    counts = Counts()

    class Finalised:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            counts.add("a")

    gc.collect()
    for _ in range(1_000):
        Finalised()
        counts.add("a")
    gc.collect()

    assert counts["a"] == 2_000


def test_the_names_are_bounded():
    counts = Counts()
    for number in range(MAX_NAMES + 50):
        counts.add(str(number))

    snapshot = counts.snapshot()
    assert len(snapshot) == MAX_NAMES + 1
    assert snapshot["_other"] == 50


def test_a_message_is_let_through_once_in_20_seconds():
    clock = SteppedClock()
    quiet = QuietLog(clock)

    assert quiet.allows("a")
    assert quiet.allows("b")
    clock.now += 19.9
    assert not quiet.allows("a")
    clock.now += 0.1
    assert quiet.allows("a")
    assert not quiet.allows("a")


def test_of_many_threads_one_may_log():
    quiet = QuietLog(SteppedClock())
    barrier = threading.Barrier(8)
    allowed = []

    def ask() -> None:
        barrier.wait(10)
        allowed.extend([1 for _ in range(200) if quiet.allows("a")])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert len(allowed) == 1


def test_messages_that_are_told_apart_are_bounded():
    quiet = QuietLog(SteppedClock())

    assert sum(quiet.allows(str(number)) for number in range(MAX_NAMES * 2)) == MAX_NAMES + 1


def test_failures_are_counted_by_type_and_logged_by_the_worker(caplog: pytest.LogCaptureFixture):
    health = Health(SteppedClock())
    for _ in range(3):
        try:
            1 / 0  # noqa: B018 - for its error
        except ZeroDivisionError as error:
            health.failed("on_end", error)
    health.error("queue_full", 2)
    health.count("runs")

    assert not caplog.records
    health.write_log()

    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "on_end failed" in caplog.text
    assert "ZeroDivisionError: division by zero" in caplog.text
    assert health.stats() == {"runs": 1, "errors": 5, "errors.ZeroDivisionError": 3, "errors.queue_full": 2}


def test_the_same_warning_is_logged_once(caplog: pytest.LogCaptureFixture):
    health = Health(SteppedClock())
    health.warn("100% is missing")
    health.warn("100% is missing")
    health.write_log()
    health.write_log()

    assert [record.getMessage() for record in caplog.records] == ["100% is missing"]


def test_the_keys_of_a_score_name():
    assert mark_attribute("calls", "score") == "chloe.calls.score"
    assert mark_keys("tone").reason == "chloe.tone.reason"
    assert mark_keys("tone") is mark_keys("tone")
