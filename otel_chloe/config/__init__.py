"""The rules file and the settings: plain values here, read by :func:`load_rules`.

Importing this costs neither pydantic nor a YAML reader; loading a file does.
"""

from __future__ import annotations

from otel_chloe.config.load import load_rules
from otel_chloe.config.rules import AgentRules, Expectations, JudgeRules, Rules, Severity
from otel_chloe.config.settings import Settings

__all__ = ["AgentRules", "Expectations", "JudgeRules", "Rules", "Settings", "Severity", "load_rules"]
