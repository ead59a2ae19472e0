"""The sinks: how marks go out into telemetry."""

from __future__ import annotations

from .attributes import Value, calls_kept, mark_attributes
from .emission import MARKS, NOT_RECORDABLE, REPEATS, RUNS, SPANS_LATE, SPANS_NOT_SAMPLED, Recent, Sinks
from .metrics import Watched
from .providers import Origin, origin_of

__all__ = [
    "MARKS",
    "NOT_RECORDABLE",
    "REPEATS",
    "RUNS",
    "SPANS_LATE",
    "SPANS_NOT_SAMPLED",
    "Origin",
    "Recent",
    "Sinks",
    "Value",
    "Watched",
    "calls_kept",
    "mark_attributes",
    "origin_of",
]
