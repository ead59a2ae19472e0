"""``otel-chloe runs``: what recordings tell, run by run."""

from __future__ import annotations

from argparse import Namespace

from .console import BAD_INPUT, OK, write
from .json_lines import run_line
from .reading import Recordings
from .text import Page


def run(args: Namespace) -> int:
    """Print every run as it is found."""
    recordings = Recordings(args.files, together=args.together)
    page = Page()
    for file, found in recordings.runs(explain=args.explain):
        if args.format == "json":
            write(run_line(file, found, explain=args.explain))
        else:
            write(page.run(file, found, explain=args.explain) + "\n")
    return BAD_INPUT if recordings.bad else OK
