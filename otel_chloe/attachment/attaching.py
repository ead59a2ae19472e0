"""``attach()`` adds scoring to the TracerProvider that an application has; ``Attachment`` is how to live with it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from opentelemetry._logs import LoggerProvider, get_logger_provider
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from otel_chloe.config import Rules, load_rules
from otel_chloe.errors import ConfigError
from otel_chloe.processor import ScoringSpanProcessor

from .exporting import Exporting, exporting
from .provider import (
    add_log_records,
    add_processor,
    find_provider,
    processors_of,
    remove_log_records,
    remove_processor,
)

if TYPE_CHECKING:
    from otel_chloe.judge.ask import Complete
    from otel_chloe.mark import Outcome
    from otel_chloe.run import Run

    from .findings import Diagnosis

_logger = logging.getLogger("otel_chloe.attachment")

_MARK: Final = "_otel_chloe_attachment"
"""The attribute of a provider that holds what is attached to it: one is freed with the other."""
_NO_RULES: Final = (
    "attach: no rules and no scorers are given, so runs are counted and none is scored. Give attach() a rules file, or "
    "name one in OTEL_CHLOE_RULES; attach({}) says that none is meant."
)
_lock: Final = threading.Lock()


class Attachment:
    """What :func:`attach` has added to a provider. ``processor`` is the processor, ``provider`` where it stands."""

    def __init__(
        self,
        processor: ScoringSpanProcessor,
        provider: Any,
        options: Mapping[str, object],
        own: Exporting | None = None,
    ) -> None:
        self.processor = processor
        self.provider = provider
        self._options = options
        self._own = own or Exporting()
        self._detached = False
        self._logs: tuple[Any, Any] | None = None

    def read_logs(self, loggers: Any) -> None:
        """Read content that the application sends as log records, where its LoggerProvider is the SDK's."""
        records = self.processor.log_records()
        if add_log_records(loggers, records):
            self._logs = (loggers, records)

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Score every run whose span has ended, and have the application's providers send what they hold.

        A short script calls it before it ends. False if that took longer than ``timeout_s`` seconds.
        """
        deadline = monotonic() + timeout_s
        scored = self.processor.force_flush(int(timeout_s * 1000))
        sent = _flushed(self.provider, deadline - monotonic())
        return self._own.flush(deadline - monotonic()) and scored and sent

    def detach(self) -> None:
        """Score what is open, and take the processor out of the provider. A second time it does nothing."""
        with _lock:
            if self._detached:
                return
            self._detached = True
            with suppress(AttributeError):
                delattr(self.provider, _MARK)
            if not remove_processor(self.provider, self.processor):
                kind = type(self.provider).__name__
                _logger.warning("detach: a %s lets no processor go. It stays there, and does nothing more.", kind)
        if self._logs is not None:
            remove_log_records(*self._logs)
        self.processor.shutdown()
        self._own.shutdown()

    def stats(self) -> dict[str, int]:
        """What was counted since the start: runs, marks, late spans, errors by type, and the runs open now."""
        return self.processor.stats()

    def doctor(self) -> Diagnosis:
        """What was found of provider, exporters, rules, judge and runs, and what to fix first: ``print`` it."""
        from .doctor import examine

        return examine(self, judge_is_own=self._options.get("complete") is not None)

    @property
    def meters(self) -> Any:
        """The meter provider that was given, or made by ``otlp=``; None for the global one."""
        return self._options.get("meter_provider") or self._own.meters

    @property
    def loggers(self) -> Any:
        """The same of the logger provider."""
        return self._options.get("logger_provider") or self._own.loggers

    def again(self, rules: Rules, options: Mapping[str, object]) -> Attachment:
        """This attachment, if it is what a second ``attach`` asks for."""
        if not (_same(rules, self.processor.rules) or self.processor.follows(rules)):
            known = self.processor.rules.source or "rules of its own"
            raise ConfigError(
                f"attach: this provider is scored by {known} already, and would be by {rules.source or 'other rules'} "
                "too: each run would be counted twice. Write all rules in one file, or detach() the first."
            )
        other = [name for name, value in options.items() if value and value != self._options.get(name)]
        if other:
            _logger.warning(
                "attach: attached already, so %s is not taken. Give it at the first call, or detach() before this one.",
                ", ".join(other),
            )
        return self


def attach(
    rules: str | os.PathLike[str] | Mapping[str, object] | Rules | None = None,
    *,
    provider: TracerProvider | None = None,
    otlp: str | None = None,
    complete: Complete | None = None,
    redact: Callable[[str], str] | None = None,
    on_mark: Callable[[Run, Outcome], object] | None = None,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    logger_provider: LoggerProvider | None = None,
    settings: Mapping[str, object] | None = None,
    scorers: Sequence[object] = (),
) -> Attachment:
    """Score the agent runs of this application, from the spans that it makes already.

    Call it once, after what sets OpenTelemetry up: the SDK itself, ``logfire.configure()``,
    ``phoenix.otel.register()``, ``Traceloop.init()``, ``Langfuse()``. It adds a processor, and replaces nothing.
    A second call with the same rules gives the same Attachment.

    Args:
        rules: As for :class:`~otel_chloe.ScoringSpanProcessor`: a path, a mapping, ``Rules``; None for the variable
            ``OTEL_CHLOE_RULES``.
        provider: The TracerProvider to attach to; None for the global one.
        otlp: The address of an OTLP/HTTP receiver, such as ``http://localhost:4318``. Metrics and events go there
            where the application has no MeterProvider or LoggerProvider.
        complete: A way of your own to the judge's model.
        redact: Gets each text of a run, already redacted, before the judge sees it, and gives what may be shown.
        on_mark: Called with each run and each of its outcomes.
        tracer_provider: Takes the evaluation spans; else they go where the run's own span goes.
        meter_provider: Takes the metrics; else the global one does.
        logger_provider: Takes the events; else the global one does.
        settings: Limits and switches by name; they win over variables and over the rules file.
        scorers: Scorers that hold for every agent.

    Raises :class:`~otel_chloe.errors.ConfigError` where rules or settings are wrong, where there is no TracerProvider
    of the SDK yet, and where the provider is scored by other rules already.
    """
    loaded = load_rules(rules)
    found = find_provider(provider)
    options = {
        "otlp": otlp,
        "complete": complete,
        "redact": redact,
        "on_mark": on_mark,
        "tracer_provider": tracer_provider,
        "meter_provider": meter_provider,
        "logger_provider": logger_provider,
        "settings": settings,
        "scorers": scorers,
    }
    with _lock:
        known = _known(found)
        if known is not None:
            return known.again(loaded, options)
        if rules is None and loaded.source is None and not scorers:
            _logger.warning(_NO_RULES)
        return _attach(found, loaded, options)


def _attach(provider: Any, rules: Rules, options: Mapping[str, Any]) -> Attachment:
    given = dict(options)
    own = exporting(
        given.pop("otlp"), getattr(provider, "resource", None), given["meter_provider"], given["logger_provider"]
    )
    given["meter_provider"] = given["meter_provider"] or own.meters
    given["logger_provider"] = given["logger_provider"] or own.loggers
    try:
        processor = ScoringSpanProcessor(rules, **given)
    except BaseException:
        own.shutdown()
        raise
    add_processor(provider, processor)
    attachment = Attachment(processor, provider, options, own)
    attachment.read_logs(options["logger_provider"] or get_logger_provider())
    return _noted(provider, attachment)


def _same(one: Rules, other: Rules) -> bool:
    """Whether two rules say the same. Scorers that were imported twice are equal by their versions alone."""
    return one == other or (one.digest, one.judge, one.settings) == (other.digest, other.judge, other.settings)


def _known(provider: Any) -> Attachment | None:
    """What is attached to the provider already, be it by its own ``add_span_processor``."""
    known = getattr(provider, _MARK, None)
    if isinstance(known, Attachment):
        return known
    for processor in processors_of(provider):
        if isinstance(processor, ScoringSpanProcessor):
            return _noted(provider, Attachment(processor, provider, {}))
    return None


def _noted(provider: Any, attachment: Attachment) -> Attachment:
    with suppress(AttributeError):  # a provider with slots: a second call finds the processor, where it shows it
        setattr(provider, _MARK, attachment)
    return attachment


def _flushed(provider: Any, timeout_s: float) -> bool:
    flush = getattr(provider, "force_flush", None)
    return flush is None or flush(max(1, int(timeout_s * 1000))) is not False
