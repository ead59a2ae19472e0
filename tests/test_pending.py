"""`otel-chloe pending`: the scores that still wait for a person."""

from __future__ import annotations

import csv
import io
import json

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from otlp_receiver import said
from small_recordings import START, written
from waiting_scores import PENDING, SPAN, TRACE, evaluation

from otel_chloe.cli import main


class TestPending:
    def test_says_what_waits_and_for_what(self, waiting_recording, capsys):
        assert main(["pending", waiting_recording]) == 0
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
    def test_a_later_mark_resolves_it(self, tmp_path, waiting_recording, capsys, later, waits, first):
        other = written(tmp_path / "other.jsonl", evaluation("helpful", TRACE, SPAN, number=10, **later))

        assert main(["pending", *((other, waiting_recording) if first else (waiting_recording, other))]) == 0
        assert len(capsys.readouterr().out.splitlines()) == waits

    @pytest.mark.parametrize("form", ["json", "csv"])
    def test_what_it_prints_is_what_resolve_takes(self, waiting_recording, receiver, tmp_path, capsys, form):
        main(["pending", waiting_recording, "--format", form])
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

    def test_events_tell_too(self, tmp_path, waiting_recording, capsys):
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
        assert main(["pending", logs, waiting_recording]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2

    def test_events_in_protobuf_tell_as_well(self, tmp_path, capsys):
        def said(key, **value):
            return KeyValue(key=key, value=AnyValue(**value))

        record = LogRecord(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN), time_unix_nano=START)
        record.attributes.extend(
            [
                said("gen_ai.evaluation.name", string_value="kind"),
                said("chloe.state", string_value="pending"),
                said("chloe.mark.revision", int_value=0),
            ]
        )
        scoped = ScopeLogs(scope=InstrumentationScope(name="otel_chloe"), log_records=[record])
        body = LogsData(resource_logs=[ResourceLogs(scope_logs=[scoped])]).SerializeToString()
        path = tmp_path / "logs.pb"
        path.write_bytes(len(body).to_bytes(4, "big") + body)

        assert main(["pending", str(path)]) == 0
        assert capsys.readouterr().out == f"kind  -  trace {TRACE}  span {SPAN}\n"

    def test_a_recording_that_cannot_be_read_is_2(self, waiting_recording, tmp_path, capsys):
        assert main(["pending", waiting_recording, str(tmp_path / "nothing.jsonl")]) == 2
        assert len(capsys.readouterr().out.splitlines()) == 1

    def test_nothing_waits(self, tmp_path, capsys):
        path = written(tmp_path / "scored.jsonl", evaluation("helpful", TRACE, SPAN, state="scored"))

        assert main(["pending", path]) == 0
        assert "nothing waits in these recordings" in capsys.readouterr().err
