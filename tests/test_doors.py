"""Every door, one truth: a recording gives the same runs and marks in process, offline, and in any order of its spans.

``CHLOE_CORPUS`` names a folder with more recordings, each with its ``.events.jsonl`` beside it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from doors import SPANS, Said, assembled, batched, left_open, play, printed, rules_for, said_of
from opentelemetry.sdk.trace import ReadableSpan
from replay import never_ended, outlived

from otel_chloe.cli.json_lines import run_object
from otel_chloe.config import load_rules
from otel_chloe.conventions import kind_of
from otel_chloe.part import CHAIN, MODEL, Kind
from otel_chloe.recording import read_spans
from otel_chloe.scorers import outcomes

CORPUS = os.environ.get("CHLOE_CORPUS")
RECORDINGS = sorted(SPANS.glob("**/*.otlp.jsonl")) + (sorted(Path(CORPUS).glob("**/*.otlp.jsonl")) if CORPUS else [])
SHUFFLES = 3


def name_of(recording: Path) -> str:
    return f"{recording.parent.name}/{recording.name.split('.')[0]}"


@pytest.fixture(scope="module", params=RECORDINGS, ids=name_of)
def recording(request):
    return request.param


class Told:
    """A recording's runs as its spans at once give them, the rules they are scored by, and what came of playing it."""

    def __init__(self, recording: Path, rules_file: Path) -> None:
        self.runs = assembled(recording)
        self.raw_rules = rules_for(self.runs)
        self.rules = load_rules(self.raw_rules)
        self.rules_file = rules_file
        rules_file.write_text(json.dumps(self.raw_rules), "utf-8")
        self.played = play(recording, self.rules)


@pytest.fixture(scope="module")
def told(recording, tmp_path_factory):
    return Told(recording, tmp_path_factory.mktemp("rules") / "rules.json")


@pytest.fixture(scope="module")
def endless(recording) -> bool:
    return never_ended(recording)


def test_there_are_recordings():
    assert len(RECORDINGS) > 40
    if CORPUS:
        assert any(Path(CORPUS) in each.parents for each in RECORDINGS)


def test_the_runs_in_process_are_the_files(told, endless):
    live = [said_of(each.run) for each in told.played.emitted]
    filed = [said_of(run) for run in told.runs]

    if endless:
        live, filed = [seen_either_way(run) for run in live], [seen_either_way(run) for run in filed]
    assert live == filed


def seen_either_way(run: Said) -> Said:
    """What a run whose own span never ended tells in process and in a file: its calls, and that it is incomplete."""
    assert not run["complete"]
    own = {key: run[key] for key in ("output", "trace_id", "span_id", "mark_span_id", "complete", "usage")}
    calls = [{key: call[key] for key in call if key != "agent"} for call in run["tool_calls"]]
    return {**own, "tool_calls": calls}


def test_the_marks_in_process_are_the_files(told, endless):
    live = sorted((outcome for each in told.played.emitted for _, outcome in each.outcomes), key=lambda o: str(o.id))
    filed = sorted((outcome for run in told.runs for _, outcome in outcomes(run, told.rules)), key=lambda o: str(o.id))

    assert filed
    if endless:  # the name of its agent is known in process alone, and with it that agent's rules
        assert {o.state for o in live} == {o.state for o in filed}
    else:
        assert live == filed


def test_any_order_of_the_spans_gives_the_same_runs(recording, told):
    filed = [said_of(run) for run in told.runs]
    for number in range(SHUFFLES):
        chance = Random(f"{name_of(recording)} {number}")

        assert [said_of(run) for run in assembled(recording, chance)] == filed
        assert [said_of(run) for run in batched(recording, chance)] == filed


def test_the_commands_print_the_same_runs_and_marks(recording, told):
    scored = [run_object(str(recording), run, outcomes(run, told.rules), explain=False) for run in told.runs]

    assert printed("runs", str(recording)) == [without_marks(run) for run in as_printed(scored)]
    assert printed("score", str(recording), "--rules", str(told.rules_file)) == as_printed(scored)


def as_printed(runs: list[Said]) -> Any:
    return json.loads(json.dumps(runs))


def without_marks(run: Said) -> Said:
    kept = {key: value for key, value in run.items() if key != "marks"}
    return {**kept, "sub_runs": [{key: sub[key] for key in sub if key != "marks"} for sub in run["sub_runs"]]}


def test_nothing_is_left_over(told):
    assert told.played.stats["runs_open"] == 0
    assert told.played.stats["errors"] == 0


def test_the_mark_on_the_agent_span_is_the_events(recording, told, endless):
    late = outlived(recording)
    assert told.played.events
    for event in told.played.events:
        span = told.played.spans.get(event["span_id"])
        if span is None and endless:
            continue
        assert span is not None
        if kind_at_end(span) in (MODEL, CHAIN):
            continue  # a run stitched of model calls, or a chain that a tool started: its marks are in events alone
        said = span.attributes or {}
        if event["span_id"] in late and said.get("chloe.calls.state") in {None, "unscored"}:
            continue  # what ended after it could yet change the score
        if left_open(said, "calls"):
            continue
        assert said.get("chloe.calls.state") == event["chloe.state"], span.name
        assert said.get("chloe.calls.score") == event.get("gen_ai.evaluation.score.value"), span.name
        if event["span_id"] in late:
            continue
        assert said.get("chloe.calls.reason") == event["gen_ai.evaluation.explanation"][:1_024], span.name


def kind_at_end(span: ReadableSpan) -> Kind:
    """What a span is by itself."""
    return kind_of(span.attributes or {}, span.name, span.instrumentation_scope.name)[0]


def test_only_agent_spans_with_an_event_are_scored(told):
    said = {id_: span.attributes or {} for id_, span in told.played.spans.items()}
    marked = {id_ for id_, each in said.items() if "chloe.calls.state" in each and not left_open(each, "calls")}

    assert marked <= {event["span_id"] for event in told.played.events}


def test_a_played_span_loses_the_attributes_that_the_recorded_one_lost(recording, told):
    for span in read_spans(recording):
        played = told.played.spans.get(span.context.span_id)

        assert played is None or played.dropped_attributes == span.dropped_attributes


def test_an_agent_that_may_yet_send_its_work_to_another_is_not_scored_when_it_ends():
    """The steps of Agent Framework's workflows send messages once the agent in them is over."""
    rules = load_rules({"agents": {"*": {"calls": {"mustCall": ["restart_site"]}}}})
    played = play(SPANS / "agent-framework-default" / "S7-wf.otlp.jsonl", rules)
    (checker,) = (span for span in played.spans.values() if span.name == "invoke_agent checker")
    (event,) = played.events

    assert (checker.attributes or {})["chloe.calls.state"] == "unscored"
    assert event["gen_ai.evaluation.score.value"] == 1.0
    assert played.spans[event["span_id"]].name == "invoke_agent restarter"
