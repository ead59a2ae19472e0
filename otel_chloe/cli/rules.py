"""Loads the rules of a command; a mistake in them is told, and ends it."""

from __future__ import annotations

import os

from ..config import Rules, load_rules
from ..errors import ConfigError
from .console import complain


def rules_of(path: str) -> Rules | None:
    """The rules of a file; None where they are wrong, which has been said then."""
    # Plugins of pydantic that happen to be installed would be imported for the sake of this one file.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        return load_rules(path)
    except ConfigError as error:
        complain(error)
        return None
