"""The errors that a user can meet.

ChloeError
├── ConfigError      rules, settings or a scorer's definition are wrong; raised where they are made
├── InputError       a file is not a recording, or a part of it is not readable
└── SendError        a receiver did not take what was to be sent
"""

from __future__ import annotations


class ChloeError(Exception):
    """Any error that otel_chloe raises on purpose."""


class ConfigError(ChloeError, ValueError):
    """Rules, settings or a scorer's definition are wrong. The message says where, and what to write instead."""


class SendError(ChloeError):
    """A receiver did not take what was to be sent. The message says what."""


class InputError(ChloeError, ValueError):
    """A recording cannot be read. The message names the file, the line and what was expected."""
