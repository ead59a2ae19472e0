"""The demo's page: runs as trees, then events and metrics. All of it is read from what the backend received."""

from __future__ import annotations

import json
import os
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, Final, TypeAlias

from site_doctor.backend import Event, Point, Span, Value

WIDTH: Final = 110
_NAME: Final = 28
_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "cyan": "36"}
_SCORE_KEYS: Final = ("gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label")

Piece: TypeAlias = str | tuple[str, str]
"""A text, or a text and its style."""
Attributes: TypeAlias = Mapping[str, Value]
Rows: TypeAlias = "defaultdict[str, list[tuple[str, Attributes, str]]]"
"""What is said of a name, row by row: a value, its attributes, a note."""


class Page:
    """Prints to a stream, with colours only where that is a terminal.

    Args:
        stream: Where to print.
        runs: What each run is called, by its trace id.
    """

    def __init__(self, stream: IO[str], runs: Mapping[str, str]) -> None:
        self._stream = stream
        self._runs = runs
        self._colours = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def line(self, *pieces: Piece) -> None:
        """One line, cut to the width of the page."""
        room, shown = WIDTH, ""
        for piece in pieces:
            text, style = piece if isinstance(piece, tuple) else (piece, "")
            text = text if len(text) <= room else text[: max(room - 1, 0)] + "…"[:room]
            room -= len(text)
            shown += f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and self._colours and text else text
        print(shown.rstrip(), file=self._stream)

    def heading(self, title: str, rest: str = "") -> None:
        """A line across the page, with a blank one over it."""
        rule = "─" * (WIDTH - len(title) - len(rest) - 5)
        self.line("")
        self.line(("── ", "dim"), (title, "bold"), (f" {rule} {rest}" if rest else f" {rule}─", "dim"))

    def run(self, spans: Sequence[Span]) -> None:
        """One run: its agent span with the marks on it, and the spans below."""
        root = next(span for span in spans if not span.parent_id)
        self.heading(self._runs[root.trace_id], f"trace {root.trace_id}")
        self._span("", root)
        self._marks(root)
        below = [span for span in spans if span.parent_id == root.span_id]
        for span in below:
            self._span("└─ " if span is below[-1] else "├─ ", span)

    def _span(self, branch: str, span: Span) -> None:
        name = f"{span.name:<{_NAME - len(branch)}}  "
        self.line((branch, "dim"), (name, "cyan"), *_TELL.get(_kind(span), _nothing)(span))

    def _marks(self, root: Span) -> None:
        """What we wrote on the agent span: the short attributes, then the reason."""
        ours = {key: value for key, value in root.attributes.items() if key.startswith("chloe.")}
        reasons = {key: str(ours.pop(key)) for key in list(ours) if key.endswith(".reason")}
        verdicts: dict[Value, tuple[str, str]] = {True: ("✔ ", "green"), False: ("✘ ", "red")}
        sign, style = verdicts.get(ours.get("chloe.passed"), ("· ", ""))
        self.line(("│  ", "dim"), (sign, style), (_pairs(ours), style))
        for key, reason in reasons.items():
            for text in textwrap.wrap(f"{key}={reason}", WIDTH - 7, subsequent_indent=" " * (len(key) + 1)):
                self.line(("│    ", "dim"), (text, style))

    def events(self, events: Sequence[Event]) -> None:
        """The events, by name."""
        rows: Rows = defaultdict(list)
        for event in events:
            told = event.attributes
            kept = {key: told[key] for key in ("gen_ai.evaluation.name", *_SCORE_KEYS) if key in told}
            rows[event.name].append(("", kept, f"of {self._runs.get(event.trace_id)}"))
        self._groups("event", rows)

    def points(self, points: Sequence[Point]) -> None:
        """The series that are not 0, by metric."""
        rows: Rows = defaultdict(list)
        for point in points:
            if point.value or point.count:
                said = f"{point.value:g}" if point.count is None else f"count={point.count} sum={point.value:g}"
                seen = [self._runs[trace] for trace in point.exemplars if trace in self._runs]
                rows[point.metric].append((said, point.attributes, f"exemplar: {seen[-1]}" if seen else ""))
        self._groups("metric", rows)

    def _groups(self, what: str, rows: Rows) -> None:
        """Rows under their name and the attributes that all have; a row alone stands beside its name."""
        for name, held in sorted(rows.items()):
            first = held[0][1].items()
            common = {key: value for key, value in first if all(row[1].get(key) == value for row in held)}
            alone = f"{held[0][0]}  " if len(held) == 1 else ""
            start = f"{what:<8}"
            for text in textwrap.wrap(f"{name}  {alone}{_pairs(common)}", WIDTH - 10, subsequent_indent="  "):
                head, rest = (name, text[len(name) :]) if start else ("", text)
                self.line((f"{start:<8}", "dim"), (head, "cyan"), rest)
                start = ""
            for said, attributes, note in [] if alone else held:
                own = {key: value for key, value in attributes.items() if key not in common}
                self.line(f"{'':10}", (f"{said}  " if said else "", "bold"), f"{_pairs(own)}  ", (note, "dim"))


def _kind(span: Span) -> Value:
    return span.attributes.get("gen_ai.operation.name") or span.name.partition(" ")[0]


def _of_agent(span: Span) -> Iterator[Piece]:
    yield f"asked: {_texts(span, 'gen_ai.input.messages')}"


def _of_model(span: Span) -> Iterator[Piece]:
    calls = [part["name"] for part in _parts(span, "gen_ai.output.messages") if part["type"] == "tool_call"]
    yield f"wants {', '.join(calls)}" if calls else f"answers: {_texts(span, 'gen_ai.output.messages')}"


def _of_tool(span: Span) -> Iterator[Piece]:
    yield f"{span.attributes.get('gen_ai.tool.call.arguments')} → "
    if span.failed is None:
        yield str(span.attributes.get("gen_ai.tool.call.result"))
    else:
        yield f"{span.attributes.get('error.type')}: {span.failed}", "red"


def _of_evaluation(span: Span) -> Iterator[Piece]:
    yield _pairs({key: span.attributes[key] for key in _SCORE_KEYS if key in span.attributes})


def _nothing(_: Span) -> Iterator[Piece]:
    return iter(())


_TELL: Final[Mapping[Value, Callable[[Span], Iterator[Piece]]]] = {
    "invoke_agent": _of_agent,
    "chat": _of_model,
    "execute_tool": _of_tool,
    "evaluation": _of_evaluation,
}
"""How a span is told, by its kind."""


def _parts(span: Span, key: str) -> list[dict[str, Any]]:
    messages = json.loads(str(span.attributes.get(key, "[]")))
    return [part for message in messages for part in message["parts"]]


def _texts(span: Span, key: str) -> str:
    return " ".join(part["content"] for part in _parts(span, key) if part["type"] == "text")


def _pairs(attributes: Attributes) -> str:
    return "  ".join(f"{key}={_shown(value)}" for key, value in attributes.items())


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
