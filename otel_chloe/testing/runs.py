"""The runs that a test made, with their marks."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, cast

from opentelemetry import trace

from otel_chloe.config import Rules
from otel_chloe.errors import ConfigError
from otel_chloe.judge.ask import Complete
from otel_chloe.mark import Outcome
from otel_chloe.processor import ScoringSpanProcessor
from otel_chloe.run import Run


class Provider(Protocol):
    """A tracer provider of the SDK, or one that wraps it."""

    def add_span_processor(self, span_processor: ScoringSpanProcessor, /) -> object: ...


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run that was scored, and its outcomes in the order they came."""

    run: Run
    outcomes: tuple[Outcome, ...]

    def __getitem__(self, name: str) -> Outcome:
        """The outcome of this name: ``recorded["calls"]``."""
        for outcome in self.outcomes:
            if outcome.name == name:
                return outcome
        raise KeyError(f"{name!r}: the outcomes are {', '.join(outcome.name for outcome in self.outcomes)}")


class RecordedRuns:
    """What a processor scored. It is its ``on_mark``."""

    def __init__(self, flush: Callable[[], bool]) -> None:
        self._flush: Callable[[], bool] | None = flush
        self._seen: list[tuple[Run, list[Outcome]]] = []

    def __call__(self, run: Run, outcome: Outcome) -> None:
        """Take an outcome of a run; called by the processor's worker."""
        for seen, outcomes in reversed(self._seen):
            if seen is run:
                outcomes.append(outcome)
                return
        self._seen.append((run, [outcome]))

    @property
    def runs(self) -> list[RecordedRun]:
        """Every run so far that has a rule, top-level or not, in the order in which they closed.

        Runs whose own span has ended are closed and judged first. Raises AssertionError where that takes over 30 s.
        """
        if self._flush is not None and not self._flush():
            raise AssertionError("Not every run was scored within 30 s. Is a judge still waiting for its answer?")
        return [RecordedRun(run, tuple(outcomes)) for run, outcomes in self._seen]

    def end(self) -> None:
        """From here on nothing more comes."""
        self._flush = None


@contextmanager
def record_runs(
    rules: str | os.PathLike[str] | Mapping[str, object] | Rules | None = None,
    *,
    provider: object = None,
    scorers: Sequence[object] = (),
    complete: Complete | None = None,
    settings: Mapping[str, object] | None = None,
) -> Generator[RecordedRuns]:
    """Score the runs of the agent under test as long as the block goes on; ``recorded.runs`` has them with their marks.

    Args:
        rules: As for :class:`~otel_chloe.ScoringSpanProcessor`. A run that nothing scores is not recorded.
        provider: The tracer provider that the agent uses; the global one where it is left out. The processor that is
            added to it does nothing any more when the block is over.
        scorers: Scorers of your own, as for the processor.
        complete: Who answers for the judge's model, such as a :class:`~otel_chloe.testing.ScriptedJudge`.
        settings: As for the processor.

    Raises :class:`~otel_chloe.errors.ConfigError` where the rules are wrong or there is no provider.
    """
    found = trace.get_tracer_provider() if provider is None else provider
    if not hasattr(found, "add_span_processor"):
        message = (
            f"{type(found).__name__} takes no span processor. Set up a TracerProvider of the SDK, or pass provider=."
        )
        raise ConfigError(message)
    recorded = RecordedRuns(lambda: processor.force_flush())  # noqa: PLW0108 - made below
    processor = ScoringSpanProcessor(rules, scorers=scorers, complete=complete, on_mark=recorded, settings=settings)
    cast("Provider", found).add_span_processor(processor)
    try:
        yield recorded
    finally:
        processor.shutdown()
        recorded.end()
