"""Content in log records becomes messages of the model call that they name, before and after its span."""

from __future__ import annotations

import base64
import gzip
import json
import random
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agent_app import agent_attributes
from google.protobuf.json_format import ParseDict
from opentelemetry._logs import LogRecord
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanContext
from replay import Replay, logs_of

from otel_chloe import ScoringSpanProcessor, attach, gaps
from otel_chloe.errors import InputError
from otel_chloe.recording.logs import HeldLogs
from otel_chloe.recording.runs import load_runs
from otel_chloe.run import Run

SPANS = Path(__file__).parent / "spans"
RECORDED = [
    SPANS / "openai_sdk-otel_genai_eventonly" / "S1",
    SPANS / "openai_sdk-otelcontrib_openai_v2" / "S6",
    SPANS / "semantic-kernel" / "S7",
]
RULES = {"agents": {"*": {"calls": {"mustNotCall": ["delete_site"]}}}}
PROMPT = "The shop site is down. Fix it."


def files_of(stem: Path) -> tuple[Path, Path]:
    return stem.with_name(f"{stem.name}.otlp.jsonl"), stem.with_name(f"{stem.name}.logs.jsonl")


def told(run: Run) -> Any:
    calls = [(call.name, call.arguments, call.result, call.ok, call.source) for call in run.tool_calls]
    return run.agent, run.prompt, run.output, calls, sorted(gap.code for gap in run.gaps)


@pytest.fixture(params=RECORDED, ids=lambda stem: f"{stem.parent.name}-{stem.name}")
def recorded(request: pytest.FixtureRequest) -> tuple[Path, Path]:
    return files_of(request.param)


# --- recordings ------------------------------------------------------------------------------------------------------


def test_log_records_beside_the_spans_tell_what_was_asked_and_answered(recorded: tuple[Path, Path]) -> None:
    spans, _ = recorded
    truth = json.loads(spans.with_name(spans.name.replace("otlp.jsonl", "truth.json")).read_text("utf-8"))

    (run,) = load_runs(spans)

    assert run.prompt == truth["runs"][0]["prompt"]
    assert run.output == truth["runs"][0]["output"]
    assert not {gap.code for gap in run.gaps} & {gaps.CONTENT_IN_LOGS, gaps.CONTENT_OFF, gaps.NO_PROMPT}


@pytest.mark.parametrize("seed", range(5))
def test_spans_and_log_records_in_any_order_give_the_same_run(
    recorded: tuple[Path, Path], tmp_path: Path, seed: int
) -> None:
    spans, logs = recorded
    lines = [*spans.read_text("utf-8").splitlines(), *logs.read_text("utf-8").splitlines()]
    random.Random(seed).shuffle(lines)
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text("\n".join(lines), "utf-8")

    assert [told(run) for run in load_runs(mixed)] == [told(run) for run in load_runs(spans)]


def test_packed_log_records_are_found_and_a_pattern_may_name_both_files(tmp_path: Path) -> None:
    spans, logs = files_of(RECORDED[0])
    shutil.copy(spans, tmp_path)
    packed = tmp_path / f"{logs.name}.gz"
    packed.write_bytes(gzip.compress(logs.read_bytes()))

    (run,) = load_runs(packed, tmp_path / spans.name)

    assert run.prompt == PROMPT


def test_a_broken_line_of_log_records_is_told_and_the_others_count(tmp_path: Path) -> None:
    spans, logs = files_of(RECORDED[0])
    shutil.copy(spans, tmp_path)
    (tmp_path / logs.name).write_bytes(b'{"resourceLogs": [\n' + logs.read_bytes())
    problems: list[InputError] = []

    (run,) = load_runs(tmp_path / spans.name, problem=problems.append)

    assert run.prompt == PROMPT
    assert [logs.name in str(problem) and "line 1" in str(problem) for problem in problems] == [True]


def test_log_records_over_the_budget_let_the_oldest_go() -> None:
    held = HeldLogs(budget=100)
    for number in range(1, 4):
        record = {
            "traceId": f"{1:032x}",
            "spanId": f"{number:016x}",
            "eventName": "gen_ai.user.message",
            "body": {"stringValue": "x" * 60},
        }
        held.add([{"scopeLogs": [{"logRecords": [record]}]}])

    assert held.dropped == 2


def test_a_call_that_only_a_log_record_tells_of_says_so(tmp_path: Path) -> None:
    spans, logs = files_of(RECORDED[1])
    lines = [line for line in spans.read_text("utf-8").splitlines() if "execute_tool" not in line]
    (tmp_path / spans.name).write_text("\n".join(lines), "utf-8")
    shutil.copy(logs, tmp_path)

    (run,) = load_runs(tmp_path / spans.name)

    assert run.tool_calls
    assert {call.source for call in run.tool_calls} == {"log"}


def framed(path: Path, request: Any) -> bytes:
    """A file of OTLP/JSON lines as the Collector's file exporter writes it with ``format: proto``."""
    bodies = [
        ParseDict(proto_ids(json.loads(line)), request()).SerializeToString() for line in path.read_bytes().splitlines()
    ]
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def proto_ids(value: Any) -> Any:
    """The ids in base64, as protobuf's own JSON has them."""
    if isinstance(value, list):
        return [proto_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(each)).decode() if key in IDS else proto_ids(each)
        for key, each in value.items()
    }


IDS = ("traceId", "spanId", "parentSpanId")


def test_log_records_in_protobuf_are_read_beside_the_spans_and_among_them(
    recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    spans, logs = framed(recorded[0], ExportTraceServiceRequest), framed(recorded[1], ExportLogsServiceRequest)
    (tmp_path / "x.otlp.binpb").write_bytes(spans)
    (tmp_path / "x.logs.binpb").write_bytes(logs)
    (tmp_path / "mixed.binpb").write_bytes(logs + spans)
    (tmp_path / "packed.otlp.binpb").write_bytes(spans)
    (tmp_path / "packed.logs.binpb.gz").write_bytes(gzip.compress(logs))
    expected = [told(run) for run in load_runs(recorded[0])]

    for name in ("x.otlp.binpb", "mixed.binpb", "packed.otlp.binpb"):
        assert [told(run) for run in load_runs(tmp_path / name)] == expected, name


def test_a_broken_message_of_log_records_is_told_and_the_others_count(tmp_path: Path) -> None:
    spans, logs = files_of(RECORDED[0])
    shutil.copy(spans, tmp_path / "x.otlp.bin")
    broken = (5).to_bytes(4, "big") + b"\x0a\xff\xff\xff\xff"
    (tmp_path / "x.logs.bin").write_bytes(broken + framed(logs, ExportLogsServiceRequest) + b"\x00\x00\x00\x09\x0a")
    problems: list[InputError] = []

    (run,) = load_runs(tmp_path / "x.otlp.bin", problem=problems.append)

    assert run.prompt == PROMPT
    assert ["message 1: not an OTLP logs request" in str(problems[0]), "cut short" in str(problems[1])] == [True, True]


# --- live ------------------------------------------------------------------------------------------------------------


class Live:
    """An application with a provider of each kind, and the runs that were rebuilt of it."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.processor = ScoringSpanProcessor(RULES, on_mark=lambda run, _: self.runs.append(run))
        self.loggers = LoggerProvider(shutdown_on_exit=False)
        self.loggers.add_log_record_processor(self.processor.log_records())
        self.replay = Replay(self.processor)

    def emit(self, spans: Path) -> None:
        for records in logs_of(spans).values():
            for record in records:
                self.loggers.get_logger("app").emit(record)

    def done(self) -> Run:
        self.processor.force_flush()
        self.processor.shutdown()
        return self.runs[0]


def test_log_records_that_come_after_their_spans_are_joined_live(recorded: tuple[Path, Path]) -> None:
    spans, _ = recorded
    live = Live()
    live.replay.readers.clear()  # nothing is emitted before a span's end
    live.replay.play(spans)
    live.emit(spans)

    run = live.done()

    (expected,) = load_runs(spans)
    assert (run.prompt, run.output) == (expected.prompt, expected.output)
    assert [call.name for call in run.tool_calls] == [call.name for call in expected.tool_calls]


def test_other_log_records_are_let_pass_and_late_ones_counted() -> None:
    live = Live()
    logger = live.loggers.get_logger("app")
    logger.emit(LogRecord(event_name="gen_ai.evaluation.result", body="x", trace_id=1, span_id=1))
    logger.emit(LogRecord(body="a line"))
    assert "logs_late" not in live.processor.stats()

    logger.emit(LogRecord(event_name="gen_ai.user.message", body={"content": "x"}, trace_id=1, span_id=1))

    assert live.processor.stats()["logs_late"] == 1
    live.processor.shutdown()


def test_what_goes_over_the_limit_of_a_run_is_dropped_and_counted() -> None:
    processor = ScoringSpanProcessor(RULES, settings={"max_bytes": 1_000})
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    records = processor.log_records()
    with provider.get_tracer("app").start_as_current_span("invoke_agent a", attributes=agent_attributes("a")) as span:
        for _ in range(3):
            records.on_emit(content(span.get_span_context()))

    assert processor.stats()["logs_dropped"] == 2
    provider.shutdown()


def content(context: SpanContext) -> Any:
    """A record as older SDKs hand it on: any object that holds one."""
    record = LogRecord(
        event_name="gen_ai.user.message",
        body={"content": "x" * 600},
        trace_id=context.trace_id,
        span_id=context.span_id,
    )
    return SimpleNamespace(log_record=record)


def test_a_record_of_any_shape_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otel_chloe.processor.hooks._raises", False)
    processor = ScoringSpanProcessor(RULES)

    processor.log_records().on_emit(SimpleNamespace())  # type: ignore[arg-type]

    assert processor.stats()["errors.AttributeError"] == 1
    processor.shutdown()


def test_attach_reads_the_log_records_of_the_application_and_detach_stops() -> None:
    loggers = LoggerProvider(shutdown_on_exit=False)
    provider = TracerProvider(shutdown_on_exit=False)

    attachment = attach(RULES, provider=provider, logger_provider=loggers)

    (records,) = loggers._multi_log_record_processor._log_record_processors
    assert type(records).__name__ == "ContentLogs"
    attachment.detach()
    assert loggers._multi_log_record_processor._log_record_processors == ()
