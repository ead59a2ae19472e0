"""``otel-chloe resolve``: sends the final marks of runs, one or a file of many, into their traces."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..attachment.resolving import resolved, send
from ..errors import ConfigError, InputError
from ..mark import Mark
from ..recording.pending import waiting
from ..run import Run
from .console import BAD_INPUT, NOT_PASSED, OK, complain, printable, write
from .scores import NEEDED, Row, parsed, rows

_GIVEN: Final = ("trace_id", "span_id", "name", "reason", "key", "version", "agent", "revision")


def run(args: Namespace) -> int:
    """Send every score; what is wrong with one keeps no other back."""
    passing = {key: getattr(args, key) for key in ("threshold", "direction") if getattr(args, key) is not None}
    work = _Work(passing)
    try:
        asked = [*rows(args.file)] if args.file else [_row_of(args)]
        found = list(work.checked(asked))
        refused = work.sent(found, args.otlp) if found else 0
    except (InputError, ConfigError) as error:
        complain(error)
        return BAD_INPUT
    if work.empty:
        complain(f"{work.empty} without a score, left out")
    if work.bad:
        return BAD_INPUT
    return NOT_PASSED if refused else OK


def _row_of(args: Namespace) -> Row:
    """The one score that the command line gives; what it does not say of a pending mark, a recording does."""
    lacking = [f"--{key.replace('_', '-')}" for key in NEEDED if getattr(args, key) is None]
    if lacking:
        raise ConfigError(f"resolve: {', '.join(lacking)} is missing. Write it, or --from FILE for many scores.")
    given = {key: getattr(args, key) for key in _GIVEN if getattr(args, key) is not None}
    found = _recorded(args) if args.recording else {}
    return Row("resolve", {**found, **given, "score": parsed(args.score)})


def _recorded(args: Namespace) -> dict[str, Any]:
    """What recordings say of the mark that waits on this span; nothing waits there: it is a mark of its own."""
    ids = (args.trace_id.lower(), args.span_id.lower(), args.name)
    for one in waiting([(name, name) for name in args.recording], problem=complain):
        if (one.trace_id, one.span_id, one.name) == ids:
            said = {
                "agent": one.agent, "id": one.id, "key": one.key, "version": one.version,
                "revision": one.revision + 1, "end_ns": one.end_ns,
            }  # fmt: skip
            return {key: value for key, value in said.items() if value is not None}
    complain(f"nothing waits for {args.name} there: it is sent as a score that nobody waited for (revision 0)")
    return {"revision": 0}


Checked = tuple[Row, Run, Mark]


class _Work:
    """What became of the rows so far. ``passing`` says which numbers pass, of all of them."""

    def __init__(self, passing: Mapping[str, Any]) -> None:
        self._passing = passing
        self.bad = 0
        self.empty = 0
        self._seen: dict[tuple[str | None, int], str] = {}

    def checked(self, asked: Iterable[Row]) -> Iterator[Checked]:
        """The marks of the rows that say one; the others are told."""
        for row in asked:
            if row.empty:
                self.empty += 1
                continue
            found = self._mark(row)
            if isinstance(found, str):
                self.bad += 1
                complain(f"{row.place}: {found}")
            else:
                yield row, *found

    def _mark(self, row: Row) -> tuple[Run, Mark] | str:
        """The mark of a row; or what is wrong with it."""
        if row.wrong is not None:
            return row.wrong
        try:
            run, mark = resolved(**row.given, **self._passing)
        except ConfigError as error:
            return str(error)
        first = self._seen.setdefault((mark.id, mark.revision), row.place)
        return (run, mark) if first == row.place else f"a second score for what {first} scores. Write one."

    def sent(self, found: Sequence[Checked], otlp: str | None) -> int:
        """Send the marks; how many were not taken whole."""
        refused = send([(run, mark) for _, run, mark in found], otlp)
        for (row, run, mark), lacking in zip(found, refused, strict=True):
            if lacking:
                complain(f"{row.place}: {mark.name}: {', '.join(lacking)} not taken by the receiver")
            else:
                write(printable(f"sent  {mark.name}  {mark.value}  trace {run.trace_id}  revision {mark.revision}"))
        return sum(map(bool, refused))
