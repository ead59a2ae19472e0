"""The package itself: what is public, what an import costs, and that its papers agree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import otel_chloe

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "otel_chloe").rglob("*.py"))

INTERFACE = {
    "calls", "expectations", "score", "ascore", "load_runs",
    "Run", "ToolCall", "ExpectedCalls", "ExpectedOutcome",
    "Mark", "Unscored", "Pending", "Failed",
    "Score", "DeferredScore", "ScorerContext", "Scorer",
    "ScoringSpanProcessor", "Rules", "attach", "Attachment", "resolve", "expecting",
    "ConfigError",
}  # fmt: skip
"""The names that users were promised."""


def fresh(code: str) -> dict[str, object]:
    """Runs the code in an interpreter of its own; returns the ``report`` that it made."""
    script = f"{code}\nimport json\nprint(json.dumps(report))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=50)

    assert done.returncode == 0, done.stderr

    return json.loads(done.stdout.splitlines()[-1])


def test_all_is_what_is_really_there():
    """One way only, for a name that is made when it is asked for stands in no namespace; the next test looks back."""
    there = {
        name
        for name, value in vars(otel_chloe).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }

    assert set(otel_chloe.__all__) - {"__version__"} >= there


def test_every_public_name_is_there_and_named_once():
    for name in otel_chloe.__all__:
        assert hasattr(otel_chloe, name)

    assert len(otel_chloe.__all__) == len(set(otel_chloe.__all__))


def test_the_promised_names_are_public():
    public = set(otel_chloe.__all__)

    assert public >= INTERFACE


def test_dir_shows_the_public_names():
    assert set(dir(otel_chloe)) >= set(otel_chloe.__all__)


def test_the_version_is_the_distributions():
    assert otel_chloe.__version__ == metadata.version("otel-chloe")


def test_the_changelogs_top_version_is_the_packages():
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+\S*)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)

    assert versions[0] == metadata.version("otel-chloe")


def test_the_licence_is_apache_2_and_goes_with_the_distribution():
    text = (ROOT / "LICENSE").read_text("utf-8")
    meta = metadata.metadata("otel-chloe")

    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert meta["License-Expression"] == "Apache-2.0"
    assert meta.get_all("License-File") == ["LICENSE"]


def test_the_package_tells_type_checkers_that_it_is_typed():
    assert (ROOT / "otel_chloe" / "py.typed").is_file()


def test_an_import_brings_nothing_heavy_and_starts_nothing():
    report = fresh("""
import sys, threading
import otel_chloe
heavy = {"litellm", "grpc", "pydantic", "yaml", "requests", "httpx", "google.protobuf"}
report = {"heavy": sorted(heavy & set(sys.modules)), "threads": threading.active_count()}
""")

    assert report == {"heavy": [], "threads": 1}


def test_a_processor_without_rules_brings_nothing_heavy_and_starts_nothing():
    report = fresh("""
import sys, threading
from otel_chloe import ScoringSpanProcessor
processor = ScoringSpanProcessor()
heavy = {"litellm", "grpc", "pydantic", "yaml", "requests", "httpx", "google.protobuf"}
report = {"heavy": sorted(heavy & set(sys.modules)), "threads": threading.active_count()}
""")

    assert report == {"heavy": [], "threads": 1}


def test_a_processor_opens_no_socket():
    report = fresh("""
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(event) if event == "socket.__new__" else None)
from otel_chloe import ScoringSpanProcessor
ScoringSpanProcessor()
report = {"sockets": opened}
""")

    assert report == {"sockets": []}


def test_nothing_imports_the_judges_library_or_grpc_but_the_judges_process():
    for file in (file for file in FILES if file.name != "child_main.py"):
        assert not re.search(r"^\s*(?:import|from) (?:litellm|grpc)\b", file.read_text("utf-8"), re.MULTILINE), file


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_file_is_over_350_lines(file):
    """A longer file is two rooms."""
    assert len(file.read_text("utf-8").splitlines()) <= 350


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_file_says_what_it_is_for(file):
    assert file.read_text("utf-8").startswith(('"""', 'r"""'))
