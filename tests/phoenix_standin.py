"""A server on loopback that speaks Phoenix's REST API of annotations, and can be down, slow and strict."""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any

DEADLINE_S = 20.0
KINDS = {"CODE", "LLM", "HUMAN"}
FIELDS = {"span_id", "name", "annotator_kind", "result", "metadata", "identifier"}
RESULTS = {"score": (int, float), "label": str, "explanation": str}


def mistake(annotation: dict[str, Any]) -> bool:
    """Whether Phoenix would answer 422."""
    result = annotation.get("result") or {}
    return not (
        set(annotation) <= FIELDS
        and all(isinstance(annotation.get(key), str) for key in ("span_id", "name", "identifier"))
        and annotation.get("annotator_kind") in KINDS
        and all(key in RESULTS and isinstance(value, RESULTS[key]) for key, value in result.items())
        and isinstance(annotation.get("metadata", {}), dict)
    )


class StandIn:
    """Keeps one annotation for each name, identifier and span, as Phoenix does.

    ``answers`` are codes that the next requests get, whatever they say; 0 takes what was sent and hangs up.
    ``spans`` are those that are there; None for all. Of others it says 404, as Phoenix does where it is to answer at
    once.
    """

    def __init__(self) -> None:
        self.answers: deque[int] = deque()
        self.spans: set[str] | None = None
        self.kept: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.requests: list[tuple[int, list[dict[str, Any]], dict[str, str]]] = []
        self.open = threading.Event()
        self.open.set()
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()

    def wait(self, what) -> None:
        """Waits until ``what()`` is true after a request, and fails where it takes too long."""
        until = monotonic() + DEADLINE_S
        with self._changed:
            assert self._changed.wait_for(what, until - monotonic()), (self.requests, self.kept)

    @property
    def results(self) -> list[tuple[str, dict[str, Any]]]:
        return [(each["name"], each["result"]) for each in self.kept.values()]

    def _take(self, path: str, annotations: list[dict[str, Any]]) -> int:
        if path != "/v1/span_annotations":
            return 405
        if self.answers and (code := self.answers.popleft()):
            return code
        if any(each["name"] == "note" for each in annotations):
            return 400
        if any(map(mistake, annotations)):
            return 422
        if self.spans is not None and any(each["span_id"] not in self.spans for each in annotations):
            return 404
        for each in annotations:
            self.kept[each["name"], each["identifier"], each["span_id"]] = each
        return 200

    def _handler(standin) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = json.loads(self.rfile.read(int(self.headers["content-length"])))["data"]
                standin.open.wait(DEADLINE_S)
                with standin._changed:
                    hangs_up = bool(standin.answers) and standin.answers[0] == 0
                    code = standin._take(self.path, data)
                    standin.requests.append((code, data, dict(self.headers)))
                    standin._changed.notify_all()
                if hangs_up:
                    return
                self.send_response(code)
                if 300 <= code < 400:
                    self.send_header("location", standin.url)
                self.end_headers()
                self.wfile.write(b'{"data": []}' if code == 200 else b"said no")

            def log_message(self, *_: object) -> None:
                """Not on standard error."""

        return Handler
