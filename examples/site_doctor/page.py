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
_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_SCORE_KEYS: Final = ("gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label")
_NO_SCORE_KEYS: Final = ("chloe.state", "error.type")
_TOKEN_KEYS: Final = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
_LEFT_OUT: Final = frozenset({"gen_ai.agent.name", "chloe.scorer.version"})
"""Attributes of metrics for which the page has no room: there is one agent."""
_EVALUATION: Final = "gen_ai.evaluation."
_JUDGE: Final = "chloe.judge."
"""Metrics of the judge itself, for which the page has no room."""

Piece: TypeAlias = str | tuple[str, str]
"""A text, or a text and its style."""
Attributes: TypeAlias = Mapping[str, Value]
Rows: TypeAlias = "defaultdict[str, list[tuple[str, Attributes, str | None]]]"
"""What is said of a name, row by row: a value, its attributes, the run that it leads to."""


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
        """One run: its agent span with the marks on it, and the spans below; of the model's calls only the last."""
        root = next(span for span in spans if not span.parent_id)
        self.heading(self._runs[root.trace_id], f"trace {root.trace_id}")
        self._span("", root)
        self._marks(root)
        below = [span for span in spans if span.parent_id == root.span_id]
        chats = [span for span in below if _kind(span) == "chat"]
        shown = [span for span in below if span not in chats[:-1]]
        for span in shown:
            last = span is shown[-1]
            self._span("└─ " if last else "├─ ", span, f" ×{len(chats)}" if span in chats else "")
            if f"chloe.{span.attributes.get('gen_ai.evaluation.name')}.reason" not in root.attributes:
                self._explained("   " if last else "│  ", span)

    def _span(self, branch: str, span: Span, times: str = "") -> None:
        name = f"{span.name + times:<{_NAME - len(branch)}}  "
        self.line((branch, "dim"), (name, "cyan"), *_TELL.get(_kind(span), _nothing)(span))

    def _explained(self, bar: str, span: Span) -> None:
        """What an evaluation span says that the agent span does not."""
        key = "gen_ai.evaluation.explanation"
        if key in span.attributes:
            self._reason(f"{bar}  ", key, str(span.attributes[key]), _style(span.attributes))

    def _reason(self, bar: str, key: str, reason: str, style: str) -> None:
        room = WIDTH - len(bar)
        for text in textwrap.wrap(f"{key}={reason}", room, subsequent_indent=" " * (len(key) + 1)):
            self.line((bar, "dim"), (text, style))

    def _marks(self, root: Span) -> None:
        """What we wrote on the agent span: the short attributes, then the reason."""
        ours = {key: value for key, value in root.attributes.items() if key.startswith("chloe.")}
        reasons = {key: str(ours.pop(key)) for key in list(ours) if key.endswith(".reason")}
        verdicts: dict[Value, tuple[str, str]] = {True: ("✔ ", "green"), False: ("✘ ", "red")}
        sign, style = verdicts.get(ours.get("chloe.passed"), ("· ", ""))
        self.line(("│  ", "dim"), (sign, style), (_pairs(ours), style))
        for key, reason in reasons.items():
            self._reason("│    ", key, reason, style)

    def events(self, events: Sequence[Event]) -> None:
        """The events, by name."""
        rows: Rows = defaultdict(list)
        for event in events:
            told = event.attributes
            wanted = ("gen_ai.evaluation.name", *_outcome_keys(told))
            kept = {key: told[key] for key in wanted if key in told}
            rows[event.name].append(("", kept, self._runs.get(event.trace_id)))
        self._groups("event", rows)

    def points(self, points: Sequence[Point]) -> None:
        """The series that are not 0, by metric."""
        rows: Rows = defaultdict(list)
        for point in points:
            if (point.value or point.count) and not point.metric.startswith(_JUDGE):
                said = f"{point.value:g}" if point.count is None else f"count={point.count} sum={point.value:g}"
                seen = [self._runs[trace] for trace in point.exemplars if trace in self._runs]
                kept = {key: value for key, value in sorted(point.attributes.items()) if key not in _LEFT_OUT}
                rows[point.metric].append((said, kept, seen[-1] if seen else None))
        self._groups("metric", rows)

    def _groups(self, what: str, rows: Rows) -> None:
        """Rows under their name: the attributes that all have alike, the keys of the others, then those row by row."""
        for name, held in sorted(rows.items()):
            first = held[0][1].items()
            common = {key: value for key, value in first if all(row[1].get(key) == value for row in held)}
            own = dict.fromkeys(key for row in held for key in row[1] if key not in common)
            keys = sorted(own, key=lambda key: not key.startswith(_EVALUATION))
            alone = len(held) == 1
            told = [_pairs(common), _braced(keys), held[0][0] if alone else ""]
            self.line(
                (f"{what:<8}", "dim"), (name, "cyan"), "  ", ("  ".join(filter(None, told)), "" if alone else "dim")
            )
            if not alone:
                self._flow(sorted((_row(said, keys, told), _style(told), seen) for said, told, seen in held))

    def _flow(self, rows: Sequence[tuple[str, str, str | None]]) -> None:
        """Rows one after the other, as many to a line as it holds, whichever run each of them leads to."""
        widest = max(map(len, self._runs.values()))
        pieces: list[Piece] = []
        room = 0
        for text, style, seen in rows:
            width = len(text) + (3 + widest if seen else 0) + 3
            if width > room:
                if pieces:
                    self.line(*pieces)
                pieces, room = [" " * 10], WIDTH - 10
            elif pieces:
                pieces.append((" · ", "dim"))
            pieces += [(text, style), (f" → {seen}" if seen else "", "dim")]
            room -= width
        self.line(*pieces)


def _row(said: str, keys: Sequence[str], told: Attributes) -> str:
    words = " ".join(_shown(told[key]) for key in keys if key in told)
    return f"{words}: {said}" if said else words


def _braced(keys: Sequence[str]) -> str:
    """Keys, with what is common to the first ones in front of a brace: `a.{b, c}, d`."""
    short = [key.removeprefix(_EVALUATION) for key in keys if key.startswith(_EVALUATION)]
    rest = [key for key in keys if not key.startswith(_EVALUATION)]
    return ", ".join([f"{_EVALUATION}{{{', '.join(short)}}}", *rest] if len(short) > 1 else keys)


def _outcome_keys(told: Attributes) -> tuple[str, ...]:
    return _SCORE_KEYS if _SCORE_KEYS[0] in told else _NO_SCORE_KEYS


def _style(told: Attributes) -> str:
    """Green for what has passed, red for what has not or breaks a rule, yellow for what has no score."""
    if "error.type" in told:
        return "yellow"
    if "chloe.rule" in told:
        return "red"
    return {"pass": "green", "fail": "red"}.get(str(told.get("gen_ai.evaluation.score.label")), "")


def _kind(span: Span) -> Value:
    return span.attributes.get("gen_ai.operation.name") or span.name.partition(" ")[0]


def _of_agent(span: Span) -> Iterator[Piece]:
    yield f"asked: {_texts(span, 'gen_ai.input.messages')}"


def _of_model(span: Span) -> Iterator[Piece]:
    calls = [part["name"] for part in _parts(span, "gen_ai.output.messages") if part["type"] == "tool_call"]
    yield f"wants {', '.join(calls)}" if calls else f"says: {_texts(span, 'gen_ai.output.messages')}"


def _of_tool(span: Span) -> Iterator[Piece]:
    yield f"{span.attributes.get('gen_ai.tool.call.arguments')} → "
    if span.failed is None:
        yield str(span.attributes.get("gen_ai.tool.call.result"))
    else:
        yield f"{span.attributes.get('error.type')}: {span.failed}", "red"


def _of_evaluation(span: Span) -> Iterator[Piece]:
    told = span.attributes
    keys = (*_outcome_keys(told), *_TOKEN_KEYS)
    yield _pairs({key: told[key] for key in keys if key in told}), _style(told)


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
