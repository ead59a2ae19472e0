"""otel_chloe scores live AI-agent runs from their OpenTelemetry spans.

Names are imported when they are first used, so that a program pays only for the part that it uses.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from otel_chloe.alone import ascore, expectations, score
    from otel_chloe.attachment import Attachment, attach
    from otel_chloe.attachment.resolving import resolve
    from otel_chloe.config import Rules
    from otel_chloe.errors import ChloeError, ConfigError, InputError, SendError
    from otel_chloe.expected import ExpectedCalls, ExpectedOutcome
    from otel_chloe.kit import Scorer, ScorerContext
    from otel_chloe.mark import DeferredScore, Failed, Line, Mark, Pending, Score, Unscored, Violation
    from otel_chloe.processor import ScoringSpanProcessor
    from otel_chloe.processor.block import expecting
    from otel_chloe.recording import load_runs
    from otel_chloe.run import Gap, Run, ToolCall
    from otel_chloe.scorers import calls

__all__ = [
    "Attachment",
    "ChloeError",
    "ConfigError",
    "DeferredScore",
    "ExpectedCalls",
    "ExpectedOutcome",
    "Failed",
    "Gap",
    "InputError",
    "Line",
    "Mark",
    "Pending",
    "Rules",
    "Run",
    "Score",
    "Scorer",
    "ScorerContext",
    "ScoringSpanProcessor",
    "SendError",
    "ToolCall",
    "Unscored",
    "Violation",
    "ascore",
    "attach",
    "calls",
    "expectations",
    "expecting",
    "load_runs",
    "resolve",
    "score",
]

_HOMES: _typing.Final = {
    "errors": ("ChloeError", "ConfigError", "InputError", "SendError"),
    "expected": ("ExpectedCalls", "ExpectedOutcome"),
    "kit": ("Scorer", "ScorerContext"),
    "mark": ("DeferredScore", "Failed", "Line", "Mark", "Pending", "Score", "Unscored", "Violation"),
    "run": ("Gap", "Run", "ToolCall"),
    "config": ("Rules",),
    "processor": ("ScoringSpanProcessor",),
    "processor.block": ("expecting",),
    "recording": ("load_runs",),
    "scorers": ("calls",),
    "alone": ("ascore", "expectations", "score"),
    "attachment": ("Attachment", "attach"),
    "attachment.resolving": ("resolve",),
}
_HOME: _typing.Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> _typing.Any:
    """The public names, each from the room that it lives in; the version from the installed package."""
    if name == "__version__":
        from importlib.metadata import version

        return version("otel-chloe")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
