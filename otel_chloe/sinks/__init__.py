"""The sinks: how marks go out into telemetry."""

from __future__ import annotations

from .attributes import Value, calls_kept, mark_attributes
from .emission import Recent, Sinks
from .metrics import Watched
from .providers import Origin, is_real, origin_of

__all__ = [
    "Origin",
    "Recent",
    "Sinks",
    "Value",
    "Watched",
    "calls_kept",
    "is_real",
    "mark_attributes",
    "origin_of",
]
