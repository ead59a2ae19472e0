"""From closed runs to marks out in telemetry: what the worker does with what the hooks hand over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from otel_chloe.assembly import Closed, Limits, RunAssembler, Tree
from otel_chloe.config import AgentRules, Rules, Settings
from otel_chloe.health import Health
from otel_chloe.mark import JudgeCall, Outcome, Violation
from otel_chloe.part import Part
from otel_chloe.pipeline.forks import ForkGuard
from otel_chloe.pipeline.glance import LastRuns, Strangers
from otel_chloe.pipeline.reloading import Reloading, only_at_start
from otel_chloe.pipeline.work import Elsewhere, Together, Work
from otel_chloe.pipeline.worker import Worker
from otel_chloe.record import Record
from otel_chloe.run import Run
from otel_chloe.scorers import outcomes
from otel_chloe.sinks import Sinks, watched

if TYPE_CHECKING:
    from otel_chloe.judge.ask import Complete
    from otel_chloe.pipeline.annotating import Annotating
    from otel_chloe.pipeline.answered import Answered
    from otel_chloe.pipeline.judgements import Judgements
    from otel_chloe.pipeline.own import OwnScorers
    from otel_chloe.scorers.own import Own

RUNS_OPEN: Final = "runs_open"
LINGER_S: Final = 60.0
"""After the last run the worker goes on looking for the next: to be woken costs that one more than all else here."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Forbidden:
    """A call of a tool that some rule forbids ended, in a run that is still open."""

    tree: Tree
    span_id: int
    names: tuple[str | None, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Full:
    """A tree went over a limit of its own."""

    tree: Tree


Item: TypeAlias = "Forbidden | Full | Answered | JudgeCall"
OnMark: TypeAlias = Callable[[Run, Outcome], object]
"""A user's own function, called for every outcome on the worker."""


class Holder(Protocol):
    """Holds spans back until marks of a judge are on them."""

    def scored(self, tree: Tree, found: Iterable[tuple[Run, Outcome]], due: Sequence[Run]) -> None: ...

    def answered(self, run: Run, outcomes: Sequence[Outcome]) -> None: ...

    def late(self, now: float) -> bool: ...

    def forked(self) -> None: ...


class Pipeline:
    """Scores runs as they close, and sends their marks out. Its methods for hooks take no lock.

    Args:
        rules: What is expected of whom.
        settings: Limits and switches.
        describe: Reads an open span as a part.
        expand: Makes parts of what is held of ended spans.
        sinks: Makes the sinks, given the health and what they call when a provider is first seen.
        complete: A user's own way to the judge's model.
        redact: A user's own function for what the judge may see.
        on_mark: Called with each outcome and the run that it is of.
        on_rules: Called with the rules that a changed file gives, as they stand there: it has them taken.
    """

    def __init__(
        self,
        rules: Rules,
        settings: Settings,
        describe: Callable[[Any], Part | None],
        expand: Callable[[Sequence[Part | Record], int, Any], list[Part]],
        sinks: Callable[[Health, Callable[[], None]], Sinks],
        *,
        complete: Complete | None = None,
        redact: Callable[[str], str] | None = None,
        on_mark: OnMark | None = None,
        on_rules: Callable[[Rules], None] | None = None,
    ) -> None:
        self.rules = self._at_start = rules
        self.settings = settings
        self.health = Health(monotonic)
        self.assembler = RunAssembler(_limits(settings), describe, expand, self.health.count)
        self._complete, self._redact = complete, redact
        self._judgements: Judgements | None = None
        self.own: OwnScorers | None = None
        self._elsewhere: list[Elsewhere] = []
        self._judge_by(rules)
        self._on_mark = on_mark
        self.holders: list[Holder] = []
        work: Work[Item] = Work(self._take, self._tick, self._close, self._forked, Together(self._elsewhere, monotonic))
        self.worker: Worker[Item] = Worker(work, self.health, clock=monotonic, shutdown_s=settings.shutdown_s)
        self._sinks = sinks(self.health, self.worker.register_exit)
        self._annotating: Annotating | None = None
        if settings.phoenix:
            from otel_chloe.pipeline.annotating import annotating_in  # only for who has a Phoenix

            self._annotating = annotating_in(settings, self._sinks, self.health)
        self._forks = ForkGuard()
        self.awake = False
        self._sleeps_at: float | None = None
        self._seen = False
        self.last_runs, self._strangers = LastRuns(), Strangers()
        self.reloading = Reloading(rules, settings.reload_s, self.health, on_rules or self.renew)

    def _judge_by(self, rules: Rules) -> None:
        """Has judges and the user's own scorers there, where the rules ask for some."""
        if self._judgements is not None:
            self._judgements.renew(rules)
        elif (
            rules.judged or rules.judge.model is not None or rules.own_judges
        ):  # with a model lines may come with a run
            from otel_chloe.pipeline.judgements import Judgements  # with asyncio: only for who has lines to judge

            self._judgements = Judgements(rules, self._complete, self._back, redact=self._redact)
            self._elsewhere.append(self._judgements)
        if self.own is not None:
            self.own.renew(rules)
        elif rules.scorers:
            from otel_chloe.pipeline.own import OwnScorers  # with the kit: only for who has scorers of their own

            self.own = OwnScorers(rules, self.health, self._back)
            self._elsewhere.append(self.own.threads)

    def renew(self, rules: Rules) -> None:
        """Has other rules hold for the trees that begin from now on. Called by the worker."""
        if self._judgements is None:  # the limits of a judge are those of the rules that first ask for one
            self._at_start = replace(self._at_start, judge=rules.judge)
        for key in only_at_start(self._at_start, rules):
            self.health.warn(f"{key}: of the rules file has changed. That takes effect when the program starts anew.")
        self._judge_by(rules)
        self._sinks.watch(watched(rules))
        self.rules, self._strangers = rules, Strangers()

    def _rules_of(self, tree: Tree) -> Rules:
        """The rules that a tree began under."""
        return tree.scored_by.rules if tree.scored_by is not None else self.rules

    def _back(self, item: Answered | JudgeCall) -> None:  # the worker is made later
        self.worker.hand_over(item)

    @property
    def marks_later(self) -> bool:
        """Whether marks come when a run's span is long gone."""
        return self.rules.judged or bool(self.rules.own_judges) or (self.own is not None and self.own.later)

    @property
    def asks(self) -> bool:
        """Whether functions of the user's are asked, whose own spans are no runs."""
        return self.own is not None or self._judgements is not None or self._on_mark is not None

    # --- called by hooks ---------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """The first span that is ours was seen: from here on the worker looks after what is open."""
        self._sleeps_at = None
        self.awake = self._seen = True
        self.worker.wake()

    # --- called by the application -----------------------------------------------------------------------------------

    def flush(self, timeout_s: float) -> bool:
        """Closes what is finished, and sends its marks out. True at once where nothing was ever seen.

        A Phoenix that is away makes no flush fail: older SDKs would not ask the exporters that come after us.
        """
        if not self._seen:
            return True
        until = monotonic() + timeout_s
        done = self.worker.flush(timeout_s)
        if self._annotating is not None:
            self._annotating.wait(until - monotonic())
        return done

    def shutdown(self) -> bool:
        """Closes everything, sends its marks out, and ends the worker."""
        began = monotonic()
        done = self.worker.shutdown(self.settings.shutdown_s)
        if self._annotating is not None:
            self._annotating.end(began)
        return done

    def stats(self) -> dict[str, int]:
        return {**self.health.stats(), RUNS_OPEN: self.assembler.open_runs}

    # --- called by the worker ----------------------------------------------------------------------------------------

    def _take(self, item: Item) -> None:
        if isinstance(item, Forbidden):
            self._forbidden(item)
        elif isinstance(item, Full):
            if not item.tree.closed:
                self._emit(self.assembler.full(item.tree, time_ns()))
        elif isinstance(item, JudgeCall):
            with self._forks.held():
                self._sinks.judge_called(item)
        else:
            run = item.run
            found = [(run, outcome) for outcome in item.outcomes]
            with self._forks.held():
                self._sinks.emit(run, found, origin=item.origin, completed=False)
                for holder in self.holders:
                    holder.answered(run, item.outcomes)
            for outcome in item.outcomes:
                self._tell(run, outcome)

    def _tick(self, now: float) -> float | None:
        if self._judgements is not None:
            self._judgements.expect([tree.trace_id for tree in self.assembler.trees.copy().values()])
        again = self._scorers_due(now)
        looks_again = self.reloading.due(now)
        self._emit(self.assembler.due(now, time_ns()))
        self._publish()
        holding = [holder for holder in self.holders if holder.late(now)]
        if holding or again is not None or self.assembler.open_runs or self._sleeps_at is None:
            self._sleeps_at = now + LINGER_S
        elif now >= self._sleeps_at:
            self.awake = False
            if not self.assembler.open_runs:  # looked at again: a hook that saw us awake did not wake us
                return looks_again
            self.awake = True
        times = (again, looks_again, self.assembler.next_due(now))
        return min(each for each in times if each is not None)

    def _scorers_due(self, now: float) -> float | None:
        """Gives up scorers that take too long. When to look again; None where none is at work."""
        if self.own is None:
            return None
        if self.assembler.open_runs:
            self.own.expect()
        return self.own.threads.overdue(now)

    def _close(self, everything: bool) -> None:  # noqa: FBT001 - the worker's own call
        now_ns = time_ns()
        self._emit(self.assembler.close_all(now_ns) if everything else self.assembler.flush(now_ns))
        self._publish()

    def _publish(self) -> None:
        with self._forks.held():
            judging = self._judgements.size if self._judgements is not None else 0
            self._sinks.publish(open_runs=self.assembler.open_runs, judging=judging)

    def _forked(self) -> None:
        self.assembler.forget()
        if self._judgements is not None:
            self._judgements.forked()
        if self.own is not None:
            self.own.forked()
        if self._annotating is not None:
            self._annotating.forked()
        for holder in self.holders:
            holder.forked()
        self.awake = False

    def _emit(self, closed: Iterable[Closed]) -> None:
        for each in closed:
            self._score(each)

    def _score(self, closed: Closed) -> None:
        begun: list[Run] = []
        try:
            for stranger in self._strangers.look(self.rules.agents, self.last_runs.add(closed.run).agents):
                self.health.warn(stranger)
            rules = self._rules_of(closed.tree)
            found = outcomes(closed.run, rules, judging=self._judgements is not None)
            begun = self._begin(closed, rules, found)
            with self._forks.held():
                self._sinks.emit(closed.run, found, origin=closed.tree.origin)
                for holder in self.holders:
                    holder.scored(closed.tree, found, begun)
        except Exception as error:  # noqa: BLE001 - one run that cannot be scored must not take others with it
            self.health.failed("scoring a run", error)
            return
        for run, outcome in found:
            self._tell(run, outcome)

    def _begin(self, closed: Closed, rules: Rules, found: list[tuple[Run, Outcome]]) -> list[Run]:
        """Has judges and the user's own scorers score a run: adds what is there, gives the runs that wait for more."""
        run, origin = closed.run, closed.tree.origin
        begun: list[Run] = []
        own: Sequence[Own] = ()
        there: list[tuple[Run, Outcome]] = []
        if self.own is not None:
            own = self.own.due(run, rules)
            there, begun = self.own.begin(run, own, origin)
        if self._judgements is not None:
            refused, judged = self._judgements.begin(run, rules, origin, found, own)
            found += refused
            begun += judged
        found += there
        return begun

    def _tell(self, run: Run, outcome: Outcome) -> None:
        if self._on_mark is None:
            return
        try:
            self._on_mark(run, outcome)
        # A user's function may raise anything; sys.exit() there would take the marks that come after along.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            self.health.failed("on_mark", error)

    def _forbidden(self, item: Forbidden) -> None:
        """Counts a broken must_not_call now, for an alert that need not wait for the run's end."""
        rules = self._rules_of(item.tree)
        for run, agent in self.assembler.runs_of(item.tree, item.span_id, time_ns()):
            self._count_forbidden(run, rules.for_run(run.agent), item.names)
            if agent.span_id != run.span_id:
                self._count_forbidden(agent, rules.named(agent.agent), item.names)

    def _count_forbidden(self, run: Run, rules: AgentRules | None, names: Iterable[str | None]) -> None:
        if rules is None or rules.calls is None or rules.calls.count != "attempted":
            return
        for name in dict.fromkeys(names):
            if name is not None and name in rules.calls.must_not_call:
                with self._forks.held():
                    self._sinks.violation(run, Violation("must_not_call", name), severity=rules.severity)


def _limits(settings: Settings) -> Limits:
    return Limits(
        settle_s=settings.settle_s,
        idle_s=settings.idle_s,
        max_spans=settings.max_spans,
        max_bytes=settings.max_bytes,
        max_open_runs=settings.max_open_runs,
        max_open_bytes=settings.max_open_bytes,
        remembered_runs=settings.remembered_runs,
    )
