"""The commands: ``otel-chloe runs``, ``score`` and ``check``."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from .arguments import parser
from .console import BROKEN_PIPE, INTERRUPTED, complain

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    commands = parser()
    try:
        args = commands.parse_args(argv)
    except SystemExit as stop:  # --help, --version, or arguments that are wrong
        return stop.code if isinstance(stop.code, int) else 2
    if args.command is None:
        commands.print_help()
        return 0
    warnings = _Warnings()
    logging.getLogger("otel_chloe").addHandler(warnings)
    try:
        # Each command imports what it needs alone, so that --help is there at once.
        code: int = import_module(f".{args.command}", __package__).run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        logging.getLogger("otel_chloe").removeHandler(warnings)
    return code


class _Warnings(logging.Handler):
    """Says what the log says, of rules for example, in the command's own words."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


def _drop_output() -> None:
    """Nobody reads on (``| head``): the interpreter must not try to write the rest when it ends."""
    with contextlib.suppress(OSError, ValueError):  # standard output is no file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
