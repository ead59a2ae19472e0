"""The rules file that changes while the program runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from otel_chloe.config import Rules
from otel_chloe.config.changes import RulesChanges
from otel_chloe.errors import ConfigError
from otel_chloe.health import Health

NOT_RELOADED = "rules_not_reloaded"
"""The error that is counted for a rules file that changed and gives no rules."""


class Reloading:
    """Has a changed rules file taken. Used by the worker alone.

    Args:
        rules: The rules that hold, as they were read from their file.
        every_s: Seconds between two looks.
        health: Counts, and says in the log, what cannot be taken.
        take: Has the new rules hold for the runs that start from then on.
    """

    def __init__(self, rules: Rules, every_s: float, health: Health, take: Callable[[Rules], None]) -> None:
        self.path = rules.file.path if rules.file is not None and every_s > 0 else None
        """The file that is looked after; None where there is none."""
        self._changes = RulesChanges(rules.file) if rules.file is not None and every_s > 0 else None
        self._every_s = every_s
        self._health = health
        self._take = take
        self._next_s: float | None = None

    def due(self, now: float) -> float | None:
        """Looks, where it is time. Gives the time of the next look; None where there is nothing to look at."""
        if self._changes is None:
            return None
        if self._next_s is None or now >= self._next_s:
            self._next_s = now + self._every_s
            self._look(self._changes)
        return self._next_s

    def _look(self, changes: RulesChanges) -> None:
        try:
            found = changes.look()
            if found is None:
                return
            self._take(found)
        except Exception as error:  # noqa: BLE001 - scorers are looked up anew, and they are anybody's code
            self._health.error(NOT_RELOADED)
            what = str(error) if isinstance(error, ConfigError) else repr(error)
            self._health.warn(f"The rules file has changed, and cannot be taken. The rules from before hold.\n{what}")
            return
        self._health.say(f"{self.path} has changed. Runs that start from now on are scored by it.")


def only_at_start(before: Rules, now: Rules) -> list[str]:
    """The parts of a rules file that are taken at the start alone, and are others now."""
    judge = replace(now.judge, model=before.judge.model) != before.judge  # a model is taken with the lines
    return [key for key, other in (("settings", before.settings != now.settings), ("judge", judge)) if other]
