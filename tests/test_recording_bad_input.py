"""What cannot be read of a recording is told, and costs nothing else."""

from __future__ import annotations

import gzip
import json
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from recording_forms import (
    AFTER,
    BEFORE,
    FORMS,
    GOOD,
    START,
    frames,
    jaeger,
    lines,
    names,
    read,
    request,
    rich_spans,
    sdk_span,
)

from otel_chloe.errors import InputError
from otel_chloe.recording import read_spans

DEEP = b'{"arrayValue":{"values":[' * 10_000 + b'{"intValue":"1"}' + b"]}}" * 10_000

BAD_LINES = {
    "no JSON": (b"hello\n", "not JSON"),
    "half a line": (BEFORE[:300] + b"\n", "not JSON"),
    "half a line that looks like a document's first": (b'{"resourceSpans": [{"scopeSpans": [\n', "not JSON"),
    "wrong encoding": (BEFORE.replace(b"before", "größer".encode("latin-1")), "not UTF-8"),
    "control characters": (BEFORE.replace(b"before", b"\x00"), "not JSON"),
    "hostile depth": (BEFORE.replace(b'{"stringValue": "chat"}', DEEP), "nested too deeply"),
    "hostile depth around": (b"[" * 100_000 + b"\n", "nested too deeply"),
    "a number of 5,000 digits": (b'{"resourceSpans": ' + b"1" * 5_000 + b"}\n", "not JSON"),
    "another object": (b'{"a": 1, "b": 2}\n', "this is a JSON object with the keys 'a', 'b'"),
    "a list": (b"[1]\n", "this is a JSON list"),
    "a number": (b"1\n", "this is a JSON number"),
    "console exporter": (b'{"context": {}, "parent_id": null, "start_time": ""}\n', "console span exporter"),
    "Zipkin": (b'[{"traceId": "1", "id": "2", "timestamp": 1}]\n', "Zipkin"),
    "our own output": (b'{"tool_calls": [], "sub_runs": []}\n', "the output of otel-chloe"),
    "no object": (b'{"resourceSpans": [7]}\n', "resourceSpans is not a list of objects"),
    "no list": (b'{"resourceSpans": {"a": 1}}\n', "resourceSpans is not a list of objects"),
    "no trace id": (BEFORE.replace(b'"traceId"', b'"t"'), "a span has no usable trace id"),
    "zero span id": (BEFORE.replace(b"0000000000000002", b"0" * 16), "a span has no usable span id"),
    "long span id": (BEFORE.replace(b"0000000000000002", b"0" * 15 + b"22"), "a span has no usable span id"),
    "no hex": (BEFORE.replace(b"0000000000000002", b"x" * 16), "a span has no usable span id"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_line_is_told_and_the_good_ones_still_count(bad):
    line, message = BAD_LINES[bad]
    got, problems = read(BEFORE + line + AFTER)
    assert names(got) == ["before", "after"]
    assert len(problems) == 1
    assert problems[0].startswith(", line 2: ")
    assert message in problems[0]
    assert "Expected" in problems[0] or "expected" in problems[0]


@pytest.mark.parametrize("bad", BAD_LINES)
@pytest.mark.parametrize("good", [AFTER, AFTER * 2, AFTER * 5])
def test_a_bad_first_line_is_told_and_the_good_ones_still_count(bad, good):
    line, message = BAD_LINES[bad]
    got, problems = read(line + good)
    assert names(got) == ["after"] * good.count(b"\n")
    assert len(problems) == 1
    assert message in problems[0]


def test_bad_lines_in_a_row_are_told_once_and_many_are_counted():
    assert read(BEFORE + b"a\nbb\nccc\n" + AFTER)[1][0].startswith(", lines 2 to 4: not JSON.")
    got, problems = read(BEFORE + b"".join(b"x\n\n" + AFTER for _ in range(250)))
    assert (len(got), len(problems)) == (251, 101)
    assert problems[-1].startswith(": 150 more problems")


def test_a_bad_span_costs_only_itself():
    body = request(GOOD)
    spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[0]["spanId"] = "?"
    got, problems = read(json.dumps(body).encode())
    assert names(got) == ["after"]
    assert problems == [
        ", line 1: a span has no usable span id. The span 'before' is skipped; its id is '?'. Expected 16 hex digits."
    ]


def test_strange_fields_are_empty_and_cost_nothing_else():
    body = request([sdk_span("x")])
    span = body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    good = span["attributes"]
    span |= {
        "name": 7, "kind": [], "status": "?", "events": [1, {}], "links": [{}], "flags": "x", "parentSpanId": "?",
        "startTimeUnixNano": None, "endTimeUnixNano": "soon", "droppedAttributesCount": {},
        "attributes": [1, {"key": []}, {"key": 1, "value": {}}, {"key": "e"}, {"key": "n", "value": {"intValue": "x"}},
                       {"key": "s", "value": {"stringValue": 5}}, {"key": "b", "value": {"bytesValue": "é"}},
                       {"key": "d", "value": {"doubleValue": []}}, {"key": "t", "value": "stringValue"}, *good],
    }  # fmt: skip
    (got,), problems = read(json.dumps(body).encode())
    assert problems == []
    assert (got.name, got.kind.value, got.status.status_code.value, got.parent) == ("", 0, 0, None)
    assert (got.start_time, got.end_time, got.dropped_attributes, got.links) == (None, None, 0, ())
    assert [event.name for event in got.events] == [""]
    empty = dict.fromkeys("ensbdt")
    assert got.attributes == {**empty, "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 12}


@pytest.mark.parametrize("value", ["Infinity", "-Infinity", "NaN", "1e400", "true", "0.5", '"x"', "[]", "{}", "null"])
@pytest.mark.parametrize(
    "field",
    [b'"startTimeUnixNano": "1796056451143723000"', b'"endTimeUnixNano": "1796056451143728000"', b'"flags": 256',
     b'"intValue": "12"', b'"droppedAttributesCount": 3', b'"kind": 1'],
)  # fmt: skip
def test_a_strange_number_costs_only_itself(field, value):
    line = BEFORE.replace(b'"kind": 1', b'"kind": 1, "droppedAttributesCount": 3')
    assert field in line
    (got,), problems = read(line.replace(field, field.partition(b": ")[0] + b": " + value.encode()))
    assert problems == []
    facts_of_any(got)


def test_a_lone_surrogate_is_replaced_and_a_pair_is_kept():
    """JavaScript cuts texts between the halves of a pair; such a text cannot be printed."""
    line = BEFORE.replace(b"before", b"a\\ud83d b\\ud83d\\ude00 c\\\\ud83d")
    assert names(read(line)[0]) == ["a\ufffd b😀 c\\ud83d"]


def test_a_deep_value_is_read_without_recursion():
    deep = b'{"arrayValue":{"values":[' * 50 + b'{"kvlistValue":{"values":[{"key":"k","value":{}}]}}' + b"]}}" * 50
    (got,), problems = read(BEFORE.replace(b'{"stringValue": "chat"}', deep))
    assert problems == []
    value = got.attributes["gen_ai.operation.name"]
    for _ in range(50):
        (value,) = value
    assert value == {"k": None}


def test_other_signals_are_nothing_to_speak_of_beside_traces_and_an_error_alone():
    other = b'{"resourceLogs": []}\n{"resourceMetrics": []}\n'
    assert read(other + BEFORE)[1] == []
    assert read(other)[1] == [
        ": this holds log records and metrics, and no spans. Give the file that the traces pipeline writes."
    ]
    assert "no requests" in read(b"{}\n")[1][0]
    assert read(b'{"resourceSpans": []}\n') == ([], [])


BAD_FILES = {
    "empty": (b"", "empty"),
    "blank": (b" \n\r\n\n", "holds no requests"),
    "UTF-16": (BEFORE.decode().encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": (BEFORE.decode().encode("utf-16-le"), "UTF-16"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(80), "zstd"),
    "zstd frames": (b"\0\0\0\x50\x28\xb5\x2f\xfd" + bytes(80), "zstd"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not a recording"),
    "gzip of gzip": (gzip.compress(gzip.compress(BEFORE)), "compressed twice"),
    "gzip of nothing": (gzip.compress(b""), "empty"),
    "half a gzip header": (gzip.compress(BEFORE)[:5], "cut short"),
    "a web page": (b"<html>\n<body>\n</body>\n</html>\n", "lines 1 to 4: not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD_FILES)
def test_a_file_that_is_no_recording_is_told_once(bad):
    data, message = BAD_FILES[bad]
    got, problems = read(data)
    assert got == []
    assert len(problems) == 1
    assert message in problems[0]


def test_paths_that_cannot_be_read_are_told(tmp_path):
    for path, message in (
        (tmp_path / "none.jsonl", "no such file"),
        (tmp_path, "a directory. Name the recordings in it"),
        (f"{tmp_path}/a\0b", "null byte"),
    ):
        problems = []
        assert list(read_spans(path, problem=problems.append)) == []
        assert message in str(problems[0])
        assert str(path) in str(problems[0])
    with pytest.raises(InputError, match="no such file"):
        list(read_spans(tmp_path / "none.jsonl"))


def test_a_truncated_or_damaged_gzip_gives_the_lines_before():
    many = b"".join(lines([sdk_span(random.Random(n).randbytes(300).hex())]) for n in range(50))
    packed = gzip.compress(many)
    got, problems = read(packed[: len(packed) // 2])
    assert 10 < len(got) < 50
    assert "the gzip data is cut short" in problems[-1]
    got, problems = read(packed[:-6] + b"\0" + packed[-5:])
    assert (len(got), len(problems)) == (50, 1)
    assert "cannot be read" in problems[0]


def test_a_truncated_or_damaged_protobuf_gives_the_messages_before():
    whole_file = frames(GOOD)
    assert names(read(whole_file[:-9])[0]) == ["before"]
    assert read(whole_file[:-9])[1][0].startswith(", message 2: cut short.")
    assert "cut short" in read(whole_file + b"\0\0")[1][0]
    first = whole_file[: 4 + int.from_bytes(whole_file[:4], "big")]
    got, problems = read(first + b"\0\0\0\x05\x0a\xff\xff\xff\xff" + frames([GOOD[1]]))
    assert names(got) == ["before", "after"]
    assert problems[0].startswith(", message 2: not an OTLP trace request.")
    assert "a length of" in read(first + b"\x7f\xff\xff\xff")[1][0]
    unusable = frames([sdk_span("x", 0)])
    assert names(read(first + unusable)[0]) == ["before"]
    assert "a span has no usable ids. The span 'x' is skipped" in read(first + unusable)[1][0]


def test_other_signals_in_protobuf():
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    logs = ExportLogsServiceRequest()
    record = logs.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5, trace_id=b"t" * 16)
    record.body.string_value = "hello"
    metrics = ExportMetricsServiceRequest()
    metric = metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="m", description="d")
    metric.gauge.data_points.add(as_int=1)
    other = b"".join(
        len(body).to_bytes(4, "big") + body for body in (logs.SerializeToString(), metrics.SerializeToString())
    )
    assert read(frames(GOOD) + other)[1] == []
    assert "this holds log records and metrics, and no spans" in read(other)[1][0]


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9])
def test_a_document_that_is_cut_short_tells_where(cut):
    document = json.dumps(request(GOOD), indent=2).encode()
    got, problems = read(document[: int(len(document) * cut)])
    assert got == []
    assert len(problems) == 1
    assert "was the file cut short?" in problems[0]
    listed = FORMS["list of lines"](GOOD)
    got, problems = read(listed[: int(len(listed) / 2 + 20)])
    assert names(got) == ["before"]
    assert len(problems) == 1


def test_what_is_larger_than_the_limit_is_told():
    long = BEFORE.replace(b"before", b"x" * 4_000)
    got, problems = read(BEFORE + long + AFTER, max_item_bytes=3_000)
    assert names(got) == ["before", "after"]
    assert problems[0].startswith(", line 2: longer than 3,000 bytes")
    document = json.dumps(request([sdk_span("x" * 4_000)]), indent=2).encode()
    assert "one JSON document of more than 3,000 bytes" in read(document, max_item_bytes=3_000)[1][0]
    assert "one protobuf message of more than" in read(encode_spans(GOOD).SerializeToString(), max_item_bytes=100)[1][0]


seeds = st.sampled_from(
    [form(GOOD) for name, form in FORMS.items() if not name.endswith(".gz")] + [jaeger(GOOD), gzip.compress(BEFORE)]
)
edits = st.tuples(
    st.floats(0, 1),
    st.integers(0, 40),
    st.binary(max_size=8) | st.sampled_from([b"{", b"]", b'"', b"null", b"\n", b"[" * 300]),
)


@given(seeds, st.lists(edits, min_size=1, max_size=6))
@example(b"\n[\n", [(1.0, 0, b"")])
def test_mutations_never_raise_anything_but_reported_errors(data, edits):
    for place, length, instead in edits:
        at = int(place * len(data))
        data = data[:at] + instead + data[at + length :]
    for span in read(data)[0]:
        facts_of_any(span)


def facts_of_any(span):
    """What a convention may touch has its type, whatever the file says."""
    assert span.context.trace_id > 0
    assert span.context.span_id > 0
    assert all(type(key) is str for key in span.attributes)
    assert all(type(event.name) is str and type(event.timestamp) is int for event in span.events)
    assert all(link.context.span_id > 0 for link in span.links)
    assert {type(time) for time in (span.start_time, span.end_time)} <= {int, type(None)}
    assert isinstance(span.name, str)
    assert isinstance(span.status.status_code.value + span.kind.value + span.dropped_attributes, int)


@given(st.data())
def test_json_of_any_shape_never_raises_anything_but_reported_errors(data):
    """Replaces one value anywhere in a good request by another, so that the text stays JSON."""
    body = request(list(rich_spans()))
    places = []
    todo = [body]
    while todo:
        holder = todo.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            places.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                todo.append(holder[key])
    atoms = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    junk = st.recursive(atoms, lambda j: st.lists(j) | st.dictionaries(st.text(), j), max_leaves=3)
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(junk | st.sampled_from([holder[key], [holder[key]], str(START), -1, 1e300]))
    for span in read(json.dumps(body).encode())[0]:
        facts_of_any(span)
