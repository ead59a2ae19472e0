"""The sinks: how marks go out into telemetry."""

from __future__ import annotations

from .attributes import Value, calls_kept, mark_attributes
from .emission import Recent, Sinks
from .providers import Origin, is_real, origin_of
from .watched import Watched, watched

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
    "watched",
]
