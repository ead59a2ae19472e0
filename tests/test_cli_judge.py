"""``otel-chloe score`` with a judge: ``--complete``, the order of the runs, and what goes wrong."""

from __future__ import annotations

import json
import textwrap

import pytest
from small_recordings import simple_run, written

from otel_chloe.cli import main

RULES = """
judge: {model: test/judge, concurrency: 2}
agents:
  doctor:
    calls: {mustCall: [check_site]}
    expectations: {should: [says which site is down], shouldNot: [invents a cause]}
"""
GATEWAYS = '''
import json, threading

def checks(*met):
    return json.dumps({"checks": [{"expectation": "", "why": f"why {n}", "met": each} for n, each in enumerate(met)]})

def good(model, messages):
    return checks(True, True)

async def half(model, messages):
    return checks(True, False)

class gateway:
    def fails(model, messages):
        raise ConnectionError("no route")

met = threading.Barrier(2)

def in_pairs(model, messages):
    """Answers only where another call is under way."""
    met.wait(10)
    return checks(True, True)

number = 1
'''


@pytest.fixture
def judged(tmp_path, monkeypatch, capsys):
    """Scores recorded runs by the rules above; gives the exit code, the lines and the complaints."""
    (tmp_path / "gateways.py").write_text(textwrap.dedent(GATEWAYS))
    (tmp_path / "rules.yaml").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "gateways", raising=False)

    def score(complete, *flags, runs=1):
        lines = [line for n in range(1, runs + 1) for line in simple_run(n, tools=("check_site",), at=n * 20)]
        path = written(tmp_path / "spans.jsonl", *lines)
        code = main(["score", path, "--rules", "rules.yaml", "--complete", complete, *flags])
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err

    return score


def test_lines_are_judged_by_ones_own_function(judged):
    code, (line,), _ = judged("gateways:good", "--format", "json")
    calls, mark = json.loads(line)["marks"]

    assert code == 0
    assert calls["name"] == "calls"
    assert (mark["name"], mark["state"], mark["score"], mark["passed"]) == ("expectations", "scored", 1.0, True)
    assert [(each["text"], each["met"], each["why"]) for each in mark["lines"]] == [
        ("says which site is down", True, "why 0"),
        ("invents a cause", True, "why 1"),
    ]


def test_a_mark_that_does_not_pass_ends_with_1_and_says_why(judged):
    code, lines, _ = judged("gateways:half")

    assert code == 1
    assert "invents a cause (why 1)" in " ".join("\n".join(lines).split())
    assert lines[-1].split("  ")[:3] == ["expectations", "doctor", "mean 0.50"]


def test_a_function_that_fails_is_failed_and_no_number(judged):
    code, (line,), _ = judged("gateways:gateway.fails", "--format", "json")
    mark = json.loads(line)["marks"][1]

    assert code == 1
    assert (mark["state"], mark["score"], mark["error"]) == ("failed", None, "ConnectionError")
    assert "no route" in mark["reason"]


def test_runs_are_judged_side_by_side_and_printed_in_their_order(judged):
    code, lines, _ = judged("gateways:in_pairs", "--format", "json", runs=8)

    assert code == 0
    assert [json.loads(line)["trace_id"] for line in lines] == sorted(json.loads(line)["trace_id"] for line in lines)
    assert {mark["state"] for line in lines for mark in json.loads(line)["marks"]} == {"scored"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gateways", "write MODULE:FUNCTION"),
        ("gateways:", "write MODULE:FUNCTION"),
        ("no_such_module:complete", "importing no_such_module raised ModuleNotFoundError"),
        ("gateways:nothing", "gateways has no function nothing"),
        ("gateways:number", "gateways has no function number"),
    ],
)
def test_a_function_that_is_not_there_is_bad_input(judged, name, said):
    code, lines, complaints = judged(name)

    assert (code, lines) == (2, [])
    assert said in complaints
