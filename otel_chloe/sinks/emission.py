"""Takes a run's outcomes out into telemetry: evaluation spans, events and metrics, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from opentelemetry._logs import LoggerProvider
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from otel_chloe.health import Health
from otel_chloe.mark import JudgeCall, Mark, Outcome, Violation
from otel_chloe.run import Run

from .context import run_context
from .evaluation import Attributes, emit_event, emit_span, evaluation_attributes
from .judge_metrics import JudgeMetrics
from .metrics import Metrics, Words
from .providers import Origin, Providers, Tracers
from .watched import Watched

RUNS: Final = "runs"
MARKS: Final = "marks"
SPANS_LATE: Final = "spans_late"
SPANS_NOT_SAMPLED: Final = "evaluation_spans_not_sampled"
REPEATS: Final = "repeated_marks"
NOT_RECORDABLE: Final = "not_recordable"
"""A score that no histogram takes: a negative number, NaN or infinity."""


class Recent:
    """Remembers at least the last `limit` keys that were added, and at most twice as many."""

    __slots__ = ("_limit", "_new", "_old")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._new: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, key: object) -> bool:
        number = hash(key)
        return number in self._new or number in self._old

    def add(self, key: object) -> bool:
        """False if the key was there already."""
        if key in self:
            return False
        if len(self._new) >= self._limit:
            self._old, self._new = self._new, set()
        # The hash alone: a number is a third of what the key would hold, and of 64 bits seldom the same for two.
        self._new.add(hash(key))
        return True


class Sinks:
    """Where marks go out. Used by the worker alone; one that fails is counted and does not stop the others.

    Args:
        health: Counts what goes wrong; its counts are told by :meth:`publish`.
        watched: The agents that the rules name.
        tracer_provider: Takes the evaluation spans, instead of the processors of a run's own span.
        meter_provider: Takes the metrics, instead of the global one.
        logger_provider: Takes the events, instead of the global one.
        reasons: Whether reasons go out.
        evaluation_spans: Whether evaluation spans go out.
        remembered: How many marks are remembered as emitted.
        on_provider: Called when a global meter or logger provider is first seen.
    """

    def __init__(
        self,
        health: Health,
        *,
        watched: Sequence[Watched] = (),
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        reasons: bool = True,
        evaluation_spans: bool = True,
        remembered: int = 10_000,
        on_provider: Callable[[], None] | None = None,
    ) -> None:
        self._health = health
        self._watched = tuple(watched)
        self._words = Words(self._watched)
        self._tracers = Tracers(tracer_provider)
        self._providers = Providers(meter_provider, logger_provider, on_found=on_provider)
        self._reasons = reasons
        self._evaluation_spans = evaluation_spans
        self._emitted = Recent(remembered)
        self._violations = Recent(remembered)
        self._metrics: Metrics | None = None
        self._judge_metrics: JudgeMetrics | None = None
        self._warned = False
        self.also: Callable[[Run, Outcome], object] | None = None
        """Takes each outcome that goes out, too, and must not wait for anything."""

    def watch(self, watched: Sequence[Watched]) -> None:
        """Take the agents that the rules name by now: the series of those that are new start at 0."""
        new = [each for each in watched if each not in self._watched]
        self._watched = tuple(watched)
        self._words.watch(self._watched)
        if self._metrics is not None:
            self._metrics.start_at_zero(new)

    def look(self) -> None:
        """Takes up meter and logger providers that were set since the last look."""
        try:
            self._providers.look()
            meters = self._providers.meters()
            if self._metrics is None and meters is not None:
                self._metrics = Metrics(meters, self._words, self._watched)
                self._judge_metrics = JudgeMetrics(meters, self._words)
        except Exception as error:  # noqa: BLE001 - a guard: a provider is anybody's code
            self._health.failed("looking for providers", error)

    def emit(
        self,
        run: Run,
        outcomes: Sequence[tuple[Run, Outcome]],
        *,
        origin: Origin | None = None,
        completed: bool = True,
    ) -> None:
        """Emits the outcomes of a run and of its sub-runs, each beside the (sub-)run that it stands on.

        Args:
            run: The closed run.
            outcomes: Its outcomes.
            origin: What the run's own span was made of: where its evaluation spans go, if no provider was given.
            completed: False for what comes after the run was first emitted (a judge's mark, a revision): the run is
                then not counted again.
        """
        self.look()
        self._warn_once()
        if completed:
            self._count_runs(run, outcomes)
        for scored, outcome in outcomes:
            if outcome.id is not None and not self._emitted.add((outcome.id, outcome.revision)):
                self._health.count(REPEATS)
                continue
            self._health.count(MARKS)
            self._emit_one(scored, outcome, origin)

    def violation(self, run: Run, violation: Violation, *, severity: str | None = None) -> None:
        """Counts a broken rule before its run is closed. The run's mark does not count it again.

        `run` needs only the agent, the ids and the sampled flag.
        """
        self.look()
        if self._metrics is None or not self._violations.add(_violation_key(run, violation)):
            return
        self._guarded("violation metric", self._metrics.violation, run.agent, violation, severity, run_context(run))

    def judge_called(self, call: JudgeCall) -> None:
        """Records a call of a judge's model."""
        self.look()
        if self._judge_metrics is not None:
            self._guarded("judge metrics", self._judge_metrics.called, call)

    def publish(self, *, open_runs: int, judging: int = 0) -> None:
        """Tells the metrics what was counted since the last time, and how many runs are open, and wait to be judged."""
        self.look()
        metrics = self._metrics
        if metrics is None:
            return
        self._guarded("open runs metric", metrics.open_runs, open_runs)
        if self._judge_metrics is not None:
            self._guarded("judge queue metric", self._judge_metrics.queued, judging)
        self._guarded("late spans metric", metrics.late_spans, self._health.counted(SPANS_LATE))
        for name, total in self._health.errors().items():
            self._guarded("errors metric", metrics.error, name, total)

    def _warn_once(self) -> None:
        if self._warned:
            return
        self._warned = True
        message = self._providers.missing()
        if message is not None:
            self._health.warn(message)

    def _count_runs(self, run: Run, outcomes: Sequence[tuple[Run, Outcome]]) -> None:
        self._health.count(RUNS)
        if self._metrics is None:
            return
        distinct = {_run_key(each): each for each in (run, *(scored for scored, _ in outcomes))}
        for each in distinct.values():
            self._guarded("run metric", self._metrics.run, each, run_context(each))

    def _emit_one(self, run: Run, outcome: Outcome, origin: Origin | None) -> None:
        context = run_context(run)
        try:
            attributes = evaluation_attributes(run, outcome, reasons=self._reasons)
        except Exception as error:  # noqa: BLE001 - a guard: a mark may hold whatever a user's scorer said
            self._health.failed("describing a mark", error)
            return
        # Without the agent span's ids there is nothing to be a child of.
        if self._evaluation_spans and context:
            self._guarded("evaluation span", self._span, context, run, outcome, attributes, origin)
        self._guarded("evaluation event", self._event, context, run, outcome, attributes)
        if self.also is not None:
            self._guarded("annotating", self.also, run, outcome)
        if self._metrics is not None:
            self._guarded("mark metric", self._counted, self._metrics, run, outcome, context)
            self._guarded("violation metric", self._violated, self._metrics, run, outcome, context)

    def _span(
        self, context: Context, run: Run, outcome: Outcome, attributes: Attributes, origin: Origin | None
    ) -> None:
        tracer = self._tracers.tracer(origin)
        if not emit_span(tracer, context, run, outcome, attributes=attributes, reasons=self._reasons):
            self._health.count(SPANS_NOT_SAMPLED)

    def _event(self, context: Context, run: Run, outcome: Outcome, attributes: Attributes) -> None:
        logger = self._providers.logger()
        if logger is not None:
            emit_event(logger, context, run, outcome, attributes=attributes)

    def _counted(self, metrics: Metrics, run: Run, outcome: Outcome, context: Context) -> None:
        if not metrics.outcome(run, outcome, context):
            self._health.error(NOT_RECORDABLE)

    def _violated(self, metrics: Metrics, run: Run, outcome: Outcome, context: Context) -> None:
        # A count cannot be taken back, so a revision's violations are not counted either.
        if not isinstance(outcome, Mark) or outcome.revision > 0:
            return
        for violation in dict.fromkeys(outcome.violations):
            if _violation_key(run, violation) not in self._violations:
                metrics.violation(run.agent, violation, outcome.severity, context)

    def _guarded(self, what: str, work: Callable[..., object], *args: object) -> None:
        try:
            work(*args)
        except Exception as error:  # noqa: BLE001 - a guard: exporters, processors and readers are anybody's code
            self._health.failed(what, error)


def _run_key(run: Run) -> tuple[object, ...]:
    return (id(run),) if run.span_id is None else (run.trace_id, run.span_id, run.agent)


def _violation_key(run: Run, violation: Violation) -> tuple[object, ...]:
    return (run.trace_id, run.span_id, violation.rule, violation.tool)
