"""What the tests of the demo, the README and the docs share: the examples as programs, and the pieces of a page."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType

ROOT = Path(__file__).parent.parent
LEFT_OUT = ("OTEL_", "OTLP", "NO_COLOR", "CHLOE_")


def load(path: str) -> ModuleType:
    """A file of examples or docs, as a module: they are no packages."""
    name = f"example_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def program(*argv: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs Python on this tree, in a shell that has none of our variables but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    path = os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])
    env = {**kept, "PYTHONPATH": path, "PYTHONUTF8": "1", **variables}
    return subprocess.run(
        [sys.executable, *argv], capture_output=True, encoding="utf-8", check=False, timeout=50, cwd=cwd, env=env
    )


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page that are in this language; those in lists without their indent."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [dedent(block) for _, block in found]


def rows(page: str, heading: str) -> list[list[str]]:
    """The table whose first column is headed so: its rows, as cells."""
    found: list[list[str]] = []
    inside = False
    for line in (ROOT / page).read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[0] == heading:
            inside = True
        elif inside and not set(cells[0]) <= set("-:"):
            found.append(cells)
    return found


def quoted(text: str) -> list[str]:
    """What stands in backquotes."""
    return re.findall(r"`([^`]+)`", text)
