"""``calls``: which tools a run called, against those it must, must not, and may call once.

Deterministic and free. It runs on the agent's own thread just before its span ends, so the plain case is kept short.
What a call does not tell (whether it ran, succeeded, had which arguments) makes a rule undecided, never broken or kept.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from typing import Final, NamedTuple, cast

from otel_chloe.expected import Count, ExpectedCalls
from otel_chloe.gaps import MAY_HIDE_CALLS, TRUNCATED
from otel_chloe.mark import Mark, Rule, Unscored, Violation, mark_of_kept
from otel_chloe.redacted import has_redacted
from otel_chloe.run import Run, ToolCall

_DONE: Final[dict[Count, str]] = {
    "attempted": "called",
    "executed": "executed",
    "succeeded": "succeeded in calling",
}
_NEVER: Final[dict[Count, str]] = {
    "attempted": "never called",
    "executed": "never executed",
    "succeeded": "never succeeded in calling",
}


FEW: Final = 16
"""Names up to which looking through a list is faster than making a set of it."""


class _Broken(NamedTuple):
    """The rules that are broken for certain, by the names in them."""

    missing: list[str]
    forbidden: list[str]
    repeated: list[str]


def calls(result: Run, expected: ExpectedCalls | Mapping[str, object]) -> Mark | Unscored:
    """Score a run on the tools it called: 1 if every rule is kept, 0 if any is broken.

    The reason lists what went wrong, then every tool in order. A call that the run only attempted counts, unless
    ``expected.count`` says otherwise. Unscored, never 0, where the run does not tell: because a call's ``ran``,
    ``ok`` or ``arguments`` is None where that decides (``error`` is ``gap``), or because the run is incomplete
    (``error`` is ``incomplete``) and what was seen neither breaks a rule nor keeps them all.

    Raises :class:`~otel_chloe.errors.ConfigError` where ``expected`` is wrong, and nothing else.
    """
    rules = expected if isinstance(expected, ExpectedCalls) else ExpectedCalls.from_mapping(expected)
    hidden = None if result.complete and not result.gaps else hides_calls(result)
    if hidden is None:
        made = result.tool_calls
        names, raw = [call.name for call in made], [call.raw_name for call in made]
        if kept(rules, names if raw == names else _both(names, raw)):
            return mark_of_kept(used_names(names))
    return _weighed(result, rules, hidden)


def kept(expected: ExpectedCalls, names: Sequence[str]) -> bool:
    """Whether the names of a whole run's calls suffice to say that every rule is kept.

    ``names`` holds each call's short name and, where that differs, the name as the model wrote it. False says only
    that it takes :func:`calls` to tell.
    """
    if expected.must_call and expected.count != "attempted":
        return False
    seen: Container[str] = names if len(names) < FEW else frozenset(names)
    for name in expected.must_call:
        if name not in seen:
            return False
    for name in expected.must_not_call:
        if name in seen:
            return False
    for name in expected.at_most_once:  # noqa: SIM110 - a generator would cost more than all of this
        if names.count(name) > 1:
            return False
    return True


def used(made: Sequence[ToolCall]) -> str:
    """Every tool in order, repeats kept: how the reason ends."""
    return used_names([call.name for call in made])


def used_names(names: Sequence[str]) -> str:
    """The same, of the calls' short names."""
    return f"Used: {', '.join(names)}." if names else "Used: nothing."


def _both(names: Sequence[str], raw_names: Sequence[str | None]) -> list[str]:
    """Each call's short name, then the names that the model wrote otherwise."""
    pairs = zip(names, raw_names, strict=True)
    return [*names, *(raw for name, raw in pairs if raw is not None and raw != name)]


def _weighed(result: Run, rules: ExpectedCalls, hidden: str | None) -> Mark | Unscored:
    """The long way: each rule is broken, kept or undecided."""
    sure, maybe = _counted(result.tool_calls, rules.count)
    missing = [name for name in rules.must_call if name not in sure]
    forbidden = [name for name in rules.must_not_call if name in sure]
    repeated, unclear = _repeated(result, rules, sure, maybe)
    absent = [name for name in missing if name not in maybe] if hidden is None else []
    if absent or forbidden or repeated:
        return _zero(rules, result, _Broken(absent, forbidden, repeated))
    if hidden is not None and (missing or rules.must_not_call or rules.at_most_once):
        return _incomplete(rules, result, missing, hidden)
    unknown = missing + [name for name in rules.must_not_call if name in maybe]
    if unknown or unclear:
        return _undecided(rules, result, unknown, unclear)
    return Mark(1.0, _used(rules, result), value=1.0, passed=True)


def _counted(made: Sequence[ToolCall], count: Count) -> tuple[dict[str, int], dict[str, int]]:
    """How often each name, short or as the model wrote it, was called for certain, and perhaps."""
    sure: dict[str, int] = {}
    maybe: dict[str, int] = {}
    for call in made:
        counts = True if count == "attempted" else _counts(call, count)
        if counts is False:
            continue
        tally = maybe if counts is None else sure
        name, raw = call.name, call.raw_name
        tally[name] = tally.get(name, 0) + 1
        if raw is not None and raw != name:
            tally[raw] = tally.get(raw, 0) + 1
    return sure, maybe


def _counts(call: ToolCall, count: Count) -> bool | None:
    """Whether the call counts; None where its spans do not tell."""
    if count == "attempted":
        return True
    return call.ran if count == "executed" else call.ok


def _repeated(
    result: Run, rules: ExpectedCalls, sure: Mapping[str, int], maybe: Mapping[str, int]
) -> tuple[list[str], list[str]]:
    """The tools that were called more than once for certain, and those that perhaps were."""
    twice: list[str] = []
    unclear: list[str] = []
    for name in rules.at_most_once:
        times = sure.get(name, 0)
        possible = times + maybe.get(name, 0) if maybe else times
        if possible < 2:
            continue
        again: bool | None = times > 1 or None
        if rules.per == "arguments":
            again = _same_arguments_again(result, name, rules.count)
        if again:
            twice.append(name)
        elif again is None:
            unclear.append(name)
    return twice, unclear


def _same_arguments_again(result: Run, name: str, count: Count) -> bool | None:
    """Whether two of the tool's calls that count had equal arguments; None where that cannot be told."""
    cut = _cut(result)
    sure: set[Hashable] = set()
    possible: set[Hashable] = set()
    unclear = False
    for call in _calls_of(name, result.tool_calls):
        counts = _counts(call, count)
        if counts is False:
            continue
        key = _comparable(call.arguments, cut=cut)
        if key is None:
            # It may equal any other call. Alone it does not get here: two calls at least may count.
            unclear = True
            continue
        if counts and key in sure:
            return True
        unclear = unclear or key in possible
        possible.add(key)
        if counts:
            sure.add(key)
    return None if unclear else False


def _comparable(arguments: object, *, cut: bool = False) -> Hashable | None:
    """Arguments as a value that equals another exactly if they are equal; None where they are not known.

    Where values of the run were cut, two texts that look the same may differ in what is gone; and so may two redaction
    marks.
    """
    if arguments is None or (cut and isinstance(arguments, str)) or has_redacted(arguments):
        return None
    try:
        return _frozen(arguments)
    except RecursionError:
        return None


def _frozen(value: object) -> Hashable:
    match value:
        case bool():
            return ("bool", value)  # JSON's true is not 1
        case None | str() | int() | float():
            return value
        case Mapping():
            items = cast("Mapping[Hashable, object]", value).items()
            return ("mapping", frozenset((key, _frozen(item)) for key, item in items))
        case list() | tuple():
            return ("list", tuple(_frozen(item) for item in cast("Sequence[object]", value)))
        case _:
            return ("other", repr(value))


def hides_calls(result: Run) -> str | None:
    """What may hide calls of this run, in words; None if nothing does."""
    for gap in result.gaps:
        if gap.code in MAY_HIDE_CALLS:
            return f"{gap.code}: {gap.detail}" if gap.detail else gap.code
    return None if result.complete else f"cut short, end {result.end}"


def _zero(rules: ExpectedCalls, result: Run, broken: _Broken) -> Mark:
    parts: list[str] = []
    done = _DONE[rules.count]
    if broken.missing:
        parts.append(f"{_NEVER[rules.count]} {', '.join(broken.missing)}")
    if broken.forbidden:
        parts.append(f"{done} {_short(broken.forbidden, result)}, which it must not")
    if broken.repeated:
        again = " with the same arguments" if rules.per == "arguments" else ""
        parts.append(f"{done} {_short(broken.repeated, result)} more than once in one run{again}")
    violations: list[Violation] = []
    by_rule: list[tuple[Rule, list[str]]] = [
        ("must_call", broken.missing),
        ("must_not_call", broken.forbidden),
        ("at_most_once", broken.repeated),
    ]
    for rule, names in by_rule:
        violations += [Violation(rule, name) for name in names]
    reason = f"{'; '.join(parts)}. {_used(rules, result, repeated=bool(broken.repeated))}"
    return Mark(0.0, reason, value=0.0, passed=False, violations=tuple(violations))


def _incomplete(rules: ExpectedCalls, result: Run, missing: Sequence[str], hidden: str) -> Unscored:
    unseen = f" Not seen: {', '.join(missing)}." if missing else ""
    reason = f"the run is incomplete ({hidden}), so calls may be missing from it.{unseen} {_used(rules, result)}"
    return Unscored(reason, error="incomplete")


def _undecided(rules: ExpectedCalls, result: Run, unknown: Sequence[str], unclear: Sequence[str]) -> Unscored:
    parts: list[str] = []
    done = _DONE[rules.count]
    if unknown:
        parts.append(f"cannot tell whether it {done} {_short(unknown, result)}")
    if unclear:
        again = " with the same arguments" if rules.per == "arguments" else ""
        parts.append(f"cannot tell whether it {done} {_short(unclear, result)} more than once{again}")
    return Unscored(f"{'; '.join(parts)}: the spans do not say. {_used(rules, result)}")


def _used(rules: ExpectedCalls, result: Run, *, repeated: bool = False) -> str:
    """Every tool; and of a tool that may be called once, how its repeats differ, where that is known."""
    every = used(result.tool_calls)
    if repeated or rules.count != "attempted" or rules.per != "name":
        every += "".join(_repeats(name, result) for name in rules.at_most_once)
    return every


def _repeats(name: str, result: Run) -> str:
    repeats = _calls_of(name, result.tool_calls)
    keys = [_comparable(call.arguments, cut=_cut(result)) for call in repeats]
    known = [words for words in (_arguments(keys), _attempts(repeats)) if words]
    if len(repeats) < 2 or not known:
        return ""
    return f" {_short([name], result)} {len(repeats)} times: {', '.join(known)}."


def _arguments(keys: Sequence[Hashable | None]) -> str | None:
    """Whether repeats had the same arguments, in words; None where that is not known."""
    known = [key for key in keys if key is not None]
    different = len(set(known))
    if different < len(known):
        return "the same arguments" if different == 1 and len(known) == len(keys) else "some with the same arguments"
    return "different arguments" if len(known) == len(keys) else None


def _attempts(repeats: Sequence[ToolCall]) -> str | None:
    """Whether an attempt failed, in words; None where that is not known."""
    failed = sum(call.ok is False for call in repeats)
    if failed:
        return f"{failed} failed"
    return None if any(call.ok is None for call in repeats) else "none failed"


def _calls_of(name: str, made: Sequence[ToolCall]) -> list[ToolCall]:
    return [call for call in made if name in (call.name, call.raw_name)]


def _cut(result: Run) -> bool:
    return any(gap.code == TRUNCATED for gap in result.gaps)


def _short(names: Sequence[str], result: Run) -> str:
    """The tools' short names: a rule may have named them as the model does."""
    made = result.tool_calls
    short = {call.raw_name: call.name for call in made} | {call.name: call.name for call in made}
    return ", ".join(dict.fromkeys(short.get(name, name) for name in names))
