"""Shares a budget of tokens out among the parts of a run: middles are cut first; starts, ends and errors last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from otel_chloe.run import Run

from .clip import Clipper, as_text
from .did import NAME, WIDEST, Calls
from .plain import Plain
from .redact import Redactor
from .room import cost, cost_at_least, level

OTHERS: Final = 20
"""Sub-agents of which it is shown what they said."""
WITHHELD_TEXTS: Final = "texts on which the function for redaction failed"


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The texts to show, all redacted, and in words what is missing from them."""

    prompt: str | None
    said: str | None
    did: str
    others: str | None
    agent: str | None
    error: str | None
    cut: tuple[str, ...]
    tokens: int


def trimmed(run: Run, redactor: Redactor, tokens: int) -> Trimmed:
    """The run's texts in ``tokens``."""
    parts = _Parts(redactor)
    withheld = redactor.withheld
    agent = parts.text(run.agent, NAME, "agent's name")
    error = parts.text(run.error, tokens // 10, "error")
    others = parts.others(run, tokens // 10)
    left = tokens - sum(cost(text) for text in (agent, error, others) if text)
    prompt_room, said_room, made = _rooms(run, redactor, left, tokens // 5)
    prompt = parts.text(run.prompt, prompt_room, "prompt")
    said = parts.text(run.output, said_room, "reply")
    did = made.shown(left - cost(prompt or "") - cost(said or ""))
    cuts = [*parts.cuts, *did.cut]
    if redactor.withheld > withheld:
        cuts.append(WITHHELD_TEXTS)
    taken = sum(cost(text) for text in (prompt, said, did.text, others, agent, error) if text)
    return Trimmed(prompt, said, did.text, others, agent, error, tuple(cuts), taken)


def _rooms(run: Run, redactor: Redactor, left: int, fifth: int) -> tuple[int, int, Calls]:
    """Room for the prompt and the reply: a fifth each if they want it, and what the calls do not need."""
    made = Calls(run.tool_calls, redactor, left)
    prompt_text, said_text = as_text(run.prompt) or "", as_text(run.output) or ""
    if not made.left_out() and WIDEST * (made.size() + len(prompt_text) + len(said_text)) <= left:
        return left * 2 // 5, left * 2 // 5, made
    prompt, said = cost_at_least(prompt_text, left), cost_at_least(said_text, left)
    most = left - min(prompt, fifth) - min(said, fifth)
    calls_room = most if made.left_out() else min(made.wanted(), most)
    share = level([(prompt, 1), (said, 1)], left - calls_room)
    return share, share, made


class _Parts:
    """The parts beside the calls."""

    __slots__ = ("_redactor", "cuts")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.cuts: list[str] = []

    def text(self, value: object, tokens: int, what: str) -> str | None:
        whole = as_text(value)
        if whole is None:
            return None
        clipper = Clipper(self._redactor)
        shown = clipper.text(whole, tokens)
        if clipper.cut:
            self.cuts.append(f"{clipper.cut:,} of {len(whole):,} characters of the {what}")
        return shown

    def others(self, run: Run, tokens: int) -> str | None:
        """What sub-agents were asked and said, where it is neither a call's result nor the run's output."""
        known = {_sketch(run.output), *(_sketch(call.result) for call in run.tool_calls)}
        apart = [one for one in _below(run) if one.output is not None and _sketch(one.output) not in known]
        if not apart:
            return None
        clipper = Clipper(self._redactor)
        shown: list[Plain] = []
        each = tokens // (3 * min(len(apart), OTHERS)) - 20
        for one in apart[:OTHERS]:
            asked: dict[str, object] = {"agent": one.agent, "prompt": one.prompt, "output": one.output}
            shown.append({key: clipper.text(text, each) for key, value in asked.items() if (text := as_text(value))})
        if clipper.cut:
            self.cuts.append(f"{clipper.cut:,} characters of what sub-agents were asked and said")
        if len(apart) > OTHERS:
            self.cuts.append(f"what {len(apart) - OTHERS:,} sub-agents said")
        text = json.dumps(shown, ensure_ascii=False, indent=1)
        return text if cost(text) <= tokens * 2 else None


def _below(run: Run) -> Iterator[Run]:
    """The runs below it, in order, however deep."""
    waiting = list(reversed(run.sub_runs))
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(one.sub_runs)


def _sketch(value: object) -> object:
    """Enough of a value to know it again; a text of megabytes is not read."""
    return (len(value), value[:100], value[-100:]) if isinstance(value, str) else None
