"""What a judge's model answers: which of it is valid, and what is said of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_chloe.judge.answer import Check, Invalid, read_answer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
CHECK = st.fixed_dictionaries(
    {},
    optional={
        "id": st.integers(0, 4) | JSON,
        "expectation": JSON,
        "why": JSON,
        "evidence": st.dictionaries(st.sampled_from(["call", "quote"]), JSON) | JSON,
        "met": st.booleans() | st.none() | JSON,
    },
)


def answer(*checks: Any) -> str:
    return json.dumps({"checks": checks})


def problem(text: str, lines: int = 1) -> str:
    """What is said of an answer that is not valid."""
    read = read_answer(text, lines)

    assert isinstance(read, Invalid)

    return read.problem


def test_the_whole_shape():
    text = answer({"id": 1, "expectation": "x", "why": "It says so.", "evidence": {"call": 2}, "met": True})

    assert read_answer(text, 1) == (Check(True, "It says so.", {"call": 2}),)


def test_the_shape_without_id_and_evidence():
    text = answer({"expectation": "x", "met": False, "why": "no x"}, {"expectation": "y", "met": True})

    assert read_answer(text, 2) == (Check(False, "no x"), Check(True))


@pytest.mark.parametrize(
    "text",
    [
        'Sure:\n```json\n{"checks": [{"met": true}]}\n```',
        '{"checks": [{"met": true}]} I hope this helps.',
        '\ufeff  {"checks":\n\n[{"met": true}]}',
        '{"note": "first", "checks": [{"met": true, "confidence": 0.9}]}',
    ],
)
def test_what_stands_around_or_beside_is_passed_over(text):
    assert read_answer(text, 1) == (Check(True),)


def test_checks_belong_to_the_lines_of_their_ids():
    text = answer({"id": 2, "met": False}, {"id": "1", "met": True})

    assert read_answer(text, 2) == (Check(True), Check(False))


def test_a_check_without_an_id_belongs_to_the_line_of_its_place():
    text = answer({"met": True}, {"id": None, "met": False}, {"id": 3, "met": None})

    assert read_answer(text, 3) == (Check(True), Check(False), Check(None))


@pytest.mark.parametrize(
    ("text", "lines", "said"),
    [
        ("", 1, "it holds no JSON object"),
        ("all were met", 1, "it holds no JSON object"),
        ("} {", 1, "it holds no JSON object"),
        ('{"checks":[}', 1, "it is not valid JSON (Expecting value, at character 12)"),
        ('Here: {"checks": [{"met": tru}]}', 1, "it is not valid JSON (Expecting value, at character 27)"),
        ('{"checks": [{"met": NaN}]}', 1, "it is not valid JSON (NaN is no number in JSON)"),
        ('{"a": ' * 100_000 + "}" * 100_000, 1, "it is not valid JSON (nested too deep)"),
        ('{"result": 1}', 1, "it has no list of checks"),
        ('{"checks": {"1": true}}', 1, "it has no list of checks"),
        ('{"checks": []}', 1, "it has 0 checks for 1 line"),
        (answer({"met": True}), 2, "it has 1 check for 2 lines"),
        (answer({"met": True}, {"met": True}, {"met": False}), 2, "it has 3 checks for 2 lines"),
        (answer(None), 1, "check 1 is null, not an object"),
        (answer({"met": True}, True), 2, "check 2 is true, not an object"),
        (answer({"why": "w"}), 1, "the check of line 1 has no met"),
        (answer({"met": "false"}), 1, "met of line 1 is a text, not true, false or null"),
        (answer({"met": 1}), 1, "met of line 1 is a number, not true, false or null"),
        (answer({"met": {}}), 1, "met of line 1 is an object, not true, false or null"),
        (answer({"id": 1, "met": True}, {"id": 1, "met": True}), 2, "it has 2 checks of line 1, not one"),
        (
            answer({"id": 0, "met": True}, {"id": 1, "met": True}),
            2,
            "it has no check with the id 2: the ids are those of the lines, 1 to 2",
        ),
        (answer({"id": [1], "met": True}), 1, "the id of check 1 is a list, not a line's number"),
        (answer({"id": True, "met": True}), 1, "the id of check 1 is true, not a line's number"),
    ],
)
def test_every_other_shape_is_invalid_and_says_why(text, lines, said):
    assert problem(text, lines) == said


def test_a_number_too_long_to_be_read_is_invalid():
    assert problem('{"checks": [{"met": ' + "9" * 5_000 + "}]}").startswith("it is not valid JSON (")


@pytest.mark.parametrize("evidence", [None, "call 2", {"call": "2"}, {"call": True}, {"quote": " "}, {}, [1]])
def test_evidence_that_cannot_be_looked_up_costs_nothing(evidence):
    assert read_answer(answer({"met": True, "evidence": evidence}), 1) == (Check(True),)


@pytest.mark.parametrize("why", [None, "", "  ", 3, ["w"]])
def test_a_missing_why_costs_nothing(why):
    assert read_answer(answer({"met": True, "why": why}), 1) == (Check(True),)


def test_half_a_character_is_replaced():
    """JSON may escape it, and no exporter could send it."""
    [check] = read_answer('{"checks": [{"met": true, "why": "a\\ud83d", "evidence": {"quote": "\\udc00"}}]}', 1)

    assert (check.why, check.evidence) == ("a?", {"quote": "?"})


@given(st.text() | st.lists(CHECK, max_size=4).map(lambda made: answer(*made)), st.integers(1, 4))
def test_any_text_is_read(text, lines):
    """A valid answer has one check a line; of any other there is a sentence to say."""
    read = read_answer(text, lines)

    if isinstance(read, Invalid):
        assert read.problem
        assert len(read.problem) < 200
    else:
        assert len(read) == lines
        assert all(check.met is None or isinstance(check.met, bool) for check in read)


@given(st.lists(st.booleans() | st.none(), min_size=1, max_size=6), st.randoms(), st.text(), st.text())
def test_neither_order_nor_what_stands_around_changes_what_was_said(met, random, before, after):
    checks = [{"id": number, "met": each} for number, each in enumerate(met, 1)]
    random.shuffle(checks)
    around = [text.replace("{", "").replace("}", "") for text in (before, after)]

    read = read_answer(around[0] + answer(*checks) + around[1], len(met))

    assert read == tuple(Check(each) for each in met)
