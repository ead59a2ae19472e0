"""What comes back to the worker from other threads: the outcomes of one scorer for one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from otel_chloe.mark import Outcome
from otel_chloe.run import Run
from otel_chloe.scorers import Due
from otel_chloe.sinks import Origin

if TYPE_CHECKING:
    from otel_chloe.scorers.own import Own  # with the kit: only for who has scorers of their own

SAMPLED_OUT: Final = "sampled_out"

AnyDue: TypeAlias = "Due | Own"
"""A scorer that is due for a run."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A scorer that was asked about a run, and where the run's evaluation spans go."""

    due: AnyDue
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of it."""

    due: AnyDue
    origin: Origin | None
    outcomes: list[Outcome]

    @property
    def run(self) -> Run:
        """The run, or sub-run, that the outcomes are of."""
        return self.due.run
