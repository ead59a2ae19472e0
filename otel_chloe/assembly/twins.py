"""Which tool spans tell of one call: an index, for ten thousand calls must not be compared each with each."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias, cast

from otel_chloe.assembly.modelcalls import Asked
from otel_chloe.part import Part

_MOST_COMPARED: Final = 128
"""Calls in one place of the index that a span is compared with: mostly the first of them fits."""
_ANY: Final = "any"
"""Stands for any arguments."""
_UNKNOWN: Final = "unknown"
"""Stands for arguments that were not told as names and values: they agree with any."""


@dataclass(slots=True, eq=False, repr=False)
class Seen:
    """One call as the spans tell it: its main span, and the spans that tell of the same call."""

    part: Part
    folded: list[Part] = field(default_factory=list)
    asked: Asked | None = None


_Key: TypeAlias = tuple[str | None, str | None, bool, Hashable]
"""A tool, a scope of which no span tells of the calls, whether they have an id, and arguments as :func:`_told` does.

None as the scope: calls that any number of MCP spans may tell of.
"""
_Entry: TypeAlias = tuple[int, int, Seen]
"""A call's end, a number that keeps calls of the same end in order, and the call."""


class Twins:
    """The calls found so far. A call is looked for by its id, else among those that ran at the same time.

    Args:
        models: The model spans of the run.
        tools: Its tool spans.
    """

    def __init__(self, models: Sequence[Part], tools: Sequence[Part]) -> None:
        self._models = models
        scopes = {part.scope for part in tools}
        self._scopes: set[str | None] = {*scopes} if len(scopes) > 1 else set()
        if any(part.mcp for part in tools):
            self._scopes.add(None)
        self._by_id: dict[tuple[str | None, str], list[Seen]] = {}
        self._open: dict[_Key, list[_Entry]] = {}
        self._number: dict[int, tuple[int, bool]] = {}

    def add(self, call: Seen) -> None:
        """A new call, told by one span so far."""
        part = call.part
        number = len(self._number)
        self._number[id(call)] = number, bool(part.call_id)
        self._index_id(part, call)
        for scope in self._scopes:
            if scope is None or scope != part.scope:
                for key in self._keys(call, scope):
                    insort(self._open.setdefault(key, []), (part.end, number, call))

    def told(self, part: Part, call: Seen) -> None:
        """Another span tells of a call: others of its scope do not."""
        self._index_id(part, call)
        if part.mcp or part.scope not in self._scopes:
            return
        number, _ = self._number[id(call)]
        for key in self._keys(call, part.scope):
            held = self._open.get(key, [])
            at = bisect_left(held, (call.part.end, number))
            if at < len(held) and held[at][1] == number:
                del held[at]

    def of(self, part: Part) -> Seen | None:
        """The call that another span tells of already: same id, or another instrumentation's span at the same time."""
        fitting = [call for call in self._of_same_id(part) if is_twin(call, part, self._models)]
        scope = None if part.mcp else part.scope
        if scope in self._scopes:
            arguments = _told(part)
            for has_id in (False, True) if part.mcp or not part.call_id else (False,):
                for told in (_ANY,) if arguments is _UNKNOWN else (arguments, _UNKNOWN):
                    held = self._open.get((part.short_name, scope, has_id, told))
                    found = self._nearest(held, part) if held else None
                    if found is not None:
                        fitting.append(found)
        return max(fitting, key=lambda call: (*_fits(call, part), -self._number[id(call)][0]), default=None)

    def _index_id(self, part: Part, call: Seen) -> None:
        if part.call_id:
            self._by_id.setdefault((call.part.short_name, part.call_id), []).append(call)

    def _keys(self, call: Seen, scope: str | None) -> Iterator[_Key]:
        _, has_id = self._number[id(call)]
        for told in (_told(call.part), _ANY):
            yield call.part.short_name, scope, has_id, told

    def _of_same_id(self, part: Part) -> Sequence[Seen]:
        """The newest come last: some models give the same ids in every turn."""
        return self._by_id.get((part.short_name, part.call_id), [])[-_MOST_COMPARED:] if part.call_id else ()

    def _nearest(self, held: Sequence[_Entry], part: Part) -> Seen | None:
        """Of calls sorted by their ends the first that holds the span, else the first that goes on into it."""
        around = islice(held, bisect_left(held, (part.end,)), None)
        found = next((c for c in _few(around) if c.part.start <= part.start and self._is(c, part)), None)
        if found is not None:
            return found
        into = islice(held, bisect_left(held, (part.start,)), None)
        return next((call for call in _few(into) if self._is(call, part)), None)

    def _is(self, call: Seen, part: Part) -> bool:
        return is_twin(call, part, self._models)


def _few(entries: Iterator[_Entry]) -> Iterator[Seen]:
    return (call for _, _, call in islice(entries, _MOST_COMPARED))


def _told(part: Part) -> Hashable:
    """A span's arguments as a value that is equal where they are equal."""
    arguments = part.reader.tool(part).arguments
    if not isinstance(arguments, Mapping):
        return _UNKNOWN
    told = cast("Mapping[str, object]", arguments)
    return frozenset((name, value if _is_plain(value) else None) for name, value in told.items())


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float))


def _fits(call: Seen, part: Part) -> tuple[bool, int]:
    """How well a call's span holds another: whole, and of several that do, the one that ends first."""
    inside = call.part.start <= part.start and part.end <= call.part.end
    return inside, -call.part.end


def is_twin(call: Seen, part: Part, models: Sequence[Part]) -> bool:
    """Whether a span may tell of a call that others tell of, of the same tool."""
    known = [call.part, *call.folded]
    if part.call_id and any(part.call_id == k.call_id for k in known):
        return any(_overlap(part, k) or part.scope != k.scope for k in known) or not _between(call.part, part, models)
    if any(k.scope == part.scope and k.mcp == part.mcp for k in known) and not part.mcp:
        return False
    if part.mcp and any(k.mcp and k.parent_id == part.parent_id and k.scope == part.scope for k in call.folded):
        return False
    if any(k.call_id and part.call_id and k.call_id != part.call_id for k in known) and not part.mcp:
        return False
    return _overlap(part, call.part) and _arguments_agree(call.part, part)


def _between(one: Part, other: Part, models: Sequence[Part]) -> bool:
    """Whether the model was asked again between two spans: then an id that repeats is not the same call."""
    return any(one.end <= m.start and m.end <= other.start for m in models)


def _overlap(one: Part, other: Part) -> bool:
    return one.start <= other.end and other.start <= one.end


def _arguments_agree(one: Part, other: Part) -> bool:
    a, b = one.reader.tool(one).arguments, other.reader.tool(other).arguments
    return not isinstance(a, Mapping) or not isinstance(b, Mapping) or a == b
