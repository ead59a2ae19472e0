"""Recordings of real agents as cases: spans that can be broken, and what is known of the runs that they tell of."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from otel_chloe.recording.logs import log_file
from otel_chloe.recording.runs import find_runs
from otel_chloe.run import Run

Raw: TypeAlias = "dict[str, Any]"


class Case:
    """The spans of a recording, each with what stands around it, ready to be broken."""

    def __init__(self, spans: list[tuple[Raw, Raw, Raw]], logs: list[str]) -> None:
        self.spans = spans
        self.logs = logs

    def copied(self) -> Case:
        return Case(copy.deepcopy(self.spans), self.logs)

    def raw(self) -> list[Raw]:
        return [span for _, _, span in self.spans]

    def lines(self) -> list[str]:
        found = list(self.logs)
        for resource, scope, span in self.spans:
            scoped = {"scope": scope, "spans": [span]}
            found.append(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}))
        return found

    def written(self) -> bytes:
        return "\n".join(self.lines()).encode("utf-8", "surrogatepass") + b"\n"

    def runs(self) -> tuple[list[Run], list[str]]:
        """The runs that are rebuilt, and what was told of the file."""
        return runs_of(self.written())


def runs_of(recording: bytes) -> tuple[list[Run], list[str]]:
    told: list[str] = []
    found = find_runs([("x", io.BytesIO(recording))], problem=lambda error: told.append(str(error)))
    return [each.run for each in found], told


@dataclass
class Truth:
    """What is known of a recording.

    ``runs`` are what is rebuilt of it as it is. ``texts`` are what its spans and log records say, ``words`` what was
    asked and answered in it, ``optional`` the names of calls that may be shown or not.
    """

    runs: list[Run]
    texts: frozenset[str]
    words: frozenset[str]
    optional: frozenset[str]


def texts_of(span: Raw) -> list[Raw]:
    """The attributes of a span, and of its events, that are texts."""
    found = [*span.get("attributes", ())]
    for event in span.get("events", ()):
        found += event.get("attributes", ())
    return [pair for pair in found if "stringValue" in pair["value"]]


@cache
def truth_of(path: Path) -> Truth:
    """What is known of the recording in a file."""
    case = case_of(path)
    pairs = [pair["value"]["stringValue"] for span in case.raw() for pair in texts_of(span)]
    said = [text for line in case.logs for text in strings_in(json.loads(line))]
    beside = path.with_name(path.name.replace("otlp.jsonl", "truth.json"))
    told = json.loads(beside.read_text("utf-8"))["runs"] if beside.is_file() else []
    optional = [name for run in told for name in (*run["attempts"], *(each["name"] for each in run["delegations"]))]
    texts = frozenset(text for each in (*pairs, *said) for text in _told_by(each))
    return Truth(case.runs()[0], texts, frozenset(strings_in(told)), frozenset(optional))


def _told_by(text: str) -> Iterator[str]:
    """The text itself, or those in the structure that it is."""
    if text[:1] not in ("{", "["):
        yield text
        return
    try:
        yield from strings_in(json.loads(text))
    except ValueError:
        yield text


def strings_in(value: Any) -> Iterator[str]:
    """The texts in a structure."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, (dict, list)):
            waiting.extend(value.values() if isinstance(value, dict) else value)


@cache
def case_of(path: Path) -> Case:
    """The recording in a file, and the log records beside it."""
    spans: list[tuple[Raw, Raw, Raw]] = []
    for line in path.read_text("utf-8").splitlines():
        for group in json.loads(line)["resourceSpans"]:
            for scoped in group["scopeSpans"]:
                spans += [(group.get("resource", {}), scoped.get("scope", {}), span) for span in scoped["spans"]]
    logs = log_file(str(path))
    return Case(spans, logs.read_text("utf-8").splitlines() if logs is not None else [])
