"""What the worker is given to do."""

from __future__ import annotations

from collections.abc import Callable
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


@dataclass(frozen=True, slots=True)
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
