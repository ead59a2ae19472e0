"""Judges by script, for whole applications."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

JUDGED = {
    "judge": {"model": "test/judge"},
    "agents": {
        "site_doctor": {
            "calls": {"mustCall": ["check_site"], "mustNotCall": ["delete_site"]},
            "expectations": {"situation": "The site is up.", "should": ["says that the site is up"]},
        }
    },
}


def rules(**expectations: Any) -> dict[str, Any]:
    """The rules above, with other words in ``expectations``."""
    agent = JUDGED["agents"]["site_doctor"]
    return {**JUDGED, "agents": {"site_doctor": {**agent, "expectations": {**agent["expectations"], **expectations}}}}


def checks(*met: bool | None) -> str:
    """An answer with a check for each line."""
    said = [
        {"id": n, "expectation": "", "why": "so it is", "evidence": None, "met": each} for n, each in enumerate(met, 1)
    ]
    return json.dumps({"checks": said})


class Judge:
    """A ``complete=`` that gives the same answer to everybody, and keeps what it was asked."""

    def __init__(self, answer: str | Callable[[], str] = checks(True)) -> None:  # noqa: B008 - a text
        self.asked: list[tuple[str, list[dict[str, str]]]] = []
        self._answer = answer

    def __call__(self, model: str, messages: list[dict[str, str]]) -> str:
        self.asked.append((model, messages))
        return self._answer if isinstance(self._answer, str) else self._answer()


class Stuck(Judge):
    """Answers nobody until it is let go."""

    def __init__(self) -> None:
        super().__init__(self._wait)
        self.entered = threading.Event()
        self.let_go = threading.Event()

    def _wait(self) -> str:
        self.entered.set()
        self.let_go.wait(20)
        return checks(True)
