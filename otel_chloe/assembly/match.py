"""Which call that the spans show is which call that the messages ask for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from otel_chloe.assembly.modelcalls import Asked
from otel_chloe.assembly.toolcalls import facts_of
from otel_chloe.assembly.twins import Seen
from otel_chloe.names import short_name

_MOST_COMPARED = 128
"""Requests of one tool whose arguments a call is compared with."""


def match_asked(calls: Sequence[Seen], asked: Sequence[Asked]) -> list[Asked]:
    """Give each call the request that asked for it; returns the requests that no span tells of.

    The id decides, then tool and arguments, then the tool alone, each in the order of the requests.
    """
    requests = _Requests(asked)
    for find in (requests.of_same_id, requests.of_same_arguments, requests.of_same_name):
        for call in calls:
            if call.asked is None:
                call.asked = requests.take(find(call))
    return requests.left()


class _Requests:
    """Requests that no call has taken yet, by id and by name."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._asked = asked
        self._free = [True] * len(asked)
        self._by_id: dict[str, deque[int]] = {}
        self._by_name: dict[str, deque[int]] = {}
        for index, one in enumerate(asked):
            if one.request.id is not None:
                self._by_id.setdefault(one.request.id, deque()).append(index)
            for name in {one.request.name, short_name(one.request.name)}:
                self._by_name.setdefault(name, deque()).append(index)

    def take(self, found: Iterable[int]) -> Asked | None:
        """The first of these, which is then no longer free."""
        index = min(found, default=None)
        if index is None:
            return None
        self._free[index] = False
        return self._asked[index]

    def left(self) -> list[Asked]:
        return [one for one, free in zip(self._asked, self._free, strict=True) if free]

    def of_same_id(self, call: Seen) -> Iterator[int]:
        ids: set[str | None] = {p.call_id for p in (call.part, *call.folded) if p.call_id}
        for wanted in ids or {facts_of(call).call_id}:
            if wanted is not None:
                yield from islice(self._free_in(self._by_id.get(wanted)), 1)

    def of_same_arguments(self, call: Seen) -> Iterator[int]:
        arguments = facts_of(call).arguments
        for name in _names(call):
            near = islice(self._free_in(self._by_name.get(name)), _MOST_COMPARED)
            yield from islice((i for i in near if self._asked[i].request.arguments == arguments), 1)

    def of_same_name(self, call: Seen) -> Iterator[int]:
        for name in _names(call):
            yield from islice(self._free_in(self._by_name.get(name)), 1)

    def _free_in(self, indexes: deque[int] | None) -> Iterator[int]:
        while indexes and not self._free[indexes[0]]:
            indexes.popleft()
        return (i for i in indexes or () if self._free[i])


def _names(call: Seen) -> set[str]:
    return {n for p in (call.part, *call.folded) for n in (p.name, p.short_name) if n is not None}
