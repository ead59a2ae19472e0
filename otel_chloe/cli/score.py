"""``otel-chloe score``: the marks of recorded runs, and whether they are good enough."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..config import Rules
from ..errors import ConfigError
from ..mark import Mark, Outcome
from .console import BAD_INPUT, NOT_PASSED, OK, complain, printable, write
from .json_lines import run_line
from .judged import complete_of, scored_runs
from .reading import Recordings
from .rules import rules_of
from .text import Page

if TYPE_CHECKING:
    from ..judge.ask import Complete

HIGHER = "higher_is_better"


def run(args: Namespace) -> int:
    """Score every run as it is found, then tell how all of them did."""
    rules = rules_of(args.rules)
    if rules is None:
        return BAD_INPUT
    try:
        complete = complete_of(args.complete) if args.complete else None
    except ConfigError as error:
        complain(error)
        return BAD_INPUT
    return _score(args, rules, complete)


def _score(args: Namespace, rules: Rules, complete: Complete | None) -> int:
    recordings = Recordings(args.files, together=args.together)
    totals = Totals(other_way={each.scorer.name for each in rules.scorers if each.scorer.direction != HIGHER})
    page = Page()
    for file, found, scored in scored_runs(recordings.runs(), rules, judge=not args.no_judge, complete=complete):
        for of, outcome in scored:
            totals.add(of.agent, outcome)
        if args.format == "json":
            write(run_line(file, found, scored))
        else:
            write(page.run(file, found, scored) + "\n")
    if args.format == "text":
        for line in totals.lines():
            write(line)
    if recordings.bad:
        return BAD_INPUT
    return OK if totals.good(fail_under=args.fail_under, strict=args.strict) else NOT_PASSED


@dataclass(slots=True)
class _Total:
    """How the runs of one agent did with one scorer."""

    scores: list[float] = field(default_factory=list[float])
    passed: int = 0
    judged: int = 0
    unscored: int = 0
    pending: int = 0
    failed: int = 0

    def add(self, outcome: Outcome) -> None:
        if isinstance(outcome, Mark):
            if outcome.score is not None:
                self.scores.append(outcome.score)
            self.judged += outcome.passed is not None
            self.passed += outcome.passed is True
        else:
            self.unscored += outcome.state == "unscored"
            self.pending += outcome.state == "pending"
            self.failed += outcome.state == "failed"

    def __str__(self) -> str:
        mean = _mean(self.scores)
        return "  ".join([
            f"mean {'-' if mean is None else f'{mean:.2f}'}",
            f"pass {self.passed}/{self.judged}",
            f"unscored {self.unscored}",
            f"pending {self.pending}",
            f"failed {self.failed}",
        ])  # fmt: skip


class Totals:
    """All marks so far, by scorer and agent.

    ``other_way`` are the scorers of whose scores a higher one is not a better one: no mean of theirs is too low.
    """

    def __init__(self, other_way: Collection[str] = ()) -> None:
        self._other_way = other_way
        self._totals: dict[tuple[str, str | None], _Total] = {}

    def add(self, agent: str | None, outcome: Outcome) -> None:
        """Count one outcome."""
        total = self._totals.get((outcome.name, agent))
        if total is None:
            total = self._totals[outcome.name, agent] = _Total()
        total.add(outcome)

    def lines(self) -> list[str]:
        """One line for each scorer and agent, in the order in which they were met."""
        return [printable(f"{name}  {agent or '-'}  {total}") for (name, agent), total in self._totals.items()]

    def good(self, *, fail_under: float | None, strict: bool) -> bool:
        """Whether nothing failed, as the user asks it."""
        totals = self._totals.values()
        if any(total.failed or (strict and (total.unscored or total.pending)) for total in totals):
            return False
        if fail_under is None:
            return all(total.passed == total.judged for total in totals)
        means = [self._mean_of(scorer) for scorer in {name for name, _ in self._totals}.difference(self._other_way)]
        return all(mean is None or mean >= fail_under for mean in means)

    def _mean_of(self, scorer: str) -> float | None:
        return _mean(score for (name, _), total in self._totals.items() if name == scorer for score in total.scores)


def _mean(scores: Iterable[float]) -> float | None:
    """The mean of the scored marks; None, never 0, where there is none."""
    known = list(scores)
    return math.fsum(known) / len(known) if known else None
