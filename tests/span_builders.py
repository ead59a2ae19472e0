"""Makes spans as instrumentations make them, one short line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from otel_chloe.assembly import assemble
from otel_chloe.conventions import read
from otel_chloe.part import Part
from otel_chloe.recording.span import (
    CLIENT,
    ERROR,
    INTERNAL,
    SERVER,
    UNSET,
    Numbered,
    RecordedContext,
    RecordedLink,
    RecordedResource,
    RecordedScope,
    RecordedSpan,
    RecordedStatus,
)
from otel_chloe.run import Run

SCOPE = "agents.test"
OTHER_SCOPE = "doubling.test"
TICK, LEAF = 1_000_000, 100
"""Nanoseconds from one start to the next, and how long a span without children takes."""

# --- messages --------------------------------------------------------------------------------------------------------

Asking: TypeAlias = "tuple[str, str | None]"
"""A call as a model asks for it: the tool's name and the call's id."""


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def assistant(text: str | None = None, asks: Iterable[Asking] = (), arguments: Any = None) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": i, "name": name, "arguments": arguments or {"of": i}} for name, i in asks]
    return {"role": "assistant", "parts": parts}


def response(call_id: str | None, result: str = "done") -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": result}]}


# --- spans -----------------------------------------------------------------------------------------------------------


class Spans:
    """Makes spans of one service. Each starts a tick after the one before; one without an end holds its children."""

    def __init__(self, trace_id: int = 1, service: str | None = None) -> None:
        self.trace_id = trace_id
        self.all: list[RecordedSpan] = []
        self.resource = RecordedResource({"service.name": service} if service else {})

    def add(
        self,
        span_name: str,
        attributes: dict[str, Any],
        *,
        under: RecordedSpan | int | None = None,
        start: int | None = None,
        end: int | None = None,
        scope: str = SCOPE,
        error: str | None = None,
        kind: Numbered = INTERNAL,
        trace_id: int | None = None,
        links: Sequence[RecordedSpan] = (),
        remote: bool = False,
    ) -> RecordedSpan:
        """Make a span; ``under`` is its parent, or the id of a parent that was never seen."""
        number = len(self.all) + 1
        trace_id = trace_id or (under.context.trace_id if isinstance(under, RecordedSpan) else self.trace_id)
        above = under.context.span_id if isinstance(under, RecordedSpan) else under
        span = RecordedSpan(
            span_name,
            RecordedContext(trace_id, trace_id << 20 | number),
            RecordedContext(trace_id, above, remote) if above else None,
            number * TICK if start is None else start,
            end,
            {key: value for key, value in attributes.items() if value is not None},
            RecordedStatus(ERROR, error) if error else RecordedStatus(UNSET),
            kind,
            RecordedScope(scope),
            self.resource,
            0,
            (),
            tuple(RecordedLink(link.context, {}) for link in links),
        )
        self.all.append(span)
        return span

    def operation(self, operation: str, name: str = "", attributes: dict[str, Any] | None = None, **more: Any) -> Any:
        """Make a span of an OTel GenAI operation."""
        return self.add(
            f"{operation} {name}".strip(), {"gen_ai.operation.name": operation, **(attributes or {})}, **more
        )

    def agent(self, name: str | None = "ops", *, asked: Any = None, told: Any = None, **more: Any) -> RecordedSpan:
        said = {"gen_ai.agent.name": name, **_messages(asked, told)}
        return self.operation("invoke_agent", name or "", said, **more)

    def tool(
        self, name: str | None, call_id: str | None = None, *, result: str | None = "done", **more: Any
    ) -> RecordedSpan:
        said = {
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": json.dumps({"of": call_id}),
            "gen_ai.tool.call.result": result,
        }
        return self.operation("execute_tool", name or "", said, **more)

    def mcp(self, name: str, **more: Any) -> RecordedSpan:
        said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "mcp.method.name": "tools/call"}
        return self.add(f"tools/call {name}", said, **{"scope": "mcp-python-sdk", "kind": CLIENT, **more})

    def model(
        self,
        text: str | None = None,
        asks: Iterable[Asking] = (),
        *,
        asked: Any = None,
        response_id: str | None = None,
        finish: str | None = "",
        **more: Any,
    ) -> RecordedSpan:
        """Make a model call that was given ``asked`` and answers with a text and the calls that it asks for."""
        asks = tuple(asks)
        told = [assistant(text, asks)] if text or asks else None
        if finish == "":
            finish = "tool_calls" if asks else "stop"
        reasons = (finish,) if finish is not None else None
        said = {"gen_ai.response.id": response_id, "gen_ai.response.finish_reasons": reasons}
        return self.operation("chat", "m", {**said, **_messages(asked, told)}, **{"kind": CLIENT, **more})

    def chain(self, name: str = "chain", **more: Any) -> RecordedSpan:
        return self.add(name, {"openinference.span.kind": "CHAIN"}, **more)

    def workflow(self, name: str = "flow", **more: Any) -> RecordedSpan:
        return self.operation("invoke_workflow", name, {"gen_ai.workflow.name": name}, **more)

    def handoff(self, to: str, **more: Any) -> RecordedSpan:
        return self.operation("handoff", to, {"gen_ai.handoff.to_agent": to}, **more)

    def http(self, name: str = "POST /incident", **more: Any) -> RecordedSpan:
        return self.add(name, {"http.request.method": "POST"}, kind=SERVER, **more)

    def plain(self, name: str = "load", **more: Any) -> RecordedSpan:
        return self.add(name, {}, **more)

    def ended(self) -> list[RecordedSpan]:
        """All spans, those without an end ended when their last child was over."""
        latest: dict[int, int] = {}
        for span in reversed(self.all):
            if span.end_time is None:
                span.end_time = max((span.start_time or 0) + LEAF, latest.get(span.context.span_id, 0) + 1)
            if span.parent is not None:
                latest[span.parent.span_id] = max(latest.get(span.parent.span_id, 0), span.end_time)
        return self.all

    def parts(self) -> list[Part]:
        return [part for span in self.ended() if (part := read(span)) is not None]

    def runs(self) -> list[Run]:
        return assemble(self.parts())

    def run(self) -> Run:
        (found,) = self.runs()
        return found


def _messages(asked: Any, told: Any) -> dict[str, str | None]:
    asked = [user(asked)] if isinstance(asked, str) else asked
    told = [assistant(told)] if isinstance(told, str) else told
    return {
        "gen_ai.input.messages": None if asked is None else json.dumps(asked),
        "gen_ai.output.messages": None if told is None else json.dumps(told),
    }


def id_of(span: RecordedSpan) -> str:
    return f"{span.context.span_id:016x}"


def names(run: Run) -> list[str]:
    return [call.name for call in run.tool_calls]
