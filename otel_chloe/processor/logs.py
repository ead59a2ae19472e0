"""Content that is sent as log records: handed to the run of the span that they name, on the application's threads."""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Any, Final

from opentelemetry.sdk._logs import LogRecordProcessor

from otel_chloe.assembly import RunAssembler
from otel_chloe.conventions.logs import CONTENT_EVENTS, EVENT_NAME, weight
from otel_chloe.part import LogEvent

LOGS_LATE: Final = "logs_late"
"""Records whose run was closed, or that name no span of one."""
LOGS_DROPPED: Final = "logs_dropped"
"""Records over the limits on a run."""
MOST_TREES: Final = 8
"""Roots of one trace among which a record of a span that has ended is looked for."""


class ContentLogs(LogRecordProcessor):
    """Reads prompts and answers that instrumentations send as log records, and nothing else of any record.

    Made by :meth:`otel_chloe.ScoringSpanProcessor.log_records`. It exports nothing, and takes no lock.
    """

    def __init__(
        self, assembler: RunAssembler, count: Callable[[str, int], None], failed: Callable[[str, Exception], None]
    ) -> None:
        self._assembler = assembler
        self._count = count
        self._failed = failed

    def on_emit(self, log_record: Any) -> None:
        """Take a record. It is a LogData or a ReadWriteLogRecord, as the SDK's version has it: both hold the record."""
        try:
            record = log_record.log_record
            attributes = record.attributes
            # The mapping within: the SDK's own takes a lock for each look.
            attributes = getattr(attributes, "_dict", attributes)
            name = getattr(record, "event_name", None) or (attributes.get(EVENT_NAME) if attributes else None)
            if name.__class__ is str and name in CONTENT_EVENTS:
                self._take(name, record, attributes)
        except Exception as error:  # noqa: BLE001 - a guard: whoever logs goes on, whatever scoring does
            self._failed("on_emit", error)

    def _take(self, name: str, record: Any, attributes: Any) -> None:
        span_id = record.span_id
        assembler = self._assembler
        tree = assembler.tree_of.get(span_id) if span_id else None
        trees = (tree,) if tree is not None else assembler.traces.of(record.trace_id)[:MOST_TREES] if span_id else ()
        log = LogEvent(name, record.timestamp or record.observed_timestamp or time_ns(), record.body, attributes)
        size = weight(record.body, attributes)
        late = True
        for each in trees:
            if each.closed:
                continue
            late = False
            full = each.bytes + size > assembler.limits.max_bytes or len(each.logs) >= assembler.limits.max_spans
            if full:
                self._count(LOGS_DROPPED, 1)
                continue
            each.logs.append((span_id, log))
            each.bytes += size
        if late:
            self._count(LOGS_LATE, 1)

    def shutdown(self) -> None:
        """Nothing is held here."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing is held here."""
        del timeout_millis
        return True
