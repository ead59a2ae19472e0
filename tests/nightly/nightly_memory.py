"""The judge and the agent's memory: flat over many runs, and limited where the judge never answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from chance import size

HERE = Path(__file__).parent
MIB = 1024 * 1024
PARTS = 20
WARM = 8
"""Parts in which what is remembered of finished runs fills up: 20,000 marks and 10,000 runs."""


def said_by(program: str, *arguments: int) -> list[list[int]]:
    path = os.pathsep.join([str(HERE.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / program), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_is_flat_over_100_000_judged_runs():
    runs = size(100_000, least=2_000)
    parts = said_by("memory_program.py", runs, PARTS)
    for part in parts:
        print(*part)
    judged, objects, resident, errors = zip(*parts, strict=True)

    assert judged[-1] == runs // PARTS * PARTS
    assert errors[-1] == 0
    # Halves of what comes after the warm-up: a leak of one object a run would show as many as there are runs.
    grown_objects = max(objects[WARM:]) - min(objects[WARM:])
    grown_bytes = resident[-1] - resident[WARM]
    print(f"after the warm-up: {grown_objects} objects, {grown_bytes / MIB:.1f} MiB")
    assert grown_objects < max(200, runs // 200)
    assert grown_bytes < 8 * MIB


def test_the_queues_limit_holds_where_the_judge_never_answers():
    ((refused, taken, held, peak),) = said_by("full_queue_program.py", 400, 1 * MIB)
    print(f"{taken} taken, {refused} refused, {held / MIB:.1f} MiB held, {peak / MIB:.1f} MiB at most")

    assert refused > 0
    # What is being judged is held beside: eight prompts at a time, each trimmed.
    assert held < 64 * MIB * 1.25
    assert peak < 64 * MIB * 2
