"""Recordings: files in, spans and runs out. The offline door."""

from __future__ import annotations

from .read import read_spans
from .runs import load_runs
from .span import RecordedSpan

__all__ = ["RecordedSpan", "load_runs", "read_spans"]
