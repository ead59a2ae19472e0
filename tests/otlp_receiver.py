"""An OTLP/HTTP receiver on loopback, which keeps what it is sent."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}


def said(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


class Receiver:
    """Takes all three signals, but those of the paths that ``refuses`` names."""

    def __init__(self) -> None:
        self.refuses: set[str] = set()
        self.requests: list[tuple[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def of(self, path: str) -> list[Any]:
        return [request for each, request in self.requests if each == path]

    @property
    def spans(self) -> list[Any]:
        scopes = [
            each for request in self.of("/v1/traces") for group in request.resource_spans for each in group.scope_spans
        ]
        return [span for each in scopes for span in each.spans]

    @property
    def events(self) -> list[Any]:
        scopes = [
            each for request in self.of("/v1/logs") for group in request.resource_logs for each in group.scope_logs
        ]
        return [record for each in scopes for record in each.log_records]

    @property
    def metrics(self) -> dict[str, list[Any]]:
        """The data points by the metric's name; counters that no mark has moved are left out."""
        found: dict[str, list[Any]] = {}
        for request in self.of("/v1/metrics"):
            for group in request.resource_metrics:
                for metric in (metric for each in group.scope_metrics for metric in each.metrics):
                    points = getattr(metric, metric.WhichOneof("data")).data_points
                    moved = [each for each in points if getattr(each, "as_int", 1) or getattr(each, "as_double", 0)]
                    found.setdefault(metric.name, []).extend(moved)
        return {name: points for name, points in found.items() if points}

    def _handler(receiver) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.headers.get("content-encoding") == "gzip":  # as the Collector sends
                    body = gzip.decompress(body)
                # Products have paths of their own before it.
                path = "/" + "/".join(self.path.split("/")[-2:])
                refused = path in receiver.refuses or path not in REQUESTS
                if not refused:
                    receiver.requests.append((path, REQUESTS[path].FromString(body)))
                self.send_response(400 if refused else 200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Not on standard error."""

        return Handler
