"""smolagents: tasks that its prompt template wraps.

Source: huggingface/smolagents, src/smolagents/memory.py and agents.py.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from otel_chloe.conventions import openinference
from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.values import mapping
from otel_chloe.part import CallRequest, ModelFacts, Part

SCOPE: Final = "openinference.instrumentation.smolagents"
_TASK: Final = re.compile(r"^New task:\n")


def model(part: Part) -> ModelFacts | None:
    if part.scope != SCOPE:
        return None
    facts = openinference.model(part)
    if facts is None or facts.input is None:
        return facts
    asked = tuple(replace(m, text=_TASK.sub("", m.text) if m.text else None) for m in facts.input)
    told = tuple(replace(m, requests=tuple(map(_own_arguments, m.requests))) for m in facts.output or ())
    return replace(facts, input=asked, output=told or None)


def _own_arguments(request: CallRequest) -> CallRequest:
    """Without the empty ``additional_args`` that the framework adds to a call of a managed agent."""
    given = mapping(request.arguments)
    if given is None or given.get("additional_args", 0) != {}:
        return request
    return replace(request, arguments={key: value for key, value in given.items() if key != "additional_args"})


SMOLAGENTS: Final = Convention(title="smolagents", source="https://github.com/huggingface/smolagents", model=model)
