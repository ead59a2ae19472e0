"""The user's own scorers on live runs: the quick ones just before the agent's span ends, the others afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Final, cast

from otel_chloe.config import AgentRules, Rules
from otel_chloe.health import Health
from otel_chloe.judge.redact import Redactor
from otel_chloe.kit import AnyScorer, CodeScorer, is_async, outcomes_of, score_async
from otel_chloe.kit.returns import LONGEST_LABEL
from otel_chloe.kit.run_code import awaited, called, is_awaitable
from otel_chloe.mark import Mark, Outcome, Unscored
from otel_chloe.pipeline.answered import SAMPLED_OUT, Answered
from otel_chloe.pipeline.judging.sampling import sampled
from otel_chloe.pipeline.threads import Job, ScorerThreads, awaited_on_this_thread
from otel_chloe.run import Run
from otel_chloe.scorers.own import Own, own_due, own_under
from otel_chloe.semconv import EXPLANATION_LIMIT
from otel_chloe.sinks import Origin

BUDGET_S: Final = 0.005
"""What a scorer may take of the agent's time. One that took longer is asked after the run from then on."""
PATIENCE_S: Final = 0.1
"""How long the agent waits for a scorer that turns out slow, or hangs: once, for it is not asked there again."""
GLANCE_S: Final = 0.0025
"""The agent waits in glances, so that a process that stands still (garbage collection, a busy machine) costs one of
them, and is not taken for a scorer that is slow."""
CROWDED_S: Final = 10.0
"""After no thread was free, how long no scorer is waited for."""
MOST_SAID: Final = 20_000
"""Runs whose scorers were asked at their end, and that are not closed yet."""
GIVEN_UP: Final = "scorer_given_up"


@dataclass(frozen=True, slots=True)
class _Said:
    """What scorers were asked at the end of a run's span, and of which run."""

    run: Run
    jobs: dict[str, Job]


class OwnScorers:
    """Asks the user's code scorers. A scorer is asked once about a run, unless the run changed after its span ended.

    Args:
        rules: Which scorers are due for whom.
        health: Counts what is given up.
        back: Takes each :class:`~otel_chloe.pipeline.answered.Answered`, on a scorer's thread.
    """

    def __init__(
        self,
        rules: Rules,
        health: Health,
        back: Callable[[Answered], object],
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._rules = rules
        self._health = health
        self._back = back
        self._clock = clock
        self._slow: dict[int, AnyScorer] = {}
        self._late_once: set[int] = set()
        self._later = False
        self.threads = ScorerThreads(lambda _: health.error(GIVEN_UP), clock=clock)
        self.renew(rules)
        self._crowded_until = -math.inf
        self._said: dict[tuple[str | None, str | None], _Said] = {}

    def renew(self, rules: Rules) -> None:
        """Asks the scorers of other rules, too; those of the rules before are asked about the runs that are open."""
        held = {id(each.scorer): each.scorer for of in (self._rules, rules) for each in of.scorers}
        known = {number: scorer for number, scorer in self._slow.copy().items() if number in held}
        # A scorer that was slow under the rules before is, under a new name of its object.
        slow = {(each.name, each.function) for each in known.values() if isinstance(each, CodeScorer)}
        late = {
            n: each
            for n, each in held.items()
            if isinstance(each, CodeScorer) and (is_async(each) or (each.name, each.function) in slow)
        }
        self._rules, self._slow = rules, {**known, **late}
        self._later = bool(self._slow)
        self.threads.scorers = len({each.name for each in held.values() if isinstance(each, CodeScorer)})

    # --- on the agent's thread ---------------------------------------------------------------------------------------

    def at_end(self, run: Run, rules: AgentRules | None) -> list[Outcome]:
        """The outcomes of the quick scorers of a run whose span is about to end, for that span."""
        jobs: dict[str, Job] = {}
        found: list[Outcome] = []
        for own in own_under(run, rules, run.trace_id):
            if not self._is_quick(own.rule.scorer):
                continue
            if sampled(own.trace_id, own.name, own.sample):
                jobs[own.name] = self._asked(own)
                found += self._heard(own, jobs[own.name])
            else:
                found.append(own.stamped(_sampled_out(own)))
        if jobs:
            if len(self._said) >= MOST_SAID:
                self._said.clear()  # they are asked once more, then
            self._said[run.trace_id, run.span_id] = _Said(run, jobs)
        return found

    def _is_quick(self, scorer: AnyScorer) -> bool:
        return isinstance(scorer, CodeScorer) and id(scorer) not in self._slow and self._clock() >= self._crowded_until

    def _heard(self, own: Own, job: Job) -> list[Outcome]:
        """What a scorer says in the time that the agent has. It is learned how quick it is."""
        answered, felt_s, left = False, 0.0, round(PATIENCE_S / GLANCE_S)
        while left and not (answered := job.wait(GLANCE_S)):
            left -= 1
            felt_s += GLANCE_S if job.began_s is not None else 0.0  # else it waits for a thread, and not for the scorer
        if job.began_s is None:
            if not answered:  # others hold all threads: the agent must not wait for that at the end of every run
                self._crowded_until = self._clock() + CROWDED_S
        elif self._was_slow(id(own.rule.scorer), job, felt_s):
            self._later = True
            self._slow[id(own.rule.scorer)] = own.rule.scorer
            self._health.warn(
                f"The scorer {own.name} takes more than {BUDGET_S * 1000:g} ms. From now on it is asked after the run, "
                "and its mark is beside the agent's span: as an evaluation span, as an event and in metrics."
            )
        return [own.stamped(outcome) for outcome in job.outcomes or ()] if answered else []

    def _was_slow(self, scorer: int, job: Job, felt_s: float) -> bool:
        """Whether a scorer took too long: by far, or twice in a row.

        A process or machine that stands still makes a quick one late, too: once is no proof where it was not late by
        far. Where it did no work, and nobody felt it, it was the machine alone.
        """
        if job.took_s is None or felt_s >= 2 * BUDGET_S or (felt_s >= BUDGET_S and job.worked_s >= 2 * BUDGET_S):
            return True
        if job.took_s <= BUDGET_S or max(felt_s, job.worked_s) <= BUDGET_S:
            self._late_once.discard(scorer)
            return False
        late_again = scorer in self._late_once
        self._late_once.add(scorer)
        return late_again

    def _asked(self, own: Own) -> Job:
        job = Job(own.name, partial(_outcomes, own), _redacted)
        self.threads.offer(job)
        return job

    @property
    def slow(self) -> list[str]:
        """The names of those that took too long."""
        found = [each.scorer for each in self._rules.scorers if id(each.scorer) in self._slow]
        return list(dict.fromkeys(each.name for each in found if isinstance(each, CodeScorer) and not is_async(each)))

    @property
    def later(self) -> bool:
        """Whether some scorers are asked after the run."""
        return self._later

    # --- on the worker -----------------------------------------------------------------------------------------------

    def expect(self) -> None:
        """Gets ready where a scorer will need a thread: at the interpreter's exit none can be started."""
        if self._later:
            self.threads.prepare()

    @staticmethod
    def due(run: Run, rules: Rules) -> list[Own]:
        """All of the user's own scorers that are due for a closed run and its sub-runs, judges too."""
        return own_due(run, rules)

    def begin(self, run: Run, due: Iterable[Own], origin: Origin | None) -> tuple[list[tuple[Run, Outcome]], list[Run]]:
        """Has a closed run scored: gives the outcomes that are there, and the runs that wait for others."""
        there: list[tuple[Run, Outcome]] = []
        begun: list[Run] = []
        for own in due:
            if not isinstance(own.rule.scorer, CodeScorer):
                continue
            if not sampled(own.trace_id, own.name, own.sample):
                there.append((own.run, own.stamped(_sampled_out(own))))
                continue
            job = self._job_of(own) or self._asked(own)
            if job.outcomes is None:
                begun.append(own.run)
                job.then(partial(self._answered, own, origin))
            else:
                there += [(own.run, own.stamped(outcome)) for outcome in job.outcomes]
        self._forget([run, *_below(run)])
        return there, begun

    def _job_of(self, own: Own) -> Job | None:
        """The job of this scorer at the end of the run's span, if it saw the same run."""
        said = self._said.get((own.trace_id, own.run.span_id))
        job = said.jobs.get(own.name) if said is not None else None
        return job if said is not None and job is not None and said.run == own.run else None

    def _forget(self, runs: Iterable[Run]) -> None:
        for each in runs:
            self._said.pop((each.trace_id, each.span_id), None)

    def _answered(self, own: Own, origin: Origin | None, outcomes: Sequence[Outcome]) -> None:
        try:
            self._back(Answered(own, origin, [own.stamped(outcome) for outcome in outcomes]))
        except Exception as error:  # noqa: BLE001 - on a scorer's thread, which must go on
            self._health.failed("taking a scorer's outcomes", error)

    def forked(self) -> None:
        """In a forked process: what its parent has asked is its parent's."""
        self._said.clear()
        self.threads.forked()


def _sampled_out(own: Own) -> Unscored:
    return Unscored("not in the sample of runs that are scored", name=own.name, error=SAMPLED_OUT)


def _outcomes(own: Own) -> list[Outcome]:
    """The outcomes of a code scorer."""
    scorer = cast("CodeScorer", own.rule.scorer)
    if is_async(scorer):
        return awaited_on_this_thread(score_async(scorer, own.context, alone=own.alone))
    said = called(scorer, own.context)
    if is_awaitable(said):
        said = awaited_on_this_thread(awaited(said))
    return outcomes_of(scorer, said, alone=own.alone)


def _redacted(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes without secrets in what is said of the run: a label may be a text of it."""
    redactor = Redactor()
    found: list[Outcome] = []
    for each in outcomes:
        if each.reason:
            each = replace(each, reason=redactor.part(each.reason, 0, EXPLANATION_LIMIT))
        if isinstance(each, Mark) and each.label is not None:
            label = redactor.part(each.label, 0, LONGEST_LABEL)
            each = replace(each, label=label, value=label if isinstance(each.value, str) else each.value)
        found.append(each)
    return found


def _below(run: Run) -> Iterable[Run]:
    for sub in run.sub_runs:
        yield sub
        yield from _below(sub)
