"""A run that is being stitched of model calls, and what it is found by."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from otel_chloe.assembly.modelcalls import ModelCall
from otel_chloe.part import CallRequest, Message, Part
from otel_chloe.run import End

Value = TypeVar("Value")

_MOST_COMPARED: Final = 64
"""Values in one place that are compared: the newest. Only conversations that are equal word by word share a place."""
_CALL: Final = 500
"""Bytes that a model call takes beside its text."""


class Stitched:
    """The model calls of one run, in the order in which they started, with those of the sub-agents that it took in.

    ``bare``: a call that tells no messages. ``unseen``: earlier messages of this run are of calls that were not seen.
    ``unclear`` says why calls of another run may belong to it. ``waiting`` holds the calls that the newest answer asked
    for, ``text`` the newest answer that asked for none. ``end`` is set when it is over.
    """

    __slots__ = (
        "_last_s",
        "_looked_at",
        "again",
        "asked_at",
        "bare",
        "calls",
        "end",
        "first",
        "last",
        "origin",
        "places",
        "prompt",
        "service",
        "size",
        "text",
        "tools",
        "unclear",
        "unseen",
        "waiting",
    )

    def __init__(self, service: object, call: ModelCall, *, bare: bool = False, unseen: bool = False) -> None:
        self.service = service
        self.origin: Any = None
        self.calls = [call]
        self.first = self.last = call
        self.tools: list[Part] = []
        self.bare, self.unseen = bare, unseen
        self.unclear: str | None = None
        self.waiting: list[CallRequest] = []
        self.text: str | None = None
        self.prompt: str | None = None
        self.again: object = None
        self.end: End = "root_ended"
        self.size = self.asked_at = 0
        self.places: list[tuple[Places[Any], Hashable, int]] = []
        self._looked_at, self._last_s = 0, 0.0
        for message in call.facts.input or ():
            if message.role == "user" and message.text and not message.responses:
                self.prompt = message.text.strip()

    @property
    def waits(self) -> bool:
        """Whether the newest answer asks for calls."""
        return bool(self.waiting)

    @property
    def failed(self) -> bool:
        """Whether the newest call brought no answer."""
        return not self.waiting and self.text is None

    def follow(self, call: ModelCall, *, unseen: bool) -> None:
        """The next call of the run itself."""
        self.asked_at = self.last.end
        self.calls.append(call)
        self.last = call
        self.unseen = self.unseen or unseen

    def answer(self, told: Sequence[Message]) -> None:
        """What the newest call answered: nothing, a text, or calls that it asks for."""
        self.waiting = [request for message in told for request in message.requests]
        texts = [message.text for message in told if message.text]
        self.text = texts[-1].strip() if texts and not self.waiting else None

    def asked_as(self, call_id: str | None) -> CallRequest | None:
        """The call that the answer before the newest call asked for, by its id, or where there is no other."""
        if call_id is None:
            return self.waiting[0] if len(self.waiting) == 1 else None
        return next((request for request in self.waiting if request.id == call_id), None)

    def absorb(self, inner: Stitched) -> None:
        """Take in a run that was a tool of this one."""
        self.calls += inner.calls
        self.tools += inner.tools
        self.size += inner.size
        self.unclear = self.unclear or inner.unclear

    def weigh(self, call: ModelCall) -> int:
        """Count what a call takes: gives the bytes that were added."""
        added = _CALL + sum(_size(m) for told in (call.facts.input, call.facts.output) for m in told or ())
        self.size += added
        return added

    def quiet_s(self, now: float) -> float:
        """For how long nothing has come, as far as somebody looked."""
        if self._looked_at != len(self.calls):
            self._looked_at, self._last_s = len(self.calls), now
        return now - self._last_s

    def leave(self) -> None:
        """Be found no more."""
        for places, key, number in self.places:
            places.drop(key, number)
        self.places.clear()


class Places(Generic[Value]):
    """Values by keys, several to a key, each of a run with which it goes."""

    def __init__(self) -> None:
        self._held: dict[Hashable, dict[int, Value]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def put(self, of: Stitched, key: Hashable, value: Value) -> None:
        self._held.setdefault(key, {})[id(value)] = value
        of.places.append((self, key, id(value)))

    def at(self, key: Hashable) -> Iterator[Value]:
        """The newest values at a key."""
        return iter(list(islice(reversed(self._held.get(key, {}).values()), _MOST_COMPARED)))

    def drop(self, key: Hashable, number: int) -> None:
        held = self._held.get(key)
        if held is not None:
            held.pop(number, None)
            if not held:
                del self._held[key]

    def clear(self) -> None:
        self._held.clear()


def _size(message: Message) -> int:
    """The bytes that a message takes, about: what calls hold is counted by its text."""
    size = 200 + len(message.text or "")
    for request in message.requests:
        size += 200 + _depth_free(request.arguments)
    for response in message.responses:
        size += 200 + _depth_free(response.result)
    return size


def _depth_free(value: Any) -> int:
    """The text in a value, at any depth."""
    total = 0
    waiting = [value]
    while waiting:
        each = waiting.pop()
        total += len(each) if isinstance(each, str) else 50
        if isinstance(each, dict):
            waiting.extend(each.values())  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(each, (list, tuple)):
            waiting.extend(each)  # pyright: ignore[reportUnknownArgumentType]
    return total
