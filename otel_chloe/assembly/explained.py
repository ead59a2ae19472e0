"""Runs whose calls say what they were made of: which spans and messages tell of each, and why they tell of one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from otel_chloe.assembly.build import Builder
from otel_chloe.assembly.modelcalls import Asked, ModelCall
from otel_chloe.assembly.toolcalls import facts_of
from otel_chloe.assembly.twins import Seen
from otel_chloe.part import CallResponse, Message, Part
from otel_chloe.run import ToolCall

Role = Literal["span", "folded", "agent", "asked", "answered"]
"""What a piece is: the call's own span, another span of the same call, the agent that the call set off, the model's
request, the message that brought the result."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A span that a call was made of, or a message that stands on one.

    ``message`` is the message's place, from 0, among those that the span tells of what the model was given
    (``answered``) or said (``asked``); None for a span as a whole. ``why`` says why it belongs to this call; None for
    the call's own span.
    """

    role: Role
    span_id: str
    span_name: str
    scope: str
    message: int | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainedCall(ToolCall):
    """A tool call with the pieces that it was made of: spans first, then messages."""

    made_of: tuple[Piece, ...] = field(default=(), kw_only=True)


class ExplainingBuilder(Builder):
    """Builds the same run, of calls that say what they were made of."""

    def _seen_call(self, seen: Seen, name: str | None) -> ToolCall:
        pieces = [_piece("span", seen.part)]
        known = [seen.part]
        for part in seen.folded:
            pieces.append(_piece("folded", part, self._why_folded(known, part)))
            known.append(part)
        if seen.asked is not None:
            pieces += self._messages(seen.asked, _why_asked(seen, seen.asked))
        return _explained(super()._seen_call(seen, name), pieces)

    def _asked_call(self, request: Asked, name: str | None, started: Part | None) -> ToolCall:
        pieces = [] if started is None else [_piece("agent", started, "the agent of that name started after it")]
        pieces += self._messages(request, "no span tells of it")
        return _explained(super()._asked_call(request, name, started), pieces)

    # --- spans -------------------------------------------------------------------------------------------------------

    def _why_folded(self, known: Sequence[Part], part: Part) -> str:
        """Why a span tells of the same call as the spans that are known of it."""
        main = known[0]
        other_scope = all(part.scope != each.scope for each in known)
        if part.mcp:
            where = " in another process" if _elsewhere(main, part) else ""
            return f"the MCP request of this call{where}"
        if any(above is each for above in self.forest.above(part) for each in known):
            if other_scope:
                return "a second instrumentation, inside the first one's span"
            return "a wrapper: the same tool, inside the other span"
        if part.call_id and any(part.call_id == each.call_id for each in known):
            if other_scope:
                return "a second instrumentation: the same call id"
            if part.start > main.end:
                return "tried again: the same call id, and the model was not asked in between"
            return "the same call id"
        return "a second instrumentation: the same tool at the same time, and no other arguments"

    # --- messages ----------------------------------------------------------------------------------------------------

    def _messages(self, asked: Asked, why: str) -> Iterator[Piece]:
        """The message that asked for a call, and the one that brought its result."""
        request = asked.request
        told = {"event": ", in an event of the span", "log": ", in a log record"}.get(asked.source, "")
        head = self.group.root or self.group.parts[0]
        by = next((call for call in self.calls if call.parts[0] is asked.by), None)
        for part, messages in _outputs(by) if by is not None else ((head, self._own_messages(head)),):
            place = next((i for i, message in enumerate(messages) if request in message.requests), None)
            if place is not None:
                yield _piece("asked", part, why + told, place)
                break
        if asked.response is not None:
            yield from self._answer(asked, asked.response, head)

    def _answer(self, asked: Asked, response: CallResponse, head: Part) -> Iterator[Piece]:
        inputs = ((head, self._own_messages(head)),) if asked.by is None else _inputs(self.calls)
        for part, messages in inputs:
            for place, message in enumerate(messages):
                for each in message.responses:
                    if each.id is not None and each.id == asked.request.id:
                        yield _piece("answered", part, f"call id {each.id}", place)
                        return
                    if each.result is response.result and each.result is not None:
                        yield _piece("answered", part, "the next result of this tool", place)
                        return

    def _own_messages(self, head: Part) -> Sequence[Message]:
        return head.reader.agent(head).messages or ()


def _explained(call: ToolCall, pieces: Iterable[Piece]) -> ExplainedCall:
    return ExplainedCall(**{each.name: getattr(call, each.name) for each in fields(ToolCall)}, made_of=tuple(pieces))


def _piece(role: Role, part: Part, why: str | None = None, message: int | None = None) -> Piece:
    return Piece(role, f"{part.span_id:016x}", part.span_name, part.scope, message, why)


def _why_asked(seen: Seen, asked: Asked) -> str:
    """How the request of a call was told from others: see :func:`~otel_chloe.assembly.match.match_asked`."""
    ids = {part.call_id for part in (seen.part, *seen.folded)} | {facts_of(seen).call_id}
    if asked.request.id is not None and asked.request.id in ids:
        return f"call id {asked.request.id}"
    if facts_of(seen).arguments == asked.request.arguments:
        return "the same tool and arguments"
    return "the same tool, in this order"


def _elsewhere(one: Part, other: Part) -> bool:
    """Whether two spans are of two processes, as far as their resources tell."""
    return getattr(one.resource, "attributes", None) != getattr(other.resource, "attributes", None)


def _outputs(call: ModelCall) -> Iterator[tuple[Part, Sequence[Message]]]:
    return ((part, part.reader.model(part).output or ()) for part in call.parts)


def _inputs(calls: Sequence[ModelCall]) -> Iterator[tuple[Part, Sequence[Message]]]:
    """What model calls were given, each with the span of it that tells most."""
    for call in calls:
        part = max(call.parts, key=lambda each: len(each.reader.model(each).input or ()))
        yield part, part.reader.model(part).input or ()
