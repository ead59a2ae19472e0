"""The command ``check``: the rules as they hold, and names that recordings never show."""

from __future__ import annotations

import sys

import pytest
from small_recordings import agent, bad, silent, tool, written

from otel_chloe.cli import main

RULES = """
agents:
  doctor:
    purpose: Keeps sites up.
    calls: {mustCall: [check_site], atMostOnce: [restart_site]}
    severity: page
  "*": {calls: {mustNotCall: [restart_site]}}
"""


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.yaml"

    def write(text=RULES):
        path.write_text(text)
        return str(path)

    return write


def test_check_prints_the_rules_as_they_hold(rules, capsys):
    assert main(["check", rules()]) == 0
    assert capsys.readouterr().out == (
        "doctor\n"
        "  purpose       Keeps sites up.\n"
        "  mustCall      check_site\n"
        "  mustNotCall   restart_site (from *)\n"
        "  atMostOnce    restart_site\n"
        "  severity      page\n"
        "every other agent\n"
        "  mustNotCall   restart_site\n"
    )


def test_check_is_content_where_the_recordings_show_every_name(rules, recording, capsys):
    assert main(["check", rules(), recording]) == 0

    printed = capsys.readouterr().out

    assert "recordings    1 run, 2 calls\n" in printed
    assert "gaps          none\n" in printed


def test_check_names_what_recordings_never_show_and_the_nearest_that_they_do(rules, recording, capsys):
    mistyped = rules(
        "agents:\n  docter: {calls: {mustNotCall: [restart-site, launch]}}\n  '*': {calls: {mustCall: [check_site]}}\n"
    )

    assert main(["check", mistyped, recording]) == 1
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("never seen")] == [
        "never seen    agent docter; the nearest that is: doctor",
        "never seen    tool restart-site (mustNotCall of docter); the nearest that is: restart_site",
        "never seen    tool launch (mustNotCall of docter)",
    ]


def test_check_knows_the_long_names_of_tools_and_the_agents_of_sub_runs(rules, tmp_path, capsys):
    path = written(
        tmp_path / "spans.jsonl",
        agent(1, 4, 3, name="helper", at=2.5, lasts=2),
        tool(1, 3, 1, name="mcp__ops__page", at=2, lasts=3),
        agent(1, 1, lasts=6),
    )
    text = "agents: {helper: {calls: {mustNotCall: [mcp__ops__page, page]}}}"

    assert main(["check", rules(text), path]) == 0


def test_check_sums_up_gaps(rules, tmp_path, capsys):
    path = written(tmp_path / "spans.jsonl", silent(1, 1), silent(2, 1, at=5))

    main(["check", rules(), path])

    assert "bare_model_call in 2" in capsys.readouterr().out


def test_check_with_bad_rules_or_bad_input_ends_with_2(rules, recording, tmp_path, capsys):
    assert main(["check", rules("agents: {doctor: {cals: {}}}")]) == 2
    assert "calls" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.yaml")]) == 2
    assert main(["check", rules(), str(tmp_path / "none.jsonl")]) == 2
    assert main(["check", rules(), recording, bad(tmp_path / "bad", b"nothing\n")]) == 2


def test_what_the_rules_warn_about_is_said_in_the_commands_words(rules, capsys):
    contradiction = "agents: {doctor: {calls: {mustCall: [a], mustNotCall: [a]}}}"

    assert main(["check", rules(contradiction)]) == 0
    assert "no run can pass" in capsys.readouterr().err


def test_check_prints_what_each_scorer_costs_and_needs(rules, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "checked_scorers.py").write_text(
        "from otel_chloe import Scorer\n"
        "kind = Scorer.llm_judge(name='kind', model='claude-haiku-4-5', rubric='Is it?', required_inputs=['output'])\n"
        "ours = Scorer.llm_judge(name='ours', model='m', rubric='Is it?', complete=print)\n"
    )
    path = rules(
        "agents:\n"
        "  doctor:\n"
        "    scorers:\n"
        "      - {use: 'otel_chloe.scorers:tool_error_rate', threshold: 0.1, severity: ticket}\n"
        "      - {use: 'checked_scorers:kind', sample: 0.25, threshold: 0.8}\n"
        "      - checked_scorers:ours\n"
        "  '*': {scorers: ['otel_chloe.scorers:no_loops']}\n"
    )

    assert main(["check", path]) == 0
    assert capsys.readouterr().out.splitlines()[:5] == [
        "doctor",
        "  scorer        no_loops: free (from *)",
        "  scorer        tool_error_rate: free, passes at 0.1 or less, severity ticket",
        (
            "  scorer        kind: a call of claude-haiku-4-5 for each run, whose key is ANTHROPIC_API_KEY "
            "(not set here), needs output, passes at 0.8 or more, sample 0.25"
        ),
        "  scorer        ours: a call of m for each run, through its own complete",
    ]
