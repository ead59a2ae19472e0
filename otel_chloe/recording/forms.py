"""Tells what one JSON value is (OTLP, Tempo, Jaeger, or something else) and reads its spans."""

from __future__ import annotations

from typing import Any, Final

from .jaeger import Jaeger
from .otlp_json import OtlpJson, first_of
from .problems import Problems
from .span import Direct, Found
from .values import as_list, as_object, objects_in

_RESOURCE_SPANS: Final = ("resourceSpans", "resource_spans")
_RESOURCE_LOGS: Final = ("resourceLogs", "resource_logs")
_BATCHES: Final = (*_RESOURCE_SPANS, "batches")  # Tempo's name for the same list
_WRAPPERS: Final = ("trace", "result")  # around resourceSpans: Tempo's query API v2, Jaeger's API v3
_OTHER_SIGNALS: Final = {
    "resourceLogs": "log records",
    "resource_logs": "log records",
    "resourceMetrics": "metrics",
    "resource_metrics": "metrics",
}

_ADVICE: Final = (
    "Expected OTLP/JSON with resourceSpans, or a Jaeger or Tempo export; give what an OTLP file exporter wrote."
)


class JsonForms:
    """Reads the spans of JSON values of any form that recordings have."""

    def __init__(self, problems: Problems, direct: Direct) -> None:
        self._problems = problems
        self._otlp = OtlpJson(problems, direct)
        self._jaeger = Jaeger(problems)

    def spans(self, value: Any) -> list[Found]:
        """Read one value: a line, a document, or a document that is a list of such."""
        if value.__class__ is dict:
            return self._of_object(value)
        elements = as_list(value)
        if elements and all(_recognised(element) for element in elements):
            return [span for element in elements for span in self._of_object(element)]
        self._problems.add(f"this is {looks_like(value)}", _ADVICE)
        return []

    def _of_object(self, value: dict[str, Any]) -> list[Found]:
        groups = first_of(value, _BATCHES)
        if groups is not None:
            self._problems.traces = True
            return self._otlp.spans(groups)
        traces = _jaeger_traces(value)
        if traces is not None:
            self._problems.traces = True
            return [span for trace in traces for span in self._jaeger.spans(trace)]
        inner = _unwrapped(value)
        if inner is not None:
            return self._of_object(inner)
        signals = {signal for key, signal in _OTHER_SIGNALS.items() if key in value}
        if signals:
            self._problems.other_signals |= signals
            if (logs := first_of(value, _RESOURCE_LOGS)) is not None:
                self._problems.take_logs(logs)
        elif value:  # {} is a request without spans: proto3 JSON leaves empty lists out
            self._problems.add(f"this is {looks_like(value)}", _ADVICE)
        return []


def is_item(value: Any) -> bool:
    """Tell whether this is a whole request, and not an element of one: what may stand on a line of its own."""
    return _recognised(value) and "processes" not in value


def _recognised(value: Any) -> bool:
    item = as_object(value)
    return (
        first_of(item, _BATCHES) is not None
        or _jaeger_traces(item) is not None
        or _unwrapped(item) is not None
        or any(key in item for key in _OTHER_SIGNALS)
    )


def _jaeger_traces(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Find Jaeger's traces: the query API's ``data``, or one trace by itself."""
    raw = [value] if "processes" in value else value.get("data")
    traces = objects_in(raw)
    whole = isinstance(raw, list) and len(traces) == len(as_list(raw)) and all("spans" in trace for trace in traces)
    return traces if whole else None


def _unwrapped(value: dict[str, Any]) -> dict[str, Any] | None:
    """Take a request out of its wrapper. One level: what it holds has no wrapper of its own."""
    for key in _WRAPPERS:
        inner = as_object(value.get(key))
        if first_of(inner, _BATCHES) is not None:
            return inner
    return None


def looks_like(value: Any) -> str:
    """Say what a JSON value that is no recording seems to be."""
    sample = as_object(as_list(value)[0] if as_list(value) else value)
    for keys, name in _KNOWN:
        if keys <= sample.keys():
            return name
    if value.__class__ is dict:
        names = ", ".join(ascii(key[:40]) for key in list(sample)[:4])
        return f"a JSON object with the keys {names}{', ...' if len(sample) > 4 else ''}"
    return f"a JSON {_TYPES.get(value.__class__, 'value')}"


_KNOWN: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (frozenset({"context", "parent_id", "start_time"}), "the output of a console span exporter, not OTLP/JSON"),
    (frozenset({"traceId", "id", "timestamp"}), "a Zipkin export"),
    (frozenset({"traceId", "spanId"}), "a span without the request around it"),
    (frozenset({"scopeSpans"}), "a ResourceSpans without the request around it"),
    (frozenset({"tool_calls", "sub_runs"}), "the output of otel-chloe itself"),
    (frozenset({"agents"}), "a rules file"),
    (frozenset({"traceEvents"}), "a Chrome trace"),
)

_TYPES: Final[dict[type, str]] = {
    list: "list",
    str: "string",
    int: "number",
    float: "number",
    bool: "true or false",
    type(None): "null",
}
