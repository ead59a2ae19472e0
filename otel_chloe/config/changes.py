"""Whether a rules file has changed since it was read."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from otel_chloe.config.rules import FileRead, Rules
from otel_chloe.errors import ConfigError


class FileState(NamedTuple):
    """What tells one content of a file from another, without reading it."""

    modified_ns: int
    size: int
    inode: int


def file_read(path: str | os.PathLike[str]) -> FileRead:
    """The file as it is before it is read. A link is followed: what it leads to may be exchanged."""
    where = os.path.abspath(path)  # noqa: PTH100 - a link stays one; the program may change its directory later
    return FileRead(where, state_of(where))


def state_of(path: str) -> FileState | None:
    """The state of a file; None where there is none that can be read."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a path may hold what no Path takes
    except (OSError, ValueError):
        return None
    return FileState(found.st_mtime_ns, found.st_size, found.st_ino)


_NEVER: Final = object()


class RulesChanges:
    """Reads a rules file again when it has changed. Whoever asks says when.

    A change is taken at the second look that finds it: a file that is being written is not read by half.
    """

    def __init__(self, file: FileRead) -> None:
        self._path = file.path
        self._taken: object = file.state
        self._seen: object = _NEVER

    def look(self) -> Rules | None:
        """The rules, where the file has changed; None where it has not, or may still be changing.

        Raises :class:`~otel_chloe.errors.ConfigError` once for each state of the file that gives no rules.
        """
        state = state_of(self._path)
        if state == self._taken:
            self._seen = _NEVER
            return None
        if state != self._seen:
            self._seen = state
            return None
        self._taken = state
        if state is None:
            raise ConfigError(f"{self._path}: the file is gone.")
        from otel_chloe.config.load import read_rules

        return read_rules(self._path)
