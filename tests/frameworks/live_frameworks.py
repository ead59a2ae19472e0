"""Real frameworks with the instrumentation that most people use, scored live: the runs are what the tools did.

Each has an environment of its own, which ``make test-frameworks`` makes. A failure prints the spans as they came: an
instrumentation that changes its shape is told of by that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DEADLINE_S = 120
FRAMEWORKS = sorted(path.stem for path in (HERE / "pins").glob("*.txt"))
CHOSEN = os.environ.get("FRAMEWORK", "").split() or FRAMEWORKS

SCENARIOS = ("good", "bad", "retry", "both", "none", "good stream")
PASSED = {"good": True, "bad": False, "retry": True, "both": False, "none": False}
PROMPT = "shop.example does not answer. Mend it."


@cache
def python_of(framework: str) -> str | None:
    """The Python that has a framework; None where it cannot be installed."""
    made = subprocess.run(
        ["sh", str(ROOT / ".ci" / "framework.sh"), framework],
        env={**os.environ, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return made.stdout.strip() if made.returncode == 0 else None


@cache
def played(framework: str, scenario: str) -> dict[str, Any]:
    """What a program of this framework tells of a scenario."""
    python = python_of(framework)
    if python is None:
        pytest.skip(f"needs {framework}, which cannot be installed")
    done = subprocess.run(
        [python, str(HERE / f"with_{framework}.py"), *scenario.split()],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)])},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr[-4000:]
    assert lines, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(lines[-1])
    told["log"] = done.stderr[-2000:]
    return told


def tree(spans: list[dict[str, Any]]) -> str:
    """The spans as they came, children under their parents, with the names of what they say."""
    known = {span["id"] for span in spans}

    def lines(parent: str | None, depth: int) -> list[str]:
        found = []
        for span in spans:
            if span["parent"] == parent or (parent is None and span["parent"] not in known):
                said = ", ".join(sorted(span["attributes"]))
                found += [f"{'  ' * depth}{span['name']}  [{span['scope']}]  {said}", *lines(span["id"], depth + 1)]
        return found

    return "\n".join(lines(None, 0))


@pytest.fixture(params=CHOSEN)
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=SCENARIOS)
def play(request: pytest.FixtureRequest, framework: str) -> Callable[[], tuple[str, dict[str, Any]]]:
    return lambda: (request.param.split()[0], played(framework, request.param))


def test_the_run_is_what_happened(play):
    script, told = play()
    shown = tree(told["spans"])

    assert len(told["runs"]) == 1, f"{len(told['runs'])} runs\n{shown}"
    (run,) = told["runs"]
    did = [(call["name"], call["arguments"], call["ok"]) for call in told["ledger"]]
    saw = [(call["name"], call["arguments"], call["ok"]) for call in run["tool_calls"]]
    assert saw == did, f"calls\n{shown}"
    assert run["agent"] == "site_doctor", shown
    assert run["prompt"] == PROMPT, shown
    assert run["output"] == told["output"], shown
    assert run["complete"], shown
    assert run["gaps"] == [], shown
    assert told["errors"] == {}, told["log"]
    assert [mark["passed"] for mark in run["marks"]] == [PASSED[script]]


def test_the_mark_stands_on_the_agents_own_span(play):
    script, told = play()
    (agent,) = [span for span in told["spans"] if "chloe.calls.passed" in span["attributes"]]

    assert agent["attributes"]["chloe.calls.passed"] is PASSED[script]
    evaluation = [span for span in told["spans"] if span["scope"] == "otel_chloe"]
    assert [span["parent"] for span in evaluation] == [agent["id"]]
