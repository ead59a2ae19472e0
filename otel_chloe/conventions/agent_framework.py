"""Microsoft Agent Framework: its workflows (``workflow.run``, ``executor.process``), which carry no GenAI attributes.

Source: microsoft/agent-framework, python/packages/core/agent_framework/observability.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.convention import Convention
from otel_chloe.part import CHAIN, OTHER, WORKFLOW, Kind

SCOPE: Final = "agent_framework"


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    if scope != SCOPE or "gen_ai.operation.name" in attributes:
        return None
    if span_name == "workflow.run":
        return WORKFLOW
    return CHAIN if span_name.startswith("executor.process") else OTHER


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    del span_name, kind
    found = attributes.get("workflow.name")
    return found if isinstance(found, str) else None


AGENT_FRAMEWORK: Final = Convention(
    title="Microsoft Agent Framework",
    source="https://github.com/microsoft/agent-framework",
    kind=kind,
    name=name,
)
