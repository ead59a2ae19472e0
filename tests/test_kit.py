"""The scorer kit: what may be defined, and how it is called."""

from __future__ import annotations

import functools
import inspect
import math
import subprocess
import sys

import pytest

from otel_chloe import (
    ConfigError,
    DeferredScore,
    Gap,
    Run,
    Score,
    Scorer,
    ToolCall,
    gaps,
    score,
)
from otel_chloe.kit import as_scorer

RUN = Run(prompt="P", output="o", tool_calls=[ToolCall("look", {"site": "a"}, ok=True)])


def fn(ctx):
    return 0.5


class Grader:
    def __init__(self, limit: float = 1) -> None:
        self.limit = limit

    def __call__(self, run):
        return len(run.tool_calls) <= self.limit

    def grade(self, ctx):
        return self.limit

    @Scorer.code(threshold=1)
    def decorated(self, ctx):
        return self.limit


WRONG = [
    pytest.param({"threshold": math.nan}, "threshold: nothing can be compared with nan", id="NaN"),
    pytest.param({"threshold": math.inf}, "threshold: nothing can be compared with inf", id="infinity"),
    pytest.param({"threshold": "0.8"}, "threshold: '0.8' is no number", id="a text"),
    pytest.param({"threshold": True}, "threshold: True is no number", id="a bool"),
    pytest.param({"direction": "higher"}, "Did you mean higher_is_better", id="direction"),
    pytest.param({"value_type": "number"}, "Write one of: numeric, boolean, categorical", id="value_type"),
    pytest.param({"output_type": "label"}, "Write one of: score, classification", id="output_type"),
    pytest.param({"output_type": "classification", "value_type": "numeric"}, "cannot both be", id="two types"),
    pytest.param({"name": ""}, "an empty text stands here", id="name"),
    pytest.param({"key": 3}, "key: 3 is a number, not a text", id="key"),
    pytest.param({"key": " "}, "key: an empty text", id="blank key"),
    pytest.param({"version": 1.5}, 'Write a text, such as "2"', id="version"),
    pytest.param({"metadata": "m"}, "metadata: 'm' is no mapping", id="metadata"),
    pytest.param({"required_inputs": ["outputs"]}, "Did you mean output", id="required_inputs"),
    pytest.param({"required_inputs": "output"}, 'Write a list: ["output"]', id="no list"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_a_wrong_definition_says_what_to_write(words, message):
    for define in (
        lambda: Scorer.code(**words),
        lambda: Scorer.code(fn, **words),
        lambda: Scorer.llm_judge(**{"name": "j", "model": "m", "rubric": "r", **words}),
    ):
        with pytest.raises(ConfigError, match=message.replace("(", r"\(").replace("[", r"\[")):
            define()


WRONG_JUDGES = [
    pytest.param({"messages": [{"role": "user", "content": "x"}], "rubric": "r"}, "both given", id="both"),
    pytest.param({"messages": []}, "is no list of messages", id="empty"),
    pytest.param({"messages": "x"}, "is no list of messages", id="text"),
    pytest.param({"messages": [{"role": "tool", "content": "x"}]}, r"messages\[0\].role: 'tool'", id="role"),
    pytest.param({"messages": [{"role": "user"}]}, "has not a role and a content alone", id="no content"),
    pytest.param({"messages": [{"role": "user", "content": 1}]}, r"messages\[0\].content", id="no text"),
    pytest.param({"rubric": " "}, "rubric: an empty text", id="rubric"),
    pytest.param({"rubric": "r", "model": ""}, "model: an empty text", id="model"),
    pytest.param({"rubric": "r", "labels": ["a"]}, "only a categorical judge has labels", id="labels"),
    pytest.param(
        {"rubric": "r", "labels": ["a", "A"], "value_type": "categorical"}, "a label is there twice", id="labels twice"
    ),
    pytest.param({"rubric": "r", "complete": "gpt"}, "complete: 'gpt' is no function", id="complete"),
]


@pytest.mark.parametrize(("words", "message"), WRONG_JUDGES)
def test_a_wrong_judge_says_what_to_write(words, message):
    with pytest.raises(ConfigError, match=message):
        Scorer.llm_judge(**{"name": "j", "model": "m", **words})


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (Grader, "Grader is a class, not a scorer. Pass an object of it"),
        ("my_scorers:covers", "is no scorer. Pass a function"),
    ],
)
def test_what_is_no_scorer_is_refused(scorer, message):
    with pytest.raises(ConfigError, match=message):
        score(RUN, [scorer])


def test_the_list_of_scorers_is_a_list():
    with pytest.raises(ConfigError, match="is no list of scorers"):
        score(RUN, fn)


CALLED = [
    pytest.param(lambda ctx: ctx.output, "o", id="lambda"),
    pytest.param(lambda anything: anything.output, "o", id="whatever its parameter is called"),
    pytest.param(lambda *args: args[0].output, "o", id="args"),
    pytest.param(lambda **parts: ",".join(sorted(parts)), "expected,input,metadata,output,run", id="kwargs"),
    pytest.param(lambda output, **parts: f"{output}{len(parts)}", "o4", id="a part and the rest"),
    pytest.param(lambda ctx, **parts: len(parts), 0, id="the context alone"),
    pytest.param(lambda ctx, output: ctx.output == output, True, id="the context and a part"),
    pytest.param(lambda run: len(run.tool_calls), 1, id="run"),
    pytest.param(lambda output, /: output, "o", id="by position only"),
    pytest.param(Grader(), True, id="an object"),
    pytest.param(Grader(3).grade, 3, id="a bound method"),
    pytest.param(functools.partial(lambda limit, run: len(run.tool_calls) <= limit, 0), False, id="partial"),
    pytest.param(Scorer.code(lambda output: output), "o", id="adapted"),
    pytest.param(Scorer.code()(fn), 0.5, id="decorated"),
]


@pytest.mark.parametrize(("function", "value"), CALLED)
def test_how_a_function_is_called(function, value):
    [mark] = score(RUN, [function])

    assert mark.value == value


def test_names_come_from_functions_and_classes():
    outcomes = score(
        RUN, [fn, Grader(), Grader().grade, functools.partial(outcomes_named, 1), Scorer.code(fn, name="n")]
    )

    assert [one.name for one in outcomes] == ["fn", "Grader", "grade", "outcomes_named", "n"]


def outcomes_named(limit, run):
    return True


def test_a_scorer_is_still_the_function_that_it_is():
    @Scorer.code(key="k", threshold=0.5)
    def covers(ctx, extra=2):
        """Says how much."""
        return extra

    assert covers("anything") == 2
    assert covers.__name__ == "covers"
    assert str(inspect.signature(covers)) == "(ctx, extra=2)"


def test_a_decorated_method_is_a_scorer_of_its_object():
    low, high = score(RUN, [Grader(0).decorated]), score(RUN, [Grader(2).decorated])

    assert [low[0].passed, high[0].passed] == [False, True]


def test_key_version_and_metadata_stand_on_every_outcome():
    scorer = Scorer.code(
        lambda ctx: [Score("a", 1, metadata={"m": 2}), DeferredScore("b"), Score("c", None)],
        name="s",
        key="team/s",
        version="7",
        metadata={"m": 1, "n": 1},
    )
    found = {one.name: (one.key, one.version, one.metadata) for one in score(RUN, [scorer])}

    assert found == {
        "a": ("team/s", "7", {"m": 2, "n": 1}),
        "b": ("team/s", "7", {"m": 1, "n": 1}),
        "c": ("team/s", "7", {"m": 1, "n": 1}),
    }


def test_a_version_that_is_not_declared_changes_with_what_defines_the_scorer():
    def made(limit):
        return lambda ctx: ctx.output == limit

    versions = [
        as_scorer(each).version
        for each in (
            Scorer.code(made(1), name="s"),
            Scorer.code(made(2), name="s"),
            Scorer.code(made(1), name="s", threshold=1),
            Scorer.code(lambda ctx: ctx.input == 1, name="s"),
            Scorer.code(functools.partial(outcomes_named, 1), name="s"),
            Scorer.code(functools.partial(outcomes_named, 2), name="s"),
            Scorer.code(Grader(1), name="s"),
            Scorer.code(Grader(2), name="s"),
            Scorer.llm_judge(name="s", model="m", rubric="r"),
            Scorer.llm_judge(name="s", model="m", rubric="r2"),
            Scorer.llm_judge(name="s", model="m2", rubric="r"),
        )
    ]

    assert len(set(versions)) == len(versions)
    assert Scorer.code(made(1), name="s").version == versions[0]


def test_a_version_is_the_same_in_every_process():
    program = """
import functools
from otel_chloe import Scorer
def fn(ctx, words=frozenset({"a", "b", "c", "d"})):
    return ctx.output in {"e", "f", "g", "h"} or {"k": words}
print(Scorer.code(functools.partial(fn, words={"x", "y", "z"})).version)
"""
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            timeout=50,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in "123"
    }

    assert len(said) == 1


def test_a_scorer_that_requires_what_is_not_known_leaves_the_run_unscored():
    scorer = Scorer.code(fn, required_inputs=["expected"])
    [without] = score(RUN, [scorer])
    [with_it] = score(RUN, [scorer], expected="e")

    assert (without.state, without.error) == ("unscored", "missing_input")
    assert "expected" in without.reason
    assert with_it.state == "scored"


def test_what_a_gap_took_away_is_named():
    [outcome] = score(Run(gaps=[Gap(gaps.CONTENT_OFF)]), [Scorer.code(fn, required_inputs=["output"])])

    assert (outcome.state, outcome.error) == ("unscored", "gap")
    assert "content_off" in outcome.reason


def test_adapting_again_changes_only_what_is_given():
    low = Scorer.code(fn, name="low", direction="lower_is_better", threshold=0.1, metadata={"m": 1})
    adapted = Scorer.code(low, threshold=0.5)
    [mark] = score(RUN, [adapted])

    assert (adapted.direction, adapted.name, adapted.metadata) == ("lower_is_better", "low", {"m": 1})
    assert mark.passed is True
    assert low.threshold == 0.1


def test_a_partial_of_a_scorer_keeps_what_was_defined():
    @Scorer.code(direction="lower_is_better", threshold=1)
    def count(run, of="look"):
        return sum(call.name == of for call in run.tool_calls)

    [mark] = score(RUN, [functools.partial(count, of="other")])

    assert (mark.name, mark.score, mark.passed) == ("count", 0, True)
