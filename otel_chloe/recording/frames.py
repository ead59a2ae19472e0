"""Binary recordings: length-prefixed requests, as the Collector's file exporter writes them, or one bare request."""

from __future__ import annotations

import io
from collections.abc import Iterator

from .otlp_proto import OtlpProto
from .problems import Problems, size
from .span import RecordedSpan


def frame_spans(stream: io.BufferedIOBase, problems: Problems, max_bytes: int) -> Iterator[RecordedSpan]:
    """Read the spans of messages that each follow their own length, four bytes, big-endian; in the memory of one."""
    problems.unit = "message"
    otlp = OtlpProto(problems)
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
        yield from otlp.spans(message)


def message_spans(stream: io.BufferedIOBase, problems: Problems, max_bytes: int) -> Iterator[RecordedSpan]:
    """Read the spans of a file that is one request."""
    message = stream.read(max_bytes + 1)
    if len(message) > max_bytes:
        problems.add(
            f"one protobuf message of more than {size(max_bytes)}",
            "Expected length-prefixed messages, as the Collector's file exporter writes them.",
        )
        return
    yield from OtlpProto(problems).spans(message)
