"""``otel-chloe pending``: the scores that recordings wait for, as a list that ``resolve --from`` takes back."""

from __future__ import annotations

import csv
import io
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from ..errors import InputError
from ..recording.pending import Waiting, waiting
from .console import BAD_INPUT, OK, complain, printable, write
from .json_lines import line
from .scores import COLUMNS


def run(args: Namespace) -> int:
    """Print what waits."""
    bad = False

    def problem(error: InputError) -> None:
        nonlocal bad
        bad = True
        complain(error)

    found = waiting([(name, name) for name in args.files], problem=problem)
    if args.format == "csv":
        _table(found)
    else:
        said: Callable[[Waiting], str] = _object if args.format == "json" else _line
        for one in found:
            write(said(one))
    if not found and args.format == "text" and not bad:
        complain("nothing waits in these recordings")
    return BAD_INPUT if bad else OK


def _row(one: Waiting) -> dict[str, Any]:
    """What ``resolve --from`` asks for; the score and its reason are left to be written."""
    return {
        "trace_id": one.trace_id,
        "span_id": one.span_id,
        "name": one.name,
        "score": None,
        "reason": None,
        "waits_for": one.waits_for,
        "agent": one.agent,
        "id": one.id,
        "key": one.key,
        "version": one.version,
        "revision": one.revision + 1,
        "end_ns": one.end_ns,
        "file": one.file,
    }


def _object(one: Waiting) -> str:
    return line(_row(one))


def _line(one: Waiting) -> str:
    said = f"{one.name}  {one.agent or '-'}  trace {one.trace_id}  span {one.span_id}"
    return printable(f"{said}  {one.waits_for}" if one.waits_for else said)


def _table(found: list[Waiting]) -> None:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows([_row(one)[key] for key in COLUMNS] for one in found)
    write(text.getvalue().rstrip("\n"))
