"""The pipeline: the only threads, and what must hold for them: limits, flush, shutdown, fork."""

from __future__ import annotations

from .work import Work
from .worker import Worker

__all__ = ["Work", "Worker"]
