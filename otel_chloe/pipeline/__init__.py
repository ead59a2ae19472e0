"""The pipeline: the only threads, and what must hold for them: limits, flush, shutdown, fork."""

from __future__ import annotations

from .worker import Work, Worker

__all__ = ["Work", "Worker"]
