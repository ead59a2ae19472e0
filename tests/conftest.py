"""What all tests share: Hypothesis profiles, and skips that CI does not accept."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from otlp_receiver import Receiver
from sink_backend import Backend
from small_recordings import simple_run, written
from waiting_scores import PENDING, SPAN, TRACE, evaluation

# Where tests are started in a shell's background, Ctrl-C is ignored, and programs that they start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadlines: a slow machine is not a finding, and pytest-timeout catches what hangs.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("nightly", max_examples=5000, deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

REQUIRE_ALL = os.environ.get("CHLOE_REQUIRE_ALL") == "1"


@pytest.fixture(scope="session")
def needs() -> Callable[[str], str]:
    """``needs("valgrind")`` gives the program's path, or skips the test with its name."""

    def find(program: str) -> str:
        path = shutil.which(program)
        if path is None:
            pytest.skip(f"needs {program}, which is not installed")
        return path

    return find


@pytest.fixture
def rules_file(tmp_path: Path) -> Callable[..., Path]:
    """``rules_file(text, name="rules.yaml")`` writes a rules file and gives its path."""

    def write(text: str, name: str = "rules.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """The path of a recording of one run, with two calls."""
    return written(tmp_path / "spans.jsonl", *simple_run(1, tools=("check_site", "restart_site")))


@pytest.fixture
def waiting_recording(tmp_path: Path) -> str:
    """The path of a recording of one score that waits for a person."""
    return written(tmp_path / "waiting.jsonl", evaluation("helpful", TRACE, SPAN, **PENDING))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """An OTLP receiver on loopback."""
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def backend() -> Iterator[Backend]:
    """What telemetry goes to, in memory."""
    made = Backend()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()
    made.loggers.shutdown()


def _no_skips(report: pytest.TestReport | pytest.CollectReport) -> None:
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason} (CHLOE_REQUIRE_ALL=1: a skip is a failure)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    _no_skips(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    report = yield
    _no_skips(report)
    return report
