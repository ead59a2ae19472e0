"""What the worker is given to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


def _nothing() -> None:
    pass


class Elsewhere(Protocol):
    """What the work has done elsewhere, on other threads: it comes back to the worker through its queue."""

    def wait(self, timeout_s: float) -> bool:
        """Waits until what is under way by now is back. False if that took too long."""
        ...

    def give_up(self, timeout_s: float) -> None:
        """Ends what is under way, within this time: it comes back as it is."""
        ...

    def close(self) -> None:
        """Takes nothing more, in this process."""
        ...


class Together:
    """Several that do work elsewhere, as one. It counts as false where there are none.

    Args:
        parts: Those that are there; more may come.
        clock: The time, in seconds.
    """

    def __init__(self, parts: Sequence[Elsewhere], clock: Callable[[], float]) -> None:
        self._parts = parts
        self._clock = clock

    def __bool__(self) -> bool:
        return bool(self._parts)

    def wait(self, timeout_s: float) -> bool:
        until = self._clock() + timeout_s
        return all(part.wait(max(0.0, until - self._clock())) for part in self._parts)

    def give_up(self, timeout_s: float) -> None:
        until = self._clock() + timeout_s
        for part in self._parts:
            part.give_up(max(0.0, until - self._clock()))

    def close(self) -> None:
        for part in self._parts:
            part.close()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Work(Generic[T]):
    """What the worker does. All of it is called on one thread at a time."""

    take: Callable[[T], None]
    """Takes one item that was handed over."""
    tick: Callable[[float], float | None]
    """Does what is due at this time; tells when to be called next at the latest (None: when woken)."""
    close: Callable[[bool], None]
    """Closes what can be closed now: for a flush, what is finished (False); for a shutdown, everything (True)."""
    forked: Callable[[], None] = _nothing
    """Forgets the parent's work, in a forked child, before anything else is handed over. May run inside a hook."""
    elsewhere: Elsewhere | None = None
    """What flush and shutdown wait for, beside the worker's own."""
