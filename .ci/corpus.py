"""Holds the rebuilt runs against recordings whose truth is known, and against what was reached before.

usage: corpus.py [--raise] CORPUS

Fails when a group of recordings has fewer exact ones or outputs, or more wrong facts, than corpus.json says. --raise
writes what is better now into corpus.json: exact recordings and outputs only rise, wrong facts only fall.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent.resolve()
FIGURES = HERE / "corpus.json"

Figures = dict[str, dict[str, int]]
RISING = {"exact": "recordings exact", "outputs": "outputs given"}


def measure(corpus: Path) -> Figures:
    """Runs the corpus's own check, and returns its figures in the form of corpus.json."""
    scripts = Path(sys.executable).parent  # not resolved: the environment's own folder, where otel-chloe is
    paths = os.pathsep.join([str(scripts), os.environ.get("PATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, str(corpus / "check.py"), "--json", str(report)]
        subprocess.run(command, check=True, env={**os.environ, "PATH": paths})
        found = json.loads(report.read_text(encoding="utf-8"))
    return {
        "exact": {group: row.get("calls", 0) for group, row in found["groups"].items()},
        "outputs": {group: facts["output"].get("given", 0) for group, facts in found["facts"].items()},
        "wrong": {group: sum(f.get("wrong", 0) for f in facts.values()) for group, facts in found["facts"].items()},
    }


def worse(before: Figures, now: Figures) -> Iterator[str]:
    """One line for each figure that is worse than before; a group that is gone is worse too."""
    for figure, things in RISING.items():
        for group, least in sorted(before[figure].items()):
            if now[figure].get(group, 0) < least:
                yield f"{group}: {now[figure].get(group, 0)} {things}, {least} before"
    for group, count in sorted(now["wrong"].items()):
        if count > before["wrong"].get(group, 0):
            yield f"{group}: {count} wrong facts, {before['wrong'].get(group, 0)} before"


def better(before: Figures, now: Figures) -> Figures:
    """The figures of before, with those of now where they are better."""
    raised = {
        figure: {g: max(n, now[figure].get(g, 0)) for g, n in {**now[figure], **before[figure]}.items()}
        for figure in RISING
    }
    wrong = {g: min(n, now["wrong"].get(g, n)) for g, n in {**now["wrong"], **before["wrong"]}.items()}
    return {**raised, "wrong": wrong}


def main() -> int:
    """Compares, and tells by the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raise", dest="write", action="store_true", help="write better figures into corpus.json")
    parser.add_argument("corpus", type=Path, help="the folder with check.py and the recordings")
    args = parser.parse_args()
    before = json.loads(FIGURES.read_text(encoding="utf-8"))
    now = measure(args.corpus.resolve())
    raised = better(before, now)
    if args.write:
        FIGURES.write_text(json.dumps(raised, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    elif raised != before:
        print("better than .ci/corpus.json says: run it with --raise, and commit that file")
    lines = list(worse(before, now))
    for line in lines:
        print(f"worse: {line}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
