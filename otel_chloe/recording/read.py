"""Reads recordings: files in, spans out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final, cast

from ..conventions import read
from ..errors import InputError
from ..part import Part
from .lines import json_spans
from .problems import Problems
from .source import READ_ERRORS, Form, NotARecordingError, Recording, Source, name_of, opened
from .span import Direct, Found, RecordedResource, RecordedScope, RecordedSpan
from .usual import usual_part

MAX_ITEM_BYTES: Final = 256 << 20
"""The largest line, message or document. A document is read whole, so this bounds the memory."""


def read_spans(
    source: Source,
    *,
    problem: Callable[[InputError], None] | None = None,
    max_item_bytes: int = MAX_ITEM_BYTES,
    logs: Callable[[Any], object] | None = None,
) -> Iterator[RecordedSpan]:
    """Read the spans of one recording, in the order in which it holds them.

    Args:
        source: A path, ``-`` for standard input, or an open binary file. The form is told by the content: OTLP/JSON
            lines or documents, OTLP protobuf (length-prefixed or one message), Jaeger or Tempo JSON; gzip of each.
        problem: Is called for everything that cannot be read; what stands before and after it still counts.
            Without it the first problem is raised.
        max_item_bytes: The largest line, message or document.
        logs: Is called with each list of ResourceLogs that the recording holds too, in the form of OTLP/JSON.
    """
    yield from cast("Iterator[RecordedSpan]", _found(source, problem, max_item_bytes, _whole, logs, logs_suffice=True))


def read_parts(
    source: Source,
    *,
    problem: Callable[[InputError], None] | None = None,
    logs: Callable[[Any], object] | None = None,
) -> Iterator[Part]:
    """Read the spans of one recording as parts. What cannot be read is told as by :func:`read_spans`."""
    for found in _found(source, problem, MAX_ITEM_BYTES, usual_part, logs):
        part = found if isinstance(found, Part) else read(found)
        if part is not None:
            yield part


def _whole(_raw: dict[str, Any], _resource: RecordedResource, _scope: RecordedScope | None) -> None:
    """No span is read as a part: all of it is wanted."""


def _found(
    source: Source,
    problem: Callable[[InputError], None] | None,
    max_item_bytes: int,
    direct: Direct,
    logs: Callable[[Any], object] | None = None,
    *,
    logs_suffice: bool = False,
) -> Iterator[Found]:
    problems = Problems(name_of(source), problem or _raise, logs=logs, logs_suffice=logs_suffice)
    with ExitStack() as stack:
        try:
            stream, form = stack.enter_context(opened(source))
        except NotARecordingError as error:
            problems.add(error.what, error.advice)
        except (*READ_ERRORS, ValueError) as error:  # ValueError: a path with a zero byte
            problems.add(*_described(error))
        else:
            yield from _spans(stream, form, problems, max_item_bytes, direct)
            if stream.failure is not None:
                problems.add(*_described(stream.failure))
        problems.close()


def _spans(stream: Recording, form: Form, problems: Problems, max_item_bytes: int, direct: Direct) -> Iterator[Found]:
    if form == "json":
        return json_spans(stream, problems, max_item_bytes, direct)
    from . import frames  # protobuf's classes take a while to import, and few recordings need them

    return (frames.frame_spans if form == "frames" else frames.message_spans)(stream, problems, max_item_bytes)


def _described(error: Exception) -> tuple[str, str]:
    if isinstance(error, FileNotFoundError):
        return "no such file", "Is the path right?"
    if isinstance(error, EOFError):
        return "the gzip data is cut short", "What stands before this place counts; was the file still being written?"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read ({error.strerror})", "Is it a file that you may read?"
    return f"cannot be read ({error})", "What stands before this place counts; is the file damaged?"


def _raise(error: InputError) -> None:
    raise error
