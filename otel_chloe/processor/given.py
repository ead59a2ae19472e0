"""What an application gives the processor: its own scorers as rules, its providers, and what the hooks look for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from opentelemetry._logs import LoggerProvider
from opentelemetry.metrics import MeterProvider
from opentelemetry.sdk.trace import Span
from opentelemetry.trace import TracerProvider

from otel_chloe.config import Rules, ScorerRule, Settings
from otel_chloe.conventions import hinted_kind, kind_of
from otel_chloe.errors import ConfigError
from otel_chloe.health import Health
from otel_chloe.part import AGENT, OTHER
from otel_chloe.scorers import EXPECTATIONS
from otel_chloe.sinks import Sinks, watched

OF_RULES: Final = frozenset({"calls", EXPECTATIONS})
"""Names of scores that are of the rules."""


TOO_MANY: Final = "too_many_open_runs"
"""A root that is left alone, since the worker cannot close runs as fast as they come."""


def scorer_rules(scorers: Sequence[object]) -> tuple[ScorerRule, ...]:
    """The user's own scorers as rules. Raises :class:`~otel_chloe.errors.ConfigError` where one is wrong."""
    from otel_chloe.kit import as_scorers  # only for who has scorers of their own

    found = as_scorers(scorers)
    for each in found:
        if each.name in OF_RULES:
            raise ConfigError(
                f"scorers: {each.name}: a score of the rules has this name. Give the scorer one of its own: "
                'Scorer.code(function, name="...").'
            )
    return tuple(ScorerRule(scorer=each) for each in found)


def forbidden_names(rules: Rules) -> frozenset[str]:
    """The tools that some rule forbids."""
    held = [rules.everyone, *rules.alone.values()]
    return frozenset(name for each in held if each and each.calls for name in each.calls.must_not_call)


def sinks_of(
    rules: Rules,
    settings: Settings,
    providers: tuple[TracerProvider | None, MeterProvider | None, LoggerProvider | None],
    health: Health,
    on_provider: Callable[[], None],
) -> Sinks:
    """The sinks, by the rules and settings of the start, into the providers that the application gives."""
    tracers, meters, loggers = providers
    return Sinks(
        health,
        watched=watched(rules),
        tracer_provider=tracers,
        meter_provider=meters,
        logger_provider=loggers,
        reasons=settings.reasons,
        evaluation_spans=settings.evaluation_spans,
        remembered=settings.remembered_runs,
        on_provider=on_provider,
    )


def looks_like_agent(span: Span) -> bool:
    """Whether a span says from its start that it is an agent's, be it by its name alone."""
    scope = span.instrumentation_scope
    kind, _ = kind_of(span.attributes or {}, span.name, scope.name if scope is not None else "")
    return kind is AGENT or (kind is OTHER and hinted_kind(span.name) is AGENT)
