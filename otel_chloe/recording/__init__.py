"""Recordings: files in, spans out. The offline door."""

from __future__ import annotations

from .read import read_spans
from .span import RecordedSpan

__all__ = ["RecordedSpan", "read_spans"]
