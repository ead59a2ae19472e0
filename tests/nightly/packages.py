"""Environments for what is too heavy for that of the tests: kept in the user's cache, made where they are missing."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import pytest
from backends import ROOT


def python_with(name: str, packages: Sequence[str]) -> str:
    """The Python that has these packages."""
    made = subprocess.run(
        ["sh", ".ci/packages.sh", name, *packages], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.fail(f"installing {name}: {made.stderr[-2_000:]}")
    return made.stdout.strip()
