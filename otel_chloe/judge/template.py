"""Filling a judge's prompt: each placeholder once, with values that are redacted, cut to size and fenced.

What a value holds is never looked at for placeholders again: a run that says ``{{expected}}`` gets no answer key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from otel_chloe.judge.ask import Message
from otel_chloe.judge.clip import Clipper
from otel_chloe.judge.fence import Fence
from otel_chloe.judge.plain import Room, plain
from otel_chloe.judge.prompt import missing_from
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.room import cost, cost_at_least, level
from otel_chloe.judge.shown import Shown, show
from otel_chloe.kit.context import ScorerContext
from otel_chloe.run import Run

TOOLS: Final = "tools"
TRANSCRIPT: Final = "transcript"
PARTS: Final = ("input", "output", "expected", "metadata")
PLACEHOLDERS: Final = (*PARTS, TOOLS, TRANSCRIPT)

_PLACEHOLDER: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_TRUSTED: Final = "expected"
"""What the scorer's user wrote, and no run: it is not fenced."""
_VALUES: Final = 20_000


class Template:
    """The messages of one judgement, to be filled in whatever room there is.

    Args:
        messages: As the scorer's author wrote them; or, with ``built``, as a function of theirs built them: these are
            not filled, and may hold the run's own texts.
        context: The run and the case.
        variables: Values for placeholders of the author's own. They go before the run's.
        redactor: One for this run.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        context: ScorerContext,
        *,
        variables: Mapping[str, Any] | None = None,
        redactor: Redactor,
        built: bool = False,
    ) -> None:
        self._messages = messages
        self._context = context
        self._variables = dict(variables or {})
        self._redactor = redactor
        self._built = built
        self.used: frozenset[str] = frozenset() if built else frozenset(used_in(messages))

    def unknown(self) -> list[str]:
        """The placeholders that nothing fills: they stay as they are."""
        return sorted(self.used - self._variables.keys() - set(PLACEHOLDERS))

    def shows(self, part: str) -> bool:
        """Whether the run's own part is in it."""
        return part in self.used and part not in self._variables

    def filled(self, nonce: str, tokens: int) -> tuple[Message, ...]:
        """The messages with everything in its place; the run's texts take ``tokens`` at most, about."""
        fence = Fence(nonce)
        if self._built:
            said = [
                {**message, "content": fence.inside(self._clipped(message["content"], tokens))}
                for message in self._messages
            ]
            return tuple(said)
        values = self._values(fence, tokens)
        found: list[Message] = [
            {
                **message,
                "content": _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), message["content"]),
            }
            for message in self._messages
        ]
        return _with_rule(found, fence) if any(name != _TRUSTED for name in values) else tuple(found)

    def _values(self, fence: Fence, tokens: int) -> dict[str, str]:
        """What stands in the place of each placeholder that is known."""
        texts = {name: self._text(name) for name in self.used if name in self._variables or name in PARTS}
        of_run = self.used & {TOOLS, TRANSCRIPT} - self._variables.keys()
        room = tokens // 2 if of_run and texts else tokens
        limit = level([(cost_at_least(text, room), 1) for text in texts.values()], room)
        clipped = {name: self._clipped(text, limit) for name, text in texts.items()}
        if of_run:
            clipped |= self._of_run(of_run, tokens - sum(map(cost, clipped.values())))
        return {name: self._fenced(fence, name, text) for name, text in clipped.items()}

    def _fenced(self, fence: Fence, name: str, text: str) -> str:
        trusted = name == _TRUSTED and name not in self._variables
        return text if trusted or not text.strip() else fence.around(name, text)

    def _text(self, name: str) -> str:
        """A value as a text: None is empty, a text is itself, all else is JSON. Fields are redacted by their names."""
        value = self._variables[name] if name in self._variables else getattr(self._context, name)
        if value is None or isinstance(value, str):
            return value or ""
        shown = Clipper(self._redactor).value(plain(value, Room(_VALUES)), 200_000)
        return json.dumps(shown, ensure_ascii=False)

    def _clipped(self, text: str, tokens: int) -> str:
        return Clipper(self._redactor).text(text, tokens)

    def _of_run(self, names: Iterable[str], tokens: int) -> dict[str, str]:
        run = self._context.run or Run()
        if TRANSCRIPT not in names:
            run = replace(run, prompt=None, output=None, error=None, sub_runs=())
        shown = show(run, redactor=self._redactor, tokens=tokens)
        missing = [f"- {text}" for text in missing_from(run, shown)]
        told = {TOOLS: [shown.did], TRANSCRIPT: _transcript(shown)}
        if missing:
            for texts in told.values():
                texts.append("\n".join(["What is missing from this record:", *missing]))
        return {name: "\n\n".join(told[name]) for name in names}


def used_in(messages: Iterable[Message]) -> list[str]:
    """The names of the placeholders in messages, in order."""
    return [match[1] for message in messages for match in _PLACEHOLDER.finditer(message["content"])]


def _transcript(shown: Shown) -> list[str]:
    """The run in order: what it was asked, did and said."""
    parts = (
        ("What it was asked:", shown.prompt),
        ("What it did (its tool calls, in order):", shown.did),
        ("What agents below it were asked and said:", shown.others),
        ("What it said:", shown.said),
        ("What it failed with:", shown.error),
    )
    return [f"{title}\n{text}" for title, text in parts if text]


def _with_rule(messages: Sequence[Message], fence: Fence) -> tuple[Message, ...]:
    """The messages with the fence's rule: at the end of the first system message, else as one of its own."""
    found = [dict(message) for message in messages]
    for message in found:
        if message["role"] == "system":
            message["content"] = f"{message['content']}\n\n{fence.rule}"
            return tuple(found)
    return cast("tuple[Message, ...]", ({"role": "system", "content": fence.rule}, *found))
