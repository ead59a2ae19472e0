"""Judgements under way: which runs are judged, how many at a time, what they may cost, and when to stop asking."""

from __future__ import annotations

from otel_chloe.pipeline.judging.calls import Price
from otel_chloe.pipeline.judging.desk import Desk, DeskLimits, Job
from otel_chloe.pipeline.judging.thread import JudgeThread

__all__ = ["Desk", "DeskLimits", "Job", "JudgeThread", "Price"]
