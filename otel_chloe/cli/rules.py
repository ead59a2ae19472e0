"""Loads the rules of a command; a mistake in them is told, and ends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..config import Rules, load_rules
from ..errors import ConfigError
from .console import complain


def rules_of(path: str) -> Rules | None:
    """The rules of a file; None where they are wrong, which has been said then."""
    # Plugins of pydantic that happen to be installed would be imported for the sake of this one file.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        with working_directory_first():
            return load_rules(path)
    except ConfigError as error:
        complain(error)
        return None


@contextmanager
def working_directory_first() -> Generator[None]:
    """Modules of the working directory come first here, as with ``python -m``.

    Afterwards they come last: what a user's function imports later is found, and nothing of ours is hidden by them.
    """
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)
