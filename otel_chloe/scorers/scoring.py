"""All outcomes of a run under the rules: of the run itself, and of its sub-runs that the rules name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeGuard

from otel_chloe.config import AgentRules, Expectations, Rules
from otel_chloe.config.rules import with_inside
from otel_chloe.gaps import EXPECTED_UNREADABLE
from otel_chloe.inside import Inside
from otel_chloe.mark import Mark, Outcome, Unscored, stamped
from otel_chloe.run import Run
from otel_chloe.scorers.calls import calls

EXPECTATIONS: Final = "expectations"
JUDGE_OFF: Final = "judge_off"

_MEANING: Final = "1"
"""Changes when the same rules come to mean something else, so that old and new marks are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A judgement that is due: which run, what is expected of it, and what its outcome will be stamped with."""

    run: Run
    rules: AgentRules
    expectations: Expectations
    trace_id: str | None

    @property
    def name(self) -> str:
        """The scorer's name."""
        return EXPECTATIONS

    @property
    def model(self) -> str:
        """The model that judges."""
        return self.expectations.model or ""

    @property
    def sample(self) -> float:
        """The share of runs that are judged."""
        return self.expectations.sample

    def stamped(self, outcome: Outcome) -> Outcome:
        """The outcome with its version, id and severity."""
        named = outcome if outcome.name == EXPECTATIONS else replace(outcome, name=EXPECTATIONS)
        return _stamped(named, self.run, self.rules, self.trace_id)


def outcomes(run: Run, rules: Rules, *, judging: bool = False) -> list[tuple[Run, Outcome]]:
    """Score a top-level run, and below it every sub-run of an agent that has an entry of its own.

    The run is scored by the rules for everyone joined with its agent's; a sub-run by its agent's alone. Each outcome
    stands beside the run it is of, the top-level run first, then sub-runs in their order, outer before inner. An
    outcome's ``id`` is the same in every process, and None where the run has no trace or span id to tell it by.

    With ``judging``, what a model is to judge is left out: :func:`due` has it. Else it is unscored, "judge off".
    """
    return [
        (scored, outcome)
        for scored, held, trace_id in scored_runs(run, rules)
        for outcome in outcomes_under(scored, held, trace_id, judging=judging)
    ]


def due(run: Run, rules: Rules) -> list[Due]:
    """What a model is to judge of a run and its sub-runs, in the order of :func:`outcomes`."""
    return [
        Due(run=scored, rules=held, expectations=held.expectations, trace_id=trace_id)
        for scored, held, trace_id in scored_runs(run, rules)
        if _is_judged(held.expectations)
    ]


def _is_judged(expected: Expectations | None) -> TypeGuard[Expectations]:
    return expected is not None and expected.has_lines and expected.model is not None


def scored_runs(run: Run, rules: Rules) -> Iterator[tuple[Run, AgentRules, str | None]]:
    """The run and its sub-runs that are scored, each with its rules and its trace's id."""
    if (held := rules_of(run, rules)) is not None:
        yield run, held, run.trace_id
    for sub in _below(run):
        if (held := rules.of_sub_run(sub)) is not None:
            yield sub, held, sub.trace_id or run.trace_id


def rules_of(run: Run, rules: Rules) -> AgentRules | None:
    """What holds for a top-level run: the rules for everyone, its agent's, and what the program expects of it alone."""
    held = rules.of_run(run)
    inside = run.inside
    if not isinstance(inside, Inside):
        return held
    return with_inside(held, inside, agent=run.agent, model=rules.judge.model)


def mark_id(trace_id: str | None, span_id: str | None, scorer: str, version: str, digest: str) -> str | None:
    """The id of the mark that this scorer gives the run: 32 hex digits, or None without trace and span id."""
    if trace_id is None or span_id is None:
        return None
    return _hash(trace_id, span_id, scorer, version, digest, size=16)


@lru_cache(maxsize=1024)
def scorer_version(scorer: str, digest: str) -> str:
    """The version of a built-in scorer under these rules: a hash of all that defines it, 8 hex digits."""
    return _hash(scorer, _MEANING, digest, size=4)


def _below(run: Run) -> Iterator[Run]:
    for sub in run.sub_runs:
        yield sub
        yield from _below(sub)


def outcomes_under(
    run: Run, rules: AgentRules | None, trace_id: str | None, *, judging: bool = False
) -> Iterator[Outcome]:
    """Score one run by these rules alone, and none of its sub-runs. No rules, no outcomes."""
    if rules is None:
        return
    if rules.calls is not None:
        yield _stamped(_told(run, calls(run, rules.calls)), run, rules, trace_id)
    if rules.expectations is not None and not (judging and _is_judged(rules.expectations)):
        yield _stamped(_expectations(rules.expectations), run, rules, trace_id)


def _told(run: Run, outcome: Outcome) -> Outcome:
    """The outcome; unscored where a rule may be unseen that the program wrote for this run."""
    if isinstance(outcome, Mark) and outcome.passed and any(gap.code == EXPECTED_UNREADABLE for gap in run.gaps):
        return Unscored("what the span expects of this run cannot be read", error="gap")
    return outcome


def _expectations(expected: Expectations) -> Outcome:
    if expected.has_lines and expected.model is None:
        return Unscored(
            "no model to judge with: write judge: {model: …} in the rules", name=EXPECTATIONS, error=JUDGE_OFF
        )
    if expected.has_lines:
        return Unscored("judge off", name=EXPECTATIONS, error=JUDGE_OFF)
    return Mark(1.0, "Nothing was expected.", name=EXPECTATIONS, value=1.0, passed=True)


def _stamped(outcome: Outcome, run: Run, rules: AgentRules, trace_id: str | None) -> Outcome:
    digest = rules.digests[outcome.name]
    version = scorer_version(outcome.name, digest)
    id_ = mark_id(trace_id, run.span_id, outcome.name, version, digest)
    if isinstance(outcome, Mark):
        return stamped(outcome, version=version, id_=id_, severity=rules.severity)
    return replace(outcome, version=version, id=id_, severity=rules.severity)


def _hash(*parts: str, size: int) -> str:
    import hashlib  # there already: rules were hashed when they were loaded

    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
