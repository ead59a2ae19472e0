"""The examples of scorers: each gives what it says, as a program and through `score`."""

from __future__ import annotations

import pytest
from example_programs import load, program

from otel_chloe import Run, score

EXAMPLES = load("examples/my_scorers.py")
BAD = Run(prompt="P", input={"cities": ["Rome", "Oslo"]}, output="Rome, sorry")

OUTCOMES = [
    (EXAMPLES.reports_temp, [("reports_temp", True, True)], [("reports_temp", False, False)]),
    (EXAMPLES.covers_cities, [("covers_cities", 1.0, True)], [("covers_cities", 0.5, False)]),
    (EXAMPLES.is_grounded, [("is_grounded", 1.0, True)], [("is_grounded", 0.0, False)]),
    (EXAMPLES.is_brief, [("is_brief", 1.0, True)], [("is_brief", 0.0, False)]),
    (EXAMPLES.comparison_present, [("comparison_present", 1.0, True)], [("comparison_present", 0.0, False)]),
    (EXAMPLES.wording, [("words", 14, None), ("polite", True, True)], [("words", 2, None), ("polite", False, False)]),
    (
        EXAMPLES.by_city,
        [("has_rome", True, True), ("has_oslo", True, True)],
        [("has_rome", True, True), ("has_oslo", False, False)],
    ),
    (EXAMPLES.is_helpful, [("is_helpful", None, None)], [("is_helpful", None, None)]),
    (EXAMPLES.looked_it_up, [("looked_it_up", 1.0, True)], [("looked_it_up", 0.0, False)]),
    (EXAMPLES.says_where, [("says_where", 1.0, True)], [("says_where", 1.0, True)]),
]


@pytest.mark.parametrize(("scorer", "good", "bad"), OUTCOMES, ids=[case[1][0][0] for case in OUTCOMES])
def test_an_example_by_score(scorer, good, bad):
    for run, expected in ((EXAMPLES.RUN, good), (BAD, bad)):
        found = score(run, [scorer], expected="22 C")

        assert [(one.name, getattr(one, "value", None), getattr(one, "passed", None)) for one in found] == expected


def test_the_person_is_waited_for():
    [pending] = score(EXAMPLES.RUN, [EXAMPLES.is_helpful])

    assert (pending.state, pending.reason) == ("pending", "a person reads it on Friday")


def test_all_of_them_together_score_the_run():
    outcomes = score(EXAMPLES.RUN, EXAMPLES.ALL, expected="22 C")

    assert {one.state for one in outcomes} == {"scored", "pending"}
    assert len(outcomes) == len({one.name for one in outcomes}) == len(EXAMPLES.ALL) + 2


def test_the_program_prints_every_outcome():
    done = program("examples/my_scorers.py")

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [line.split()[0] for line in done.stdout.splitlines()][:2] == ["reports_temp", "covers_cities"]


def test_the_program_that_attaches_them_prints_marks_on_the_span_and_beside_it():
    done = program("examples/attach_scorers.py")

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0] == "invoke_agent weather"
    for said in (
        "chloe.names_cities.score = 0.5",
        "chloe.names_cities.passed = False",
        "chloe.passed = False",
        "chloe.words.score = 13.0",
        "chloe.helpful.state = pending",
        "evaluation names_cities",
        "evaluation words",
        "evaluation helpful",
        "evaluation is_kind",
        "score.value = 0.9",
    ):
        assert said in lines, done.stdout
    assert not any(line.startswith("chloe.is_kind") for line in lines)
