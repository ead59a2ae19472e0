"""`expectations`, for judges that answer anything at all."""

from __future__ import annotations

import asyncio
import json

from hypothesis import given
from hypothesis import strategies as st

from otel_chloe import Failed, Gap, Mark, Run, Unscored, expectations, gaps
from otel_chloe.testing import JudgeError, Reply, ScriptedJudge

CHECKS = st.lists(
    st.fixed_dictionaries({"met": st.booleans() | st.none() | st.just("true")}, optional={"id": st.integers(1, 3)}),
    min_size=1,
    max_size=4,
)
TEXTS = st.text() | CHECKS.map(lambda checks: json.dumps({"checks": checks}))
ANSWERS = (
    TEXTS
    | st.builds(Reply, text=TEXTS, finish=st.sampled_from(["stop", "length", None]))
    | st.sampled_from([ValueError("v"), JudgeError("j", error="server")])
)
RUNS = st.sampled_from([Run(output="done"), Run(output="done", gaps=(Gap(gaps.TRUNCATED),))])


@given(st.lists(ANSWERS, min_size=2, max_size=2), RUNS, st.integers(1, 3))
def test_there_are_two_calls_at_most_and_only_a_verdict_is_a_number(answers, run, lines):
    judge = ScriptedJudge(answers)
    expected = {"should": [f"line {number}" for number in range(lines)]}

    outcome = asyncio.run(expectations("P", run, expected, "M", complete=judge))

    assert outcome.name == "expectations"
    assert outcome.judged.calls == len(judge.asks) <= 2
    if isinstance(outcome, Mark):
        assert 0 <= outcome.score <= 1
        assert len(outcome.lines) == lines
        assert not (outcome.passed and any(line.met is None for line in outcome.lines))
    else:
        assert isinstance(outcome, Failed | Unscored)
        assert not isinstance(outcome, Unscored) or run.gaps


@given(TEXTS, TEXTS)
def test_a_first_answer_that_is_valid_is_the_last(first, second):
    """And one that is not decides nothing."""
    once = ScriptedJudge([first, second])
    after = ScriptedJudge(["no", second])
    outcomes = [
        asyncio.run(expectations("P", Run(output="done"), {"should": ["x"]}, "M", complete=judge))
        for judge in (once, after)
    ]

    if len(once.asks) == 2:
        assert [(outcome.state, getattr(outcome, "score", None)) for outcome in outcomes] == [
            (outcomes[1].state, getattr(outcomes[1], "score", None))
        ] * 2
