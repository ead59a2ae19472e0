"""Every example of a scorer says the same of a run by `score`, on a live run, and from the command line."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from agent_app import App, agent_attributes, messages, tool_attributes
from example_programs import ROOT, load

from otel_chloe import expecting, load_runs, score
from otel_chloe.cli import main
from otel_chloe.config import load_rules
from otel_chloe.scorers import max_calls

EXAMPLES = load("examples/my_scorers.py")
RULES, RECORDING = str(ROOT / "examples/scorers.yaml"), str(ROOT / "examples/weather.otlp.jsonl")
SCORERS = [*EXAMPLES.ALL, partial(max_calls, limit=4)]

Said = list[tuple[Any, ...]]


def said(outcome: Any) -> tuple[Any, ...]:
    return outcome.name, outcome.state, getattr(outcome, "value", None), getattr(outcome, "passed", None)


def by_score() -> Said:
    return [said(outcome) for outcome in score(EXAMPLES.RUN, SCORERS, expected="22 C")]


def live() -> Said:
    marks: list[Any] = []
    run, spoken = EXAMPLES.RUN, ("gen_ai.input.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
    asked = {**agent_attributes("weather"), spoken[0]: messages("user", run.prompt)}
    with App(RULES, on_mark=lambda _, outcome: marks.append(outcome)) as app:
        with expecting(input=run.input, expected="22 C"), app.agent("weather", run.output, attributes=asked):
            for number, call in enumerate(run.tool_calls):
                arguments, result = json.dumps(call.arguments), call.result
                told = {**tool_attributes(call.name, f"call_{number}"), spoken[1]: arguments, spoken[2]: result}
                with app.tool(call.name, attributes=told):
                    pass
        app.flush()
    return list(map(said, marks))


def by_command(capsys: pytest.CaptureFixture[str]) -> Said:
    assert main(["score", RECORDING, "--rules", RULES, "--format", "json"]) == 0
    marks = json.loads(capsys.readouterr().out)["marks"]
    return [(mark["name"], mark["state"], mark["value"], mark["passed"]) for mark in marks]


def in_order(of: Said) -> Said:
    return sorted(of, key=lambda each: each[0])


def test_the_three_say_the_same(capsys, monkeypatch):
    monkeypatch.setattr("sys.path", [*__import__("sys").path])

    expected = by_score()

    assert by_command(capsys) == expected  # in the same order, too
    assert in_order(live()) == in_order(expected)
    assert {state for _, state, *_ in expected} == {"scored", "pending"}


def test_the_rules_name_every_example():
    rules = load_rules(RULES)

    names = [rule.scorer.name for rule in rules.scorers]
    assert names == [getattr(each, "name", None) or each.__name__ for each in EXAMPLES.ALL] + ["max_calls"]


def test_the_recording_is_of_the_examples_run():
    (run,) = load_runs(RECORDING)
    example = EXAMPLES.RUN

    assert (run.agent, run.prompt, run.output) == (example.agent, example.prompt, example.output)
    assert [(call.name, call.arguments, call.result) for call in run.tool_calls] == [
        (call.name, call.arguments, call.result) for call in example.tool_calls
    ]
