"""`resolve()`, `otel-chloe resolve` and `otel-chloe pending`: the scores that people give, and what waits for them."""

from __future__ import annotations

import json

import pytest
from agent_app import App
from opentelemetry import _logs, trace
from otlp_receiver import said
from small_recordings import START
from waiting_scores import ONE, RUN, SPAN, TRACE

from otel_chloe import ConfigError, DeferredScore, SendError, resolve
from otel_chloe.attachment import resolving
from otel_chloe.cli import main
from otel_chloe.scorers import mark_id


class TestInPython:
    @pytest.mark.parametrize(
        ("score", "value", "label"), [(0.8, 0.8, None), (True, 1.0, "pass"), ("kind", None, "kind"), (3, 3.0, None)]
    )
    def test_it_goes_out_as_span_event_and_metric(self, receiver, score, value, label):
        mark = resolve(**RUN, score=score, reason="Read it.", agent="doctor", otlp=receiver.url)

        (span,), (event,) = receiver.spans, receiver.events
        told = said(span.attributes)
        assert (span.trace_id.hex(), span.parent_span_id.hex(), span.name) == (TRACE, SPAN, "evaluation helpful")
        assert (event.trace_id.hex(), event.span_id.hex()) == (TRACE, SPAN)
        assert event.event_name == "gen_ai.evaluation.result"
        assert said(event.attributes) == {key: told[key] for key in said(event.attributes)}
        assert told.get("gen_ai.evaluation.score.value") == value
        assert told.get("gen_ai.evaluation.score.label") == label
        assert told["gen_ai.evaluation.explanation"] == "Read it."
        assert (told["chloe.state"], told["chloe.mark.revision"]) == ("scored", 1)
        assert told["chloe.mark.id"] == mark.id == mark_id(TRACE, SPAN, "helpful", "", "helpful")
        assert "chloe.run.end" not in told  # nobody knows
        assert list(receiver.metrics) == ["chloe.revisions"]

    def test_its_id_is_that_of_the_pending_mark(self, receiver):
        mark = resolve(**RUN, score=1, key="is_helpful", version="abc", otlp=receiver.url)

        assert mark.id == mark_id(TRACE, SPAN, "helpful", "abc", "is_helpful")

    def test_a_score_that_nobody_waited_for_is_counted_as_a_mark(self, receiver):
        resolve(**RUN, score=0.5, revision=0, agent="doctor", otlp=receiver.url)

        assert set(receiver.metrics) == {"chloe.marks", "gen_ai.evaluation.score"}
        assert said(receiver.metrics["chloe.marks"][0].attributes)["gen_ai.agent.name"] == "doctor"

    def test_it_ends_when_the_run_did(self, receiver):
        resolve(**RUN, score=1, end_ns=7, otlp=receiver.url)

        assert (receiver.spans[0].start_time_unix_nano, receiver.spans[0].end_time_unix_nano) == (7, 7)
        assert receiver.events[0].time_unix_nano == 7

    def test_the_environment_says_where_to(self, receiver, monkeypatch):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        resolve(**RUN, score=1)

        assert len(receiver.spans) == 1

    def test_the_applications_own_providers_take_it(self, backend, monkeypatch, caplog):
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: backend.tracers)
        monkeypatch.setattr(_logs, "get_logger_provider", lambda: backend.loggers)

        mark = resolve(**RUN, score=0.5)

        (span,), (event,) = backend.spans.get_finished_spans(), backend.logs.get_finished_logs()
        assert span.attributes["chloe.mark.id"] == event.log_record.attributes["chloe.mark.id"] == mark.id
        assert f"{span.parent.span_id:016x}" == SPAN
        assert "no MeterProvider is set" in caplog.text

    def test_spans_that_are_not_taken_are_an_error_and_nothing_else_is_sent(self, receiver):
        receiver.refuses = {"/v1/traces"}
        with pytest.raises(SendError, match="spans, events, metrics could not be sent"):
            resolve(**RUN, score=1, otlp=receiver.url)

        assert receiver.requests == []

    @pytest.mark.parametrize(
        ("given", "text"),
        [
            ({"score": float("nan")}, "score: nan is no score."),
            ({"score": None}, "score: None is no score."),
            ({"score": " "}, "score: ' ' is no score."),
            ({"trace_id": "12"}, "trace_id: '12' is no id. Write its 32 hex digits."),
            ({"span_id": "0" * 16}, "span_id: '0000000000000000' is no id. Write its 16 hex digits."),
            ({"name": ""}, "name: an empty text stands here."),
            ({"revision": -1}, "revision: -1 is no whole number from 0."),
            ({"end_ns": "now"}, "end_ns: 'now' is no time."),
            ({"otlp": "localhost:4318"}, "otlp: 'localhost:4318' is no such address."),
        ],
    )
    def test_what_is_wrong_is_said(self, receiver, given, text):
        with pytest.raises(ConfigError) as raised:
            resolve(**{**RUN, "score": 1, "otlp": receiver.url, **given})

        assert text in str(raised.value)
        assert receiver.requests == []

    def test_nowhere_to_send_to(self, monkeypatch):
        monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
        with pytest.raises(ConfigError, match=r"nowhere to send to\. Write otlp=URL"):
            resolve(**RUN, score=1)


class TestTheCommand:
    def test_one_score_by_what_a_recording_says_of_it(self, receiver, waiting_recording, capsys):
        code = main(
            [*ONE, "--score", "0.8", "--reason", "Kind.", "--recording", waiting_recording, "--otlp", receiver.url]
        )

        told = said(receiver.spans[0].attributes)
        assert code == 0
        assert capsys.readouterr().out == f"sent  helpful  0.8  trace {TRACE}  revision 1\n"
        assert (told["chloe.mark.id"], told["chloe.mark.revision"]) == ("1" * 32, 1)
        assert (told["chloe.scorer.key"], told["chloe.scorer.version"]) == ("is_helpful", "abc")
        assert told["gen_ai.agent.name"] == "doctor"
        assert receiver.spans[0].end_time_unix_nano == START

    def test_a_recording_in_which_nothing_waits(self, receiver, waiting_recording, capsys):
        code = main([*ONE[:-1], "other", "--score", "yes", "--recording", waiting_recording, "--otlp", receiver.url])

        assert code == 0
        assert "nothing waits for other there" in capsys.readouterr().err
        assert said(receiver.spans[0].attributes)["chloe.mark.revision"] == 0

    def test_without_a_recording(self, receiver):
        more = ["--key", "is_helpful", "--version", "abc", "--agent", "doctor", "--otlp", receiver.url]
        assert main([*ONE, "--score", "true", *more]) == 0

        told = said(receiver.spans[0].attributes)
        assert told["chloe.mark.id"] == mark_id(TRACE, SPAN, "helpful", "abc", "is_helpful")
        assert (told["gen_ai.evaluation.score.value"], told["chloe.passed"]) == (1.0, True)

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (["resolve"], "--trace-id, --span-id, --name, --score is missing"),
            ([*ONE, "--score", "nan"], "score: nan is no score."),
            ([*ONE, "--score", "1", "--otlp", "ftp://x"], "otlp: 'ftp://x' is no such address."),
            (["resolve", "--from", "nothing.csv"], "nothing.csv: cannot be read (No such file or directory)."),
        ],
    )
    def test_bad_input_is_2(self, arguments, text, receiver, capsys, monkeypatch):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)

        assert main(arguments) == 2
        assert text in capsys.readouterr().err
        assert receiver.requests == []

    @pytest.mark.parametrize(("path", "what"), [("/v1/logs", "events"), ("/v1/metrics", "metrics")])
    def test_what_the_receiver_does_not_take_is_1(self, receiver, capsys, path, what):
        receiver.refuses = {path}

        assert main([*ONE, "--score", "1", "--otlp", receiver.url]) == 1
        assert f"resolve: helpful: {what} not taken by the receiver" in capsys.readouterr().err
        assert len(receiver.spans) == 1


ROWS = f"""\
trace_id,span_id,name,score,reason,agent
{TRACE},{SPAN},helpful,0.8,"Kind, and short.",doctor
{TRACE},{SPAN},kind,true,,
{TRACE},{SPAN},tone,warm,,
{TRACE},{SPAN},later,,,
"""


class TestMany:
    def test_of_csv(self, receiver, tmp_path, capsys):
        (tmp_path / "scores.csv").write_text(ROWS)

        assert main(["resolve", "--from", str(tmp_path / "scores.csv"), "--otlp", receiver.url]) == 0
        printed = capsys.readouterr()
        assert [line.split("  ")[1:3] for line in printed.out.splitlines()] == [
            ["helpful", "0.8"],
            ["kind", "True"],
            ["tone", "warm"],
        ]
        assert "1 without a score, left out" in printed.err
        assert said(receiver.spans[0].attributes)["gen_ai.evaluation.explanation"] == "Kind, and short."
        assert len(receiver.of("/v1/traces")) == 1

    def test_in_groups_whose_metrics_are_counted_once(self, receiver, tmp_path, monkeypatch):
        monkeypatch.setattr(resolving, "AT_A_TIME", 2)
        path = tmp_path / "scores.jsonl"
        path.write_text("\n".join(json.dumps({**RUN, "name": f"s{n}", "score": n}) for n in range(5)))

        assert main(["resolve", "--from", str(path), "--otlp", receiver.url]) == 0
        assert [len(receiver.of(path)) for path in ("/v1/traces", "/v1/logs", "/v1/metrics")] == [3, 3, 1]
        assert len(receiver.spans) == len(receiver.events) == 5
        assert sum(point.as_int for point in receiver.metrics["chloe.revisions"]) == 5

    def test_an_sdk_that_is_switched_off(self, receiver, monkeypatch, capsys):
        monkeypatch.setenv("OTEL_SDK_DISABLED", "true")

        assert main([*ONE, "--score", "1", "--otlp", receiver.url]) == 2
        assert "OTEL_SDK_DISABLED=true, so nothing can be sent." in capsys.readouterr().err

    def test_what_is_wrong_with_a_row_keeps_no_other_back(self, receiver, tmp_path, capsys):
        rows = [
            {**RUN, "score": 0.8},
            {**RUN, "score": 0.9},
            {**RUN, "score": [1]},
            {**RUN, "score": 1, "reasn": "x"},
            {"span_id": SPAN, "name": "x", "score": 1},
            {**RUN, "name": "good", "score": False},
        ]
        path = tmp_path / "scores.jsonl"
        path.write_text("\n".join([*map(json.dumps, rows), "{", "3", ""]))

        assert main(["resolve", "--from", str(path), "--otlp", receiver.url]) == 2
        complaints = capsys.readouterr().err.splitlines()
        assert [line.removeprefix(f"otel-chloe: {path}:") for line in complaints] == [
            f"2: a second score for what {path}:1 scores. Write one.",
            "3: score: [1] is no score. Write a finite number, true or false, or a text.",
            "4: unknown key 'reasn'. Did you mean reason?",
            "5: trace_id: nothing stands here.",
            "7: not JSON. Write one object a line.",
            "8: no JSON object. Write one object a line.",
        ]
        assert [span.name for span in receiver.spans] == ["evaluation helpful", "evaluation good"]

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("trace_id,span_id,name\n", "scores.csv:1: no column score. Write a first line such as"),
            (f"{ROWS}{TRACE},{SPAN},x,1,,,more\n", "scores.csv:6: more cells than columns"),
            (f'{ROWS}{TRACE},{SPAN},x,1,"open', "scores.csv:6: not CSV: "),
            (ROWS.replace("agent", "revision").replace("doctor", "x"), "revision: 'x' is no whole number from 0."),
        ],
    )
    def test_what_is_wrong_with_csv(self, receiver, tmp_path, capsys, monkeypatch, text, complaint):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "scores.csv").write_text(text)

        assert main(["resolve", "--from", "scores.csv", "--otlp", receiver.url]) == 2
        assert complaint in capsys.readouterr().err


def test_a_live_run_that_waits_is_resolved_in_its_trace(receiver):
    """What stands on the pending evaluation span is all that is needed."""

    def helpful(output: str) -> DeferredScore:
        return DeferredScore("helpful", reason="on Friday")

    with App({"agents": {"site_doctor": {"scorers": [helpful]}}}) as app:
        app.run("check_site")
        pending = app.span("evaluation helpful")

    told = dict(pending.attributes or {})
    assert pending.parent is not None
    mark = resolve(
        trace_id=f"{pending.context.trace_id:032x}",
        span_id=f"{pending.parent.span_id:016x}",
        name="helpful",
        score=True,
        key=str(told["chloe.scorer.key"]),
        version=str(told["chloe.scorer.version"]),
        otlp=receiver.url,
    )

    assert told["chloe.state"] == "pending"
    assert mark.id == told["chloe.mark.id"]
    assert receiver.spans[0].trace_id.hex() == f"{pending.context.trace_id:032x}"
