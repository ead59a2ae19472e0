"""The rules file and the settings: plain values here, read by :func:`load_rules`.

Importing this costs neither pydantic nor a YAML reader; loading a file does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from otel_chloe.config.rules import AgentRules, Expectations, JudgeRules, Rules, ScorerRule, Severity
from otel_chloe.config.settings import Settings

RULES_VARIABLE = "OTEL_CHLOE_RULES"
"""The environment variable that names the rules file where none is given."""

__all__ = ["AgentRules", "Expectations", "JudgeRules", "Rules", "ScorerRule", "Settings", "Severity", "load_rules"]


def load_rules(source: str | os.PathLike[str] | Mapping[str, object] | Rules | None = None) -> Rules:
    """Load rules from a file's path (YAML or JSON) or from a mapping of the same shape.

    None takes the path from ``OTEL_CHLOE_RULES``, and no rules where that is not set. Rules are returned as they are.
    Lists that contradict each other, and names that look like patterns, are warned about in the log.

    Raises :class:`~otel_chloe.errors.ConfigError`: one line for each mistake, with file, line and column.
    """
    if isinstance(source, Rules):
        return source
    if source is None:
        source = os.environ.get(RULES_VARIABLE) or None
    if source is None:
        return Rules()
    from otel_chloe.config.load import read_rules

    return read_rules(source)
