"""`otel-chloe score` with scorers of one's own: functions, judges, several scores, and who waits for a person."""

from __future__ import annotations

import json
import textwrap
from itertools import count
from typing import Any

import pytest
from small_recordings import agent, simple_run, tool, written

from otel_chloe import load_runs, score
from otel_chloe.cli import main
from otel_chloe.config import load_rules
from otel_chloe.pipeline.judging.sampling import sampled

SCORERS = """
import asyncio
from otel_chloe import DeferredScore, Score, Scorer

def tries(run):
    return len(run.tool_calls)

async def later(output):
    await asyncio.sleep(0)
    return output == "Done."

def several(output):
    return [Score("words", len(output.split())), Score("tone", "flat"), DeferredScore("helpful", reason="on Friday")]

def half(run):
    return 0.75 if run.trace_id.endswith("1") else 0.25

def odd(run):
    return float("nan") if run.trace_id.endswith("1") else 1.0

def raises(output):
    raise LookupError("no such city")

@Scorer.code(direction="lower_is_better", threshold=3)
def length(output):
    return len(output)

is_kind = Scorer.llm_judge(name="is_kind", model="m", rubric="Is it kind?", threshold=0.5,
                           complete=lambda model, messages: "0.75")
tone_of = Scorer.llm_judge(name="tone_of", model="m", rubric="Which?", value_type="categorical",
                           labels=["flat", "warm"])

def gateway(model, messages):
    return "warm"
"""
NUMBERS = count()


@pytest.fixture
def scored(tmp_path, monkeypatch, capsys):
    """Scores recorded runs by the named scorers of the module above; gives the exit code, the lines, the complaints."""
    name = f"cli_scorers_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(SCORERS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])

    def run(scorers: list[Any], *flags: str, runs: int = 1, **more: Any):
        uses = [
            {**each, "use": f"{name}:{each['use']}"} if isinstance(each, dict) else f"{name}:{each}" for each in scorers
        ]
        rules = {"agents": {"doctor": {"scorers": uses, **more}}}
        (tmp_path / "rules.json").write_text(json.dumps(rules))
        lines = [line for n in range(1, runs + 1) for line in simple_run(n, tools=("check_site",), at=n * 20)]
        path = written(tmp_path / "spans.jsonl", *lines)
        code = main(["score", path, "--rules", "rules.json", *(flag.replace("MOD", name) for flag in flags)])
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err

    return run


def marks(line: str) -> list[tuple[Any, ...]]:
    return [(mark["name"], mark["state"], mark["value"], mark["passed"]) for mark in json.loads(line)["marks"]]


def test_every_kind_of_return_value(scored):
    code, (line,), _ = scored(["tries", "later", "several", "raises"], "--format", "json")

    assert code == 1  # one has failed
    assert marks(line) == [
        ("tries", "scored", 1, None),
        ("later", "scored", True, True),
        ("words", "scored", 1, None),
        ("tone", "scored", "flat", None),
        ("helpful", "pending", None, None),
        ("raises", "failed", None, None),
    ]
    assert json.loads(line)["marks"][5]["reason"] == "LookupError: no such city"


def test_the_ids_and_outcomes_are_those_of_score(scored, tmp_path):
    _, (line,), _ = scored(["tries", "several", "is_kind"], "--format", "json")
    rules = load_rules("rules.json")
    (run,) = load_runs("spans.jsonl")

    found = score(run, [rule.scorer for rule in rules.scorers])

    assert [(mark["id"], mark["version"], mark["reason"]) for mark in json.loads(line)["marks"]] == [
        (each.id, each.version, each.reason) for each in found
    ]


def test_the_text_ends_with_what_is_known_of_each(scored):
    code, lines, _ = scored(["several", "length"], runs=2)

    assert code == 1
    assert lines[-4:] == [
        "words  doctor  mean 1.00  pass 0/0  unscored 0  pending 0  failed 0",
        "tone  doctor  mean -  pass 0/0  unscored 0  pending 0  failed 0",
        "helpful  doctor  mean -  pass 0/0  unscored 0  pending 2  failed 0",
        "length  doctor  mean 5.00  pass 0/2  unscored 0  pending 0  failed 0",
    ]
    assert any("helpful   pending: on Friday" in line for line in lines)
    assert any("tone      flat: " in line for line in lines)


def test_what_is_averaged(scored):
    """tr-agg-01: only scores enter a mean; what is no number, or waits, or failed, is counted beside it."""
    uses = [{"use": "half", "threshold": 0.5}, "several", "odd"]
    _, lines, _ = scored(uses, runs=2)

    totals = {line.split("  ")[0]: line.split("  ", 2)[2] for line in lines[-5:]}
    assert totals["half"] == "mean 0.50  pass 1/2  unscored 0  pending 0  failed 0"
    assert totals["tone"] == "mean -  pass 0/0  unscored 0  pending 0  failed 0"
    assert totals["helpful"] == "mean -  pass 0/0  unscored 0  pending 2  failed 0"
    assert totals["odd"] == "mean 1.00  pass 0/0  unscored 0  pending 0  failed 1"


class TestJudges:
    def test_by_their_own_complete_and_by_the_commands(self, scored):
        code, (line,), _ = scored(["is_kind", "tone_of"], "--format", "json", "--complete", "MOD:gateway")

        assert code == 0
        assert marks(line) == [("is_kind", "scored", 0.75, True), ("tone_of", "scored", "warm", None)]

    def test_none_is_asked_without_a_judge_and_functions_are(self, scored):
        code, (line,), _ = scored(["tries", "is_kind"], "--format", "json", "--no-judge")
        (_, mark) = json.loads(line)["marks"]

        assert code == 0
        assert marks(line)[0] == ("tries", "scored", 1, None)
        assert (mark["state"], mark["reason"], mark["error"]) == ("unscored", "judge off", "judge_off")
        assert mark["id"] is not None

    def test_beside_the_lines_of_the_rules(self, scored):
        lines = {"expectations": {"model": "m", "should": ["is kind"]}}
        _, (line,), _ = scored(["is_kind", "tries"], "--format", "json", "--complete", "MOD:gateway", **lines)

        assert [name for name, *_ in marks(line)] == ["expectations", "is_kind", "tries"]
        assert marks(line)[1] == ("is_kind", "scored", 0.75, True)

    def test_many_runs_in_their_order(self, scored):
        _, lines, _ = scored(["is_kind", "tries"], "--format", "json", runs=40)

        assert [json.loads(line)["trace_id"] for line in lines] == [f"{n:032x}" for n in range(1, 41)]
        assert {mark for line in lines for mark in marks(line)} == {
            ("is_kind", "scored", 0.75, True),
            ("tries", "scored", 1, None),
        }


@pytest.mark.parametrize("name", ["tries", "is_kind"])
def test_the_sample_is_that_of_live_runs(scored, name):
    _, lines, _ = scored([{"use": name, "sample": 0.5}], "--format", "json", runs=20)

    states = [json.loads(line)["marks"][0]["state"] for line in lines]
    assert states == ["scored" if sampled(json.loads(line)["trace_id"], name, 0.5) else "unscored" for line in lines]
    assert {"scored", "unscored"} == set(states)


def test_a_low_mean_is_no_fault_where_lower_is_better(scored):
    assert scored(["length"], "--fail-under", "6")[0] == 0
    assert scored(["tries"], "--fail-under", "6")[0] == 1


def test_a_sub_agent_has_its_own(tmp_path, capsys):
    path = written(
        tmp_path / "spans.jsonl",
        tool(1, 3, 2, at=0.2, lasts=0.1),
        agent(1, 2, 1, name="helper", at=0.1, lasts=0.5),
        agent(1, 1, name="doctor", at=0),
    )
    rules = tmp_path / "rules.yaml"
    rules.write_text('agents: {helper: {scorers: ["otel_chloe.scorers:no_loops"]}}')

    main(["score", path, "--rules", str(rules), "--format", "json"])
    run = json.loads(capsys.readouterr().out)

    assert run["marks"] == []
    assert [(mark["name"], mark["passed"]) for mark in run["sub_runs"][0]["marks"]] == [("no_loops", True)]
