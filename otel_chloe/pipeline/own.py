"""The user's own scorers on live runs: the quick ones just before the agent's span ends, the others afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Final

from otel_chloe.config import AgentRules, Rules
from otel_chloe.health import Health
from otel_chloe.kit import CodeScorer, is_async, score_async, score_now
from otel_chloe.mark import Outcome, Unscored
from otel_chloe.pipeline.answered import SAMPLED_OUT, Answered
from otel_chloe.pipeline.judging.sampling import sampled
from otel_chloe.pipeline.threads import Job, ScorerThreads, awaited_on_this_thread
from otel_chloe.run import Run
from otel_chloe.scorers.own import Own, own_due, own_under
from otel_chloe.sinks import Origin

BUDGET_S: Final = 0.005
"""What a scorer may take of the agent's time. One that took longer, once, is asked after the run from then on."""
PATIENCE_S: Final = 0.1
"""How long the agent waits for a scorer that turns out slow, or hangs: once, for it is not asked there again."""
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
        self._back = back
        self._clock = clock
        self._slow = {
            id(rule.scorer) for rule in rules.scorers if isinstance(rule.scorer, CodeScorer) and is_async(rule.scorer)
        }
        self._later = bool(self._slow)
        self._said: dict[tuple[str | None, str | None], _Said] = {}
        self.threads = ScorerThreads(lambda _: health.error(GIVEN_UP), clock=clock)

    # --- on the agent's thread ---------------------------------------------------------------------------------------

    def at_end(self, run: Run, rules: AgentRules | None) -> list[Outcome]:
        """The outcomes of the quick scorers of a run whose span is about to end, for that span."""
        jobs: dict[str, Job] = {}
        found: list[Outcome] = []
        for own in own_under(run, rules, run.trace_id):
            if not self._is_quick(own) or not sampled(own.trace_id, own.name, own.sample):
                continue
            job = jobs[own.name] = self._asked(own)
            if job.wait(PATIENCE_S):
                found += map(own.stamped, job.outcomes or ())
            if job.began_s is not None and (job.took_s is None or job.took_s > BUDGET_S):
                self._slow.add(id(own.rule.scorer))
                self._later = True
        if jobs:
            if len(self._said) >= MOST_SAID:
                self._said.clear()  # they are asked once more, then
            self._said[run.trace_id, run.span_id] = _Said(run, jobs)
        return found

    def _is_quick(self, own: Own) -> bool:
        scorer = own.rule.scorer
        return isinstance(scorer, CodeScorer) and id(scorer) not in self._slow

    def _asked(self, own: Own) -> Job:
        job = Job(own.name, partial(_outcomes, own))
        self.threads.offer(job)
        return job

    # --- on the worker -----------------------------------------------------------------------------------------------

    def expect(self) -> None:
        """Gets ready where a scorer will need a thread: at the interpreter's exit none can be started."""
        if self._later:
            self.threads.prepare()

    def due(self, run: Run) -> list[Own]:
        """All of the user's own scorers that are due for a closed run and its sub-runs, judges too."""
        return own_due(run, self._rules)

    def begin(self, run: Run, due: Iterable[Own], origin: Origin | None) -> tuple[list[tuple[Run, Outcome]], list[Run]]:
        """Has a closed run scored: gives the outcomes that are there, and the runs that wait for others."""
        there: list[tuple[Run, Outcome]] = []
        begun: list[Run] = []
        for own in due:
            if not isinstance(own.rule.scorer, CodeScorer):
                continue
            if not sampled(own.trace_id, own.name, own.sample):
                refused = Unscored("not in the sample of runs that are scored", name=own.name, error=SAMPLED_OUT)
                there.append((own.run, own.stamped(refused)))
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
        return job if said is not None and job is not None and _facts(said.run) == _facts(own.run) else None

    def _forget(self, runs: Iterable[Run]) -> None:
        for each in runs:
            self._said.pop((each.trace_id, each.span_id), None)

    def _answered(self, own: Own, origin: Origin | None, outcomes: Sequence[Outcome]) -> None:
        self._back(Answered(own, origin, [own.stamped(outcome) for outcome in outcomes]))

    def forked(self) -> None:
        """In a forked process: what its parent has asked is its parent's."""
        self._said.clear()
        self.threads.forked()


def _outcomes(own: Own) -> list[Outcome]:
    scorer: Any = own.rule.scorer
    if is_async(scorer):
        return awaited_on_this_thread(lambda: score_async(scorer, own.context, alone=own.alone))  # type: ignore[no-any-return]
    return score_now(scorer, own.context, alone=own.alone)


def _below(run: Run) -> Iterable[Run]:
    for sub in run.sub_runs:
        yield sub
        yield from _below(sub)


def _facts(run: Run) -> Run:
    """The run without what is only known when it is over, and changes no scorer's mind about what happened."""
    subs = tuple(_facts(sub) for sub in run.sub_runs)
    return replace(run, sub_runs=subs, end="root_ended", end_ns=None, resource=None, parent_span_id=None)
