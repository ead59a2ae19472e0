"""The ways that spans come in, and what each gives of one recording: runs and marks as plain values.

In process: played through a processor on a real provider. The command line: ``runs`` and ``score``. The assembler:
spans in batches, in any order.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from agent_app import App
from opentelemetry.sdk.trace import ReadableSpan
from replay import Replay, kept_attributes

from otel_chloe.assembly import assemble
from otel_chloe.cli import main
from otel_chloe.config import Rules
from otel_chloe.gaps import HANDOFF_UNCLEAR
from otel_chloe.mark import Outcome
from otel_chloe.part import Part
from otel_chloe.recording import read_spans
from otel_chloe.recording.logs import HeldLogs
from otel_chloe.recording.read import read_parts
from otel_chloe.recording.runs import find_runs
from otel_chloe.run import Run

SPANS = Path(__file__).parent / "spans"
Said = dict[str, Any]

TELLS = ("agent", "prompt", "output", "end", "complete", "trace_id", "span_id", "mark_span_id", "mark_trace_id")
MORE_TELLS = ("conversation", "input", "error", "start_ns", "end_ns", "usage", "parent_span_id")
CALL_TELLS = ("name", "raw_name", "arguments", "result", "ok", "error", "agent", "ran", "source", "call_id", "span_id")
"""What a run and a call say, wherever they came from."""


def said_of(run: Run) -> Said:
    """All that a run tells, as plain values."""
    said = {key: getattr(run, key) for key in (*TELLS, *MORE_TELLS)}
    said["tool_calls"] = [{key: getattr(call, key) for key in CALL_TELLS} for call in run.tool_calls]
    said["sub_runs"] = [said_of(sub) for sub in sorted(run.sub_runs, key=lambda sub: sub.span_id or "")]
    said["gaps"] = sorted((gap.code, gap.detail or "") for gap in run.gaps)
    return said


def rules_for(runs: list[Run]) -> Said:
    """Rules that some runs of the recordings keep and others break, for every agent by name too."""
    names = {each.agent for run in runs for each in (run, *run.sub_runs)} - {None}
    named = {name: {"calls": {"mustCall": ["restart_site"], "atMostOnce": ["restart_site"]}} for name in names}
    everyone = {"calls": {"mustNotCall": ["delete_site"], "atMostOnce": ["check_site"]}}
    return {"agents": {"*": everyone, **named}}


# --- the assembler ---------------------------------------------------------------------------------------------------


def parts_in(recording: Path) -> list[Part]:
    """The spans of a recording as parts, with what stands in log records beside it."""
    parts = list(read_parts(recording))
    logs = HeldLogs()
    logs.beside(str(recording), None)
    logs.until(max(part.end for part in parts))
    logs.tell(parts)
    return parts


def assembled(recording: Path, chance: Random | None = None) -> list[Run]:
    """The runs of all spans of a recording at once, in this or any order."""
    parts = parts_in(recording)
    if chance is not None:
        chance.shuffle(parts)
    return assemble(parts)


def batched(recording: Path, chance: Random) -> list[Run]:
    """The runs of a recording whose spans are sent in batches, in any order."""
    lines = recording.read_text("utf-8").splitlines()
    chance.shuffle(lines)
    sent = io.BytesIO()
    while lines:
        batch, lines = lines[: (size := chance.randint(1, 5))], lines[size:]
        groups = [group for each in batch for group in json.loads(each)["resourceSpans"]]
        sent.write(json.dumps({"resourceSpans": groups}).encode() + b"\n")
    sent.seek(0)
    return [found.run for found in find_runs([(str(recording), sent)])]


# --- the command line ------------------------------------------------------------------------------------------------


def printed(*arguments: str) -> list[Said]:
    """What a command prints as JSON."""
    out = io.StringIO()
    with redirect_stdout(out):
        main([*arguments, "--format", "json"])
    return [json.loads(line) for line in out.getvalue().splitlines()]


# --- in process ------------------------------------------------------------------------------------------------------


@dataclass
class Emitted:
    """A run as the sinks got it."""

    run: Run
    outcomes: list[tuple[Run, Outcome]]


class Overheard:
    """Stands in front of the sinks, and keeps what they are given."""

    def __init__(self, sinks: Any) -> None:
        self._sinks = sinks
        self.emitted: list[Emitted] = []

    def emit(self, run: Run, found: list[tuple[Run, Outcome]], **more: Any) -> None:
        self.emitted.append(Emitted(run, list(found)))
        self._sinks.emit(run, found, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sinks, name)


@dataclass
class Played:
    """What came of a recording that was played through the processor."""

    emitted: list[Emitted]
    events: list[Said]
    spans: dict[int, ReadableSpan]
    stats: dict[str, int]


def play(recording: Path, rules: Rules) -> Played:
    """Play a recording through the processor, its spans starting and ending in their own order."""
    with App(rules) as app:
        overheard = app.processor._pipeline._sinks = Overheard(app.processor._pipeline._sinks)
        resource = next(iter(read_spans(recording))).resource.attributes
        processors = app.provider._active_span_processor._span_processors
        replay = Replay(*processors, attribute_limit=kept_attributes(recording), resource=resource)
        replay.play(recording)
        app.flush()
        app.stop()
        events = app.events()
        spans = {span.context.span_id: span for span in app.exporter.get_finished_spans() if span.context is not None}
        return Played(sorted(overheard.emitted, key=lambda e: e.run.end_ns or 0), events, spans, app.processor.stats())


def left_open(said: Mapping[str, Any], name: str) -> bool:
    """Whether an agent span that ended says with a mark that its run may yet go on in another agent."""
    return said.get(f"chloe.{name}.state") == "unscored" and HANDOFF_UNCLEAR in str(said[f"chloe.{name}.reason"])
