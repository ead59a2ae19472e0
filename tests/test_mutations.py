"""Recordings of real agents, broken at random: what is still said is right, by every door, and nothing is raised.

A failure names its case: ``broken(path, seed)`` makes it again. ``make nightly`` tries very many more.
"""

from __future__ import annotations

import io
import json
import random
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from broken_cases import Case, case_of, runs_of, truth_of
from mutation_oracle import wrongs
from mutations import MUTATIONS, Effect, Mutation
from replay import Replay

from otel_chloe import ScoringSpanProcessor
from otel_chloe.cli import main
from otel_chloe.recording import read_spans

SPANS = Path(__file__).parent / "spans"
SMALL = [path for path in sorted(SPANS.glob("*/*.otlp.jsonl")) if path.stat().st_size < 30_000]
CALLS = {"mustCall": ["check_site"], "atMostOnce": ["restart_site"], "per": "arguments"}
RULES = {"agents": {"*": {"calls": CALLS}}}


def broken(path: Path, seed: str, mutations: tuple[Mutation, ...] = MUTATIONS) -> tuple[Case, Effect]:
    """A recording and one mutation of it, the same for the same seed."""
    rng = random.Random(seed)
    case = case_of(path).copied()
    return case, rng.choice(mutations)(rng, case)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.__name__)
def test_a_fact_is_right_or_absent_and_no_call_is_told_twice(mutation: Mutation):
    for number in range(3 * len(SMALL)):
        path, seed = SMALL[number % len(SMALL)], f"{mutation.__name__}/{number}"
        case, effect = broken(path, seed, (mutation,))

        runs, _ = case.runs()

        assert wrongs(effect, truth_of(path), runs) == [], (path, seed)


@pytest.mark.parametrize("seed", range(60))
def test_several_mutations_at_once_raise_nothing(seed: int):
    rng = random.Random(seed)
    case = case_of(rng.choice(SMALL)).copied()
    for mutation in rng.sample(MUTATIONS, 4):
        try:
            mutation(rng, case)
        except (TypeError, ValueError, KeyError, AttributeError):
            continue  # it wants what an earlier one has broken

    runs, _ = case.runs()

    for run in runs:
        json.dumps([(call.arguments, call.result) for call in run.tool_calls], default=repr)


def playable(case: Case) -> list[Any]:
    """The spans of a case that an SDK could have made: each id once, and times that are some."""
    found = {}
    for span in read_spans(io.BytesIO(case.written()), problem=lambda _: None):
        if span.start_time and span.end_time and 0 < span.start_time < 1 << 63 and 0 < span.end_time < 1 << 63:
            found.setdefault(span.context.span_id, span)
    return sorted(found.values(), key=lambda span: (span.start_time, -span.end_time))


@pytest.mark.parametrize("number", range(4 * len(MUTATIONS)))
def test_the_hooks_bear_it(number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    mutation = MUTATIONS[number % len(MUTATIONS)]
    case, _ = broken(SMALL[number % len(SMALL)], f"live/{number}", (mutation,))
    monkeypatch.setattr("otel_chloe.processor.hooks._raises", True)
    processor = ScoringSpanProcessor(RULES)
    replay = Replay(processor)
    spans = playable(case)
    steps = [(span.start_time, 0, at, span) for at, span in enumerate(spans)]
    steps += [(max(span.start_time, span.end_time), 1, -at, span) for at, span in enumerate(spans)]

    for _, ends, _, span in sorted(steps, key=lambda step: step[:3]):
        if ends:
            replay.end(span)
        else:
            replay.start(span, list(span.attributes)[: number % 3])
    processor.force_flush()
    processor.shutdown()

    assert processor.stats()["errors"] == 0


@pytest.mark.parametrize("number", range(len(MUTATIONS)))
def test_the_commands_bear_it(number: int, tmp_path: Path, rules_file: Any):
    case, _ = broken(SMALL[number % len(SMALL)], f"command/{number}", (MUTATIONS[number],))
    recording = tmp_path / "spans.jsonl"
    recording.write_bytes(case.written())
    rules = rules_file(json.dumps(RULES), "rules.json")

    with redirect_stdout(io.StringIO()) as printed:
        assert main(["runs", "--format", "json", str(recording)]) in {0, 2}
        assert main(["score", "--rules", str(rules), "--format", "json", str(recording)]) in {0, 1, 2}

    assert all(json.loads(line) for line in printed.getvalue().splitlines())


def test_a_recording_that_is_not_broken_says_nothing_wrong():
    for path in SMALL:
        runs, told = runs_of(case_of(path).written())

        assert wrongs(Effect("none"), truth_of(path), runs) == []
        assert told == []


def test_the_oracle_sees_what_is_wrong():
    path = next(path for path in SMALL if len(truth_of(path).runs) == 1 and truth_of(path).runs[0].tool_calls)
    text = case_of(path).written()
    (prompt,) = [run.prompt for run in truth_of(path).runs]
    name = truth_of(path).runs[0].tool_calls[0].name

    for old, new in ((prompt or "?", "Another prompt"), (name, "another_tool")):
        runs, _ = runs_of(text.replace(old.encode(), new.encode()))

        assert wrongs(Effect("none", whole=False), truth_of(path), runs)
