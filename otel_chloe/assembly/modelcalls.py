"""Model calls of a run: several spans of one call as one, and what the messages ask for and answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from otel_chloe.part import ASKS, UNSEEN, CallRequest, CallResponse, Message, ModelFacts, Part
from otel_chloe.run import Source


@dataclass(slots=True, eq=False, repr=False)
class ModelCall:
    """One call of a model, with the spans that tell of it."""

    parts: list[Part]
    facts: ModelFacts

    @property
    def start(self) -> int:
        return self.parts[0].start

    @property
    def end(self) -> int:
        return max(part.end for part in self.parts)


def model_calls(parts: Iterable[Part]) -> list[ModelCall]:
    """The model calls among model parts, in the order they started, spans of one call folded together."""
    calls: list[ModelCall] = []
    told: dict[tuple[int, int], ModelCall] = {}
    answered: dict[str, ModelCall] = {}
    for part in sorted(parts, key=lambda p: (p.start, -p.end)):
        facts = part.reader.model(part)
        around = told.get((part.trace_id, part.parent_id)) if part.parent_id is not None else None
        again = answered.get(part.call_id) if part.call_id is not None else None
        same = next((c for c in reversed(calls[-8:]) if c is around or c is again or _is_same(c, part, facts)), None)
        if same is None:
            same = ModelCall([part], facts)
            calls.append(same)
        else:
            same.parts.append(part)
            same.facts = _merged(same.facts, facts)
        told[part.trace_id, part.span_id] = same
        if part.call_id is not None:
            answered[part.call_id] = same
    return calls


def _is_same(call: ModelCall, part: Part, facts: ModelFacts) -> bool:
    first = call.parts[0]
    if part.scope == first.scope or part.start > call.end or part.end < call.start:
        return False
    return same_answer(call.facts, facts) or same_question(call.facts, facts)


def same_answer(one: ModelFacts, other: ModelFacts) -> bool:
    """Whether two model spans tell the same answer: the same call ids, else the same text."""
    ids = {r.id for m in one.output or () for r in m.requests if r.id}
    if ids:
        return any(r.id in ids for m in other.output or () for r in m.requests)
    texts = [m.text for m in one.output or () if m.text]
    return bool(texts) and texts == [m.text for m in other.output or () if m.text]


def same_question(one: ModelFacts, other: ModelFacts) -> bool:
    """Whether two model spans that tell no answer (both failed) were asked the same."""
    if _tells(one) or _tells(other) or not one.input or not other.input:
        return False
    if is_cut(one.input) or is_cut(other.input):
        return False
    texts = [m.text for m in one.input if m.text]
    return texts == [m.text for m in other.input if m.text]


def _tells(facts: ModelFacts) -> bool:
    return any(message.text or message.requests for message in facts.output or ())


def stopped_to_ask(part: Part) -> bool:
    """Whether a model says that it stopped to have tools called."""
    reasons: Any = part.raw.get("gen_ai.response.finish_reasons")
    return reasons.__class__ in (list, tuple) and any(reason in ASKS for reason in reasons)


def _merged(one: ModelFacts, other: ModelFacts) -> ModelFacts:
    longer = max(one.input, other.input, key=_worth)
    told = max(one, other, key=lambda facts: _worth(facts.output)[:2])
    return ModelFacts(input=longer, output=told.output, source=told.source, gaps=one.gaps or other.gaps)


def _worth(told: Sequence[Message] | None) -> tuple[bool, bool, int]:
    """Which of two tellings of the same messages is the better one."""
    return bool(told), not is_cut(told), len(told or ())


def is_cut(told: Sequence[Message] | None) -> bool:
    """Whether there are messages that are not seen."""
    return any(message.role == UNSEEN for message in told or ())


def asked_unseen(call: ModelCall) -> bool:
    """Whether a model call says that it ended by asking for a tool, and shows no request."""
    shown = any(message.requests for message in call.facts.output or ())
    return not shown and stopped_to_ask(call.parts[0])


def first_prompt(calls: Sequence[ModelCall]) -> str | None:
    """What the user said last before the first of some model calls."""
    found = None
    for message in (calls[0].facts.input or ()) if calls else ():
        if message.role == "user" and message.text and not message.responses:
            found = message.text
        elif message.role == UNSEEN:
            found = None
    return found


def final_answer(call: ModelCall) -> str | None:
    """The answer of a model call that asks for no tool."""
    told = call.facts.output or ()
    if is_cut(told) or any(message.requests for message in told):
        return None
    return next((m.text for m in reversed(told) if m.text and m.role in ("assistant", "")), None)


@dataclass(slots=True, eq=False, repr=False)
class Asked:
    """A tool call that the messages ask for.

    The request, when it was asked and by the span of which model call, and whether a response came.
    """

    request: CallRequest
    at: int
    response: CallResponse | None = None
    answered: bool = False
    agent: str | None = None
    by: Part | None = None
    source: Source = "message"


def asked_calls(calls: Sequence[ModelCall]) -> list[Asked]:
    """The calls that model outputs ask for, each with its response from a later input where there is one."""
    found: list[Asked] = []
    ids: set[str] = set()
    for call in calls:
        agent = next((p.agent for p in call.parts if p.agent), None)
        source: Source = call.facts.source or "message"
        for message in call.facts.output or ():
            for request in message.requests:
                if not request.id or request.id not in ids:
                    ids.add(request.id or "")
                    found.append(Asked(request, call.end, agent=agent, by=call.parts[0], source=source))
    _answer(found, calls)
    return found


def asked_in(messages: Sequence[Message], at: int) -> list[Asked]:
    """The calls in a list of a run's own messages, each with its response."""
    found = [Asked(request, at) for message in messages for request in message.requests]
    _match_responses(found, [r for message in messages for r in message.responses])
    return found


def _answer(asked: list[Asked], calls: Sequence[ModelCall]) -> None:
    """Responses are in the inputs of later calls: whole histories, or only what is new."""
    known = {a.request.id for a in asked}
    aliases: dict[str, str | None] = {}
    waiting = asked
    by_id: dict[str | None, Asked] = {a.request.id: a for a in asked if a.request.id}
    for call in calls:
        if not any(m.responses or m.requests for m in call.facts.input or ()) or _answered_by_id(by_id, call, known):
            continue
        waiting = [a for a in waiting if not a.answered]
        before = [a for a in waiting if a.at <= call.start or _asked_before(a, call)]
        if not before:
            continue
        history = call.facts.input or ()
        _find_aliases(aliases, before, history, known)
        responses = [replace(r, id=aliases.get(r.id, r.id)) if r.id else r for m in history for r in m.responses]
        _match_responses(before, responses)


def _answered_by_id(by_id: Mapping[str | None, Asked], call: ModelCall, known: set[str | None]) -> bool:
    """Give calls their responses where every id in a history is one that was asked under. False where it takes more."""
    history = call.facts.input or ()
    responses = [r for m in history for r in m.responses]
    if any(r.id not in by_id for r in responses) or any(
        r.id and r.id not in known for m in history for r in m.requests
    ):
        return False
    fresh = {r.id for r in responses if not by_id[r.id].answered}
    for response in responses:
        one = by_id[response.id]
        if response.id in fresh and (one.at <= call.start or _asked_before(one, call)):
            one.answered, one.response = True, response
    return True


def _asked_before(asked: Asked, call: ModelCall) -> bool:
    """Whether an id tells that a call was asked for before, though that span ended late (an abandoned stream)."""
    return asked.request.id is not None and asked.by is not None and asked.by.start < call.start


def _find_aliases(
    aliases: dict[str, str | None], asked: Sequence[Asked], history: Sequence[Message], known: set[str | None]
) -> None:
    """Adds the ids in a history that name a call under another id than the output did (OpenAI's item ids)."""
    free = list(asked)
    for request in (r for m in history for r in m.requests):
        if request.id is None or request.id in known or request.id in aliases:
            continue
        twin = next((a for a in free if _alike(a.request, request)), None)
        if twin is not None:
            free.remove(twin)
            aliases[request.id] = twin.request.id


def _alike(one: CallRequest, other: CallRequest) -> bool:
    return one.name == other.name and one.arguments == other.arguments


def _match_responses(asked: Sequence[Asked], responses: Sequence[CallResponse]) -> None:
    by_id = {a.request.id: a for a in asked if a.request.id}
    for response in responses:
        if response.id in by_id:
            by_id[response.id].answered, by_id[response.id].response = True, response
        elif response.id is None:
            waiting = next((a for a in asked if not a.answered and response.name in (None, a.request.name)), None)
            if waiting is not None:
                waiting.answered, waiting.response = True, response
