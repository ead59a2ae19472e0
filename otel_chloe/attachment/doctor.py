"""``Attachment.doctor()``: looks at what scoring is attached to, and says what keeps marks from coming out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import _logs, metrics
from opentelemetry.sdk.version import __version__ as sdk_version

from otel_chloe.errors import ConfigError
from otel_chloe.sinks import is_real

from .checks import judge_found, rules_found, sampling_found, scorers_found, seen_found
from .content import content_found
from .findings import Diagnosis, Finding, diagnosis
from .provider import find_provider, processors_of
from .reach import End, end_of, reach_found, without_login

if TYPE_CHECKING:
    from .attaching import Attachment

_UNKNOWN: Final = "unknown_service"


def examine(attachment: Attachment, *, judge_is_own: bool) -> Diagnosis:
    """All that can be told of an attachment, without a model being asked."""
    processor = attachment.processor
    return diagnosis(
        [
            *_provider(attachment),
            *_sampler(attachment.provider),
            *_processors(attachment),
            *_sink("metrics", "MeterProvider", attachment.meters, metrics.get_meter_provider()),
            *_sink("events", "LoggerProvider", attachment.loggers, _logs.get_logger_provider()),
            *rules_found(processor.held_rules),
            *scorers_found(processor.held_rules, processor.slow_scorers),
            *judge_found(processor.held_rules, own=judge_is_own),
            *content_found(),
            *seen_found(processor.rules, processor.last_runs, live=True),
            *reach_found(_ends(attachment)),
            *_errors(processor.stats()),
        ]
    )


def _provider(attachment: Attachment) -> Iterator[Finding]:
    provider = attachment.provider
    kind = f"{type(provider).__module__}.{type(provider).__qualname__}"
    yield Finding("ok", "provider", f"{kind}, SDK {sdk_version}")
    try:
        is_global = find_provider() is provider
    except ConfigError:
        is_global = False
    if not is_global:
        yield Finding("note", "provider", "it is not the global one: spans of the global one are not scored")
    service = getattr(getattr(provider, "resource", None), "attributes", {}).get("service.name")
    if service is None or str(service).startswith(_UNKNOWN):
        told = "it has no name: set OTEL_SERVICE_NAME, so that its scores can be told from those of others"
        yield Finding("note", "service", told)
    else:
        yield Finding("ok", "service", str(service))


def _sampler(provider: Any) -> Iterator[Finding]:
    sampler = getattr(provider, "sampler", None)
    if sampler is None:
        return
    share = _share(sampler)
    name = sampler.get_description() if hasattr(sampler, "get_description") else type(sampler).__name__
    yield sampling_found(name, share)


def _share(sampler: Any) -> float | None:
    """The share of traces that a sampler keeps, where it says so."""
    for each in (sampler, getattr(sampler, "_root", None)):
        rate = getattr(each, "rate", None)
        if isinstance(rate, int | float):
            return float(rate)
        if str(getattr(each, "get_description", str)()).startswith("AlwaysOff"):
            return 0.0
    return None


def _processors(attachment: Attachment) -> Iterator[Finding]:
    exporters = 0
    for each in processors_of(attachment.provider):
        if each is attachment.processor:
            continue
        exporter = _exporter(each)
        exporters += exporter is not None
        yield Finding("ok", "spans", f"{type(each).__name__}{_to(exporter)}")
    if attachment.processor not in list(processors_of(attachment.provider)):
        fix = "Call attach() after the last call that sets telemetry up."
        yield Finding("wrong", "scoring", "the processor is not in the provider any more", fix)
    if not exporters:
        fix = "Add a span processor with an exporter; without it marks on spans go nowhere."
        yield Finding("warn", "spans", "no exporter of spans was found", fix)


def _exporter(processor: Any) -> Any:
    return getattr(processor, "span_exporter", None) or getattr(
        getattr(processor, "_batch_processor", None), "_exporter", None
    )


def _ends(attachment: Attachment) -> Iterator[End]:
    """Where the exporters of all signals send to."""
    providers = (
        attachment.meters or metrics.get_meter_provider(),
        attachment.loggers or _logs.get_logger_provider(),
    )
    spans = map(_exporter, processors_of(attachment.provider))
    for exporter in (*spans, *(each for provider in providers for each in _exporters(provider))):
        end = end_of(exporter)
        if end is not None:
            yield end


def _sink(what: str, kind: str, given: Any, known: Any) -> Iterator[Finding]:
    """Where metrics or events go: to the given provider, else to the global one."""
    provider = given or (known if is_real(known) else None)
    if provider is None:
        fix = f'attach(…, otlp="http://localhost:4318") sends them, or set a {kind}.'
        yield Finding("warn", what, f"they go nowhere: there is no {kind}", fix)
        return
    ends = [_to(exporter) for exporter in _exporters(provider)]
    name = type(provider).__name__
    if ends:
        yield Finding("ok", what, f"{name}{''.join(ends)}")
    else:
        yield Finding(
            "warn", what, f"{name} sends nothing on", f"Give the {kind} a reader or processor with an exporter."
        )


def _exporters(provider: Any) -> Iterator[Any]:
    """What the readers of a meter provider and the processors of a logger provider send to, or they themselves."""
    readers: Any = getattr(provider, "_metric_readers", None) or getattr(
        getattr(provider, "_sdk_config", None), "metric_readers", ()
    )
    multi: Any = getattr(provider, "_multi_log_record_processor", None)
    for each in (*readers, *_tuple(multi)):
        batch = getattr(each, "_batch_processor", None)
        yield getattr(each, "_exporter", None) or getattr(batch, "_exporter", None) or each


def _tuple(multi: Any) -> tuple[Any, ...]:
    return tuple(getattr(multi, "_log_record_processors", ()))


def _to(exporter: Any) -> str:
    if exporter is None:
        return ""
    end = end_of(exporter)
    return f" -> {type(exporter).__name__}" + (f" {without_login(end.endpoint)}" if end else "")


def _errors(stats: dict[str, int]) -> Iterator[Finding]:
    for name, count in stats.items():
        if name.startswith("errors.") and count:
            fix = "The log of otel_chloe says what it was."
            yield Finding("warn", "errors", f"{name.removeprefix('errors.')}: {count}", fix)
    if not stats.get("errors"):
        yield Finding("ok", "errors", "none")
