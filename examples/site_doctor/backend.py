"""A backend for OTLP over HTTP, on a free port of this machine: it decodes and keeps what exporters send to it."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

Value = str | bool | int | float | None


class Request(NamedTuple):
    """One export, as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Span:
    """A span as it was received."""

    name: str
    scope: str
    trace_id: str
    span_id: str
    parent_id: str
    start: int
    failed: str | None
    attributes: Mapping[str, Value]


@dataclass(frozen=True)
class Event:
    """A log record that has an event name."""

    name: str
    trace_id: str
    span_id: str
    attributes: Mapping[str, Value]


@dataclass(frozen=True)
class Point:
    """The newest value of one series of a metric; a histogram's is its sum, with its count."""

    metric: str
    attributes: Mapping[str, Value]
    value: float
    count: int | None
    exemplars: tuple[str, ...]


class Backend:
    """What was received, decoded."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    @contextmanager
    def listening(self) -> Generator[str]:
        """Receives for a while. Gives the address that exporters send to, without the path of a signal."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self.requests))
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def bodies(self, signal: str) -> list[bytes]:
        """What came for a signal: `traces`, `logs` or `metrics`."""
        return [request.body for request in self.requests if request.path == f"/v1/{signal}"]

    def spans(self) -> list[Span]:
        """All spans, in the order in which they started."""
        found = [
            Span(
                name=span.name,
                scope=scoped.scope.name,
                trace_id=span.trace_id.hex(),
                span_id=span.span_id.hex(),
                parent_id=span.parent_span_id.hex(),
                start=span.start_time_unix_nano,
                failed=span.status.message if span.status.code == span.status.STATUS_CODE_ERROR else None,
                attributes=_plain(span.attributes),
            )
            for body in self.bodies("traces")
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scoped in resource.scope_spans
            for span in scoped.spans
        ]
        return sorted(found, key=lambda span: span.start)

    def events(self) -> list[Event]:
        """All events, in the order in which they came."""
        return [
            Event(record.event_name, record.trace_id.hex(), record.span_id.hex(), _plain(record.attributes))
            for body in self.bodies("logs")
            for resource in ExportLogsServiceRequest.FromString(body).resource_logs
            for scoped in resource.scope_logs
            for record in scoped.log_records
        ]

    def points(self) -> list[Point]:
        """Every series of every metric.

        Values are sums since the start, so the last one sent counts; exemplars are those since the export before.
        """
        newest: dict[object, Point] = {}
        for body in self.bodies("metrics"):
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scoped in resource.scope_metrics:
                    for point in _points(scoped.metrics):
                        key = point.metric, tuple(sorted(point.attributes.items()))
                        before = newest[key].exemplars if key in newest else ()
                        newest[key] = replace(point, exemplars=before + point.exemplars)
        return list(newest.values())


def _points(metrics: Iterable[Any]) -> Iterator[Point]:
    for metric in metrics:
        for point in (*metric.sum.data_points, *metric.histogram.data_points):
            histogram = metric.HasField("histogram")
            yield Point(
                metric=metric.name,
                attributes=_plain(point.attributes),
                value=point.sum if histogram else point.as_int or point.as_double,
                count=point.count if histogram else None,
                exemplars=tuple(exemplar.trace_id.hex() for exemplar in point.exemplars),
            )


def _plain(attributes: Iterable[KeyValue]) -> dict[str, Value]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: AnyValue) -> Value:
    kind = value.WhichOneof("value")
    found: Value = getattr(value, kind) if kind in {"string_value", "bool_value", "int_value", "double_value"} else None
    return found


def _handler(requests: list[Request]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            requests.append(Request(self.path, dict(self.headers.items()), body))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")  # an empty answer: all was taken
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the page tells what came."""
            del format, args

    return Handler
