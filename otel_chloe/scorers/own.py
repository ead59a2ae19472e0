"""The user's own scorers of a run: which are due, what they are given, and what their outcomes are stamped with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from otel_chloe.config import AgentRules, Rules, ScorerRule
from otel_chloe.inside import Inside
from otel_chloe.kit import ScorerContext, context_of, owners_of, without_double
from otel_chloe.mark import Outcome
from otel_chloe.run import Run
from otel_chloe.scorers.scoring import mark_id, scored_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """One scorer of the user's that is due for one run.

    ``alone``: no other of the user's scores the run, so its threshold is for its only score, whatever its name.
    """

    run: Run
    rule: ScorerRule
    severity: str | None
    trace_id: str | None
    alone: bool
    owners: dict[str, str | None] = field(repr=False)
    """Whose each name of a score is, by the scorers' keys; one for the run and all its scorers."""

    @property
    def name(self) -> str:
        """The scorer's name."""
        return self.rule.scorer.name

    @property
    def model(self) -> str:
        """The model that judges; empty where none does."""
        return getattr(self.rule.scorer, "model", "")

    @property
    def sample(self) -> float:
        """The share of runs that it scores."""
        return self.rule.sample

    @property
    def context(self) -> ScorerContext:
        """What the scorer is given: the run, and what the program said of this one."""
        inside = self.run.inside
        if not isinstance(inside, Inside):
            return context_of(self.run)
        return context_of(self.run, input=inside.input, expected=inside.expected, metadata=inside.metadata)

    def stamped(self, outcome: Outcome) -> Outcome:
        """The outcome with its key, version, id and severity; failed where its name is another scorer's."""
        scorer = self.rule.scorer
        key, version = outcome.key or scorer.key, outcome.version or scorer.version
        outcome = without_double(outcome, key, self.owners)
        id_ = mark_id(self.trace_id, self.run.span_id, outcome.name, version, key)
        return replace(outcome, key=key, version=version, id=id_, severity=self.severity)


def own_due(run: Run, rules: Rules) -> list[Own]:
    """What scores a run and its sub-runs beside the built-in scorers, in the order of the rules."""
    return [own for scored, held, trace_id in scored_runs(run, rules) for own in own_under(scored, held, trace_id)]


def own_under(run: Run, rules: AgentRules | None, trace_id: str | None) -> Iterator[Own]:
    """The same of one run under these rules alone, and of none of its sub-runs."""
    if rules is None:
        return
    owners = owners_of(each.scorer for each in rules.scorers)
    owners.update(dict.fromkeys(rules.digests))
    for each in rules.scorers:
        yield Own(
            run=run,
            rule=each,
            severity=each.severity or rules.severity,
            trace_id=trace_id,
            alone=len(rules.scorers) == 1,
            owners=owners,
        )
