"""An application with scorers of its own, and what came of them wherever it came out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from agent_app import App
from opentelemetry.sdk.trace import ReadableSpan

from otel_chloe.mark import Outcome
from otel_chloe.run import Run

AGENT = "invoke_agent site_doctor"
DEADLINE_S = 20.0


def is_up(output: str) -> bool:
    """Whether the reply says so."""
    return "up" in output


class Scored(App):
    """An application that is scored by these scorers, and by rules where some are given."""

    def __init__(self, *scorers: Any, rules: Any = None, **more: Any) -> None:
        self.told: list[tuple[Run, Outcome]] = []
        super().__init__(rules, scorers=scorers, on_mark=lambda run, outcome: self.told.append((run, outcome)), **more)

    def score(self, name: str, span: str = AGENT) -> dict[str, Any]:
        """What the agent span says of a score: ``{"state": "scored", ...}``."""
        before = f"chloe.{name}."
        said = dict(self.span(span).attributes or {})
        return {key.removeprefix(before): said[key] for key in said if key.startswith(before)}

    def ended(self) -> list[ReadableSpan]:
        """The agent's spans that were exported by now."""
        return [span for span in self.exporter.get_finished_spans() if span.name == AGENT]

    def verdict(self) -> Any:
        return (self.span().attributes or {}).get("chloe.passed")

    def event(self, name: str) -> dict[str, Any]:
        """The one event of this score."""
        (event,) = (each for each in self.events() if each["gen_ai.evaluation.name"] == name)
        return event

    def evaluation(self, name: str) -> dict[str, Any]:
        """What the evaluation span of this score says."""
        return dict(self.span(f"evaluation {name}").attributes or {})

    def marked(self, name: str, **labels: str) -> float:
        """The count of ``chloe.marks`` of this score."""
        return self.counted("chloe.marks", gen_ai__evaluation__name=name, **labels)

    def numbers(self, name: str, metric: str = "gen_ai.evaluation.score") -> list[tuple[int, float]]:
        """How many numbers a histogram holds of this score, and their sum, for each series."""
        self.flush()
        data = self.reader.get_metrics_data()
        return [
            (point.count, point.sum)
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
            if (point.attributes or {}).get("gen_ai.evaluation.name") == name
        ]

    def outcomes(self, name: str | None = None) -> list[Outcome]:
        """All that on_mark was told so far, or what it was told of one score."""
        self.flush()
        return [outcome for _, outcome in self.told if name in (None, outcome.name)]


class Gate:
    """Where scorers wait until a test lets them go. Leaving the block lets them go, too."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self._open = threading.Event()

    def __enter__(self) -> Gate:  # noqa: PYI034 - nobody makes another of it
        return self

    def __exit__(self, *_: object) -> None:
        self._open.set()

    def let_go(self) -> None:
        self._open.set()

    def wait(self) -> None:
        """What a scorer calls."""
        self.entered.release()
        self._open.wait(DEADLINE_S)

    def wait_for(self, scorers: int = 1) -> None:
        """Until so many scorers wait here."""
        for _ in range(scorers):
            assert self.entered.acquire(timeout=DEADLINE_S)


def until(true: Callable[[], object]) -> None:
    """Waits for something that another thread brings about."""
    tick = threading.Event()
    for _ in range(int(DEADLINE_S / 0.01)):
        if true():
            return
        tick.wait(0.01)
    raise AssertionError("never came true")


def states(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    """The name and state of each, sorted."""
    return sorted((outcome.name, outcome.state) for outcome in outcomes)
