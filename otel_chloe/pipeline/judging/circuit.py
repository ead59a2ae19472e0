"""When to stop asking a model that does not answer, and when to try again."""

from __future__ import annotations

from typing import Final

MOST_FAILURES: Final = 5
"""Failures in a row that open the circuit. Calls that were under way together, and failed, are one."""
FIRST_S: Final = 30.0
LONGEST_S: Final = 600.0


class Circuit:
    """Open after several failures in a row, or after one that lasts; then one call at a time tries whether it is over.

    How long it stays open doubles with each failed try.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._failed_at = float("-inf")
        self._until: float | None = None
        self._wait_s = FIRST_S
        self._trying = False
        self.why = ""

    def lets_through(self, now: float) -> bool:
        """Whether a call may be made now. Of an open circuit whose time is over, one call is let through."""
        if self._until is None:
            return True
        if now < self._until or self._trying:
            return False
        self._trying = True
        return True

    def succeeded(self) -> None:
        """A call was answered."""
        self._failures, self._until, self._wait_s, self._trying = 0, None, FIRST_S, False

    def given_up(self) -> None:
        """A call was cancelled, so nobody knows."""
        self._trying = False

    def failed(self, why: str, now: float, *, began: float, lasting: bool) -> None:
        """A call that began then has failed; ``lasting``: every other one will too."""
        if began > self._failed_at:  # else it was under way when another failed: a child's death takes many along
            self._failures += 1
            self._failed_at = now
        tried, self._trying = self._trying, False
        if not (lasting or tried or self._failures >= MOST_FAILURES):
            return
        if self._until is not None and not tried:
            return  # calls that were under way when it opened
        self._until = now + self._wait_s
        self._wait_s = min(self._wait_s * 2, LONGEST_S)
        self.why = why
