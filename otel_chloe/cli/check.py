"""``otel-chloe check``: the rules as they hold, and the names in them that recordings never show."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from ..config import AgentRules, Expectations, Rules, ScorerRule
from ..config.unseen import CALL_LISTS, entries, never_seen
from ..expected import ExpectedCalls
from ..kit import AnyScorer, CodeScorer
from ..kit.verdict import BETTER
from ..run import Run
from .console import BAD_INPUT, NOT_PASSED, OK, printable, write
from .json_lines import below
from .reading import Recordings
from .rules import rules_of

_LABEL: Final = 14
EVERYONE: Final = "*"


def run(args: Namespace) -> int:
    """Print the rules; with recordings, what they never show of them."""
    rules = rules_of(args.rules)
    if rules is None:
        return BAD_INPUT
    for line in _described(rules):
        write(printable(line))
    if not args.files:
        return OK
    recordings = Recordings(args.files)
    seen = _Seen(recordings, entries(rules))
    write("")
    write(printable(seen.summary()))
    unseen = [f"never seen    {said}" for said in (*never_seen(rules, seen.agents, seen.tools), *seen.never_held())]
    for line in unseen:
        write(printable(line))
    if recordings.bad:
        return BAD_INPUT
    return NOT_PASSED if unseen else OK


def _described(rules: Rules) -> Iterator[str]:
    if rules.everyone is None and not rules.alone:
        yield "no rules: runs are rebuilt, and nothing is scored"
    for name in rules.agents:
        joined = rules.joined.get(name, rules.alone[name])
        yield name
        yield from _entry(joined, rules.alone[name], rules.everyone)
    if rules.everyone is not None:
        yield "every other agent" if rules.alone else "every agent"
        yield from _entry(rules.everyone, rules.everyone)


def _entry(rules: AgentRules, own: AgentRules, everyone: AgentRules | None = None) -> Iterator[str]:
    """What holds for the runs of an agent; what comes from ``*`` does not hold for its sub-runs, and is marked."""
    found = [*_where(own, ""), *(_where(everyone, " (of what is from *)") if everyone is not None else ())]
    if rules.purpose is not None:
        found.append(("purpose", rules.purpose))
    if rules.calls is not None:
        found += _calls(rules.calls, own.calls)
    if rules.expectations is not None:
        found += _expectations(rules.expectations, own.expectations)
    found += [("scorer", _scorer(rule, rule in own.scorers)) for rule in rules.scorers]
    if rules.severity is not None:
        found.append(("severity", rules.severity))
    for label, text in found or [("", "nothing")]:
        yield f"  {label:<{_LABEL}}{text}"


def _where(rules: AgentRules, of: str) -> Iterator[tuple[str, str]]:
    for key, value in (rules.where or {}).items():
        yield "where", f"{key}: {json.dumps(value, ensure_ascii=False)}{of}"


def _calls(calls: ExpectedCalls, own: ExpectedCalls | None) -> Iterator[tuple[str, str]]:
    for label, key in CALL_LISTS:
        names: tuple[str, ...] = getattr(calls, key)
        mine: tuple[str, ...] = getattr(own, key) if own is not None else ()
        if names:
            yield label, ", ".join(name if name in mine else f"{name} (from *)" for name in names)
    if calls.count != "attempted":
        yield "count", calls.count
    if calls.per != "name":
        yield "per", calls.per


def _expectations(expected: Expectations, own: Expectations | None) -> Iterator[tuple[str, str]]:
    outcome, mine = expected.outcome, own.outcome if own is not None else None
    if outcome.situation is not None:
        yield "situation", outcome.situation
    for label, lines, own_lines in (
        ("should", outcome.should, mine.should if mine else ()),
        ("shouldNot", outcome.should_not, mine.should_not if mine else ()),
    ):
        for text in lines:
            yield label, text if text in own_lines else f"{text} (from *)"
    yield (
        "judged",
        (
            f"by {expected.model or 'no model'}, threshold {expected.threshold:g}, "
            f"min_decided {expected.min_decided:g}, sample {expected.sample:g}"
        ),
    )


def _scorer(rule: ScorerRule, own: bool) -> str:  # noqa: FBT001 - the one caller says what it is
    """A user's scorer: what it costs, what it needs, when it passes."""
    scorer = rule.scorer
    said = [f"{scorer.name}: {_cost(scorer)}"]
    if scorer.required_inputs:
        said.append(f"needs {' and '.join(scorer.required_inputs)}")
    if scorer.threshold is not None and scorer.direction in BETTER:
        said.append(f"passes at {scorer.threshold:g} {BETTER[scorer.direction]}")
    if rule.sample != 1:
        said.append(f"sample {rule.sample:g}")
    if rule.severity is not None:
        said.append(f"severity {rule.severity}")
    return ", ".join(said) + ("" if own else " (from *)")


def _cost(scorer: AnyScorer) -> str:
    if isinstance(scorer, CodeScorer):
        return "free"
    if scorer.complete is not None:
        return f"a call of {scorer.model} for each run, through its own complete"
    from ..attachment.checks import key_of

    key = key_of(scorer.model)
    wants = f"whose key is {key}{'' if os.environ.get(key) else ' (not set here)'}" if key else "with a key of its own"
    return f"a call of {scorer.model} for each run, {wants}"


class _Seen:
    """What recordings show: the names of tools and agents, and what is missing in them."""

    def __init__(self, recordings: Recordings, rules: Sequence[AgentRules]) -> None:
        self.agents: set[str] = set()
        self.tools: set[str] = set()
        self._gaps: Counter[str] = Counter()
        self._calls = 0
        self._recordings = recordings
        self._waiting = [each for each in rules if each.where]
        for _, found in recordings.runs():
            self._look(found)
            self._gaps.update({gap.code for gap in found.gaps})
            self.agents.update(name for each in (found, *below(found)) if (name := each.agent) is not None)
            self._calls += len(found.tool_calls)
            for call in found.tool_calls:
                self.tools.update(name for name in (call.name, call.raw_name) if name is not None)

    def _look(self, run: Run) -> None:
        """Strike the entries out that hold for the run or one below it."""
        for entry in list(self._waiting):
            runs = (
                [run] if entry.agent == EVERYONE else [each for each in (run, *below(run)) if each.agent == entry.agent]
            )
            if any(map(entry.holds_for, runs)):
                self._waiting.remove(entry)

    def never_held(self) -> Iterator[str]:
        """The conditions that no run had all at once."""
        for entry in self._waiting:
            said = ", ".join(
                f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in (entry.where or {}).items()
            )
            yield f"a run of {entry.agent} with {said} (where)"

    def summary(self) -> str:
        runs = self._recordings.count
        gaps = ", ".join(f"{code} in {count}" for code, count in self._gaps.most_common()) or "none"
        return f"recordings    {_count(runs, 'run')}, {_count(self._calls, 'call')}\ngaps          {gaps}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
