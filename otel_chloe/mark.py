"""The four outcomes of scoring a run, and the scores that a user's scorer may return. Only a judgement is a number."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeAlias, cast

State = Literal["scored", "unscored", "pending", "failed"]
Rule = Literal["must_call", "must_not_call", "at_most_once"]


@dataclass(frozen=True, slots=True)
class Line:
    """What the judge said of one expected line. ``met`` is None where it could not be decided."""

    id: int
    text: str
    met: bool | None
    why: str | None = None
    evidence: Any = None
    found: bool | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule of ``calls`` and the tool that broke it."""

    rule: Rule
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a judgement took: the model that answered, how often it was called, tokens, US dollars, seconds.

    None where nobody said.
    """

    model: str | None = None
    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    duration_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One call of a judge's model, for the metrics. ``error`` is None where it was answered; cost is US dollars."""

    model: str
    error: str | None
    duration_s: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A score and the reason for it.

    ``score`` is a number, from 0 (failed) to 1 (passed) for the scorers here; None where the value is a label.
    ``value`` is what the scorer said; ``passed`` is None where no threshold tells.
    """

    score: float | None
    reason: str
    name: str = field(default="calls", kw_only=True)
    value: Any = field(default=None, kw_only=True)
    passed: bool | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)
    lines: tuple[Line, ...] = field(default=(), kw_only=True)
    violations: tuple[Violation, ...] = field(default=(), kw_only=True)
    version: str | None = field(default=None, kw_only=True)
    key: str | None = field(default=None, kw_only=True)
    metadata: Any = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    revision: int = field(default=0, kw_only=True)
    severity: str | None = field(default=None, kw_only=True)
    judged: Judged | None = field(default=None, kw_only=True)
    state: ClassVar[State] = "scored"


class _Open:
    """A mark while it is made. A frozen value is filled by a call for each of its fields, ten times as slow as this."""

    __slots__ = tuple(each.name for each in fields(Mark))

    def __init__(self, reason: str) -> None:
        self.score = self.value = 1.0
        self.reason = reason
        self.name = "calls"
        self.passed = True
        self.label = self.version = self.key = self.metadata = self.id = self.severity = self.judged = None
        self.lines = self.violations = ()
        self.revision = 0


def stamped(mark: Mark, *, version: str | None, id_: str | None, severity: str | None) -> Mark:
    """``replace(mark, version=…, id=…, severity=…)``, made fast: every mark is stamped."""
    made: Any = _Open(mark.reason)
    for name in _Open.__slots__:
        setattr(made, name, getattr(mark, name))
    made.version, made.id, made.severity = version, id_, severity
    made.__class__ = Mark
    return cast("Mark", made)


def mark_of_kept(reason: str) -> Mark:
    """The mark of ``calls`` where every rule is kept: ``Mark(1.0, reason, value=1.0, passed=True)``, made fast.

    It is made on the agent's own thread, for nearly every run. The two classes have the same slots.
    """
    made: Any = _Open(reason)
    made.__class__ = Mark
    return cast("Mark", made)


@dataclass(frozen=True, slots=True)
class Unscored:
    """The run could not be scored, and why. Never a zero. ``error`` is the word that metrics carry."""

    reason: str
    name: str = field(default="calls", kw_only=True)
    error: str = field(default="gap", kw_only=True)
    version: str | None = field(default=None, kw_only=True)
    key: str | None = field(default=None, kw_only=True)
    metadata: Any = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    revision: int = field(default=0, kw_only=True)
    severity: str | None = field(default=None, kw_only=True)
    judged: Judged | None = field(default=None, kw_only=True)
    state: ClassVar[State] = "unscored"


@dataclass(frozen=True, slots=True)
class Pending:
    """A score that waits for a person or another system."""

    reason: str | None = None
    name: str = field(default="", kw_only=True)
    version: str | None = field(default=None, kw_only=True)
    key: str | None = field(default=None, kw_only=True)
    metadata: Any = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    revision: int = field(default=0, kw_only=True)
    severity: str | None = field(default=None, kw_only=True)
    state: ClassVar[State] = "pending"


@dataclass(frozen=True, slots=True)
class Failed:
    """The scorer itself failed; says nothing about the run. ``error`` is the type of what went wrong."""

    reason: str
    name: str = field(default="", kw_only=True)
    error: str = field(default="Exception", kw_only=True)
    version: str | None = field(default=None, kw_only=True)
    key: str | None = field(default=None, kw_only=True)
    metadata: Any = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    revision: int = field(default=0, kw_only=True)
    severity: str | None = field(default=None, kw_only=True)
    judged: Judged | None = field(default=None, kw_only=True)
    state: ClassVar[State] = "failed"


@dataclass(frozen=True, slots=True)
class Score:
    """A score with a name of its own, as a user's scorer returns it. ``value`` is a bool, a number or a text (a label).

    A comment stands on the mark as its reason.
    """

    name: str
    value: Any
    comment: str | None = None
    metadata: Any = None


@dataclass(frozen=True, slots=True)
class DeferredScore:
    """A score that a person or another system will give later: it is recorded as pending, never as a number."""

    name: str
    reason: str | None = None
    metadata: Any = None


Outcome: TypeAlias = Mark | Unscored | Pending | Failed
