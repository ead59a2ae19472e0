"""`ExpectedCalls` and `ExpectedOutcome`: what they take, keep and refuse."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from otel_chloe.errors import ConfigError
from otel_chloe.expected import ExpectedCalls, ExpectedOutcome, camel, contradictions, nearest, unknown_key


def test_lists_become_tuples_that_hold_each_name_once() -> None:
    """Any collection of names will do; a set, which has no order, is sorted."""
    unordered: Any = {"e", "d"}
    expected = ExpectedCalls(["b", "a", "b"], ("c",), unordered)

    assert expected == ExpectedCalls(("b", "a"), ("c",), ("d", "e"))
    assert expected.must_call == ("b", "a")
    assert expected.at_most_once == ("d", "e")


def test_nothing_is_expected_by_default() -> None:
    """Empty lists are no rules."""
    assert ExpectedCalls() == ExpectedCalls((), (), (), count="attempted", per="name")
    assert ExpectedOutcome() == ExpectedOutcome(None, (), ())


def test_expected_values_can_be_hashed_and_pickled() -> None:
    """They are plain values."""
    for value in (ExpectedCalls(["a"], per="arguments"), ExpectedOutcome("down", ["says so"])):
        assert pickle.loads(pickle.dumps(value)) == value
        assert hash(value) == hash(pickle.loads(pickle.dumps(value)))


def test_lines_keep_their_order_and_their_repeats() -> None:
    """Each line is judged on its own."""
    assert ExpectedOutcome(should=["b", "a", "b"]).should == ("b", "a", "b")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"must_call": "a"}, """must_call: 'a' is one text, not a list. Write a list: ["a"]."""),
        ({"must_not_call": None}, """must_not_call: None is nothing, not a list. Write a list, such as ["a", "b"]."""),
        ({"at_most_once": {"a": 1}}, "at_most_once: {'a': 1} is a mapping, not a list."),
        ({"must_call": ["a", 1]}, """must_call[1]: 1 is a number, not a text. Write it in quotes: "1"."""),
        ({"must_call": [True]}, "must_call[0]: True is true or false, not a text. Write it in quotes."),
        ({"must_call": [None]}, "must_call[0]: None is nothing, not a text. Write a text."),
        ({"must_call": [["a"]]}, "must_call[0]: ['a'] is a list, not a text. Write a text."),
        ({"at_most_once": ["a", " "]}, "at_most_once[1]: an empty text stands here. Write a text, or leave it out."),
        ({"count": "success"}, "count: 'success' is not one of the words here. Did you mean succeeded?"),
        ({"count": None}, "count: None is not one of the words here. Write one of: attempted, executed, succeeded."),
        ({"per": "argument"}, "per: 'argument' is not one of the words here. Did you mean arguments?"),
    ],
)
def test_wrong_calls_say_what_to_write(given: Any, message: str) -> None:
    """The message starts with the field."""
    with pytest.raises(ConfigError) as error:
        ExpectedCalls(**given)

    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"situation": 1}, """situation: 1 is a number, not a text. Write it in quotes: "1"."""),
        ({"situation": ""}, "situation: an empty text stands here."),
        ({"should": "says so"}, """should: 'says so' is one text, not a list. Write a list: ["says so"]."""),
        ({"should_not": ["", "x"]}, "should_not[0]: an empty text stands here."),
    ],
)
def test_wrong_outcomes_say_what_to_write(given: Any, message: str) -> None:
    """The message starts with the field."""
    with pytest.raises(ConfigError) as error:
        ExpectedOutcome(**given)

    assert str(error.value).startswith(message)


def test_both_spellings_are_read() -> None:
    """snake_case as in Python, camelCase as in the rules that came before."""
    camel_case: dict[str, object] = {"mustCall": ["a"], "mustNotCall": ["b"], "atMostOnce": ["c"], "per": "arguments"}
    snake_case: dict[str, object] = {"must_call": ["a"], "must_not_call": ["b"], "at_most_once": ["c"]}

    assert ExpectedCalls.from_mapping(camel_case) == ExpectedCalls(["a"], ["b"], ["c"], per="arguments")
    assert ExpectedCalls.from_mapping(snake_case | {"count": "executed"}) == ExpectedCalls(
        ["a"], ["b"], ["c"], count="executed"
    )
    assert ExpectedOutcome.from_mapping({"situation": "x", "shouldNot": ["y"]}) == ExpectedOutcome("x", (), ["y"])


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"mustcall": []}, "expected calls: unknown key 'mustcall'. Did you mean mustCall?"),
        ({"must_not_cal": []}, "expected calls: unknown key 'must_not_cal'. Did you mean must_not_call?"),
        ({"must-not-call": []}, "expected calls: unknown key 'must-not-call'. Did you mean mustNotCall?"),
        ({"zzz": []}, "expected calls: unknown key 'zzz'. The keys here are mustCall, mustNotCall, atMostOnce,"),
        ({1: []}, "expected calls: unknown key '1'."),
        (
            {"mustCall": [], "must_call": []},
            "expected calls: mustCall is given twice, in both spellings. Write it once.",
        ),
        (["a"], "expected calls: ['a'] is a list. Write a mapping with the keys must_call,"),
        (None, "expected calls: None is nothing. Write a mapping"),
        ({"mustCall": "a"}, "must_call: 'a' is one text"),
    ],
)
def test_wrong_mappings_say_what_to_write(mapping: Any, message: str) -> None:
    """An unknown key is answered with the nearest known one, in the spelling of the writer."""
    with pytest.raises(ConfigError) as error:
        ExpectedCalls.from_mapping(mapping)

    assert str(error.value).startswith(message)


def test_an_outcome_refuses_unknown_keys_too() -> None:
    """Both classes read mappings alike."""
    with pytest.raises(ConfigError, match=r"^expected outcome: unknown key 'shuold'\. Did you mean should\?$"):
        ExpectedOutcome.from_mapping({"shuold": []})


def test_contradictions_are_told() -> None:
    """What no run can keep, and nothing else: exactly once is no contradiction."""
    assert contradictions(ExpectedCalls(["a", "b"], ["c", "b"], ["a"])) == [
        "b is in must_call and in must_not_call: no run can pass"
    ]
    assert contradictions(ExpectedOutcome(should=["x"], should_not=["x", "y"])) == [
        "'x' is in should and in should_not: no run can meet both"
    ]
    assert contradictions(ExpectedCalls()) == []


def test_nearest_ignores_case_and_dashes() -> None:
    """And gives nothing where nothing is near."""
    assert nearest("Max-Spans", ["max_spans", "max_bytes"]) == "max_spans"
    assert nearest("colour", ["max_spans"]) is None
    assert unknown_key("maxspan", ["max_spans"]) == "unknown key 'maxspan'. Did you mean max_spans?"
    assert camel("usd_per_hour") == "usdPerHour"
