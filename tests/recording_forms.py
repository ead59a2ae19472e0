"""Writes real SDK spans in every form that recordings have, with the real OTLP encoder, and compares what is read."""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
import re

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode

from otel_chloe.errors import InputError
from otel_chloe.recording import read_spans

START = 1_796_056_451_143_723_000
RESOURCE = Resource({"service.name": "shop", "process.pid": 7})
SCOPE = InstrumentationScope("maker", "1.2")


TRACE = 0xABCDEF << 100 | 1


def context(span_id=2, trace_id=TRACE, *, is_remote=False):
    return SpanContext(trace_id, span_id, is_remote)


def sdk_span(name="chat", span_id=2, **given):
    """One ended span as the SDK hands it to an exporter."""
    given = {
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 12},
        "resource": RESOURCE,
        "instrumentation_scope": SCOPE,
        "start_time": START,
        "end_time": START + 5_000,
        **given,
    }
    return ReadableSpan(name, context=context(span_id), **given)


def rich_spans():
    """Spans that use every field a convention may ask for."""
    yield sdk_span(
        "invoke_agent shop",
        attributes={
            "text": "Grüße 😀",
            "yes": True,
            "no": False,
            "count": -3,
            "share": 0.5,
            "names": ["a", "b"],
            "n": [1],
        },
        kind=SpanKind.SERVER,
        status=Status(StatusCode.OK),
    )
    yield sdk_span(
        "execute_tool check",
        3,
        parent=context(2, is_remote=True),
        kind=SpanKind.CLIENT,
        status=Status(StatusCode.ERROR, "it broke"),
        events=[Event("exception", {"exception.type": "E", "n": 1}, timestamp=START + 1_000)],
        links=[Link(context(9, 8))],
        instrumentation_scope=InstrumentationScope("other"),
    )


def request(spans):
    """An ExportTraceServiceRequest as OTLP/JSON: hex ids, camelCase, 64-bit integers as strings."""
    body = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    _hex_ids(body)
    return body


def _hex_ids(body):
    todo = [body]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            for key in ("traceId", "spanId", "parentSpanId"):
                if key in value:
                    value[key] = base64.b64decode(value[key]).hex()
            todo.extend(value.values())
        elif isinstance(value, list):
            todo.extend(value)


def lines(spans):
    return "".join(json.dumps(request([span])) + "\n" for span in spans).encode()


def frames(spans):
    bodies = [encode_spans([span]).SerializeToString() for span in spans]
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def snake_case(spans):
    """What MessageToJson keeps of the proto's own spelling: snake_case, base64 ids, names of enums."""
    return json.dumps(MessageToDict(encode_spans(spans), preserving_proto_field_name=True)).encode()


def tempo(spans):
    """Tempo's API v1: base64 ids, names of enums, ``batches``, and the scopes' old name."""
    batches = MessageToDict(encode_spans(spans))["resourceSpans"]
    for batch in batches:
        batch["instrumentationLibrarySpans"] = [
            {"instrumentationLibrary": scoped["scope"], "spans": scoped["spans"]} for scoped in batch.pop("scopeSpans")
        ]
    return json.dumps({"batches": batches}).encode()


FORMS = {
    "lines": lines,
    "lines with a BOM, CRLF and blank lines": lambda s: b"\xef\xbb\xbf\r\n" + lines(s).replace(b"\n", b"\r\n\r\n"),
    "one line": lambda s: json.dumps(request(s)).encode(),
    "upper-case ids": lambda s: re.sub(rb'Id": "([0-9a-f]+)"', lambda m: m[0].replace(m[1], m[1].upper()), lines(s)),
    "document": lambda s: json.dumps(request(s), indent=2, ensure_ascii=False).encode(),
    "document after a blank line": lambda s: b"\n" + json.dumps(request(s), indent=2).encode(),
    "documents": lambda s: b"\n".join(json.dumps(request([x]), indent=2, ensure_ascii=False).encode() for x in s),
    "list": lambda s: json.dumps([request([x]) for x in s], indent=1).encode(),
    "list of lines": lambda s: b"[\n" + b",\n".join(json.dumps(request([x])).encode() for x in s) + b"\n]\n",
    "frames": frames,
    "message": lambda s: encode_spans(s).SerializeToString(),
    "snake_case": snake_case,
    "tempo": tempo,
    "tempo v2": lambda s: json.dumps({"trace": MessageToDict(encode_spans(s))}).encode(),
    "jaeger v3": lambda s: json.dumps({"result": request(s)}).encode(),
    "lines.gz": lambda s: gzip.compress(lines(s)),
    "frames.gz": lambda s: gzip.compress(frames(s)),
    "message.gz": lambda s: gzip.compress(encode_spans(s).SerializeToString()),
    "document.gz": lambda s: gzip.compress(json.dumps(request(s), indent=2).encode()),
}


def jaeger(spans):
    """Jaeger's export, as the Collector's translator and Jaeger's query service write it."""
    processes, written = {}, []
    for span in spans:
        tags = dict(span.resource.attributes)
        process = {"serviceName": tags.pop("service.name"), "tags": _tags(tags)}
        name = next((n for n, p in processes.items() if p == process), f"p{len(processes) + 1}")
        processes[name] = process
        written.append(_jaeger_span(span, name))
    return json.dumps({"data": [{"traceID": "1", "spans": written, "processes": processes, "warnings": None}]}).encode()


def _jaeger_span(span, process):
    tags = {"otel.scope.name": span.instrumentation_scope.name, **span.attributes, "span.kind": span.kind.name.lower()}
    if span.instrumentation_scope.version:
        tags["otel.scope.version"] = span.instrumentation_scope.version
    if span.status.status_code is not StatusCode.UNSET:
        tags["otel.status_code"] = span.status.status_code.name
    if span.status.status_code is StatusCode.ERROR:
        tags |= {"error": True, "otel.status_description": span.status.description}
    references = [("CHILD_OF", span.parent)] if span.parent else []
    references += [("FOLLOWS_FROM", link.context) for link in span.links]
    return {
        **_jaeger_ids(span.context),
        "operationName": span.name,
        "references": [{"refType": kind, **_jaeger_ids(target)} for kind, target in references],
        "startTime": span.start_time // 1000,
        "duration": (span.end_time - span.start_time) // 1000,
        "tags": _tags(tags),
        "logs": [
            {"timestamp": e.timestamp // 1000, "fields": _tags({"event": e.name, **e.attributes})} for e in span.events
        ],
        "processID": process,
    }


def _jaeger_ids(target):
    return {"traceID": f"{target.trace_id:032x}", "spanID": f"{target.span_id:016x}"}


def _tags(attributes):
    kinds = {str: "string", bool: "bool", int: "int64", float: "float64", bytes: "binary"}
    return [
        {"key": key, "type": kinds.get(type(value), "string"), "value": _tag_value(value)}
        for key, value in attributes.items()
    ]


def _tag_value(value):
    if isinstance(value, (list, tuple)):
        return json.dumps(list(value))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 53:
        return str(value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


GOOD = [sdk_span("before"), sdk_span("after", 3)]
BEFORE, AFTER = lines(GOOD).splitlines(keepends=True)


def read(data, **limits):
    """Read bytes as a file: the spans, and the problems as texts without the file's name."""
    problems = []
    spans = list(read_spans(io.BytesIO(data), problem=problems.append, **limits))
    assert all(type(problem) is InputError for problem in problems)
    return spans, [str(problem).removeprefix("standard input") for problem in problems]


def names(spans):
    return [span.name for span in spans]


def plain(value):
    """Compare values as OTLP can tell them apart: sequences are lists, and NaN equals itself."""
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if hasattr(value, "items"):
        return {key: plain(element) for key, element in value.items()}
    return (type(value).__name__, value)


def ids(context):
    return context and (context.trace_id, context.span_id, context.is_remote)


def facts(span):
    """Every field of SpanLike."""
    return {
        "name": span.name,
        "context": ids(span.context),
        "parent": ids(span.parent),
        "times": (span.start_time, span.end_time),
        "attributes": plain(span.attributes),
        "events": [(e.name, e.timestamp, plain(e.attributes)) for e in span.events],
        "links": [(ids(link.context), plain(link.attributes or {})) for link in span.links],
        "status": (span.status.status_code.value, span.status.status_code.name, span.status.description),
        "kind": (span.kind.value, span.kind.name),
        "scope": (span.instrumentation_scope.name, span.instrumentation_scope.version or None),
        "resource": plain(span.resource.attributes),
        "dropped": span.dropped_attributes,
    }
