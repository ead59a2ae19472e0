"""``otel-chloe score``: marks as JSON and text, the lines at the end, and the exit codes."""

from __future__ import annotations

import json

import pytest
from small_recordings import agent, model, simple_run, tool, written

from otel_chloe.cli import main
from otel_chloe.cli.score import Totals
from otel_chloe.mark import Failed, Mark, Pending, Unscored

MARK_KEYS = ["name", "state", "score", "value", "passed", "reason", "lines", "error", "version", "id"]

CALLS = "agents: {doctor: {calls: {mustCall: [check_site]}}}"
LINES = """
judge: {model: anthropic/claude-haiku-4.5}
agents: {doctor: {expectations: {should: [says which site is down]}}}
"""


@pytest.fixture
def rules(tmp_path):
    def write(text=CALLS):
        path = tmp_path / "rules.yaml"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def recorded(tmp_path):
    """A recording of one run of ``doctor`` for each list of tools."""

    def write(*runs, more=()):
        lines = [line for n, tools in enumerate(runs, 1) for line in simple_run(n, tools=tools, at=n * 20)]
        return written(tmp_path / "spans.jsonl", *lines, *more)

    return write


GOOD, BAD = ("check_site",), ("restart_site",)


def test_marks_as_json(rules, recorded, capsys):
    assert main(["score", recorded(GOOD), "--rules", rules(), "--format", "json"]) == 0

    run = json.loads(capsys.readouterr().out)
    (mark,) = run["marks"]

    assert list(run)[-2:] == ["sub_runs", "marks"]
    assert list(mark) == MARK_KEYS
    assert mark["version"]
    assert mark["id"]
    assert {**mark, "version": None, "id": None} == {
        "name": "calls",
        "state": "scored",
        "score": 1.0,
        "value": 1.0,
        "passed": True,
        "reason": "Used: check_site.",
        "lines": None,
        "error": None,
        "version": None,
        "id": None,
    }


def test_a_run_without_rules_has_no_marks(rules, recorded, capsys):
    main(["score", recorded(GOOD), "--rules", rules("agents: {other: {}}"), "--format", "json"])

    assert json.loads(capsys.readouterr().out)["marks"] == []


def test_what_is_unscored_has_no_score_and_says_why(rules, tmp_path, capsys):
    path = written(tmp_path / "spans.jsonl", model(1, 2, 1))

    everyone = rules("agents: {'*': {calls: {mustNotCall: [delete_site]}}}")

    assert main(["score", path, "--rules", everyone, "--format", "json"]) == 0

    (mark,) = json.loads(capsys.readouterr().out)["marks"]

    assert (mark["state"], mark["score"], mark["value"], mark["passed"]) == ("unscored", None, None, None)
    assert mark["error"] == "incomplete"
    assert "root_missing" in mark["reason"]


def test_sub_runs_have_marks_where_rules_name_them(rules, tmp_path, capsys):
    path = written(
        tmp_path / "spans.jsonl",
        tool(1, 5, 4, name="restart_site", at=3, lasts=1),
        agent(1, 4, 3, name="helper", at=2.5, lasts=2),
        agent(1, 7, 6, name="other", at=5.5, lasts=0.2),
        tool(1, 3, 1, name="ask_helper", at=2, lasts=3),
        tool(1, 6, 1, name="ask_other", at=5.2, lasts=0.7),
        agent(1, 1, lasts=6),
    )
    named = rules("agents: {helper: {calls: {mustNotCall: [restart_site]}}}")

    assert main(["score", path, "--rules", named, "--format", "json"]) == 1

    run = json.loads(capsys.readouterr().out)

    assert run["marks"] == []

    subs = {sub["agent"]: sub for sub in run["sub_runs"]}

    assert {name: "marks" in sub for name, sub in subs.items()} == {"helper": True, "other": False}
    assert subs["helper"]["marks"][0]["score"] == 0.0


def test_text_ends_with_a_line_for_each_scorer_and_agent(rules, recorded, capsys):
    everyone = rules("agents: {doctor: {calls: {mustCall: [check_site]}}, '*': {calls: {mustNotCall: [delete_site]}}}")
    path = recorded(GOOD, BAD, GOOD, more=[model(90, 2, 1, at=900), *simple_run(91, name="nurse", at=990)])

    assert main(["score", path, "--rules", everyone]) == 1
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "calls  doctor  mean 0.67  pass 2/3  unscored 0  pending 0  failed 0",
        "calls  shop  mean -  pass 0/0  unscored 1  pending 0  failed 0",
        "calls  nurse  mean 1.00  pass 1/1  unscored 0  pending 0  failed 0",
    ]


def test_text_shows_marks_with_their_whole_reasons(rules, recorded, capsys):
    main(["score", recorded(BAD * 12), "--rules", rules()])

    mark = capsys.readouterr().out.split("└─ calls     ")[1].split("\n\n")[0]

    assert mark.startswith("0.00 not passed: never called check_site. Used: restart_site, restart_site,")
    assert " ".join(mark.split()).count("restart_site") == 12
    assert all(len(line) <= 110 for line in mark.splitlines())


def test_expectations_are_unscored_without_a_judge(rules, recorded, capsys):
    path = recorded(GOOD)

    assert main(["score", path, "--rules", rules(LINES), "--format", "json", "--no-judge"]) == 0

    (mark,) = json.loads(capsys.readouterr().out)["marks"]

    assert (mark["name"], mark["state"], mark["reason"]) == ("expectations", "unscored", "judge off")


@pytest.mark.parametrize(
    ("runs", "flags", "code"),
    [
        ([GOOD], [], 0),
        ([GOOD, BAD], [], 1),
        ([GOOD, BAD], ["--fail-under", "0.5"], 0),
        ([GOOD, BAD], ["--fail-under", "0.51"], 1),
        ([GOOD, BAD], ["--fail-under", "0"], 0),
        ([GOOD], ["--fail-under", "1"], 0),
        ([GOOD], ["--strict"], 0),
        ([GOOD, BAD], ["--strict"], 1),
    ],
)
def test_exit_codes(rules, recorded, runs, flags, code):
    assert main(["score", recorded(*runs), "--rules", rules(), *flags]) == code


def test_unscored_marks_fail_only_strictly(rules, recorded):
    path = recorded(GOOD)

    assert main(["score", path, "--rules", rules(LINES), "--no-judge"]) == 0
    assert main(["score", path, "--rules", rules(LINES), "--no-judge", "--fail-under", "1"]) == 0
    assert main(["score", path, "--rules", rules(LINES), "--no-judge", "--strict"]) == 1
    assert main(["score", path, "--rules", rules(LINES), "--no-judge", "--strict", "--fail-under", "0"]) == 1


def totals_of(*outcomes):
    totals = Totals()
    for name, outcome in outcomes:
        totals.add(name, outcome)
    return totals


def test_a_failed_scorer_always_fails():
    totals = totals_of(("a", Failed("it broke", name="mine")))

    assert not totals.good(fail_under=None, strict=False)
    assert not totals.good(fail_under=0, strict=False)


def test_what_waits_fails_only_strictly():
    totals = totals_of(("a", Pending(name="human")))

    assert totals.good(fail_under=None, strict=False)
    assert not totals.good(fail_under=None, strict=True)


def test_a_scorers_mean_is_over_all_its_agents():
    totals = totals_of(("a", Mark(1.0, "", passed=True)), ("b", Mark(0.5, "", passed=False)))

    assert totals.good(fail_under=0.75, strict=False)
    assert not totals.good(fail_under=0.76, strict=False)


def test_only_scores_enter_the_mean_and_only_verdicts_the_passes():
    totals = totals_of(
        ("a", Mark(0.5, "", name="m", passed=None)),
        ("a", Mark(None, "", name="m", label="red", passed=True)),
        ("a", Unscored("", name="m")),
        ("a", Pending(name="m")),
        ("a", Failed("", name="m")),
    )

    assert totals.lines() == ["m  a  mean 0.50  pass 1/1  unscored 1  pending 1  failed 1"]


@pytest.mark.parametrize("text", ["agents: {doctor: {cals: {}}}", "agents: [", "- 1"])
def test_bad_rules_end_with_2_and_say_where(rules, recorded, capsys, text):
    path = rules(text)

    assert main(["score", recorded(GOOD), "--rules", path]) == 2

    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err.startswith(f"otel-chloe: {path}")


def test_bad_input_ends_with_2_and_the_good_lines_are_scored(rules, recorded, capsys):
    path = recorded(BAD, more=["no json"])

    assert main(["score", path, "--rules", rules()]) == 2

    captured = capsys.readouterr()

    assert "mean 0.00" in captured.out
    assert "line 3" in captured.err


@pytest.mark.parametrize("value", ["nan", "inf", "much"])
def test_fail_under_takes_a_number(rules, recorded, value, capsys):
    assert main(["score", recorded(GOOD), "--rules", rules(), "--fail-under", value]) == 2
    assert "not a number" in capsys.readouterr().err


def test_together_scores_joined_runs(rules, tmp_path):
    one = written(tmp_path / "1.jsonl", agent(1, 1, lasts=5))
    two = written(tmp_path / "2.jsonl", tool(1, 2, 1, at=1))

    assert main(["score", one, two, "--rules", rules()]) == 1
    assert main(["score", one, two, "--rules", rules(), "--together"]) == 0
