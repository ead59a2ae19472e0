"""The TracerProvider that an application has: finding it behind what others put around it, and adding to it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor

from otel_chloe.errors import ConfigError

MOST_WRAPPERS: Final = 8
"""Providers around one another that are looked through."""

_SETUPS: Final = {
    "logfire": "logfire.configure()",
    "phoenix.otel": "phoenix.otel.register()",
    "traceloop.sdk": "Traceloop.init()",
    "langfuse": "Langfuse()",
    "langsmith": "langsmith.Client(), with LANGSMITH_OTEL_ENABLED=true",
}
"""The module that tells that a product is in use, and what makes its provider."""


def find_provider(given: object = None) -> Any:
    """The provider that takes processors: the given one, else the global one, without what stands around it.

    Raises :class:`~otel_chloe.errors.ConfigError` where there is none yet; the message says what to call first.
    """
    provider: Any = trace.get_tracer_provider() if given is None else given
    inner = _inner(provider)
    if callable(getattr(inner, "add_span_processor", None)):
        return inner
    if given is not None:
        raise ConfigError(
            f"provider: a {type(given).__name__} takes no span processors. "
            "Give a TracerProvider of the OpenTelemetry SDK, or what wraps one."
        )
    raise ConfigError(_none_yet(inner))


def _inner(provider: Any) -> Any:
    """What a wrapper such as Logfire's delegates to; the provider itself where it is none."""
    for _ in range(MOST_WRAPPERS):
        if hasattr(provider, "_active_span_processor"):
            return provider
        within = getattr(provider, "provider", None) or getattr(provider, "__wrapped__", None)
        if within is None or not hasattr(within, "get_tracer"):
            return provider
        provider = within
    return provider


def _none_yet(provider: object) -> str:
    if isinstance(provider, trace.NoOpTracerProvider):
        return "attach: the global TracerProvider is the one that does nothing. Set one of the OpenTelemetry SDK first."
    found = [call for module, call in _SETUPS.items() if module in sys.modules]
    # An import may be another package's doing: no product is taken for certain.
    first = ["trace.set_tracer_provider(TracerProvider())", *(found or _SETUPS.values())]
    return (
        "attach: the OpenTelemetry SDK has no TracerProvider yet, so there are no spans to score. Call attach() after "
        f"what sets it up: {' or '.join(first)}; or start the program with opentelemetry-instrument."
    )


def add_processor(provider: Any, processor: SpanProcessor) -> None:
    """Add the processor beside those that are there. None of them is replaced."""
    add = provider.add_span_processor
    if "replace_default_processor" in _parameters(add):  # Phoenix takes its own exporter away otherwise
        add(processor, replace_default_processor=False)
    else:
        add(processor)


def remove_processor(provider: Any, processor: SpanProcessor) -> bool:
    """Take the processor out. False where the provider keeps its processors in a way that is not known.

    The SDK has no public way to do it. A processor that stays in is shut down, and does nothing more.
    """
    multi: Any = getattr(provider, "_active_span_processor", None)
    if not isinstance(getattr(multi, "_span_processors", None), tuple):
        return False
    with getattr(multi, "_lock", None) or nullcontext():
        multi._span_processors = tuple(each for each in multi._span_processors if each is not processor)  # noqa: SLF001
    return True


def processors_of(provider: object) -> Iterator[SpanProcessor]:
    """The processors of a provider, those within wrappers too; none where it does not show them."""
    waiting: list[Any] = [getattr(provider, "_active_span_processor", None)]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop(0)
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        within = getattr(each, "_span_processors", None)
        if isinstance(within, tuple | list):
            waiting += within  # pyright: ignore[reportUnknownArgumentType] - whatever somebody put in
            continue
        yield each
        wrapped = getattr(each, "processor", None)
        if hasattr(wrapped, "on_end"):
            waiting.append(wrapped)


def _parameters(function: Any) -> Any:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # made in C, or lying about itself
        return ()


def add_log_records(loggers: Any, processor: Any) -> bool:
    """Add the processor of log records to a LoggerProvider. False where it takes none: it is not the SDK's."""
    add = getattr(loggers, "add_log_record_processor", None)
    if not callable(add):
        return False
    add(processor)
    return True


def remove_log_records(loggers: Any, processor: Any) -> None:
    """Take it out, where the provider keeps its processors as the SDK does. One that stays finds no run to add to."""
    multi: Any = getattr(loggers, "_multi_log_record_processor", None)
    there: Any = getattr(multi, "_log_record_processors", None)
    if there.__class__ is tuple:
        with getattr(multi, "_lock", None) or nullcontext():
            multi._log_record_processors = tuple(each for each in there if each is not processor)  # noqa: SLF001
