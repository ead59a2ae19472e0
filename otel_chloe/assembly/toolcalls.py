"""Tool calls of a run: one call is one call, however many spans and messages tell of it (design: what is a call)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from otel_chloe.assembly.belonging import Belonging
from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.modelcalls import Asked
from otel_chloe.assembly.twins import Seen, Twins
from otel_chloe.names import short_name
from otel_chloe.part import ERROR, MODEL, WITHHELD, Part, ToolFacts
from otel_chloe.run import ToolCall


def seen_calls(forest: Forest, tools: Iterable[Part], models: Sequence[Part] = ()) -> list[Seen]:
    """The calls among tool parts, in the order they started, doubled spans folded."""
    ordered = sorted(tools, key=lambda p: (p.start, -p.end))
    calls = _Calls(models, ordered)
    belonging = Belonging(forest)
    later: list[Part] = []
    for part in ordered:
        outer = _same_call_above(belonging, part)
        if outer is not None and calls.has(outer):
            calls.fold(part, calls.of(outer))
        elif part.mcp:
            later.append(part)
        else:
            calls.place(part)
    for part in later:
        outer = _same_call_above(belonging, part)
        if outer is not None and calls.has(outer):
            calls.fold(part, calls.of(outer))
        else:
            calls.place(part)
    return sorted(calls.found, key=lambda c: (c.part.start, c.part.span_id))


class _Calls:
    """The calls found so far, and which of them each span tells of."""

    def __init__(self, models: Sequence[Part], tools: Sequence[Part]) -> None:
        self.found: list[Seen] = []
        self._holder: dict[int, Seen] = {}
        self._twins = Twins(models, tools)

    def has(self, part: Part) -> bool:
        return id(part) in self._holder

    def of(self, part: Part) -> Seen:
        return self._holder[id(part)]

    def fold(self, part: Part, call: Seen) -> None:
        call.folded.append(part)
        self._holder[id(part)] = call
        self._twins.told(part, call)

    def place(self, part: Part) -> None:
        twin = self._twins.of(part)
        if twin is not None:
            self.fold(part, twin)
            return
        call = Seen(part)
        self.found.append(call)
        self._holder[id(part)] = call
        self._twins.add(call)


def _same_call_above(belonging: Belonging, part: Part) -> Part | None:
    """The nearest tool span above with the same name and no agent between."""
    above = belonging.call_above(part)
    return above if above is not None and above.short_name == part.short_name else None


def facts_of(call: Seen) -> ToolFacts:
    """What a call's main span says."""
    return call.part.reader.tool(call.part)


def tool_call(call: Seen, agent: str | None) -> ToolCall:
    """A call as the run gives it: what its main span says, completed by the folded spans and by the request."""
    told = [facts_of(call), *(p.reader.tool(p) for p in call.folded)]
    request = call.asked.request if call.asked is not None else None
    response = call.asked.response if call.asked is not None else None
    failed = any(f.ok is False for f in told) or (response is not None and response.ok is False)
    ok = False if failed else next((f.ok for f in told if f.ok is not None), None)
    raw_name = request.name if request is not None else call.part.name
    name = call.part.short_name or call.part.name or ""
    call_id = next((p.call_id for p in (call.part, *call.folded) if p.call_id), None)
    return ToolCall(
        name,
        _arguments(told, request.arguments if request is not None else None),
        next((f.result for f in told if f.result is not None), None),
        ok=ok,
        error=next((f.error for f in told if f.error), None) if ok is False else None,
        ran=_ran(told, ok=ok),
        agent=agent,
        raw_name=raw_name or name,
        call_id=call_id or (request.id if request is not None else None),
        span_id=f"{call.part.span_id:016x}",
        start_ns=call.part.start,
    )


def _ran(told: Sequence[ToolFacts], *, ok: bool | None) -> bool | None:
    """A call that went well ran; one that failed may have been refused before it ran, unless a span tells."""
    said = next((f.ran for f in told if f.ran is not None), None)
    return said if said is not None else (True if ok else None)


def _arguments(told: Sequence[ToolFacts], requested: Any) -> Any:
    mapped = next((f.arguments for f in told if is_mapping(f.arguments)), None)
    if mapped:
        return mapped
    withheld = any(f.arguments is WITHHELD for f in told)
    if is_mapping(requested) and (requested or not withheld):
        return requested
    if withheld:
        return None
    if mapped is not None:
        return mapped
    return next((f.arguments for f in told if f.arguments is not None), requested)


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether arguments could be read: the names and values of a call."""
    return isinstance(value, Mapping)


def message_call(asked: Asked, agent: str | None, started: Part | None, seen: Sequence[Seen]) -> ToolCall:
    """A call that only the messages tell of.

    ``started`` is the agent span that it set off, if any; ``seen`` are tool spans: they know short names.
    """
    raw_name = asked.request.name
    response = asked.response
    return ToolCall(
        next((s.part.short_name for s in seen if s.part.name == raw_name), None) or short_name(raw_name),
        asked.request.arguments,
        response.result if response is not None else None,
        ok=started.status != ERROR if started is not None else (response.ok if response is not None else None),
        ran=True if started is not None else None,
        agent=agent,
        raw_name=raw_name,
        source=asked.source,
        call_id=asked.request.id,
        start_ns=asked.at,
    )


def models_of(parts: Iterable[Part]) -> list[Part]:
    """The model parts among some parts."""
    return [p for p in parts if p.kind is MODEL]
