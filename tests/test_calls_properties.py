"""`calls`, for calls whose every fact may be known or not, under rules of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from otel_chloe import gaps
from otel_chloe.expected import COUNTS, PERS, ExpectedCalls
from otel_chloe.mark import Mark, mark_of_kept
from otel_chloe.run import Gap, Run, ToolCall
from otel_chloe.scorers import calls
from otel_chloe.scorers.calls import kept, used

NAMES = ["a", "b", "c", "mcp__s__a"]
ARGUMENTS = [None, {"x": 1}, {"x": 2}, "text"]
UNSURE = st.sampled_from([True, False, None])
CALLS = st.builds(
    ToolCall,
    st.sampled_from(NAMES[:3]),
    st.sampled_from(ARGUMENTS),
    ok=UNSURE,
    ran=UNSURE,
    raw_name=st.sampled_from([None, *NAMES]),
)
MADE = st.lists(CALLS, max_size=6)
RULES = st.builds(
    ExpectedCalls,
    *[st.lists(st.sampled_from(NAMES), max_size=2, unique=True)] * 3,
    count=st.sampled_from(COUNTS),
    per=st.sampled_from(PERS),
)
HIDING = st.sampled_from([{"complete": False}, *({"gaps": (Gap(code),)} for code in sorted(gaps.MAY_HIDE_CALLS))])
FORGOTTEN = st.sets(st.sampled_from(["ok", "ran", "arguments"]))
often = settings(max_examples=500, deadline=None)


def score(made: Any, rules: ExpectedCalls, **more: Any) -> float | None:
    """The score of a run of these calls; None where it is Unscored."""
    outcome = calls(Run(tool_calls=tuple(made), **more), rules)
    return outcome.score if isinstance(outcome, Mark) else None


@often
@given(made=MADE, rules=RULES, hiding=HIDING, data=st.data())
def test_a_part_of_a_run_never_contradicts_the_whole(made: Any, rules: Any, hiding: Any, data: st.DataObject) -> None:
    """Whatever was seen of a run, its mark is that of the whole run or none."""
    seen = data.draw(st.lists(st.booleans(), min_size=len(made), max_size=len(made)))
    part = score([call for call, here in zip(made, seen, strict=True) if here], rules, **hiding)

    assert part is None or part == score(made, rules)


@often
@given(made=MADE, rules=RULES, data=st.data())
def test_knowing_less_of_the_calls_never_contradicts(made: Any, rules: Any, data: st.DataObject) -> None:
    """A call that does not tell makes Unscored of a mark, never another mark."""
    dim = [replace(call, **dict.fromkeys(data.draw(FORGOTTEN))) for call in made]
    less = score(dim, rules)

    assert less is None or less == score(made, rules)


@often
@given(made=MADE, rules=RULES, data=st.data())
def test_the_order_of_calls_does_not_matter(made: Any, rules: Any, data: st.DataObject) -> None:
    """Neither for the score nor for whether there is one."""
    assert score(data.draw(st.permutations(made)), rules) == score(made, rules)


@often
@given(made=MADE, rules=RULES, more=CALLS)
def test_one_more_call_cannot_mend_a_forbidden_one_nor_undo_a_required_one(made: Any, rules: Any, more: Any) -> None:
    """Required tools stay called; forbidden and repeated ones stay so."""
    required = replace(rules, must_not_call=(), at_most_once=())
    limited = replace(rules, must_call=())

    assert score(made, required) != 1 or score([*made, more], required) == 1
    assert score(made, limited) != 0 or score([*made, more], limited) == 0


@often
@given(made=MADE, rules=RULES, rule=st.sampled_from(["must_call", "must_not_call", "at_most_once"]))
def test_one_more_rule_never_helps(made: Any, rules: Any, rule: str) -> None:
    """A run that fails fails under more rules too."""
    stricter = replace(rules, **{rule: [*getattr(rules, rule), "a"]})

    assert score(made, rules) != 0 or score(made, stricter) == 0
    assert score(made, stricter) != 1 or score(made, rules) == 1


def plain_score(made: list[ToolCall], rules: ExpectedCalls) -> int:
    """The meaning of the rules written down again, for calls of which everything is known."""
    counted = {"attempted": made, "executed": [c for c in made if c.ran], "succeeded": [c for c in made if c.ok]}
    of = {n: [c for c in counted[rules.count] if n in (c.name, c.raw_name)] for n in NAMES}
    kinds = {n: [repr(c.arguments) if rules.per == "arguments" else n for c in of[n]] for n in NAMES}
    return int(
        all(of[name] for name in rules.must_call)
        and not any(of[name] for name in rules.must_not_call)
        and all(len(set(kinds[name])) == len(kinds[name]) for name in rules.at_most_once)
    )


@often
@given(made=MADE, rules=RULES)
def test_calls_that_tell_everything_are_always_scored(made: list[ToolCall], rules: ExpectedCalls) -> None:
    """And the score is what the rules say in plain words."""
    known = [replace(call, ok=bool(call.ok), ran=bool(call.ran), arguments=call.arguments or {"y": 0}) for call in made]

    assert score(known, rules) == plain_score(known, rules)


@often
@given(made=MADE, rules=RULES)
def test_names_that_suffice_give_the_same_mark(made: list[ToolCall], rules: ExpectedCalls) -> None:
    """The short way and the long way agree."""
    names = [call.name for call in made] + [str(call.raw_name) for call in made if call.raw_name != call.name]
    if kept(rules, names):
        mark = calls(Run(tool_calls=tuple(made), gaps=(Gap(gaps.NO_PROMPT),)), rules)

        assert isinstance(mark, Mark)
        assert (mark.score, mark.reason) == (1, used(made))


def test_the_mark_that_is_made_fast_is_the_same():
    assert mark_of_kept("Used: a.") == Mark(1.0, "Used: a.", value=1.0, passed=True)
    assert repr(mark_of_kept("x")) == repr(Mark(1.0, "x", value=1.0, passed=True))
