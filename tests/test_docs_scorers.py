"""The pages on scorers: every example in them runs, and the table has every scorer."""

from __future__ import annotations

import inspect
import re

import pytest
from example_programs import ROOT, blocks, rows

from otel_chloe import Scorer, scorers
from otel_chloe.kit import CodeScorer
from otel_chloe.scorers import calls

PAGES = ["docs/scorers.md", "docs/writing-scorers.md"]
NOT_SCORERS = {
    "EXPECTATIONS",
    "JUDGE_OFF",
    "Due",
    "due",
    "kept",
    "mark_id",
    "outcomes",
    "outcomes_under",
    "rules_of",
    "used_names",
}


@pytest.mark.parametrize(
    ("page", "code"), [pytest.param(page, code, id=page) for page in PAGES for code in blocks(page, "python")]
)
def test_an_example_runs(page, code, monkeypatch):
    monkeypatch.chdir(ROOT)

    exec(compile(code, page, "exec"), {})


def test_every_ready_made_scorer_is_in_the_table_with_its_arguments():
    table = {cells[0].strip("`"): cells[2] for cells in rows("docs/scorers.md", "scorer")}

    assert set(table) == set(scorers.__all__) - NOT_SCORERS
    for name, arguments in table.items():
        found = getattr(scorers, name)
        function = found.function if isinstance(found, CodeScorer) else found
        taken = set(inspect.signature(function).parameters) - {"run"}
        assert function is calls or taken <= set(re.findall(r"`(\w+)`", arguments)), name


def test_every_argument_of_a_scorer_is_explained():
    told = {word for cells in rows("docs/writing-scorers.md", "argument") for word in re.findall(r"`(\w+)`", cells[0])}

    assert told == set(inspect.signature(Scorer.code).parameters) - {"fn", "output_type"}
