"""The context that our own threads work in: nobody's, and without instrumentation."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Final, TypeVar

from opentelemetry.context import (
    _SUPPRESS_INSTRUMENTATION_KEY,  # pyright: ignore[reportPrivateUsage] - no public name; the SDK's own workers use it
    Context,
    attach,
    detach,
    set_value,
)

R = TypeVar("R")

ours: Final[contextvars.ContextVar[bool]] = contextvars.ContextVar("otel_chloe_ours", default=False)
"""Whether what goes on is our own work, or a scorer's, a judge's or an ``on_mark``'s.

Spans that start there are no run: it would be scored, too, and that for ever."""


def in_own_context(work: Callable[..., R], *args: object) -> R:
    """Calls in an empty context that suppresses instrumentation: nothing that we do is anybody's span."""

    def suppressed() -> R:
        ours.set(True)
        token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True, Context()))
        try:
            return work(*args)
        finally:
            detach(token)

    return contextvars.Context().run(suppressed)
