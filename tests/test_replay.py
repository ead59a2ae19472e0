"""In process equals offline: a recording played through the processor gives the runs and marks that its file gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agent_app import App
from opentelemetry.sdk.trace import ReadableSpan
from replay import Replay

from otel_chloe.assembly import assemble
from otel_chloe.config import Rules, load_rules
from otel_chloe.conventions import kind_of, read
from otel_chloe.mark import Outcome
from otel_chloe.part import MODEL
from otel_chloe.recording import read_spans
from otel_chloe.recording.logs import HeldLogs
from otel_chloe.run import Run
from otel_chloe.scorers import outcomes

SPANS = Path(__file__).parent / "spans"
RECORDINGS = sorted(SPANS.glob("**/*.otlp.jsonl"))
TELLS = ("agent", "prompt", "output", "end", "complete", "trace_id", "span_id", "mark_span_id", "conversation")
CALL_TELLS = ("name", "raw_name", "arguments", "result", "ok", "error", "agent", "ran", "source")
"""What a run and a call say wherever they are printed."""


def runs_in(recording: Path) -> list[Run]:
    parts = [part for part in map(read, read_spans(recording)) if part is not None]
    logs = HeldLogs()
    logs.beside(str(recording), None)
    logs.until(max(part.end for part in parts))
    logs.tell(parts)
    return assemble(parts)


def rules_for(runs: list[Run]) -> Rules:
    """Rules that some runs of the recordings keep and others break, for every agent by name too."""
    names = {each.agent for run in runs for each in (run, *run.sub_runs)} - {None}
    named = {name: {"calls": {"mustCall": ["restart_site"], "atMostOnce": ["restart_site"]}} for name in names}
    everyone = {"calls": {"mustNotCall": ["delete_site"], "atMostOnce": ["check_site"]}}
    return load_rules({"agents": {"*": everyone, **named}})


def said_of(run: Run) -> dict[str, Any]:
    """All that a run tells, as plain values."""
    said = {key: getattr(run, key) for key in TELLS}
    said["tool_calls"] = [{key: getattr(call, key) for key in CALL_TELLS} for call in run.tool_calls]
    said["sub_runs"] = [said_of(sub) for sub in sorted(run.sub_runs, key=lambda sub: sub.span_id or "")]
    said["gaps"] = sorted((gap.code, gap.detail or "") for gap in run.gaps)
    return said


@dataclass
class Emitted:
    """A run as the sinks got it."""

    run: Run
    outcomes: list[tuple[Run, Outcome]]


class Overheard:
    """Stands in front of the sinks, and keeps what they are given."""

    def __init__(self, sinks) -> None:
        self._sinks = sinks
        self.emitted: list[Emitted] = []

    def emit(self, run, found, **more):
        self.emitted.append(Emitted(run, list(found)))
        self._sinks.emit(run, found, **more)

    def __getattr__(self, name):
        return getattr(self._sinks, name)


@dataclass
class Played:
    """What came of a recording that was played through the processor."""

    emitted: list[Emitted]
    events: list[dict[str, Any]]
    spans: dict[int, ReadableSpan]
    stats: dict[str, int]


def play(recording: Path, rules: Rules) -> Played:
    with App(rules) as app:
        overheard = app.processor._pipeline._sinks = Overheard(app.processor._pipeline._sinks)
        resource = next(iter(read_spans(recording))).resource.attributes
        replay = Replay(*app.provider._active_span_processor._span_processors, resource=resource)
        replay.play(recording)
        app.flush()
        app.stop()
        events = app.events()
        spans = {span.context.span_id: span for span in app.exporter.get_finished_spans() if span.context is not None}
        return Played(sorted(overheard.emitted, key=lambda e: e.run.end_ns or 0), events, spans, app.processor.stats())


@pytest.fixture(scope="module", params=RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name.split('.')[0]}")
def both(request):
    """A recording's runs as its file gives them, the rules they are scored by, and what came of playing it."""
    runs = runs_in(request.param)
    rules = rules_for(runs)
    return runs, rules, play(request.param, rules)


def test_there_are_recordings():
    assert RECORDINGS


def test_the_runs_are_the_same(both):
    offline, _, played = both

    assert [said_of(each.run) for each in played.emitted] == [said_of(run) for run in offline]


def test_the_marks_are_the_same(both):
    offline, rules, played = both
    live = sorted((outcome for each in played.emitted for _, outcome in each.outcomes), key=lambda o: str(o.id))
    filed = sorted((outcome for run in offline for _, outcome in outcomes(run, rules)), key=lambda o: str(o.id))

    assert live == filed
    assert filed


def test_nothing_is_left_over(both):
    _, _, played = both

    assert played.stats["runs_open"] == 0
    assert played.stats["errors"] == 0


def test_the_mark_on_the_agent_span_is_the_events(both):
    _, _, played = both

    assert played.events
    for event in played.events:
        span = played.spans[event["span_id"]]
        if is_model_call(span):
            continue  # its run was stitched of model calls: its marks are in events alone
        said = span.attributes or {}
        if said.get("chloe.calls.state") == "unscored" and "(cut_short)" in str(said.get("chloe.calls.reason")):
            assert span.instrumentation_scope.name == "langsmith"  # it ends an agent's span before those below it
            continue
        assert said.get("chloe.calls.state") == event["chloe.state"], span.name
        assert said.get("chloe.calls.score") == event.get("gen_ai.evaluation.score.value"), span.name
        assert said.get("chloe.calls.reason") == event["gen_ai.evaluation.explanation"][:1_024], span.name


def is_model_call(span: ReadableSpan) -> bool:
    """Whether a span is a model call by itself."""
    return kind_of(span.attributes or {}, span.name, span.instrumentation_scope.name)[0] is MODEL


def test_only_agent_spans_with_an_event_carry_marks(both):
    _, _, played = both
    marked = {id_ for id_, span in played.spans.items() if "chloe.calls.state" in (span.attributes or {})}

    assert marked <= {event["span_id"] for event in played.events}
