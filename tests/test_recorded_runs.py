"""Recordings of real agents, each held against what really happened.

A recording's truth stands beside it: its runs with agent, prompt, output and calls. ``delegations`` may be shown or
not; ``attempts`` are calls that the model asked for and that never ran. A fact that is missing is a gap, one that is
wrong is a defect.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from otel_chloe.cli import main
from otel_chloe.recording.runs import load_runs

SPANS = Path(__file__).parent / "spans"
TRUTHS = sorted(SPANS.glob("*/*.truth.json"))
GOLDEN = sorted(SPANS.glob("*/*.run.json"))


def name_of(path):
    return f"{path.parent.name}-{path.name.split('.')[0]}"


def recording_of(path, kind):
    return path.with_name(path.name.replace(kind, "otlp.jsonl"))


@pytest.fixture(params=TRUTHS, ids=name_of)
def recorded(request):
    """The runs of one recording, each beside its truth."""
    truth = json.loads(request.param.read_text("utf-8"))
    runs = [
        run
        for run in load_runs(recording_of(request.param, "truth.json"))
        if run.tool_calls or run.output or run.prompt
    ]

    assert len(truth["runs"]) == len(runs)

    return [(told, _likest(told, runs)) for told in truth["runs"]]


def _likest(truth, runs):
    """Concurrent runs end in any order: their prompts and outputs tell them apart."""
    best = max(runs, key=lambda r: (r.prompt == truth["prompt"], _words(r.output) == _words(truth["output"])))
    runs.remove(best)
    return best


def _words(text):
    return " ".join(text.split()) if text is not None else None


def test_there_are_recordings():
    assert len(TRUTHS) >= 12
    assert len(GOLDEN) >= 8


def test_every_call_is_shown_once(recorded):
    for truth, run in recorded:
        real = Counter(call["name"] for call in truth["calls"])
        allowed = Counter(call["name"] for call in truth["delegations"]) + Counter(truth["attempts"])
        shown = Counter(call.name for call in run.tool_calls)

        assert not real - shown
        assert not (shown - real) - allowed


def test_each_agents_calls_are_in_their_order(recorded):
    for truth, run in recorded:
        shown = [call.name for call in run.tool_calls]
        for agent in {call["agent"] for call in truth["calls"]}:
            left = iter(shown)

            assert all(call["name"] in left for call in truth["calls"] if call["agent"] == agent)


def test_arguments_and_successes_are_right_where_they_are_given(recorded):
    for truth, run in recorded:
        left = list(run.tool_calls)
        for real in truth["calls"]:
            same = [call for call in left if call.name == real["name"]]
            call = max(same, key=lambda c: (c.arguments == real["args"], c.ok == real["ok"]))
            left.remove(call)

            assert call.arguments is None or call.arguments == real["args"]
            assert call.ok in {None, real["ok"]}


def test_an_attempt_that_never_ran_is_no_success(recorded):
    for truth, run in recorded:
        real = Counter(call["name"] for call in truth["calls"])
        good = Counter(call.name for call in run.tool_calls if call.ok)

        assert all(good[name] <= real[name] for name in truth["attempts"])


def test_prompt_and_output_are_right_where_they_are_given(recorded):
    for truth, run in recorded:
        assert run.prompt is None or _words(run.prompt) == _words(truth["prompt"])
        assert run.output is None or _words(run.output) == _words(truth["output"])


@pytest.mark.parametrize("golden", GOLDEN, ids=name_of)
def test_a_golden_run_is_what_the_command_prints(golden, capsys):
    """All of it, keys and order included: this is what users' scripts read."""
    recording = recording_of(golden, "run.json")

    assert main(["runs", "--format", "json", str(recording)]) == 0

    printed = json.loads(capsys.readouterr().out)
    expected = json.loads(golden.read_text("utf-8"))

    assert {**printed, "file": recording.name} == expected
    assert list(printed) == list(expected)
