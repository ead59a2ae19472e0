"""Real frameworks with the instrumentation that most people use, scored live: the runs are what the tools did.

Each has an environment of its own, which ``make test-frameworks`` makes. A failure prints the spans as they came: an
instrumentation that changes its shape is told of by that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DEADLINE_S = 300
FRAMEWORKS = sorted(path.stem for path in (HERE / "pins").glob("*.in") if path.stem != "own")
CHOSEN = os.environ.get("FRAMEWORK", "").split() or FRAMEWORKS

PASSED = {"good": True, "bad": False, "retry": True, "both": False, "none": False, "handoff": True, "good stream": True}
PROMPT = "shop.example does not answer. Mend it."
HANDED_OVER = {"google_adk", "openai_agents"}
"""Where the other agent takes the conversation over: its part is the same run, not one below it."""
UNNAMED = {"crewai"}
"""Where no span tells of the other agent: its calls are taken for those of the one that asked it."""


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


@pytest.fixture(scope="module", params=CHOSEN)
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def played(framework: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What a program of this framework tells of each scenario."""
    python = python_of(framework)
    if python is None:
        pytest.skip(f"needs {framework}, which cannot be installed")
    folder = tmp_path_factory.mktemp(framework)
    done = subprocess.run(
        [python, str(HERE / f"with_{framework}.py"), str(folder / "told.jsonl"), *PASSED],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)])},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = (folder / "told.jsonl").read_text("utf-8").splitlines()
    return {told["scenario"]: told for told in map(json.loads, lines)}


@pytest.fixture(params=PASSED)
def told(request: pytest.FixtureRequest, played: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return played[request.param]


def tree(told: dict[str, Any]) -> str:
    """The spans as they came, children under their parents, with the names of what they say."""
    spans = told["spans"]
    known = {span["id"] for span in spans}

    def lines(parent: str | None, depth: int) -> list[str]:
        found = []
        for span in spans:
            if span["parent"] == parent or (parent is None and span["parent"] not in known):
                said = ", ".join(sorted(span["attributes"]))
                found += [f"{'  ' * depth}{span['name']}  [{span['scope']}]  {said}", *lines(span["id"], depth + 1)]
        return found

    return "\n".join([told["raised"] or "", "The spans were:", *lines(None, 0)])


def calls(found: list[dict[str, Any]], *, at_once: bool = False) -> list[tuple[str, Any, bool]]:
    """What is compared of calls. Those that are made at once have no order."""
    told = [(call["name"], call["arguments"], call["ok"]) for call in found]
    return sorted(told, key=str) if at_once else told


def test_the_run_is_what_happened(told):
    shown = tree(told)

    assert told["raised"] is None, shown
    assert told["errors"] == {}, shown
    runs = [run for run in told["runs"] if run["agent"] == "site_doctor"]
    assert len(runs) == 1, shown
    (run,) = runs
    saw = [call for call in run["tool_calls"] if call["name"] != told["delegation"]]
    at_once = told["scenario"] == "both"
    assert calls(saw, at_once=at_once) == calls(told["ledger"], at_once=at_once), shown
    assert run["prompt"] == PROMPT, shown
    assert run["output"] == told["output"], shown
    assert run["complete"], shown
    assert [gap for gap in run["gaps"] if gap["detail"] != told["delegation"]] == [], shown
    assert [mark["passed"] for mark in run["marks"]] == [PASSED[told["scenario"]]], shown


def test_the_marks_stand_on_the_agents_own_spans(told):
    shown = tree(told)
    ours = [span["scope"] == "otel_chloe" for span in told["spans"]]
    evaluated = {span["parent"] for span, own in zip(told["spans"], ours, strict=True) if own}
    theirs = [span for span, own in zip(told["spans"], ours, strict=True) if not own]
    marked = {s["id"]: s["attributes"]["chloe.passed"] for s in theirs if "chloe.passed" in s["attributes"]}

    assert len(evaluated) == len(told["runs"]), shown
    assert marked.keys() <= evaluated, shown
    assert set(marked.values()) == {PASSED[told["scenario"]]}, shown


def test_another_agent_has_its_own_part(framework, played):
    told = played["handoff"]
    shown = tree(told)
    (doctor,) = [run for run in told["runs"] if run["agent"] == "site_doctor"]
    agents = {call["name"]: call["agent"] for call in doctor["tool_calls"]}

    assert agents["check_site"] == "site_doctor", shown
    assert agents["restart_site"] == ("site_doctor" if framework in UNNAMED else "restarter"), shown
    others = [run for run in told["runs"] if run["agent"] != "site_doctor"]
    if framework in HANDED_OVER | UNNAMED:
        assert others == [], shown
        return
    (helper,) = others
    assert helper["agent"] == "restarter", shown
    assert calls(helper["tool_calls"]) == calls(told["ledger"])[1:], shown
    assert [mark["passed"] for mark in helper["marks"]] == [True], shown
