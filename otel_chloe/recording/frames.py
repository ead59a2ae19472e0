"""Binary recordings: length-prefixed requests, as the Collector's file exporter writes them, or one bare request."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from .otlp_proto import OtlpProto, log_groups
from .problems import Problems, size
from .source import Form
from .span import RecordedSpan


def frame_spans(stream: io.BufferedIOBase, problems: Problems, max_bytes: int) -> Iterator[RecordedSpan]:
    """Read the spans of messages that each follow their own length, in the memory of one."""
    otlp = OtlpProto(problems)
    for message in _framed(stream, problems, max_bytes):
        yield from otlp.spans(message)


def message_spans(stream: io.BufferedIOBase, problems: Problems, max_bytes: int) -> Iterator[RecordedSpan]:
    """Read the spans of a file that is one request."""
    for message in _whole(stream, problems, max_bytes):
        yield from OtlpProto(problems).spans(message)


def logs_in(stream: io.BufferedIOBase, form: Form, problems: Problems, max_bytes: int) -> Iterator[list[Any]]:
    """Read the lists of ResourceLogs of a file of log records, each as OTLP/JSON has it."""
    for message in (_framed if form == "frames" else _whole)(stream, problems, max_bytes):
        groups = log_groups(message)
        if groups is None:
            problems.add("not an OTLP logs request", "The message is skipped. Expected OTLP log records in protobuf.")
        else:
            yield groups


def _framed(stream: io.BufferedIOBase, problems: Problems, max_bytes: int) -> Iterator[bytes]:
    """Messages that each follow their own length, four bytes, big-endian."""
    problems.unit = "message"
    while header := stream.read(4):
        problems.place += 1
        length = int.from_bytes(header, "big")
        if len(header) == 4 and length > max_bytes:
            problems.add(
                f"a length of {length:,} bytes",
                f"Expected {size(max_bytes)} at most. The rest is not read; was it changed?",
            )
            return
        message = stream.read(length)
        if len(header) < 4 or len(message) < length:
            problems.add("cut short", "The messages before it count. Was the file still being written?")
            return
        yield message


def _whole(stream: io.BufferedIOBase, problems: Problems, max_bytes: int) -> Iterator[bytes]:
    message = stream.read(max_bytes + 1)
    if len(message) > max_bytes:
        problems.add(
            f"one protobuf message of more than {size(max_bytes)}",
            "Expected length-prefixed messages, as the Collector's file exporter writes them.",
        )
        return
    yield message
