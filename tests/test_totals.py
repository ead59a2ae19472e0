"""What `otel-chloe score` ends with: only scored marks enter a mean, and numbers need no threshold for that."""

from __future__ import annotations

from otel_chloe import DeferredScore, Run, Score, Scorer, score
from otel_chloe.cli.score import Totals


def totals(*said: object, **words: object) -> list[str]:
    """The lines after one run for each return value."""
    found = Totals()
    for each in said:
        scorer = Scorer.code(lambda ctx, each=each: each, name="s", **words)
        for outcome in score(Run(), [scorer]):
            found.add("a", outcome)
    return found.lines()


def test_numbers_without_a_threshold_are_averaged():
    assert totals(0.75, 0.25) == ["s  a  mean 0.50  pass 0/0  unscored 0  pending 0  failed 0"]


def test_a_threshold_adds_the_share_that_passes():
    assert totals(0.75, 0.25, threshold=0.5) == ["s  a  mean 0.50  pass 1/2  unscored 0  pending 0  failed 0"]


def test_labels_have_no_mean():
    assert totals("x", "x") == ["s  a  mean -  pass 0/0  unscored 0  pending 0  failed 0"]


def test_what_is_no_judgement_is_counted_and_not_averaged():
    said = [1.0, float("nan"), None, DeferredScore("s"), Score("s", None)]

    assert totals(*said) == ["s  a  mean 1.00  pass 0/0  unscored 1  pending 1  failed 2"]
