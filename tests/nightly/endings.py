"""Has programs end, some at a time, and reads what their exporters got."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
AT_A_TIME = 3
ROOT = "invoke_agent site_doctor"
SCORERS = ("calls", "expectations")


@dataclass
class Ended:
    """How one program ended, and what its exporter got."""

    case: dict[str, Any]
    code: int | None
    errors: str
    roots: set[int] = field(default_factory=set)
    outcomes: Counter[tuple[int, str]] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    flushed: set[int] = field(default_factory=set)

    @property
    def missing(self) -> list[tuple[int, str]]:
        """Outcomes that a run has not, whose root arrived."""
        return [(root, name) for root in self.roots for name in SCORERS if not self.outcomes[root, name]]

    @property
    def doubled(self) -> list[tuple[int, str]]:
        return [key for key, count in self.outcomes.items() if count > 1]


def end_programs(cases: list[dict[str, Any]], folder: Path) -> list[Ended]:
    """Each case's program, started from a few processes that have everything imported."""
    for number, case in enumerate(cases):
        case["file"] = str(folder / f"{number}.jsonl")
    parts = [cases[n::AT_A_TIME] for n in range(AT_A_TIME)]
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        return [each for part in threads.map(_served, parts, repeat(folder)) for each in part]


def _served(cases: list[dict[str, Any]], folder: Path) -> list[Ended]:
    path = os.pathsep.join([str(HERE.parent), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", str(HERE / "ending_program.py")],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    ) as template:
        return [_ended(template, case) for case in cases]


def _ended(template: subprocess.Popen[str], case: dict[str, Any]) -> Ended:
    template.stdin.write(json.dumps(case) + "\n")
    template.stdin.flush()
    found = json.loads(template.stdout.readline())
    ended = Ended(case, found["code"], Path(case["file"] + ".err").read_text())
    for line in Path(case["file"]).read_text().splitlines():
        _read(ended, *json.loads(line))
    return ended


def _read(ended: Ended, process: int, name: str, span_id: int, parent: int | None, state: str, error: str) -> None:
    kind, _, scorer = name.partition(" ")
    if name == ROOT:
        ended.roots.add(span_id)
    elif kind == "evaluation":
        ended.outcomes[parent, scorer] += 1
        ended.states[f"{scorer} {state} {error or ''}".strip()] += 1
    elif kind == "flushed":
        ended.flushed.add(span_id)
    else:
        ended.notes.append(name)


def case_of(chance: random.Random, how: str, *, signal: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "seed": chance.getrandbits(32),
        "how": how,
        "signal": signal,
        "after_s": chance.random() * 0.4,
        "judge": "complete",
        "kill": None,
        "daemons": False,
        "flushes": False,
        **more,
    }


def told(ended: list[Ended]) -> str:
    """What came of all programs, for the report."""
    states = sum((each.states for each in ended), Counter())
    runs = sum(len(each.roots) for each in ended)
    return f"{len(ended)} programs, {runs} runs exported: " + ", ".join(f"{n} {s}" for s, n in states.most_common())
