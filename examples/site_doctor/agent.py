"""A small agent that keeps sites up, instrumented by hand in the GenAI conventions of OpenTelemetry.

Its model is a stub that plays a script, so it needs no key and no network. Nothing in this file knows of otel_chloe.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode

AGENT: Final = "site_doctor"
MODEL: Final = "stub-model"

Message = dict[str, Any]

tracer = trace.get_tracer("site_doctor")


@dataclass
class Sites:
    """The sites that the tools look after, and what their next restarts come to."""

    restarts: list[str | Exception] = field(default_factory=list[str | Exception])

    def check_site(self, site: str) -> str:
        """Tell whether a site answers."""
        return f"{site} answers 503"

    def restart_site(self, site: str) -> str:
        """Restart a site's server."""
        came = self.restarts.pop(0) if self.restarts else f"{site} is up"
        if isinstance(came, Exception):
            raise came
        return came

    def delete_site(self, site: str) -> str:
        """Delete a site and all that it holds."""
        return f"{site} is gone"


@dataclass(frozen=True)
class Call:
    """A tool that the model asks for."""

    tool: str
    arguments: dict[str, Any]


class StubModel:
    """A model that says what its script says, one reply after the other: calls, and at the end a text."""

    def __init__(self, script: Sequence[Call | str]) -> None:
        self._script = list(script)
        self._calls = 0

    def reply(self, messages: Sequence[Message]) -> Message:
        """The next reply, whatever the messages say."""
        del messages
        said = self._script.pop(0)
        if isinstance(said, str):
            return {"role": "assistant", "parts": [{"type": "text", "content": said}]}
        self._calls += 1
        call = {"type": "tool_call", "id": f"call_{self._calls}", "name": said.tool, "arguments": said.arguments}
        return {"role": "assistant", "parts": [call]}


def run(prompt: str, model: StubModel, sites: Sites) -> str:
    """One run: ask the model, do what it asks for, until it answers with a text."""
    start = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": AGENT}
    with tracer.start_as_current_span(f"invoke_agent {AGENT}", attributes=start) as span:
        messages: list[Message] = [{"role": "user", "parts": [{"type": "text", "content": prompt}]}]
        span.set_attribute("gen_ai.input.messages", json.dumps(messages))
        while True:
            said = chat(model, messages)
            messages.append(said)
            calls = [part for part in said["parts"] if part["type"] == "tool_call"]
            if not calls:
                span.set_attribute("gen_ai.output.messages", json.dumps([said]))
                return str(said["parts"][0]["content"])
            messages.append({"role": "tool", "parts": [execute(call, sites) for call in calls]})


def chat(model: StubModel, messages: Sequence[Message]) -> Message:
    """One model call, with a span of its own."""
    start = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "stub",
        "gen_ai.request.model": MODEL,
        "gen_ai.input.messages": json.dumps(messages),
    }
    with tracer.start_as_current_span(f"chat {MODEL}", kind=SpanKind.CLIENT, attributes=start) as span:
        said = model.reply(messages)
        span.set_attribute("gen_ai.output.messages", json.dumps([said]))
        return said


def execute(call: dict[str, Any], sites: Sites) -> dict[str, Any]:
    """One tool call, with a span of its own. A tool that fails tells the model so."""
    start = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call["name"],
        "gen_ai.tool.call.id": call["id"],
        "gen_ai.tool.call.arguments": json.dumps(call["arguments"]),
    }
    tool: Callable[..., str] = getattr(sites, call["name"])
    with tracer.start_as_current_span(f"execute_tool {call['name']}", attributes=start) as span:
        try:
            result = tool(**call["arguments"])
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        except OSError as error:
            result = f"failed: {error}"
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR, str(error)))
    return {"type": "tool_call_response", "id": call["id"], "response": result}
