"""Tables that hooks change without a lock give back their room, and lose nothing that is put in meanwhile."""

from __future__ import annotations

import sys
import threading

from otel_chloe.assembly.tables import LEAST_BYTES, give_back

MANY = 5_000


def _emptied() -> dict[int, str]:
    table = dict.fromkeys(range(MANY), "")
    for key in range(MANY):
        del table[key]
    return table


def test_an_empty_table_gives_back_its_room() -> None:
    table = _emptied()
    assert sys.getsizeof(table) > LEAST_BYTES
    give_back("", table)

    assert table == {}
    assert sys.getsizeof(table) < LEAST_BYTES


def test_a_table_that_holds_something_keeps_it() -> None:
    table = _emptied()
    table[7] = "seven"
    give_back("", table)

    assert table == {7: "seven"}


def test_nothing_is_lost_that_another_thread_puts_in_meanwhile() -> None:
    table: dict[int, str] = {}
    lost: list[int] = []
    done = threading.Event()

    def hooks() -> None:
        try:
            for first in range(0, 40 * MANY, 500):
                for key in range(first, first + 500):
                    table[key] = "here"
                lost.extend(key for key in range(first, first + 500) if table.pop(key, None) is None)
        finally:
            done.set()

    thread = threading.Thread(target=hooks)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        while not done.is_set():
            give_back("", table)
    finally:
        sys.setswitchinterval(interval)
        thread.join()

    assert lost == []
