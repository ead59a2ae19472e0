"""Recordings: what the SDK exported is what is read, in every form, and in flat memory."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import Event
from opentelemetry.trace import Link, SpanKind, Status, StatusCode
from recording_forms import (
    FORMS,
    GOOD,
    context,
    facts,
    frames,
    jaeger,
    lines,
    names,
    read,
    rich_spans,
    sdk_span,
)

from otel_chloe.recording import read_spans


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_what_the_sdk_exported(form):
    spans = list(rich_spans())
    got, problems = read(FORMS[form](spans))
    assert problems == []
    assert [facts(span) for span in got] == [facts(span) for span in spans]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_jaeger_gives_back_what_it_kept_as_tags(pack):
    """Jaeger keeps arrays as text and no attributes of links, and does not know what is remote."""
    spans = list(rich_spans())
    got, problems = read(pack(jaeger(spans)))
    assert problems == []
    for span, original in zip(got, spans, strict=True):
        expected = facts(original)
        if original.parent:
            expected["parent"] = (*expected["parent"][:2], False)
        for key, value in original.attributes.items():
            if isinstance(value, (list, tuple)):
                expected["attributes"][key] = ("str", json.dumps(list(value)))
        assert facts(span) == expected


def test_jaeger_by_opentracing_clients():
    """Short ids, the parent beside the references, an error tag alone, and int64 as strings."""
    span = {
        "traceID": "1f", "spanID": "2", "parentSpanID": "3", "operationName": "x", "startTime": 5, "duration": 2,
        "tags": [{"key": "error", "type": "bool", "value": True}, {"key": "n", "type": "int64", "value": f"{2**53}"}],
        "process": {"serviceName": "OTLPResourceNoServiceName", "tags": []},
    }  # fmt: skip
    (got,), problems = read(json.dumps({"data": [{"spans": [span]}]}).encode())
    assert problems == []
    assert (got.context.trace_id, got.parent.span_id, got.end_time) == (0x1F, 3, 7_000)
    assert (got.status.status_code.value, got.attributes, got.resource.attributes) == (2, {"n": 2**53}, {})


whole = st.integers(-(1 << 63), (1 << 63) - 1)
scalars = st.text() | st.booleans() | whole | st.floats() | st.binary()
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3), max_leaves=5
)
attributes = st.dictionaries(st.text(), values, max_size=5)
moments = st.integers(1, (1 << 63) - 1)
contexts = st.builds(context, st.integers(1, (1 << 64) - 1), is_remote=st.booleans())
sdk_spans = st.builds(
    sdk_span,
    st.text(),
    st.integers(1, (1 << 64) - 1),
    parent=st.none() | contexts,
    attributes=attributes,
    events=st.lists(st.builds(Event, st.text(), attributes, moments), max_size=3),
    links=st.lists(st.builds(Link, contexts), max_size=2),
    kind=st.sampled_from(SpanKind),
    status=st.sampled_from([Status(), Status(StatusCode.OK)])
    | st.builds(Status, st.just(StatusCode.ERROR), st.none() | st.text(min_size=1)),
    start_time=moments,
    end_time=moments,
)  # fmt: skip


@given(st.lists(sdk_spans, min_size=1, max_size=3), st.sampled_from([form for form in FORMS if "upper" not in form]))
def test_any_span_reads_as_the_sdk_made_it(spans, form):
    got, problems = read(FORMS[form](spans))
    assert problems == []
    key = json.dumps  # a request groups spans by scope: the order may change
    assert sorted(key(facts(s), default=repr) for s in got) == sorted(key(facts(s), default=repr) for s in spans)


@pytest.mark.parametrize("write", [lines, frames], ids=["lines", "frames"])
def test_memory_does_not_grow_with_the_file(write, tmp_path):
    item = write([sdk_span("x" * 1_000)])

    def peak(count):
        path = tmp_path / "recording"
        path.write_bytes(item * count)
        tracemalloc.start()
        assert sum(1 for _ in read_spans(path)) == count
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(10)  # imports and caches
    assert peak(5_000) < peak(500) + 100_000


def test_a_pipe_that_gives_one_byte_at_a_time():
    reader, writer = os.pipe()
    data = gzip.compress(lines(GOOD))

    def write():
        with os.fdopen(writer, "wb", buffering=0) as pipe:
            pipe.writelines(data[n : n + 1] for n in range(len(data)))

    thread = threading.Thread(target=write)
    thread.start()
    with os.fdopen(reader, "rb") as pipe:
        assert names(read_spans(pipe)) == ["before", "after"]
    thread.join()


def test_standard_input():
    code = "from otel_chloe.recording import read_spans; print([s.name for s in read_spans('-')])"
    done = subprocess.run([sys.executable, "-c", code], input=lines(GOOD), capture_output=True, check=True)
    assert done.stdout.strip() == b"['before', 'after']"
