"""How many calls are made at a time: fewer when the provider says it is too many, slowly more when it does not."""

from __future__ import annotations

from typing import Final

_STEPS_UP: Final = 10
"""Answers in a row for which one more call at a time is allowed."""


class Pace:
    """The calls allowed at one time, from 1 to ``most``: halved at each complaint, one more after ten answers.

    Args:
        most: The calls allowed where nobody complains.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.allowed = most
        self._answers = 0
        self._not_before = 0.0

    def wait_s(self, now: float) -> float:
        """How long no call should start, as the provider asked."""
        return max(0.0, self._not_before - now)

    def answered(self) -> None:
        """A call was answered."""
        self._answers += 1
        if self._answers >= _STEPS_UP and self.allowed < self._most:
            self.allowed, self._answers = self.allowed + 1, 0

    def complained(self, now: float, retry_after_s: float | None) -> None:
        """The provider refused a call because there were too many. Of one wave of refusals the first halves."""
        if now >= self._not_before:
            self.allowed = max(1, self.allowed // 2)
        self._answers = 0
        self._not_before = max(self._not_before, now + (retry_after_s if retry_after_s is not None else 1.0))
