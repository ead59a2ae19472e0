"""Fakes for tests of agents and of scorers: a scripted judge, recorded runs, a clock that is stepped, counted ids.

Names are imported when they are first used: pytest looks in here wherever otel_chloe is installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from otel_chloe.judge.ask import Ask, JudgeError, Reply
    from otel_chloe.testing.judge import ScriptedJudge, checks
    from otel_chloe.testing.runs import RecordedRun, RecordedRuns, record_runs
    from otel_chloe.testing.stepping import CountingIds, SteppingClock

__all__ = [
    "Ask",
    "CountingIds",
    "JudgeError",
    "RecordedRun",
    "RecordedRuns",
    "Reply",
    "ScriptedJudge",
    "SteppingClock",
    "checks",
    "record_runs",
]

_HOMES: Final = {
    "judge.ask": ("Ask", "JudgeError", "Reply"),
    "testing.judge": ("ScriptedJudge", "checks"),
    "testing.runs": ("RecordedRun", "RecordedRuns", "record_runs"),
    "testing.stepping": ("CountingIds", "SteppingClock"),
}
_HOME: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"otel_chloe.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
