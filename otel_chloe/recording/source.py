"""Opens a recording and tells its form by its first bytes, whatever its name is."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Source = str | os.PathLike[str] | io.BufferedIOBase
Form = Literal["json", "frames", "message"]

STANDARD_INPUT: Final = "-"
_HEAD: Final = 64
_BUFFER: Final = 1 << 18

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_BOM: Final = b"\xef\xbb\xbf"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff", b"{\0", b"\0{", b"[\0", b"\0[")
_REQUEST: Final = 0x0A  # the tag of field 1, length-delimited: resource_spans
_CONTROL: Final = frozenset(range(32)) - frozenset(b"\t\n\r")

READ_ERRORS: Final = (OSError, EOFError, zlib.error)
"""What reading may raise: the disk's errors, and gzip's."""


class NotARecordingError(Exception):
    """A source cannot be read at all: ``what`` it is, and the ``advice``."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.what = what
        self.advice = advice


class Recording(io.BufferedReader):
    """A stream whose first bytes were looked at, and that ends where reading fails: ``failure`` says how."""

    def __init__(self, head: bytes, rest: io.BufferedIOBase) -> None:
        self._replayed = _Replayed(head, rest)
        super().__init__(self._replayed, _BUFFER)

    @property
    def failure(self) -> Exception | None:
        return self._replayed.failure


class _Replayed(io.RawIOBase):
    failure: Exception | None = None

    def __init__(self, head: bytes, rest: io.BufferedIOBase) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        if self._head:
            count = min(len(view), len(self._head))
            view[:count], self._head = self._head[:count], self._head[count:]
            return count
        try:
            return self._rest.readinto1(view)
        except READ_ERRORS as error:
            self.failure = error
            return 0


def name_of(source: Source) -> str:
    """Name a source as its problems name it."""
    if isinstance(source, io.BufferedIOBase):
        return str(getattr(source, "name", "standard input"))
    path = os.fspath(source)
    return "standard input" if path == STANDARD_INPUT else path


@contextmanager
def opened(source: Source) -> Generator[tuple[Recording, Form]]:
    """Open a source, unpack it and tell its form. Raises NotARecordingError, or what ``open`` raises."""
    with _raw(source) as raw:
        head = raw.read(_HEAD)
        stream = Recording(head, raw)
        if head.startswith(_GZIP):
            unpacked = gzip.GzipFile(fileobj=stream)
            head = unpacked.read(_HEAD)
            stream = Recording(head, unpacked)
        if not head:
            raise NotARecordingError("empty", "Expected a recording; was it ever written?")
        yield stream, _form(head)


@contextmanager
def _raw(source: Source) -> Generator[io.BufferedIOBase]:
    if isinstance(source, io.BufferedIOBase):
        yield source
    elif os.fspath(source) == STANDARD_INPUT:
        yield sys.stdin.buffer  # type: ignore[misc]  # typed BinaryIO, and always a BufferedReader
    elif (path := Path(source)).is_dir():
        raise NotARecordingError("a directory", f"Name the recordings in it, for example {path / '*.jsonl'}.")
    else:
        with path.open("rb") as file:
            yield file


def _form(head: bytes) -> Form:
    if head[0] == _REQUEST and _CONTROL.intersection(head):
        # A text may begin with the same byte, a line feed; but no request has 64 bytes without a tag or a length
        # that is a control character.
        return "message"
    if len(head) > 4 and head[0] <= 8 and head[4] == _REQUEST:
        return "frames"
    _refuse_other_encodings(head)
    text = head.removeprefix(_BOM).lstrip()
    if text[:1] not in (b"{", b"[", b"") and _CONTROL.intersection(text):
        raise NotARecordingError(
            "not a recording",
            "Expected OTLP/JSON lines, OTLP protobuf, or a Jaeger or Tempo export, plain or with gzip.",
        )
    return "json"


def _refuse_other_encodings(head: bytes) -> None:
    if head.startswith(_UTF_16):
        raise NotARecordingError("UTF-16", "Expected UTF-8: convert it, for example with iconv -f utf-16 -t utf-8.")
    if _ZSTD in (head[:4], head[4:8]):
        raise NotARecordingError(
            "compressed with zstd", "Expected plain or gzip: export it without compression, or unpack it."
        )
    if head.startswith(_GZIP):
        raise NotARecordingError("compressed twice", "Unpack it once.")
