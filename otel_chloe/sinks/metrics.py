"""Every metric of otel_chloe: its instrument, unit, and closed list of attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, get_args

from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider

from otel_chloe import semconv
from otel_chloe.mark import Mark, Outcome, Violation
from otel_chloe.run import End, Run

from .evaluation import error_type, score_label, score_value
from .providers import package_version
from .watched import Watched

SCORE_BOUNDARIES: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The SDK's own start at 5: every score would lie in one bucket."""
MAX_BORN: Final = 1_000
"""Series that start at 0. The SDK folds what is over 2,000 a metric into one overflow series."""
MAX_SEEN: Final = 50
"""Words that no rule names and an attribute still shows; later ones are `_other`."""

_COUNTERS: Final = (
    (semconv.CHLOE_MARKS, "{mark}", "Outcomes of scoring, by state."),
    (semconv.CHLOE_VIOLATIONS, "{violation}", "Broken rules of `calls`, by rule and tool."),
    (semconv.CHLOE_RUNS, "{run}", "Closed runs, by their end."),
    (semconv.CHLOE_SPANS_LATE, "{span}", "Spans that came after their run was closed."),
    (semconv.CHLOE_REVISIONS, "{mark}", "Marks that changed after they were emitted."),
    (semconv.CHLOE_ERRORS, "{error}", "What went wrong in otel_chloe itself."),
)
"""Each counter's name, unit and description."""

Labels = dict[str, str]


class FewWords:
    """Keeps a metric attribute to the words named, and the first `limit` others that are seen."""

    def __init__(self, named: Iterable[str] = (), *, limit: int = MAX_SEEN) -> None:
        self._named = frozenset(named)
        self._seen: set[str] = set()
        self._limit = limit

    def of(self, word: str | None) -> str:
        """The word as the attribute says it."""
        if word is None:
            return semconv.OTHER
        if word in self._named or word in self._seen:
            return word
        if len(self._seen) >= self._limit:
            return semconv.OTHER
        self._seen.add(word)
        return word

    def name(self, words: Iterable[str]) -> None:
        """Have others named. The words named before are shown as long as there is room for them."""
        before, self._named = self._named, frozenset(words)
        self._seen.update(islice(sorted(before - self._named), max(0, self._limit - len(self._seen))))


class Words:
    """The words that metric attributes may say. They outlive a change of meter provider."""

    def __init__(self, watched: Sequence[Watched]) -> None:
        self.agents = FewWords()
        self.scorers = FewWords()
        self.tools = FewWords()
        self.labels = FewWords((semconv.PASS, semconv.FAIL))
        self.versions = FewWords(limit=4 * MAX_SEEN)
        self.errors = FewWords()
        self.models = FewWords()
        self.watch(watched)

    def watch(self, watched: Sequence[Watched]) -> None:
        """Take the words that the rules name."""
        self.agents.name(each.agent for each in watched)
        self.scorers.name(name for each in watched for name in each.scorers)
        self.tools.name(violation.tool for each in watched for violation in each.violations)


class Metrics:
    """The instruments, made from one meter provider. Used by the worker alone: an instrument takes a lock."""

    def __init__(self, provider: MeterProvider, words: Words, watched: Sequence[Watched] = ()) -> None:
        meter = provider.get_meter(semconv.SCOPE, package_version())
        self._words = words
        self._score = meter.create_histogram(
            semconv.GEN_AI_EVALUATION_SCORE,
            unit="1",
            description="Scores of runs, from 0 to 1.",
            explicit_bucket_boundaries_advisory=SCORE_BOUNDARIES,
        )
        self._value = meter.create_histogram(
            semconv.CHLOE_EVALUATION_VALUE, unit="1", description="Scores of runs that are greater than 1."
        )
        self._marks, self._violations, self._runs, self._late, self._revisions, self._errors = (
            meter.create_counter(name, unit=unit, description=text) for name, unit, text in _COUNTERS
        )
        self._open = meter.create_up_down_counter(
            semconv.CHLOE_RUNS_OPEN, unit="{run}", description="Runs that are open."
        )
        self._told: dict[str, int] = {}
        self._room = MAX_BORN
        self.start_at_zero(watched)
        self._late.add(0)
        self._open.add(0)

    def start_at_zero(self, watched: Sequence[Watched]) -> None:
        """Have the series of these agents exist, while there are not too many that do."""
        series = chain(
            ((self._marks, labels) for labels in _born_marks(watched)),
            ((self._violations, labels) for labels in _born_violations(watched)),
            ((self._runs, labels) for labels in _born_runs(watched)),
        )
        for counter, labels in islice(series, self._room):
            counter.add(0, labels)
            self._room -= 1

    def run(self, run: Run, context: Context) -> None:
        """Counts a closed run, or a sub-run that has marks of its own."""
        self._runs.add(1, _run_labels(self._words.agents.of(run.agent), run.end), context=context)

    def outcome(self, run: Run, outcome: Outcome, context: Context) -> bool:
        """Counts and records an outcome; of a revised one, only that it was revised.

        False if the outcome was counted, but its number is one that no histogram takes.
        """
        name = self._words.scorers.of(outcome.name)
        if outcome.revision > 0:
            self._revisions.add(1, {semconv.GEN_AI_EVALUATION_NAME: name}, context=context)
            return True
        agent = self._words.agents.of(run.agent)
        label = score_label(outcome)
        said = self._words.labels.of(label) if label is not None else None
        error = error_type(outcome)
        labels = _mark_labels(
            name,
            agent,
            outcome.state,
            label=said,
            error=self._words.errors.of(error) if error is not None else None,
            severity=outcome.severity,
        )
        self._marks.add(1, labels, context=context)
        value = score_value(outcome)
        return value is None or self._recorded(value, outcome.version, name, agent, said, context)

    def _recorded(
        self, value: float, version: str | None, name: str, agent: str, label: str | None, context: Context
    ) -> bool:
        # The SDK refuses a negative number, with a warning each time; NaN or infinity would stay in the sum for ever.
        if not (math.isfinite(value) and value >= 0.0):
            return False
        labels = {semconv.GEN_AI_EVALUATION_NAME: name, semconv.GEN_AI_AGENT_NAME: agent}
        if label is not None:
            labels[semconv.GEN_AI_EVALUATION_SCORE_LABEL] = label
        if version is not None:
            labels[semconv.CHLOE_SCORER_VERSION] = self._words.versions.of(version)
        (self._score if value <= 1.0 else self._value).record(value, labels, context=context)
        return True

    def violation(self, agent: str | None, violation: Violation, severity: str | None, context: Context) -> None:
        """Counts one broken rule."""
        named = Violation(violation.rule, self._words.tools.of(violation.tool))
        self._violations.add(1, _violation_labels(self._words.agents.of(agent), named, severity), context=context)

    def open_runs(self, n: int) -> None:
        """Says how many runs are open now."""
        told = self._told.get(semconv.CHLOE_RUNS_OPEN, 0)
        if n != told:
            self._open.add(n - told)
            self._told[semconv.CHLOE_RUNS_OPEN] = n

    def late_spans(self, total: int) -> None:
        """Says how many late spans there have been."""
        if (new := self._new(semconv.CHLOE_SPANS_LATE, total)) > 0:
            self._late.add(new)

    def error(self, name: str, total: int) -> None:
        """Says how many errors of a type there have been."""
        if (new := self._new(name, total)) > 0:
            self._errors.add(new, {semconv.ERROR_TYPE: self._words.errors.of(name)})

    def _new(self, name: str, total: int) -> int:
        new = total - self._told.get(name, 0)
        self._told[name] = total
        return new


def _mark_labels(
    name: str,
    agent: str,
    state: str,
    *,
    label: str | None = None,
    error: str | None = None,
    severity: str | None = None,
) -> Labels:
    labels = {semconv.GEN_AI_EVALUATION_NAME: name, semconv.GEN_AI_AGENT_NAME: agent, semconv.CHLOE_STATE: state}
    if label is not None:
        labels[semconv.GEN_AI_EVALUATION_SCORE_LABEL] = label
    if error is not None:
        labels[semconv.ERROR_TYPE] = error
    if severity is not None:
        labels[semconv.CHLOE_SEVERITY] = severity
    return labels


def _violation_labels(agent: str, violation: Violation, severity: str | None) -> Labels:
    labels = {
        semconv.GEN_AI_AGENT_NAME: agent,
        semconv.CHLOE_RULE: violation.rule,
        semconv.GEN_AI_TOOL_NAME: violation.tool,
    }
    if severity is not None:
        labels[semconv.CHLOE_SEVERITY] = severity
    return labels


def _run_labels(agent: str, end: str) -> Labels:
    return {semconv.GEN_AI_AGENT_NAME: agent, semconv.CHLOE_RUN_END: end}


def _born_marks(watched: Sequence[Watched]) -> Iterator[Labels]:
    for each in watched:
        for name in each.scorers:
            for label in (semconv.FAIL, semconv.PASS):
                yield _mark_labels(name, each.agent, Mark.state, label=label, severity=each.severity)


def _born_violations(watched: Sequence[Watched]) -> Iterator[Labels]:
    for each in watched:
        for violation in each.violations:
            yield _violation_labels(each.agent, violation, each.severity)


def _born_runs(watched: Sequence[Watched]) -> Iterator[Labels]:
    for end in get_args(End):
        for each in watched:
            yield _run_labels(each.agent, end)
