"""Lines of which only the spans differ are parsed by their spans: it gives what parsing all of each line gives."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording_forms import AFTER, BEFORE
from small_recordings import model, tool

from otel_chloe.recording import read_spans
from otel_chloe.recording.envelope import Envelopes
from otel_chloe.recording.json_text import NotJsonError, parsed


def request(spans, /, *, service="shop", **more):
    """A line with these spans, told as JSON text."""
    attribute = json.dumps({"key": "service.name", "value": {"stringValue": service}}, ensure_ascii=False)
    rest = "".join(f', "{key}": {value}' for key, value in more.items())
    group = f'{{"resource": {{"attributes": [{attribute}]}}, "scopeSpans": [{{"spans": {spans}{rest}}}]}}'
    return f'{{"resourceSpans": [{group}]}}\n'.encode()


def outcome(parse, line):
    """The value of a line, or what is said to be wrong with it."""
    try:
        return json.loads(json.dumps(parse(line)))
    except NotJsonError as error:
        return str(error)


SPANS = st.sampled_from(
    ["[]", "[{}]", '[{"name": "é"}]', "null", "3", "[1", "[] ", '[], "spans": [4]', '[]}, {"spans": []', "", "[NaN]"]
)
LINES = st.one_of(
    st.builds(request, SPANS, service=st.sampled_from(["shop", "é", '"spans": []', "spans"])),
    st.builds(request, SPANS, spans=st.sampled_from(["[5]", "null"])),
    st.builds(request, SPANS, schemaUrl=st.just('"https://opentelemetry.io"')),
    st.sampled_from([model(1, 1), tool(1, 2)]).map(str.encode),
    st.sampled_from(
        [
            b'{"resourceSpans": [{"resource": {"spans": [1]}, "scopeSpans": [{"spans": null}]}]}\n',
            b'{"resourceSpans": [{"resource": {"spans": [2]}, "scopeSpans": [{"spans": null}]}]}\n',
            b'{"resourceSpans": [{"scopeSpans": [{"spans": [1]}]}, {"scopeSpans": [{"spans": [2]}]}]}\n',
            b'{"resourceSpans": [{"scopeSpans": [{"spans": ',
            b"]}]}]}\n",
            b'{"spans": []}\n',
            b'"spans": []\n',
            b"\xff\n",
            b"\n",
        ]
    ),
)


@given(st.lists(LINES, max_size=8))
def test_every_line_is_read_as_if_it_stood_alone(lines):
    envelopes = Envelopes()

    assert [outcome(envelopes.parsed, line) for line in lines] == [outcome(parsed, line) for line in lines]


def test_a_line_that_repeats_the_last_ones_envelope_shares_it():
    envelopes = Envelopes()
    first, second, third = (
        envelopes.parsed(request(spans)) for spans in ("[]", '[{"name": "chat"}]', '[{"name": "tool"}]')
    )

    assert second is third
    assert second is not first
    assert third["resourceSpans"][0]["scopeSpans"][0]["spans"] == [{"name": "tool"}]


def test_what_is_wrong_is_told_of_the_whole_line():
    envelopes = Envelopes()
    envelopes.parsed(request("[]"))

    with pytest.raises(NotJsonError, match=r"column 1[0-9][0-9]"):
        envelopes.parsed(request("[{]"))


def told(lines):
    """The spans of a recording, and what is said to be wrong with it."""
    problems = []
    spans = list(read_spans(io.BytesIO(b"".join(lines)), problem=lambda error: problems.append(str(error))))
    return [(span.name, span.context, span.attributes) for span in spans], problems


READABLE = st.sampled_from([BEFORE, AFTER, BEFORE.replace(b'"name": "before"', b'"name": 3'), BEFORE[:-9] + b"\n"])


@given(st.lists(st.one_of(LINES, READABLE, READABLE), max_size=12), st.integers(1, 4_000))
def test_lines_are_read_together_as_if_each_stood_alone(lines, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("otel_chloe.recording.lines._TOGETHER", 1)
        alone = told(lines)
        patch.setattr("otel_chloe.recording.lines._TOGETHER", size)

        assert told(lines) == alone
