"""What a doctor finds: lines about one thing each, and what to fix first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["ok", "note", "warn", "wrong"]
"""How bad it is: all well, good to know, marks may be missing or mistaken, nothing comes out."""

_SIGNS: Final = {"ok": " ", "note": "·", "warn": "!", "wrong": "✗"}
_WIDTH: Final = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what it is about, what was found, and what to do about it (None where nothing is to be done)."""

    level: Level
    about: str
    said: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was found. Its text has a line for each, and ends with what to fix first."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding | None:
        """What to fix first; None where nothing is to be fixed."""
        bad = [each for level in ("wrong", "warn") for each in self.findings if each.level == level]
        return next((each for each in bad if each.fix), None)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """The lines of the text."""
        for each in self.findings:
            yield f"{_SIGNS[each.level]} {each.about:<{_WIDTH}}{each.said}"
            if each.fix and each.level != "note":
                yield f"  {'':<{_WIDTH}}-> {each.fix}"
        first = self.first
        yield ""
        yield "All is well." if first is None else f"Fix first: {first.about}: {first.said}. {first.fix}"


def diagnosis(found: Iterable[Finding]) -> Diagnosis:
    """All findings as one."""
    return Diagnosis(tuple(found))
