"""Usual spans of a recording are read as parts at once: the same parts that their whole spans would give."""

from __future__ import annotations

import dataclasses
import io
import json

from hypothesis import example, given
from hypothesis import strategies as st
from small_recordings import agent, asking, model, simple_run, span, tool

from otel_chloe.conventions import FINISH, READ_OF_USUAL, read
from otel_chloe.recording import read_spans
from otel_chloe.recording.read import read_parts

LINES = (agent(1, 1), tool(1, 2, 1), model(1, 3, 1), asking(1, 4, 1, tool_id="call_2"))

OF_SPANS = {
    "status": [{}, {"code": 2, "message": "no"}, {"code": "STATUS_CODE_OK"}, None, 3],
    "flags": [256, 768, "768", None],
    "parentSpanId": ["", "00000000000000aa", "aa", None],
    "droppedAttributesCount": [1, "2", None],
    "events": [[], [{"name": "exception", "timeUnixNano": "5", "attributes": []}], None],
    "links": [[], [{"traceId": "1" * 32, "spanId": "2" * 16}], None],
    "name": ["execute_tool other", "", None, 4],
    "traceId": ["", "f" * 32, "F" * 32],
    "startTimeUnixNano": [5, "0", None],
    "kind": [3, "SPAN_KIND_CLIENT"],
}
OF_ATTRIBUTES = {
    "gen_ai.operation.name": ["chat", "execute_tool", "invoke_agent", "embeddings", ""],
    "gen_ai.agent.name": ["other", "agent", ""],
    "agent.name": ["a"],
    "gen_ai.conversation.id": ["talk", ""],
    "session.id": ["talk"],
    "tool.id": ["t"],
    "gen_ai.tool.name": ["", "mcp__sites__check", "finish"],
    "openinference.span.kind": ["TOOL"],
    "error.type": ["ValueError"],
}
VALUES = [
    None,
    {},
    {"stringValue": None},
    {"intValue": "7"},
    {"string_value": "seven"},
    {"arrayValue": {"values": [{"stringValue": "stop"}, {"stringValue": "tool_calls"}]}},
    {"arrayValue": {"values": [{"stringValue": "stop"}, {"intValue": "1"}, {}]}},
    {"arrayValue": {}},
]


@st.composite
def lines(draw):
    """A line with one span, changed in a place or two, mostly in a way that recordings are."""
    request = json.loads(draw(st.sampled_from(LINES)))
    group = request["resourceSpans"][0]["scopeSpans"][0]
    found = group["spans"][0]
    for key in draw(st.lists(st.sampled_from(sorted(OF_SPANS)), max_size=2)):
        found[key] = draw(st.sampled_from(OF_SPANS[key]))
    for key in draw(st.lists(st.sampled_from([*OF_ATTRIBUTES, FINISH]), max_size=3)):
        texts = [{"stringValue": text} for text in OF_ATTRIBUTES.get(key, [])]
        found["attributes"].append({"key": key, "value": draw(st.sampled_from(texts + VALUES))})
    group["scope"] = draw(st.sampled_from([{"name": "test"}, {"name": "fastmcp"}, {"name": "my.dspy"}, {}, None]))
    return json.dumps(request)


def parts_at_once(text):
    return list(read_parts(io.BytesIO(text.encode()), problem=lambda _: None))


def parts_of_whole_spans(text):
    spans = read_spans(io.BytesIO(text.encode()), problem=lambda _: None)
    return [part for part in map(read, spans) if part is not None]


def told(part):
    """All that a part says; of a usual one's attributes those that its reader reads."""
    values = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    del values["size"], values["resource"], values["events"]
    if part.usual:
        values["raw"] = {key: part.raw.get(key) for key in (*READ_OF_USUAL.get(part.kind, ()), FINISH)}
    return values | {"service": part.resource.attributes, "events": len(part.events)}


def facts(part):
    say = {
        "tool": part.reader.tool,
        "other": part.reader.tool,
        "model": part.reader.model,
        "agent": part.reader.agent,
    }.get(part.kind)
    return say(part) if say is not None else None


@given(lines())
@example(span("chat m", 1, 1))
def test_a_part_that_is_read_at_once_says_what_the_whole_span_says(line):
    found, expected = parts_at_once(line), parts_of_whole_spans(line)

    assert list(map(told, found)) == list(map(told, expected))
    assert list(map(facts, found)) == list(map(facts, expected))


def test_the_usual_spans_are_read_at_once():
    (part,) = parts_at_once(tool(1, 2, 1, other="unread"))

    assert part.usual
    assert "other" not in part.raw


def test_what_a_part_takes_grows_with_its_texts():
    short, long = parts_at_once("\n".join([model(1, 1), model(1, 2, output="é" * 10_000)]))

    assert 500 < short.size < 5_000
    assert long.size > 10_000 + short.size


def test_a_recording_of_several_runs_is_read_line_by_line():
    text = "\n".join([*simple_run(1), *simple_run(2)])

    assert list(map(told, parts_at_once(text))) == list(map(told, parts_of_whole_spans(text)))
