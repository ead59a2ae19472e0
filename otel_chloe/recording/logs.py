"""Log records with content, beside or among the spans of a recording: held until the run of their span is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from ..conventions.logs import CONTENT_EVENTS, EVENT_NAME, weight
from ..errors import InputError
from ..part import LogEvent, Part, tell
from .json_text import NotJsonError, parsed
from .problems import Problems
from .read import MAX_ITEM_BYTES
from .source import READ_ERRORS, NotARecordingError, opened
from .values import any_value, as_list, as_object, attributes_of, identifier, nanoseconds, objects_in

LOG_BUDGET: Final = 32 << 20
"""Characters of log records that are held. Over it, the oldest are let go of."""
AHEAD_NS: Final = 60 * 1_000_000_000
"""How far ahead of the spans the log records beside them are read."""
SPANS, LOGS = ".otlp.", ".logs."


class HeldLogs:
    """The content events of log records, by the span that they name. ``dropped`` counts what went over the budget."""

    def __init__(self, budget: int = LOG_BUDGET) -> None:
        self.dropped = 0
        self._budget = budget
        self._size = 0
        self._held: dict[tuple[int, int], list[LogEvent]] = {}
        self._beside: list[_Beside] = []

    def beside(self, spans: str, problem: Callable[[InputError], None] | None) -> None:
        """Read with the spans what stands beside their file, if it does."""
        path = log_file(spans)
        if path is not None:
            self._beside.append(_Beside(path, problem))

    def add(self, groups: Any) -> int:
        """Hold what a list of ResourceLogs has of content. Gives the time of the newest record, 0 for none."""
        newest = 0
        for group in objects_in(groups):
            for scoped in objects_in(group.get("scopeLogs", group.get("scope_logs"))):
                for raw in objects_in(scoped.get("logRecords", scoped.get("log_records"))):
                    newest = max(newest, self._add(raw))
        return newest

    def _add(self, raw: dict[str, Any]) -> int:
        at = nanoseconds(_either(raw, "timeUnixNano", "time_unix_nano")) or 0
        at = at or nanoseconds(_either(raw, "observedTimeUnixNano", "observed_time_unix_nano")) or 0
        attributes = attributes_of(raw.get("attributes"))
        name = _either(raw, "eventName", "event_name") or attributes.get(EVENT_NAME)
        key = (identifier(_either(raw, "traceId", "trace_id"), 16), identifier(_either(raw, "spanId", "span_id"), 8))
        if isinstance(name, str) and name in CONTENT_EVENTS and all(key):
            body = any_value(raw.get("body"))
            self._held.setdefault(key, []).append(LogEvent(name, at, body, attributes))
            self._size += weight(body, attributes)
            while self._size > self._budget and len(self._held) > 1:
                self._let_go(next(iter(self._held)))
                self.dropped += 1
        return at

    def _let_go(self, key: tuple[int, int]) -> None:
        self._size -= sum(weight(log.body, log.attributes) for log in self._held.pop(key, ()))

    def until(self, time: int) -> None:
        """Read on beside the spans, as far as those that end at this time may need."""
        for each in self._beside:
            each.until(time + AHEAD_NS, self.add)

    def tell(self, parts: Iterable[Part]) -> None:
        """Give parts of runs that are to be built what was logged of them."""
        for part in parts:
            key = (part.trace_id, part.span_id)
            if key in self._held:
                tell(part, self._held[key])
                self._let_go(key)


class _Beside:
    """A file of log records, read as far as it is asked for: its records stand in the order of time, nearly."""

    def __init__(self, path: Path, problem: Callable[[InputError], None] | None) -> None:
        self._at = 0
        self._groups = _groups(path, Problems(str(path), problem or _raise))

    def until(self, time: int, take: Callable[[Any], int]) -> None:
        while self._at <= time and (groups := next(self._groups, None)) is not None:
            self._at = max(self._at, take(groups))


def _groups(path: Path, problems: Problems) -> Iterator[Any]:
    """The lists of ResourceLogs in a file, in the form of OTLP/JSON."""
    problems.traces = True  # it need not have any
    try:
        with opened(path) as (stream, form):
            if form == "json":
                yield from _lines(stream, problems)
            else:
                from .frames import logs_in  # protobuf's classes take a while to import

                yield from logs_in(stream, form, problems, MAX_ITEM_BYTES)
    except NotARecordingError as error:
        if error.what != "empty":
            problems.add(error.what, error.advice)
    except READ_ERRORS as error:
        problems.add(f"cannot be read ({error})", "Its runs go without what was logged.")
    problems.close()


def _lines(stream: Iterable[bytes], problems: Problems) -> Iterator[Any]:
    """The same of OTLP/JSON, one request a line."""
    for line in stream:
        problems.place += 1
        try:
            value = as_object(parsed(line)) if not line.isspace() else {}
        except NotJsonError as error:
            problems.add(error.what, f"The line is skipped: {error.detail}. Expected OTLP/JSON log records.")
            continue
        yield as_list(_either(value, "resourceLogs", "resource_logs"))


def _either(raw: dict[str, Any], camel: str, snake: str) -> Any:
    value = raw.get(camel)
    return raw.get(snake) if value is None else value


def log_file(spans: str) -> Path | None:
    """The file of log records beside a file of spans: ``X.logs.jsonl`` beside ``X.otlp.jsonl``, whatever the ending."""
    zipped = spans.endswith(".gz")
    stem, dot, ending = spans.removesuffix(".gz").rpartition(SPANS)
    if not dot:
        return None
    beside = f"{stem}{LOGS}{ending}"
    found = (Path(beside + ".gz" * each) for each in (zipped, not zipped))
    return next((path for path in found if path.is_file()), None)


def without_log_files(names: Iterable[str]) -> set[str]:
    """The names but for files of log records that are read beside one of the others: a pattern names both."""
    given = set(names)
    return given - {str(path) for name in given if (path := log_file(name)) is not None}


def _raise(error: InputError) -> None:
    raise error
