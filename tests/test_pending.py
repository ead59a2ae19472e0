"""`otel-chloe pending`: the scores that still wait for a person."""

from __future__ import annotations

import csv
import io
import json

import pytest
from otlp_receiver import Receiver, said
from small_recordings import SECOND, START, written

from otel_chloe.cli import main

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
RUN = {"trace_id": TRACE, "span_id": SPAN, "name": "helpful"}
ONE = ["resolve", "--trace-id", TRACE, "--span-id", SPAN, "--name", "helpful"]


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def evaluation(name, trace, parent, *, number=9, at=0.0, state="pending", **attributes):
    """One request with an evaluation span as ours are."""
    told = {"gen_ai.evaluation.name": name, "chloe.state": state, "gen_ai.agent.name": "doctor", **attributes}
    pairs = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in told.items()
    ]
    nanos = str(START + int(at * SECOND))
    span = {
        "traceId": trace, "spanId": f"{number:016x}", "parentSpanId": parent, "name": f"evaluation {name}", "kind": 1,
        "startTimeUnixNano": nanos, "endTimeUnixNano": nanos, "attributes": pairs,
    }  # fmt: skip
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "otel_chloe"}, "spans": [span]}]}]})


PENDING = {
    "chloe.mark.id": "1" * 32, "chloe.mark.revision": 0, "chloe.scorer.key": "is_helpful",
    "chloe.scorer.version": "abc", "gen_ai.evaluation.explanation": "a person reads it on Friday",
}  # fmt: skip


@pytest.fixture
def recording(tmp_path):
    return written(tmp_path / "spans.jsonl", evaluation("helpful", TRACE, SPAN, **PENDING))


class TestPending:
    def test_says_what_waits_and_for_what(self, recording, capsys):
        assert main(["pending", recording]) == 0
        assert capsys.readouterr().out == (
            f"helpful  doctor  trace {TRACE}  span {SPAN}  a person reads it on Friday\n"
        )

    @pytest.mark.parametrize(
        ("later", "waits"),
        [
            ({"state": "scored", "chloe.mark.id": "1" * 32, "chloe.mark.revision": 1}, False),
            ({"state": "scored", "chloe.mark.id": "2" * 32, "chloe.mark.revision": 1}, False),
            ({"state": "scored", "chloe.mark.revision": 0}, True),
            ({"state": "pending", "chloe.mark.id": "1" * 32, "chloe.mark.revision": 0}, True),
        ],
    )
    @pytest.mark.parametrize("first", [True, False])
    def test_a_later_mark_resolves_it(self, tmp_path, recording, capsys, later, waits, first):
        other = written(tmp_path / "other.jsonl", evaluation("helpful", TRACE, SPAN, number=10, **later))

        assert main(["pending", *((other, recording) if first else (recording, other))]) == 0
        assert len(capsys.readouterr().out.splitlines()) == waits

    @pytest.mark.parametrize("form", ["json", "csv"])
    def test_what_it_prints_is_what_resolve_takes(self, recording, receiver, tmp_path, capsys, form):
        main(["pending", recording, "--format", form])
        printed = capsys.readouterr().out
        path = tmp_path / f"scores.{form}"
        if form == "json":
            path.write_text(json.dumps({**json.loads(printed), "score": 0.25, "reason": "Late."}))
        else:
            (row,) = csv.DictReader(io.StringIO(printed))
            with path.open("w", newline="") as file:
                table = csv.DictWriter(file, list(row))
                table.writeheader()
                table.writerow({**row, "score": "0.25", "reason": "Late."})

        assert main(["resolve", "--from", str(path), "--otlp", receiver.url]) == 0
        told = said(receiver.spans[0].attributes)
        assert (told["chloe.mark.id"], told["chloe.mark.revision"]) == ("1" * 32, 1)
        assert told["gen_ai.evaluation.score.value"] == 0.25
        assert told["gen_ai.evaluation.explanation"] == "Late."

    def test_events_tell_too(self, tmp_path, recording, capsys):
        (span,) = json.loads(evaluation("kind", TRACE, SPAN, **PENDING))["resourceSpans"][0]["scopeSpans"][0]["spans"]
        record = {
            "timeUnixNano": span["endTimeUnixNano"], "traceId": TRACE, "spanId": SPAN,
            "eventName": "gen_ai.evaluation.result", "attributes": span["attributes"],
        }  # fmt: skip
        scoped = {"scope": {"name": "otel_chloe"}, "logRecords": [record, {"traceId": "", "attributes": []}]}
        other = {"scope": {"name": "app"}, "logRecords": [record]}
        logs = written(tmp_path / "x.logs.jsonl", json.dumps({"resourceLogs": [{"scopeLogs": [scoped, other]}]}))

        assert main(["pending", logs]) == 0
        assert capsys.readouterr().out == f"kind  doctor  trace {TRACE}  span {SPAN}  a person reads it on Friday\n"
        assert main(["pending", logs, recording]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2

    def test_a_recording_that_cannot_be_read_is_2(self, recording, tmp_path, capsys):
        assert main(["pending", recording, str(tmp_path / "nothing.jsonl")]) == 2
        assert len(capsys.readouterr().out.splitlines()) == 1

    def test_nothing_waits(self, tmp_path, capsys):
        path = written(tmp_path / "scored.jsonl", evaluation("helpful", TRACE, SPAN, state="scored"))

        assert main(["pending", path]) == 0
        assert "nothing waits in these recordings" in capsys.readouterr().err
