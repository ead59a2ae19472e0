"""MLflow: ``mlflow.spanType`` and JSON-encoded inputs and outputs.

Source: mlflow/mlflow, mlflow/entities/span.py and mlflow/tracing/constant.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.messages import last_user_text, messages
from otel_chloe.conventions.values import CUT, arguments, mapping, one_text, parsed, result, sequence, structure, text
from otel_chloe.part import AGENT, CHAIN, MODEL, OTHER, TOOL, AgentFacts, Kind, ModelFacts, Part, ToolFacts

TYPE: Final = "mlflow.spanType"
INPUTS: Final = "mlflow.spanInputs"
OUTPUTS: Final = "mlflow.spanOutputs"
_KINDS: Final[dict[str, Kind]] = {
    "AGENT": AGENT,
    "TOOL": TOOL,
    "LLM": MODEL,
    "CHAT_MODEL": MODEL,
    "CHAIN": CHAIN,
    "WORKFLOW": CHAIN,
    "TASK": CHAIN,
}


def kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> Kind | None:
    del span_name, scope
    named = attributes.get(TYPE)
    return _KINDS.get(named.strip('"'), OTHER) if isinstance(named, str) else None


def name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> str | None:
    del attributes
    return span_name if kind in (TOOL, AGENT) else None


def tool(part: Part) -> ToolFacts | None:
    if TYPE not in part.raw:
        return None
    return ToolFacts(arguments=arguments(part.raw.get(INPUTS)), result=result(part.raw.get(OUTPUTS)))


def model(part: Part) -> ModelFacts | None:
    if TYPE not in part.raw:
        return None
    told = mapping(parsed(part.raw.get(OUTPUTS))) or {}
    outer = sequence(told.get("generations")) or sequence(told.get("choices")) or ()
    first = sequence(outer[0]) if outer else None
    return ModelFacts(
        input=messages(part.raw.get(INPUTS)),
        output=messages(list(first or outer)) if outer else None,
    )


def agent(part: Part) -> AgentFacts | None:
    if TYPE not in part.raw:
        return None
    given = structure(part.raw.get(INPUTS))
    found = mapping(given)
    asked = last_user_text(messages(given)) if found and "messages" in found else one_text(given)
    told = parsed(part.raw.get(OUTPUTS))
    metadata = mapping(parsed(part.raw.get("metadata"))) or {}
    return AgentFacts(
        name=text(metadata.get("lc_agent_name")),
        prompt=asked,
        output=told if isinstance(told, str) and part.kind is AGENT else None,
        input=None if given is CUT else given,
    )


MLFLOW: Final = Convention(
    title="MLflow",
    source="https://github.com/mlflow/mlflow/blob/master/mlflow/tracing/constant.py",
    kind=kind,
    name=name,
    tool=tool,
    model=model,
    agent=agent,
)
