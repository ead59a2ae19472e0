"""What a judge is shown of a run: its prompt, its calls and its reply, trimmed to a budget and redacted."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Final

from otel_chloe.run import Run

from .redact import Redactor
from .trim import Trimmed, trimmed
from .whole import whole

SMALLEST: Final = 1_000
"""Tokens below which nothing could be judged; a smaller budget counts as this."""

_UNSEEN: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_ESCAPE: Final = re.compile(r"\\+u([0-9a-f]{4})")
_DROPPED: Final = str.maketrans("", "", "\"'`*\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A run as a judge sees it. Nothing in it is secret any more, and none of it has been fenced yet.

    ``prompt`` and ``said`` (the run's output) are None where they are not known. ``did`` is a JSON list of the calls
    in order, each with its number and tool and, where known, its agent, input, output and error. ``others`` is a JSON
    list of what sub-agents were asked and said, or None. ``error`` is what the run failed with.

    ``calls`` is the number of all calls of the run, shown or not. ``cut`` says in words what was trimmed or withheld;
    it is empty where the judge sees all. ``tokens`` is what it takes, estimated by :func:`~.room.cost`.
    """

    prompt: str | None
    said: str | None
    did: str
    others: str | None
    agent: str | None
    error: str | None
    calls: int
    cut: tuple[str, ...]
    tokens: int
    _bare: list[str] = field(default_factory=list[str], repr=False, compare=False)

    def holds(self, quote: str) -> bool:
        """Whether a quote stands in what was shown.

        White space, case, quotation marks, emphasis and JSON's escapes do not matter, and ``…`` or ``...`` in a quote
        stands for anything. A quote without a letter or digit is none.
        """
        parts = [part for part in _bare(quote).split("...") if part]
        if not any(map(str.isalnum, "".join(parts))):
            return False
        at = 0
        text = self._text()
        for part in parts:
            at = text.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return True

    def _text(self) -> str:
        """All that was shown, bare; made at the first quote."""
        if not self._bare:
            shown = (self.prompt, self.said, self.error, self.did, self.others, self.agent)
            self._bare.append("\0".join(_bare(text) for text in shown if text))
        return self._bare[0]


def show(run: Run, *, redactor: Redactor, tokens: int = 24_000) -> Shown:
    """What a judge is shown of ``run``. Never raises, whatever the run holds.

    It is trimmed first and then redacted, so that a result of megabytes costs little; a secret that a cut goes through
    is replaced whole. ``tokens`` is the budget, of 1,000 at least: the prompt and the output are cut in the middle
    beyond a fifth of it each, then the calls' texts, the longest first, then calls in the middle. Errors and the first
    and last calls are kept longest. Each cut leaves a mark that says how much it took.
    """
    tokens = max(tokens, SMALLEST)
    parts: Trimmed = whole(run, redactor, tokens) or trimmed(run, redactor, tokens)
    return Shown(
        prompt=parts.prompt,
        said=parts.said,
        did=parts.did,
        others=parts.others,
        agent=parts.agent,
        error=parts.error,
        calls=len(run.tool_calls),
        cut=parts.cut,
        tokens=parts.tokens,
    )


def _bare(text: str) -> str:
    """A text without what a quotation may change."""
    if not text.isascii():
        text = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
        text = text.replace("–", "-").replace("—", "-").replace("“", "").replace("”", "").replace("’", "")
    text = "".join(text.split()).casefold()
    if "\\" in text:
        text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
        text = text.replace("\\n", "").replace("\\t", "").replace("\\r", "")
    return text.translate(_DROPPED)
