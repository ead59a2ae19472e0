"""Fakes for tests of agents and of scorers: a scripted judge, a clock that is stepped, ids that are counted."""

from __future__ import annotations

from otel_chloe.judge.ask import Ask, JudgeError, Reply
from otel_chloe.testing.judge import ScriptedJudge, checks
from otel_chloe.testing.stepping import CountingIds, SteppingClock

__all__ = ["Ask", "CountingIds", "JudgeError", "Reply", "ScriptedJudge", "SteppingClock", "checks"]
