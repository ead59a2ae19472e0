"""The ready-made scorers: each with what it is for, its traps, and what it cannot know."""

from __future__ import annotations

import functools
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_chloe import ConfigError, Gap, Mark, Run, Scorer, ToolCall, gaps, score, scorers
from otel_chloe.run import Usage
from otel_chloe.scorers import (
    call_arguments,
    call_order,
    max_calls,
    max_cost,
    max_duration,
    max_model_calls,
    max_tokens,
    no_loops,
    only_tools,
    output_contains,
    output_equals,
    output_json,
    output_matches,
    tool_error_rate,
)

A, B = {"site": "a"}, {"site": "b"}
HIDDEN = {"gaps": (Gap(gaps.NO_TOOL_DATA),)}
SHORT = {"complete": False, "end": "settled"}


def run(*calls: Any, **more: Any) -> Run:
    """A run of calls: names, or calls."""
    made = [ToolCall(each) if isinstance(each, str) else each for each in calls]
    return Run(tool_calls=made, **more)


def call(name: str, arguments: Any = None, **more: Any) -> ToolCall:
    return ToolCall(name, arguments, **more)


LOOK, FAILED, AGAIN = call("look", A), call("restart", A, ok=False, error="timeout"), call("restart", A, ok=True)
RETRIED = run(LOOK, FAILED, AGAIN, call("look", A))

CASES = [
    pytest.param(call_order, {"tools": ["look", "restart"]}, RETRIED, True, id="in order, with others between"),
    pytest.param(call_order, {"tools": ["restart", "look"]}, RETRIED, True, id="a repeat may be the one in order"),
    pytest.param(call_order, {"tools": ["restart", "restart", "look"]}, RETRIED, True, id="a repeat may be asked for"),
    pytest.param(call_order, {"tools": ["restart"] * 3}, RETRIED, False, id="but not more of them than there are"),
    pytest.param(call_order, {"tools": []}, run(), True, id="nothing is in order"),
    pytest.param(
        call_order,
        {"tools": ["look", "restart", "look"], "mode": "strict"},
        RETRIED,
        False,
        id="strict: a retry is one",
    ),
    pytest.param(
        call_order, {"tools": ["look", "restart", "restart", "look"], "mode": "strict"}, RETRIED, True, id="strict"
    ),
    pytest.param(call_order, {"tools": ["look"], "mode": "strict"}, run(), False, id="strict: nothing came"),
    pytest.param(call_order, {"tools": ["a", "b"], "mode": "strict"}, run("a", "c"), False, id="strict: another came"),
    pytest.param(call_order, {"tools": ["a"]}, run("b", **HIDDEN), None, id="it may not have been seen"),
    pytest.param(call_order, {"tools": ["a"]}, run("a", **HIDDEN), True, id="what was seen was seen"),
    pytest.param(call_order, {"tools": ["a"], "mode": "strict"}, run("a", **SHORT), None, id="strict: more may come"),
    pytest.param(
        call_order, {"tools": ["mcp__x__a"]}, run(call("a", raw_name="mcp__x__a")), True, id="as the model wrote it"
    ),
    pytest.param(only_tools, {"tools": ["look", "restart"]}, RETRIED, True, id="only these"),
    pytest.param(only_tools, {"tools": ["look"]}, RETRIED, False, id="another"),
    pytest.param(only_tools, {"tools": ["look"]}, run("x", **HIDDEN), False, id="another, whatever else"),
    pytest.param(only_tools, {"tools": ["look"]}, run("look", **SHORT), None, id="another may come"),
    pytest.param(only_tools, {"tools": []}, run(), True, id="no tools at all"),
    pytest.param(max_calls, {"limit": 4}, RETRIED, True, id="as many as allowed"),
    pytest.param(max_calls, {"limit": 3}, RETRIED, False, id="failed calls count"),
    pytest.param(max_calls, {"limit": 2, "tool": "restart"}, RETRIED, True, id="of one tool"),
    pytest.param(max_calls, {"limit": 0}, run("a", **SHORT), False, id="too many already"),
    pytest.param(max_calls, {"limit": 1}, run("a", **SHORT), None, id="more may come "),
    pytest.param(max_duration, {"limit": 2}, run(start_ns=0, end_ns=2 * 10**9), True, id="in time"),
    pytest.param(max_duration, {"limit": 1.9}, run(start_ns=0, end_ns=2 * 10**9), False, id="too slow"),
    pytest.param(max_duration, {"limit": 2}, run(), None, id="no clock"),
    pytest.param(max_duration, {"limit": 2}, run(start_ns=0, end_ns=1, **HIDDEN), True, id="tools do not matter here"),
    pytest.param(max_duration, {"limit": 2}, run(start_ns=0, end_ns=1, **SHORT), None, id="it went on"),
    pytest.param(max_model_calls, {"limit": 2}, run(usage=Usage(model_calls=2)), True, id="few model calls"),
    pytest.param(max_model_calls, {"limit": 1}, run(usage=Usage(model_calls=2)), False, id="many model calls"),
    pytest.param(max_model_calls, {"limit": 1}, run(), None, id="model calls unknown"),
    pytest.param(max_tokens, {"limit": 9}, run(usage=Usage(input_tokens=4, output_tokens=5)), True, id="tokens"),
    pytest.param(max_tokens, {"limit": 8}, run(usage=Usage(input_tokens=4, output_tokens=5)), False, id="more tokens"),
    pytest.param(max_tokens, {"limit": 8}, run(usage=Usage(input_tokens=4)), None, id="half of the tokens"),
    pytest.param(max_cost, {"limit": 0.1}, run(usage=Usage(cost_usd=0.1)), True, id="cheap"),
    pytest.param(max_cost, {"limit": 0.09}, run(usage=Usage(cost_usd=0.1)), False, id="dear"),
    pytest.param(no_loops, {}, RETRIED, True, id="twice is no loop"),
    pytest.param(no_loops, {"times": 2}, RETRIED, False, id="twice may be one"),
    pytest.param(no_loops, {}, run(*[call("look", {"n": n}) for n in range(9)]), True, id="other arguments"),
    pytest.param(no_loops, {}, run(*[call("look", {"a": 1, "b": [2]})] * 3), False, id="the same arguments"),
    pytest.param(no_loops, {}, run(call("x", '{"a": 1}'), call("x", {"a": 1}), call("x", {"a": 1})), False, id="JSON"),
    pytest.param(no_loops, {}, run(call("x", {"a": 1}), call("x", {"a": True}), call("x", {"a": 1})), True, id="bool"),
    pytest.param(no_loops, {}, run("a", "a", "a"), None, id="arguments unknown"),
    pytest.param(no_loops, {}, run("a", "a", "b", "b"), True, id="too few for a loop"),
    pytest.param(no_loops, {}, run(call("a", A), call("a", A), "a"), None, id="one of them unknown"),
    pytest.param(no_loops, {"tool": "look"}, run(LOOK, AGAIN, AGAIN, AGAIN), True, id="of one tool "),
    pytest.param(
        no_loops, {}, run(*[call("a", "cut off h")] * 3, gaps=(Gap(gaps.TRUNCATED),)), None, id="cut arguments"
    ),
    pytest.param(output_contains, {"text": "up"}, Run(output="It is up."), True, id="contains"),
    pytest.param(output_contains, {"text": "UP"}, Run(output="It is up."), False, id="contains, case"),
    pytest.param(output_contains, {"text": "UP", "ignore_case": True}, Run(output="It is up."), True, id="any case"),
    pytest.param(output_contains, {"text": "up"}, Run(), False, id="it said nothing"),
    pytest.param(output_contains, {"text": "up"}, Run(gaps=(Gap(gaps.CONTENT_OFF),)), None, id="not recorded"),
    pytest.param(output_contains, {"text": "up"}, Run(**SHORT), None, id="it may speak yet"),
    pytest.param(output_contains, {"text": "up"}, Run(output="It", gaps=(Gap(gaps.TRUNCATED),)), None, id="cut"),
    pytest.param(output_contains, {"text": "It"}, Run(output="It", gaps=(Gap(gaps.TRUNCATED),)), True, id="cut, found"),
    pytest.param(output_equals, {"text": "up"}, Run(output=" up\n"), True, id="equal"),
    pytest.param(output_equals, {"text": "up"}, Run(output="up!"), False, id="not equal"),
    pytest.param(output_matches, {"pattern": r"\d+ C"}, Run(output="22 C"), True, id="matches"),
    pytest.param(output_matches, {"pattern": r"^\d+$"}, Run(output="22 C"), False, id="does not match"),
    pytest.param(output_json, {}, Run(output='```json\n{"a": 1}\n```'), True, id="JSON in a fence"),
    pytest.param(output_json, {}, Run(output="It is up."), False, id="no JSON"),
    pytest.param(output_json, {"schema": {"required": ["a"]}}, Run(output='{"a": 1}'), True, id="schema"),
    pytest.param(output_json, {"schema": {"required": ["b"]}}, Run(output='{"a": 1}'), False, id="not the schema"),
]


@pytest.mark.parametrize(("scorer", "words", "of", "right"), CASES)
def test_a_ready_made_scorer(scorer, words, of, right):
    """Alone and by ``score`` it says the same."""
    alone = scorer(of, **words)
    [outcome] = score(of, [functools.partial(scorer, **words)])

    assert outcome.state == alone.state == ("unscored" if right is None else "scored")
    assert getattr(outcome, "passed", None) is right
    assert (outcome.name, outcome.reason) == (scorer.__name__, alone.reason)
    assert outcome.reason
    if right is not None:
        assert outcome.score == float(right)


ARGUMENTS = [
    pytest.param({"restart": A}, {}, RETRIED, True, id="both tries"),
    pytest.param({"restart": B}, {}, RETRIED, False, id="other arguments"),
    pytest.param({"restart": A}, {}, run(call("restart", B, ok=False), AGAIN), False, id="every: the first try too"),
    pytest.param({"restart": A}, {"which": "any"}, run(call("restart", B, ok=False), AGAIN), True, id="any: mended"),
    pytest.param({"restart": A}, {}, run(call("restart", {**A, "force": True})), True, id="subset: there may be more"),
    pytest.param({"restart": A}, {"match": "exact"}, run(call("restart", {**A, "f": 1})), False, id="exact: not more"),
    pytest.param(
        {"restart": A, "look": A},
        {"match": {"restart": "exact"}},
        run(call("restart", A), call("look", {**A, "deep": 1})),
        True,
        id="exact for one tool",
    ),
    pytest.param({"restart": lambda given: given["n"] < 3}, {}, run(call("restart", {"n": 2})), True, id="predicate"),
    pytest.param(
        {"restart": lambda given: given["n"] < 3}, {}, run(call("restart", {"n": 3})), False, id="predicate: no"
    ),
    pytest.param({"r": {"o": {"a": 1}}}, {}, run(call("r", {"o": {"a": 1, "b": 2}})), True, id="subset goes deep"),
    pytest.param({"r": {"l": [1]}}, {}, run(call("r", {"l": [1, 2]})), False, id="lists are whole"),
    pytest.param({"r": {"n": 1}}, {}, run(call("r", {"n": True})), False, id="true is not 1"),
    pytest.param({"r": {"n": 1}}, {}, run(call("r", '{"n": 1}')), True, id="JSON text"),
    pytest.param({"r": {}}, {}, run(), False, id="never called"),
    pytest.param({"r": {}}, {}, run(**HIDDEN), None, id="perhaps called"),
    pytest.param({"r": A}, {}, run("r"), None, id="arguments unknown"),
    pytest.param({"r": A}, {}, run("r", call("r", B)), False, id="one unknown, one wrong"),
    pytest.param({"r": A}, {"which": "any"}, run("r", call("r", A)), True, id="one unknown, one right"),
    pytest.param({"r": A}, {"which": "any"}, run("r", call("r", B)), None, id="the unknown one may be right"),
]


@pytest.mark.parametrize(("arguments", "words", "of", "right"), ARGUMENTS)
def test_call_arguments(arguments, words, of, right):
    outcome = call_arguments(of, arguments=arguments, **words)

    assert getattr(outcome, "passed", None) is right
    assert outcome.state == ("unscored" if right is None else "scored")


def test_the_error_rate_is_lower_where_it_is_better():
    rate = tool_error_rate(RETRIED)
    [strict] = score(RETRIED, [Scorer.code(tool_error_rate, threshold=0.4)])
    [lenient] = score(RETRIED, [Scorer.code(tool_error_rate, threshold=0.5)])

    assert (rate.score, rate.reason) == (0.5, "1 of 2 calls failed: restart.")
    assert [strict.passed, lenient.passed] == [False, True]


@pytest.mark.parametrize("of", [run(), run("a"), run(AGAIN, **SHORT)], ids=["no calls", "not known", "cut short"])
def test_there_is_not_always_an_error_rate(of):
    assert tool_error_rate(of).state == "unscored"


WRONG = [
    (call_order, {"tools": "look"}, 'Write a list: ["look"]'),
    (call_order, {"tools": ["a"], "mode": "exact"}, "mode: 'exact' is not one of the words"),
    (call_arguments, {"arguments": {}}, "is no mapping from tools to arguments"),
    (call_arguments, {"arguments": {"a": 1}}, "a: 1 is no mapping of arguments"),
    (call_arguments, {"arguments": {"a": {}}, "match": "superset"}, "Did you mean subset"),
    (max_calls, {"limit": "10"}, "limit: '10' is no number from 0"),
    (max_calls, {"limit": -1}, "limit: -1 is no number from 0"),
    (max_calls, {"limit": float("nan")}, "limit: nan is no number"),
    (output_matches, {"pattern": "("}, "is no regular expression"),
    (output_json, {"schema": {"type": "objekt"}}, "schema: "),
]


@pytest.mark.parametrize(("scorer", "words", "message"), WRONG)
def test_wrong_arguments_say_what_to_write(scorer, words, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        scorer(run("a"), **words)


NAMES = st.lists(st.sampled_from("abc"), max_size=6)


@given(NAMES, NAMES)
def test_what_is_strictly_in_order_is_in_order(made, wanted):
    of = run(*made)
    strict, loose = (call_order(of, tools=wanted, mode=mode) for mode in ("strict", "subsequence"))

    assert strict.passed == (made == wanted)
    assert loose.passed or not strict.passed
    assert not loose.passed or not Counter(wanted) - Counter(made)


@given(NAMES, NAMES, st.integers(0, 4))
def test_what_a_part_of_a_run_breaks_the_whole_breaks(part, rest, limit):
    """And what nobody can know yet of a part is unscored, never passed."""
    words: list[tuple[Any, dict[str, Any]]] = [
        (only_tools, {"tools": ["a", "b"]}),
        (max_calls, {"limit": limit}),
        (call_order, {"tools": ["a", "b"]}),
        (call_arguments, {"arguments": {"a": {}}}),
    ]
    calls = [call(name, {"n": 1}) for name in [*part, *rest]]
    for scorer, given_words in [*words, (no_loops, {"times": 2})]:
        seen = scorer(run(*calls[: len(part)], **SHORT), **given_words)
        whole = scorer(run(*calls), **given_words)
        assert not isinstance(seen, Mark) or seen.passed == whole.passed


def test_all_of_them_are_public():
    assert {scorer.__name__ for scorer, *_ in (case.values for case in CASES)} < set(scorers.__all__)
