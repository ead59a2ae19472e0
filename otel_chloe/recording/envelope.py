"""Lines that differ in their spans alone: what stands round the spans is parsed once.

A recording with a span a line repeats its resource and scope on every line, and they are a quarter of the work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from pydantic_core import from_json

from .json_text import NotJsonError, parsed

_SPANS: Final = re.compile(rb'"spans"\s*:\s*')
_DECODE: Final = json.JSONDecoder().raw_decode
_MARK: Final = b'"where the spans stand"'
_LONGEST: Final = 1 << 16
"""Longer lines hold many spans, and what stands round them is little."""
_TIMES: Final = 32
"""How often an envelope is looked for: a recording whose lines never repeat one must not pay for each of them."""


class Envelopes:
    """Parses the lines of one recording. The value of a line holds until the next one is parsed.

    A line that begins and ends with the same bytes as an earlier one, and has one JSON value between, is that earlier
    line with other spans: nothing else has to be looked at.
    """

    __slots__ = ("_head", "_inner", "_left", "_tail", "_value")

    def __init__(self) -> None:
        self._left = _TIMES
        self._head: bytes | None = None
        self._tail = b""
        self._value: Any = None
        self._inner: dict[str, Any] = {}

    def parsed(self, line: bytes) -> Any:
        """Parse a line. Raises NotJsonError as :func:`otel_chloe.recording.json_text.parsed` does."""
        spans = self.spans_in(line)
        if spans is not None:
            try:
                self._inner["spans"] = parsed(spans)
            except NotJsonError:
                pass  # the whole line tells what is wrong with it
            else:
                return self._value
        value = parsed(line)
        if self._left and len(line) <= _LONGEST:
            self._left -= 1
            self._learn(line)
        return value

    def spans_in(self, line: bytes) -> bytes | None:
        """The text of a line's spans, which looks like a list; None where the line has another envelope."""
        head, tail = self._head, self._tail
        if head is None or not line.startswith(head) or not line.endswith(tail):
            return None
        spans = line[len(head) : len(line) - len(tail)]
        return spans if spans.startswith(b"[") and spans.endswith(b"]") else None

    def together(self, lines: Sequence[bytes]) -> Any:
        """Parse the spans of some lines as one line's; None where that cannot be.

        Each text begins and ends as a list does, and there must be as many lists in all as there are lines.
        """
        try:
            lists = from_json(b"[" + b",".join(lines) + b"]", cache_strings="keys")
        except ValueError:
            return None
        if len(lists) != len(lines) or any(spans.__class__ is not list for spans in lists):
            return None
        self._inner["spans"] = [span for spans in lists for span in spans]
        return self._value

    def _learn(self, line: bytes) -> None:
        """Find the envelope of a line that has one group of spans. A mark in their place shows that it is theirs."""
        found = _SPANS.search(line)
        if found is None:
            return
        head = line[: found.end()]
        try:
            _, end = _DECODE(line.decode("latin-1"), found.end())  # JSON's syntax is ASCII: the positions are the same
            value = parsed(head + _MARK + line[end:])
            (group,) = value["resourceSpans"]
            (inner,) = group["scopeSpans"]
            usable = inner["spans"] == json.loads(_MARK)
        except (LookupError, TypeError, ValueError, RecursionError):
            return
        if usable:
            self._head, self._tail, self._value, self._inner = head, line[end:], value, inner
