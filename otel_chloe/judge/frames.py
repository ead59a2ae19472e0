"""Frames on a pipe: four bytes of length, then so many bytes of JSON; of bounded size, so that neither side swells."""

from __future__ import annotations

import json
import struct
from typing import Any, Final, TypeAlias

Frame: TypeAlias = dict[str, Any]

MAX_FRAME: Final = 8 * 1024 * 1024
"""Bytes of one frame. A prompt is held far below this by its token budget, an answer by its ``max_tokens``."""
_LENGTH: Final = struct.Struct(">I")


class FrameError(Exception):
    """What came is no frame, or a frame would be larger than it may be."""


def encode(frame: Frame, *, limit: int = MAX_FRAME) -> bytes:
    """The frame's bytes. Raises FrameError where its JSON is over ``limit`` bytes."""
    # ASCII, so that half a surrogate pair in a tool's result is text like any other and not an encoding error.
    return packed(json.dumps(frame, separators=(",", ":")), limit=limit)


def packed(frame: str, *, limit: int = MAX_FRAME) -> bytes:
    """The same for a frame that is JSON already, of ASCII characters."""
    body = frame.encode("ascii")
    if len(body) > limit:
        raise FrameError(f"a frame of {len(body):,} bytes is over the {limit:,} that one may have")
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """Gives whole frames out of bytes that come in pieces of any size."""

    __slots__ = ("_held", "_limit")

    def __init__(self, *, limit: int = MAX_FRAME) -> None:
        self._held = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are whole now, in order. Raises FrameError where the bytes are no frames."""
        self._held += data
        frames: list[Frame] = []
        start = 0
        while (end := self._end(start)) is not None:
            frames.append(_decode(bytes(self._held[start + _LENGTH.size : end])))
            start = end
        del self._held[:start]
        return frames

    def _end(self, start: int) -> int | None:
        body = start + _LENGTH.size
        if len(self._held) < body:
            return None
        (length,) = _LENGTH.unpack_from(self._held, start)
        if length > self._limit:
            raise FrameError(f"a frame of {length:,} bytes is announced; {self._limit:,} is the most")
        return body + length if len(self._held) >= body + length else None


def _decode(body: bytes) -> Frame:
    try:
        frame: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame that is not JSON: {error}") from error
    if not isinstance(frame, dict):
        raise FrameError("a frame that is not a JSON object")
    return frame  # pyright: ignore[reportUnknownVariableType]
