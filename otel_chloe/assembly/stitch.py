"""Model calls with nothing above them, stitched to runs: each goes on where the answer of an earlier one ended.

Where only the model client is instrumented, every model call is a trace of its own. What links them is the history
that a client sends along: the input of a later call is the input of an earlier one, its answer, and what came after.
Pure: no clock, no spans but those in the calls that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from otel_chloe.assembly.modelcalls import ModelCall, is_cut
from otel_chloe.assembly.prefix import State, is_answer, states, system_of, text_in
from otel_chloe.assembly.stitched import Places, Stitched
from otel_chloe.part import Message, ModelFacts, Part
from otel_chloe.run import End

_Again: TypeAlias = tuple[object, State, int]
"""What a call was given: its process, the state of its messages, and the system's words."""
_MOST_WORDS: Final = 1_000
"""Values among the arguments of a call that are looked through for a sub-agent's prompt."""


@dataclass(slots=True, eq=False, repr=False)
class _Answer:
    """The place in a conversation after a model's answer."""

    of: Stitched
    system: int
    end: int
    used: bool = False


class Stitcher:
    """Takes model calls in the order in which they started, and tells which runs are over.

    A run begins with what a user says, and goes on with every call whose input repeats its history. It is over with
    the next thing that the user says, or when nothing came for long. Calls of different resources (processes,
    services) are never put together: there the rest of a run may be anywhere.

    Args:
        max_spans: Model calls of one run.
        max_bytes: Bytes of text of one run.
        max_runs: Runs that are held.
        max_held: Bytes of text of all of them.
        idle_s: Seconds after which a run to which nothing came is over.
    """

    def __init__(
        self,
        *,
        max_spans: int = 20_000,
        max_bytes: int = 8 << 20,
        max_runs: int = 20_000,
        max_held: int = 256 << 20,
        idle_s: float = 900.0,
    ) -> None:
        self._max_spans, self._max_bytes = max_spans, max_bytes
        self._max_runs, self._max_held = max_runs, max_held
        self._idle_ns = int(idle_s * 1e9)
        self._open: dict[int, Stitched] = {}
        self._answers: Places[_Answer] = Places()
        self._failed: Places[Stitched] = Places()
        self._asking: Places[Stitched] = Places()
        self._told: Places[Stitched] = Places()
        self._held = 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, call: ModelCall, origin: Any = None) -> list[Stitched]:
        """A model call more. Gives the runs that are over now. ``origin`` is kept with the newest call of its run."""
        if not call.facts.input or is_cut(call.facts.input):
            alone = Stitched(service_of(call.parts[0]), call, bare=True)
            alone.origin = origin
            return [alone]
        over = self.expired(call.start)
        held = self._place(call, over)
        held.origin = origin
        self._open.pop(id(held), None)
        self._open[id(held)] = held  # the longest idle stand first
        over += self._over_limits(held)
        return over

    def give(self, tool: Part) -> bool:
        """Give a tool span to the run whose model asked for it, by its call id. False where none or several did."""
        wanted = tool.call_id or tool.reader.tool(tool).call_id
        if wanted is None:
            return False
        found = list(self._asking.at((service_of(tool), wanted)))
        if len(found) != 1:
            return False
        found[0].tools.append(tool)
        found[0].size += tool.size
        self._held += tool.size
        return True

    def idle(self, now: float) -> list[Stitched]:
        """The runs to which nothing came for the idle timeout, counted from when somebody first looked."""
        idle_s = self._idle_ns / 1e9
        return [self._close(each, "idle_timeout") for each in self.held() if each.quiet_s(now) >= idle_s]

    def expired(self, now_ns: int) -> list[Stitched]:
        """The runs whose newest call ended longer ago than the idle timeout, by the spans' own time."""
        over: list[Stitched] = []
        while self._open:
            oldest = next(iter(self._open.values()))
            if oldest.last.end >= now_ns - self._idle_ns:
                break
            over.append(self._close(oldest, "idle_timeout"))
        return over

    def answered(self) -> list[Stitched]:
        """The runs that need no more: the model asked for nothing, and no other run asked for what they say."""
        asked = {word for each in self.held() if each.waits for r in each.waiting for word in _words(r.arguments)}
        over = [each for each in self.held() if not each.waits and (each.prompt or "") not in asked]
        return [self._close(each, "settled") for each in over]

    def rest(self, end: End = "shutdown") -> list[Stitched]:
        """All that are held."""
        return [self._close(each, end) for each in self.held()]

    def held(self) -> list[Stitched]:
        """The runs that are not over, the longest idle first."""
        return list(self._open.values())

    def clear(self) -> None:
        """Forget everything."""
        for places in (self._answers, self._failed, self._asking, self._told):
            places.clear()
        self._open.clear()
        self._held = 0

    # --- where a call belongs ----------------------------------------------------------------------------------------

    def _place(self, call: ModelCall, over: list[Stitched]) -> Stitched:
        service = service_of(call.parts[0])
        asked = call.facts.input or ()
        walked, system, turn = states(asked), system_of(asked), is_turn(asked)
        answer, rest = self._earlier(service, walked, call, system)
        goes_on = answer is not None and not (turn and rest) and not _skips_turn(rest)
        if answer is not None and (goes_on or turn):
            answer.used = True
        if answer is not None and turn and not goes_on:
            over.append(self._close(answer.of, "root_ended"))
        again = (service, walked[-1], system)
        held = answer.of if answer is not None and goes_on else self._retried(again, call)
        _slim(call, rest if goes_on else _of_turn(asked))
        if held is None:
            held = Stitched(service, call, unseen=not turn)
        else:
            held.follow(call, unseen=goes_on and any(is_answer(message) for message in rest))
            self._take_in(held, rest if goes_on else ())
        self._held += held.weigh(call)
        self._note(held, call, again)
        return held

    def _earlier(
        self, service: object, walked: Sequence[State], call: ModelCall, system: int
    ) -> tuple[_Answer | None, Sequence[Message]]:
        """The newest answer that this input goes on from, and the messages that came after it."""
        for at in range(len(walked) - 1, -1, -1):
            best = max(
                self._answers.at((service, walked[at])),
                key=lambda a: (a.system == system, not a.used, a.end <= call.start, a.end),
                default=None,
            )
            if best is not None:
                return best, (call.facts.input or ())[at + 1 :]
        return None, ()

    def _retried(self, again: _Again, call: ModelCall) -> Stitched | None:
        """The run whose newest call was given the same, and failed before this one began."""
        fitting = (s for s in self._failed.at(again) if s.failed and s.again == again and s.last.end <= call.start)
        return max(fitting, key=lambda s: s.last.end, default=None)

    def _note(self, held: Stitched, call: ModelCall, again: _Again) -> None:
        """Have the run found by what its newest call was given and answered."""
        service, state, system = again
        told = [message for message in call.facts.output or () if is_answer(message)]
        held.answer(told)
        held.again = again
        if is_cut(call.facts.output):
            return
        if not told:
            self._failed.put(held, again, held)
            return
        self._answers.put(held, (service, states(told, state)[-1]), _Answer(held, system, call.end))
        for request in held.waiting:
            if request.id:
                self._asking.put(held, (service, request.id), held)
        if held.text and not held.waits:
            self._told.put(held, (service, held.text), held)

    # --- sub-agents --------------------------------------------------------------------------------------------------

    def _take_in(self, held: Stitched, rest: Sequence[Message]) -> None:
        """Take in the runs that worked as tools of this one.

        A run was one where its prompt stood in the call's arguments, the call's result is its answer, and it took
        place between the two.
        """
        before, after = held.asked_at, held.last.start
        for response in (r for message in rest for r in message.responses):
            request = held.asked_as(response.id)
            text = text_in(response.result)
            if request is None or text is None:
                continue
            words = set(_words(request.arguments))
            fitting = [
                inner
                for inner in self._told.at((held.service, text))
                if inner is not held and not inner.waits and not inner.unseen and inner.text == text
                if inner.prompt in words and before <= inner.first.start and inner.last.end <= after
            ]
            if len(fitting) == 1:
                self._forget(fitting[0])
                held.absorb(fitting[0])
                self._held += fitting[0].size
            elif fitting:
                held.unclear = f"{len(fitting)} conversations may be what came of {request.name}"

    # --- over --------------------------------------------------------------------------------------------------------

    def _over_limits(self, held: Stitched) -> list[Stitched]:
        over: list[Stitched] = []
        if len(held.calls) > self._max_spans:
            over.append(self._close(held, "span_limit"))
        elif held.size > self._max_bytes:
            over.append(self._close(held, "byte_limit"))
        while self._open and (len(self._open) > self._max_runs or self._held > self._max_held):
            over.append(self._close(next(iter(self._open.values())), "evicted"))
        return over

    def _close(self, held: Stitched, end: End) -> Stitched:
        self._forget(held)
        held.end = end if held.waits or end in ("span_limit", "byte_limit") else "root_ended"
        return held

    def _forget(self, held: Stitched) -> None:
        held.leave()
        if self._open.pop(id(held), None) is not None:
            self._held -= held.size


def is_turn(asked: Sequence[Message]) -> bool:
    """Whether an input ends with what a user says, and not with the results of calls that the model asked for."""
    end = len(asked)
    while end and is_answer(asked[end - 1]) and not asked[end - 1].requests:
        end -= 1  # the first words of the answer, which some clients write for the model
    for message in reversed(asked[:end]):
        if message.responses:
            return False
        if is_answer(message):
            return not message.requests or asked[end - 1] is not message
    return True


def service_of(part: Part) -> object:
    """Which process a span is of: what its resource says, as one value."""
    attributes: Any = getattr(part.resource, "attributes", None)
    return frozenset((key, repr(value)) for key, value in attributes.items()) if attributes else None


def _skips_turn(rest: Sequence[Message]) -> bool:
    """Whether the messages after an answer hold what a user said and a model answered: another run's beginning."""
    asked = False
    for message in rest:
        if asked and is_answer(message):
            return True
        asked = asked or (message.role == "user" and bool(message.text) and not message.responses)
    return False


def _of_turn(asked: Sequence[Message]) -> Sequence[Message]:
    """The messages from the last thing on that the user said: what is before belongs to earlier runs."""
    for at in range(len(asked) - 1, -1, -1):
        if asked[at].role == "user" and asked[at].text and not asked[at].responses:
            return asked[at:]
    return asked


def _slim(call: ModelCall, new: Sequence[Message]) -> None:
    """Let go of what is not new in a call: of the spans that tell of it the first is kept, with what it alone says."""
    first = call.parts[0]
    call.facts = ModelFacts(input=tuple(new), output=call.facts.output, gaps=call.facts.gaps)
    raw = {key: first.raw[key] for key in KEPT if key in first.raw}
    dropped = max(part.dropped for part in call.parts)
    call.parts = [replace(first, raw=raw, facts=call.facts, events=(), dropped=dropped)]


KEPT: Final = ("gen_ai.response.finish_reasons", "error.type", "chloe.expected")
"""What is read of a model span beside its messages."""


def _words(arguments: Any) -> Iterator[str]:
    """The texts among a call's arguments, at any depth."""
    waiting = [arguments]
    for _ in range(_MOST_WORDS):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, str):
            if value.strip():
                yield value.strip()
        elif isinstance(value, dict):
            waiting.extend(value.values())  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, (list, tuple)):
            waiting.extend(value)  # pyright: ignore[reportUnknownArgumentType]
