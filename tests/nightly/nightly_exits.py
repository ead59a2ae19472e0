"""Programs that end at random moments: each run whose span reached the exporter has each outcome there, once."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from chance import seed, size
from endings import Ended, case_of, end_programs, told

ENDS = {
    "return": {"how": "return"},
    "sys.exit": {"how": "sys.exit"},
    "exception": {"how": "exception"},
    "ctrl-c": {"how": "a signal", "signal": signal.SIGINT},
    "SIGTERM": {"how": "a signal", "signal": signal.SIGTERM},
    "fork": {"how": "fork"},
}
CODES = {"return": (0,), "sys.exit": (3,), "exception": (1,), "fork": (0,)}
# Ctrl-C ends an interpreter by the signal itself, or, where it was a forked one, with 1.
SIGNALS = {signal.SIGINT: (1, -signal.SIGINT), signal.SIGTERM: (3,)}


def wrong_with(ended: Ended) -> str | None:
    """What is wrong with how a program ended; None where nothing is."""
    case = ended.case
    expected = SIGNALS[case["signal"]] if case["signal"] is not None else CODES[case["how"]]
    found = {
        "hangs" if ended.code is None else f"exit code {ended.code}": ended.code not in expected,
        f"without an outcome: {ended.missing}": bool(ended.missing),
        f"with more than one: {ended.doubled}": bool(ended.doubled),
        f"{ended.notes}": "the forked child failed" in ended.notes,
        "something was counted": "the application goes on" in ended.errors,
    }
    said = "; ".join(what for what, is_so in found.items() if is_so)
    return f"{case}: {said}\n{ended.errors[-3_000:]}" if said else None


def all_end_well(cases: list[dict], folder: Path) -> list[Ended]:
    ended = end_programs(cases, folder)
    print(told(ended))
    wrong = [said for each in ended if (said := wrong_with(each)) is not None]
    assert not wrong, f"{len(wrong)} of {len(ended)}:\n" + "\n".join(wrong[:5])
    return ended


@pytest.mark.parametrize("end", ENDS)
def test_every_run_that_arrived_has_each_outcome_once(end: str, tmp_path: Path):
    chance = random.Random(seed())

    all_end_well([case_of(chance, **ENDS[end]) for _ in range(size(1_000 // len(ENDS) + 1))], tmp_path)


@pytest.mark.parametrize("end", ENDS)
def test_also_where_the_judges_own_process_is_killed(end: str, tmp_path: Path):
    chance = random.Random(seed())
    cases = [
        case_of(chance, **ENDS[end], judge="child", kill="child" if number % 2 else None)
        for number in range(size(20, least=2))
    ]

    ended = all_end_well(cases, tmp_path)
    print("killed:", sum("killed the child" in each.notes for each in ended))
