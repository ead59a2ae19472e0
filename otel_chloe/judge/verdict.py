"""What the judge's checks say of the run: a mark with its lines, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from otel_chloe.config import Expectations
from otel_chloe.judge.answer import Check, Evidence
from otel_chloe.judge.prompt import lines_of
from otel_chloe.mark import Judged, Line, Mark, Unscored

EXPECTATIONS: Final = "expectations"
NO_REASON: Final = "no reason given"


class Transcript(Protocol):
    """What the judge was shown, for looking evidence up."""

    @property
    def calls(self) -> int:
        """How many tool calls there were; their numbers start at 1."""
        ...

    def holds(self, quote: str) -> bool:
        """Whether these words stand in it."""
        ...


def nothing_expected() -> Mark:
    """The mark where no line is to be judged."""
    return Mark(1.0, "Nothing was expected.", name=EXPECTATIONS, value=1.0, passed=True)


def verdict(
    checks: Sequence[Check],
    shown: Transcript,
    expected: Expectations,
    *,
    missing: bool,
    redact: Callable[[str], str],
    judged: Judged | None = None,
) -> Mark | Unscored:
    """The share of the decided lines that are met.

    Args:
        checks: One for each line, in the order of the lines.
        shown: What the judge was shown.
        expected: The lines, the share that passes, and the share that must have been decided to pass.
        missing: Whether the run has a gap or was trimmed. Only then is a line that the judge could not decide
            undecided; else it is not met.
        redact: Takes out of the model's words what it may have pieced together again.
        judged: What the judgement took.
    """
    texts = lines_of(expected.outcome)
    lines = tuple(
        _line(number, text, check, shown, missing=missing, redact=redact)
        for number, (text, check) in enumerate(zip(texts, checks, strict=True), 1)
    )
    decided = [line for line in lines if line.met is not None]
    if not decided:
        reason = f"No line could be decided: {_listed(lines)}"
        return Unscored(reason, name=EXPECTATIONS, error="undecided", judged=judged)
    met = sum(line.met is True for line in decided)
    score = met / len(decided)
    passed = score >= expected.threshold and len(decided) / len(lines) >= expected.min_decided
    reason = _reason(lines, met, len(decided))
    return Mark(score, reason, name=EXPECTATIONS, value=score, passed=passed, lines=lines, judged=judged)


def _line(
    number: int, text: str, check: Check, shown: Transcript, *, missing: bool, redact: Callable[[str], str]
) -> Line:
    met = False if check.met is None and not missing else check.met
    evidence, found = check.evidence, _found(check.evidence, shown)
    if evidence is not None and not found:  # what is there was redacted when it was shown
        evidence = {key: redact(value) if isinstance(value, str) else value for key, value in evidence.items()}
    return Line(number, text, met, check.why and redact(check.why), evidence, found)


def _found(evidence: Evidence | None, shown: Transcript) -> bool | None:
    """Whether the evidence is there; None where none was given."""
    if evidence is None:
        return None
    call = evidence.get("call")
    return 1 <= call <= shown.calls if isinstance(call, int) else shown.holds(str(evidence.get("quote")))


def _reason(lines: Sequence[Line], met: int, decided: int) -> str:
    missed = [line for line in lines if line.met is False]
    undecided = [line for line in lines if line.met is None]
    if not undecided:
        return f"{_two_digits(met, decided)}. Missed: {_listed(missed)}" if missed else "Met every expectation."
    parts = [f"{_two_digits(met, decided)}." if missed else "Met every line that could be decided."]
    parts.append(f"{decided} of {len(lines)} lines decided.")
    if missed:
        parts.append(f"Missed: {_listed(missed)}")
    return " ".join([*parts, f"Undecided: {_listed(undecided)}"])


def _listed(lines: Sequence[Line]) -> str:
    return " ".join(f"{line.text} ({line.why or NO_REASON})" for line in lines)


def _two_digits(met: int, decided: int) -> str:
    """The share with two digits, halves rounded up: 1 of 8 is 0.13."""
    hundredths = (200 * met + decided) // (2 * decided)
    return f"{hundredths // 100}.{hundredths % 100:02}"
