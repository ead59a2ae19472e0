"""Records what a program's spans say, in the form of the recordings in ``tests/spans``.

    with recorded(Path("tests/spans/NAME/CASE"), provider):
        run_the_agent()

writes ``CASE.otlp.jsonl`` (one span a line, in the order in which they ended) and ``CASE.events.jsonl`` (starts and
ends in their order, with what each span said at its start).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from recording_forms import request


class Recorder(SpanProcessor):
    """Writes down every span that starts and ends."""

    def __init__(self, spans: IO[str], events: IO[str]) -> None:
        self._spans, self._events = spans, events

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        context, scope = span.context, span.instrumentation_scope
        self._event(
            event="start",
            trace_id=f"{context.trace_id:032x}",
            span_id=f"{context.span_id:016x}",
            parent_id=f"{span.parent.span_id:016x}" if span.parent is not None else None,
            name=span.name,
            scope=scope.name if scope is not None else "",
            attributes=dict(span.attributes or {}),
        )

    def on_end(self, span: ReadableSpan) -> None:
        self._event(event="end", span_id=f"{span.context.span_id:016x}", name=span.name)
        if not self._spans.closed:
            self._spans.write(json.dumps(request([span])) + "\n")

    def _event(self, **said: Any) -> None:
        if not self._events.closed:
            known = {key: value for key, value in said.items() if value is not None}
            self._events.write(json.dumps(known, default=str) + "\n")


@contextmanager
def recorded(case: Path, provider: TracerProvider) -> Iterator[None]:
    """Record the spans that a provider makes meanwhile. The files' folder is made."""
    case.parent.mkdir(parents=True, exist_ok=True)
    spans, events = (case.with_name(f"{case.name}.{what}.jsonl") for what in ("otlp", "events"))
    with spans.open("w", encoding="utf-8") as told, events.open("w", encoding="utf-8") as order:
        provider.add_span_processor(Recorder(told, order))
        yield
