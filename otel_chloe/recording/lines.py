"""JSON recordings line by line, in the memory of one line; what is no such line goes to documents.py."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from .documents import Document, document_spans, stands_alone
from .envelope import Envelopes
from .forms import JsonForms
from .json_text import NotJsonError, parsed
from .problems import ONE_A_LINE, Problems, UnwantedError, size
from .span import Direct, Found

_BOM: Final = b"\xef\xbb\xbf"
_SKIP: Final = 1 << 20
_TOGETHER: Final = 1 << 15
"""Bytes of lines that are read together."""


def json_spans(stream: io.BufferedIOBase, problems: Problems, max_bytes: int, direct: Direct) -> Iterator[Found]:
    """Read the spans of a JSON recording."""
    return _JsonLines(stream, problems, max_bytes, direct).spans()


class _JsonLines:
    def __init__(self, stream: io.BufferedIOBase, problems: Problems, max_bytes: int, direct: Direct) -> None:
        self._stream = stream
        self._problems = problems
        self._max_bytes = max_bytes
        self._forms = JsonForms(problems, direct)
        self._envelopes = Envelopes()
        self._lines = self._read()

    def spans(self) -> Iterator[Found]:
        for line in self._lines:
            if not line.isspace():
                yield from self._opening(line)
                break
        yield from self._rest()

    def _rest(self) -> Iterator[Found]:
        """Read what comes after the opening: lines in one envelope together, for what each costs by itself is much."""
        held: list[tuple[bytes, bytes]] = []
        size = 0
        for line in self._lines:
            spans = self._envelopes.spans_in(line)
            if spans is not None:
                held.append((line, spans))
                size += len(line)
                if size < _TOGETHER:
                    continue
            place = self._problems.place
            yield from self._all_of(held, place if spans is not None else place - 1)
            held, size = [], 0
            self._problems.place = place
            if spans is None:
                yield from self._spans_of(line)
        yield from self._all_of(held, self._problems.place)

    def _all_of(self, held: Sequence[tuple[bytes, bytes]], last: int) -> Iterable[Found]:
        """Read some lines, one after the other where anything is odd about them: the line is told with the problem."""
        value = self._envelopes.together([spans for _, spans in held]) if len(held) > 1 else None
        if value is not None:
            try:
                with self._problems.none_wanted():
                    return self._forms.spans(value)
            except UnwantedError:
                pass
        return self._each(Document(last - len(held) + 1, [line for line, _ in held], 0))

    def _read(self) -> Iterator[bytes]:
        """Give every line; one over the limit is cut after it, and its rest skipped."""
        readline, most, problems = self._stream.readline, self._max_bytes, self._problems
        while line := readline(most + 1):
            problems.place += 1
            if problems.place == 1:
                line = line.removeprefix(_BOM) or b"\n"
            yield line
            while len(line) > most and not line.endswith(b"\n"):
                line = readline(_SKIP) or b"\n"

    def _spans_of(self, line: bytes) -> list[Found]:
        try:
            value = self._envelopes.parsed(line)
        except NotJsonError as error:
            if not line.isspace():
                self._refuse(line, error)
            return []
        return self._forms.spans(value)

    def _refuse(self, line: bytes, error: NotJsonError) -> None:
        if len(line) > self._max_bytes:
            self._problems.add(f"longer than {size(self._max_bytes)}", f"The line is skipped. {ONE_A_LINE}.")
        else:
            advice = f"The line cannot be read: {error.detail}. {ONE_A_LINE}; repair or delete it."
            self._problems.add(error.what, advice)

    def _opening(self, first: bytes) -> Iterator[Found]:
        """Read the first line, and where a document begins with it, all of that document.

        A first line that is only broken looks the same, until lines come that are whole requests by themselves.
        """
        if len(first) > self._max_bytes or not _may_go_on(first):
            yield from self._spans_of(first)
            return
        held = Document(self._problems.place, [first], len(first))
        alone = 0
        for line in self._lines:
            held.add(line)
            if held.size > self._max_bytes:
                self._give_up()
                return
            # in a list, the requests stand alone although they are parts of a document
            if first.strip() != b"[" and line.startswith(b"{") and stands_alone(line):
                alone += 1
                if alone == 2:
                    yield from self._each(held)
                    return
        yield from document_spans(held, self._forms, self._problems)

    def _give_up(self) -> None:
        self._lines = iter(())
        self._problems.place = 0
        self._problems.add(
            f"one JSON document of more than {size(self._max_bytes)}",
            f"{ONE_A_LINE}: convert it, for example with jq -c .",
        )

    def _each(self, held: Document) -> Iterator[Found]:
        for place, line in enumerate(held.lines, start=held.start):
            self._problems.place = place
            yield from self._spans_of(line)


def _may_go_on(line: bytes) -> bool:
    try:
        parsed(line)
    except NotJsonError as error:
        return error.early
    return False
