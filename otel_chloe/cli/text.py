"""Runs and marks as text for people: each run a tree that fits the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ..assembly.explained import ExplainedCall, Piece
from ..mark import Mark, Outcome
from ..run import Run, ToolCall
from .console import has_colours, printable, width
from .json_lines import Outcomes, line

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_LABEL: Final = 10
_UNICODE: Final = ("├─ ", "└─ ", "│  ", "…")
_ASCII: Final = ("|- ", "`- ", "|  ", "...")


@dataclass(slots=True)
class _Node:
    """A line of the tree and what hangs below it. ``whole`` lines are wrapped, others shortened."""

    label: str
    text: str
    style: str = ""
    whole: bool = False
    below: list[_Node] = field(default_factory=list["_Node"])


class Page:
    """Draws runs as the output allows: its width, its colours and its letters."""

    def __init__(self) -> None:
        self._width = width(sys.stdout)
        self._colours = has_colours(sys.stdout)
        self._branch, self._last, self._stem, self._cut = _UNICODE if _shows(_UNICODE) else _ASCII

    def run(self, file: str, run: Run, outcomes: Outcomes = (), *, explain: bool = False) -> str:
        """One top-level run."""
        return "\n".join([self._head(file, run), *self._tree(self._nodes(run, outcomes, explain=explain), "")])

    def styled(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and self._colours else text

    def short(self, text: str, room: int) -> str:
        """The text on one line, cut to the room there is."""
        text = _one_line(text[: room * 3])
        return text if len(text) <= room else text[: max(room - len(self._cut), 0)] + self._cut

    def _end_of(self, path: str, room: int) -> str:
        """A path cut at its front: its end tells files apart."""
        path = printable(path)
        return path if len(path) <= room else self._cut + path[len(path) - room + len(self._cut) :]

    def _head(self, file: str, run: Run) -> str:
        agent = self.short(run.agent or "(no name)", 40)
        calls = "1 call" if len(run.tool_calls) == 1 else f"{len(run.tool_calls)} calls"
        facts = [calls]
        if run.start_ns is not None and run.end_ns is not None:
            facts.append(f"{(run.end_ns - run.start_ns) / 1e9:.1f} s")
        if not run.complete:
            facts.append(f"incomplete: {run.end}")
        if run.trace_id:
            facts.append(f"trace {run.trace_id}")
        rest = "  ".join(facts)
        named = self._end_of(file, max(self._width - len(agent) - len(rest) - 4, 12))
        return f"{self.styled(agent, 'bold')}  {self.styled(f'{named}  {rest}', 'dim')}"

    def _nodes(self, run: Run, outcomes: Outcomes, *, explain: bool) -> list[_Node]:
        nodes = [_Node("prompt", run.prompt)] if run.prompt is not None else []
        nodes += [self._call(call, run.agent, explain=explain) for call in run.tool_calls]
        nodes += [self._sub_node(sub, outcomes) for sub in run.sub_runs]
        nodes += _ending(run)
        nodes += [_Node("gap", f"{gap.code}: {gap.detail}" if gap.detail else gap.code, "yellow") for gap in run.gaps]
        return nodes + _mark_nodes(run, outcomes)

    def _sub_node(self, sub: Run, outcomes: Outcomes) -> _Node:
        return _Node("agent", sub.agent or "(no name)", "bold", below=self._sub_nodes(sub, outcomes))

    def _sub_nodes(self, sub: Run, outcomes: Outcomes) -> list[_Node]:
        """A sub-agent without its calls: they stand in the run, in their order."""
        nodes = [_Node("prompt", sub.prompt)] if sub.prompt is not None else []
        nodes += [self._sub_node(inner, outcomes) for inner in sub.sub_runs]
        return nodes + _ending(sub) + _mark_nodes(sub, outcomes)

    def _call(self, call: ToolCall, agent: str | None, *, explain: bool) -> _Node:
        label, style = _STATES[call.ok]
        name = call.name if call.raw_name in {None, call.name} else f"{call.name} ({call.raw_name})"
        by = f" by {call.agent}" if call.agent is not None and call.agent != agent else ""
        arguments = "" if call.arguments is None else f" {self.short(_value(call.arguments), self._width // 2)}"
        came = call.error if call.ok is False else call.result
        result = "" if came is None else f" -> {_value(came)}"
        node = _Node(label, f"{name}{by}{arguments}{result}", style)
        if explain and isinstance(call, ExplainedCall):
            node.below = [_Node(piece.role, _told_by(piece, call), "dim", whole=True) for piece in call.made_of]
        return node

    def _tree(self, nodes: list[_Node], indent: str) -> Iterator[str]:
        for node in nodes:
            last = node is nodes[-1]
            inner = indent + ("   " if last else self._stem)
            room = max(self._width - len(inner) - _LABEL, 20)
            first, *rest = _wrapped(_one_line(node.text), room) if node.whole else (self.short(node.text, room),)
            label = self.styled(node.label.ljust(_LABEL - 1), node.style or "dim")
            yield f"{indent}{self._last if last else self._branch}{label} {first}"
            if rest:
                stem = inner + (self._stem if node.below else "   ")
                yield from [f"{stem:<{len(inner) + _LABEL}}{more}" for more in rest]
            if node.below:
                yield from self._tree(node.below, inner)


_STATES: Final = {True: ("ok", "green"), False: ("failed", "red"), None: ("call", "")}


def _ending(run: Run) -> list[_Node]:
    nodes = [_Node("output", run.output)] if run.output is not None else []
    if run.error is not None:
        nodes.append(_Node("error", run.error, "red"))
    return nodes


def _mark_nodes(run: Run, outcomes: Outcomes) -> list[_Node]:
    return [_mark_node(outcome) for of, outcome in outcomes if of is run]


def _mark_node(outcome: Outcome) -> _Node:
    """A mark as "0.67 passed: reason"; what is no mark says what it is."""
    if isinstance(outcome, Mark):
        said = outcome.label or "-" if outcome.score is None else f"{outcome.score:.2f}"
        verdict, style = {True: (" passed", "green"), False: (" not passed", "red"), None: ("", "")}[outcome.passed]
        return _Node(outcome.name, f"{said}{verdict}: {outcome.reason}", style, whole=True)
    reason = f": {outcome.reason}" if outcome.reason else ""
    return _Node(outcome.name, f"{outcome.state}{reason}", "red" if outcome.state == "failed" else "yellow", whole=True)


def _told_by(piece: Piece, call: ToolCall) -> str:
    """A span or message that tells of a call, and why it does."""
    said = f"{piece.span_name} {piece.span_id}".lstrip()
    if piece.message is not None:
        said += f" {'input' if piece.role == 'answered' else 'output'}[{piece.message}]"
    if piece.why is not None:
        return f"{said}: {piece.why}"
    facts = [] if call.call_id is None else [f"call id {call.call_id}"]
    facts += [] if call.ran is None else ["ran" if call.ran else "did not run"]
    return ", ".join([said, *facts])


def _one_line(text: str) -> str:
    """A text with one space for each stretch of white space, and nothing that a terminal would obey."""
    if text.isprintable() and "  " not in text:  # of all white space, only spaces are printable
        return text.strip()
    return printable(" ".join(text.split()))


def _wrapped(text: str, room: int) -> list[str]:
    """A text on lines of this length at most, broken at spaces where it can be."""
    lines: list[str] = []
    while len(text) > room:
        end = text.rfind(" ", 1, room + 1)
        lines.append(text[: end if end > 0 else room])
        text = text[end + 1 if end > 0 else room :]
    return [*lines, text]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else line(value)


def _shows(signs: tuple[str, ...]) -> bool:
    try:
        "".join(signs).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
