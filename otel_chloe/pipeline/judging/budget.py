"""What judging may cost: hard stops for any hour and any day."""

from __future__ import annotations

from collections import deque
from typing import Final

HOUR_S: Final = 3_600.0
DAY_S: Final = 86_400.0
_SLOTS: Final = 60
"""Parts of a window that leave it one by one: of an hour a minute, of a day 24 minutes."""


class Spent:
    """What was spent in the last ``window_s`` seconds, in US dollars, to a sixtieth of the window."""

    __slots__ = ("_parts", "_slot_s", "total")

    def __init__(self, window_s: float) -> None:
        self._slot_s = window_s / _SLOTS
        self._parts: deque[tuple[int, float]] = deque()
        self.total = 0.0

    def add(self, usd: float, now: float) -> None:
        slot = int(now / self._slot_s)
        self.total += usd
        if self._parts and self._parts[-1][0] == slot:
            usd += self._parts.pop()[1]
        self._parts.append((slot, usd))
        self.at(now)

    def at(self, now: float) -> float:
        """What counts at this time."""
        oldest = int(now / self._slot_s) - _SLOTS
        if self._parts and self._parts[0][0] < oldest:
            while self._parts and self._parts[0][0] < oldest:
                self._parts.popleft()
            # Summed anew, for what is taken off a sum again and again leaves an error in it.
            self.total = sum(usd for _, usd in self._parts)
        return self.total


class Budget:
    """Lets a call through while it fits both amounts.

    What a call costs is known only when it is over. As long as it runs it counts as the dearest call so far; only the
    first calls, as many as are made at one time, may go over.

    Args:
        usd_per_hour: The most that any hour may cost, in US dollars.
        usd_per_day: The most that any day may cost.
    """

    def __init__(self, usd_per_hour: float, usd_per_day: float) -> None:
        self._caps = ((Spent(HOUR_S), usd_per_hour), (Spent(DAY_S), usd_per_day))
        self._dearest: float | None = None
        self._running = 0

    def allows(self, now: float) -> bool:
        """Whether there is money left for a call that starts now."""
        price = self._dearest or 0.0
        return all(cap > 0 and spent.at(now) + (self._running + 1) * price <= cap for spent, cap in self._caps)

    def began(self) -> None:
        """A call starts."""
        self._running += 1

    def ended(self, usd: float | None, now: float) -> None:
        """A call is over; None where it is not known what it cost."""
        self._running -= 1
        if usd is None:
            return
        self._dearest = max(self._dearest or 0.0, usd)
        for spent, _ in self._caps:
            spent.add(usd, now)
