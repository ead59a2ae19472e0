"""The agent's own thread beside a judge: its speed and its pauses, against the same thread alone in the same process.

The only tests with a clock. On a machine that does other things they tell about those: the load is printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from chance import size

HERE = Path(__file__).parent
BEST_OF = 3


@dataclass(frozen=True)
class Slices:
    """Slices of work a second; milliseconds of the longest but one in a thousand, and of the longest."""

    rate: float
    p999_ms: float
    longest_ms: float
    judged: float
    load: float


def measured(what: str, seconds: float) -> tuple[Slices, Slices]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "pauses_program.py"), what, str(seconds)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    alone, beside = (Slices(*map(float, line.split())) for line in done.stdout.splitlines())
    print(f"{what}: speed {beside.rate / alone.rate:.3f}\n  {alone}\n  {beside}")
    return alone, beside


@pytest.mark.parametrize("what", ["scripted", "child"])
def test_the_agents_thread_keeps_its_speed(what: str):
    seconds = size(10, least=3)
    rounds = [measured(what, seconds) for _ in range(BEST_OF)]

    assert all(beside.judged >= seconds * 18 for _, beside in rounds)
    # Each from its own best round: what happens beside on the machine only makes them worse.
    assert max(beside.rate / alone.rate for alone, beside in rounds) >= 0.97
    assert min(beside.p999_ms / alone.p999_ms for alone, beside in rounds) <= 3
    assert min(beside.longest_ms for _, beside in rounds) <= 20
