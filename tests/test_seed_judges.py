"""The second seed's judges, case by case. The ids are those of the cases; where we differ on purpose, a word why."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from otel_chloe import ConfigError, Run, Scorer, ascore, score

RUN = Run(prompt="P", output="out")


class Model:
    """A ``complete=`` that answers and keeps what it was asked."""

    def __init__(self, answer: str | Exception = "1") -> None:
        self.answer = answer
        self.asked: list[tuple[str, list[dict[str, str]]]] = []

    def __call__(self, model, messages):
        self.asked.append((model, messages))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    @property
    def last(self) -> str:
        """The last message of the last question."""
        return self.asked[-1][1][-1]["content"]


def judge(model: Any, content: str = "{{output}}", **more: Any) -> Any:
    return Scorer.llm_judge(
        name="j", model="M", messages=[{"role": "user", "content": content}], complete=model, **more
    )


def bare(text: str) -> str:
    """A prompt without its fences."""
    return "".join(line for line in text.splitlines() if not line.startswith(("<run-text", "</run-text")))


ANSWERS = [
    pytest.param("1.0", None, 1.0, id="tr-judge-parse-01"),
    pytest.param("1.", None, 1.0, id="a full stop"),
    pytest.param("The score is 0.8.", None, 0.8, id="the only number"),
    pytest.param("-0.5", None, -0.5, id="negative"),
    pytest.param("1e-3", None, 0.001, id="with an exponent"),
    pytest.param("Step 3: the score is 0.8", None, None, id="tr-judge-parse-03"),
    pytest.param("8/10", None, None, id="tr-judge-parse-04"),
    pytest.param("1 out of 10", None, None, id="two numbers"),
    pytest.param("50%", None, None, id="a percentage is neither 50 nor 0.5 for certain"),
    pytest.param("true", None, None, id="tr-judge-parse-06"),
    pytest.param("yes", None, None, id="yes is no number"),
    pytest.param("NaN", None, None, id="nan"),
    pytest.param('{"score": 0.7}', None, 0.7, id="tr-judge-parse-07"),
    pytest.param('{"score": 0.7, "why": "2 of 3"}', None, 0.7, id="the only number of an object"),
    pytest.param('{"score": 1, "of": 10}', None, None, id="two numbers of an object"),
    pytest.param("```json\n0.5\n```", None, 0.5, id="in a code fence"),
    pytest.param("", None, None, id="tr-judge-parse-10"),
    # The original wants a number even of a boolean judge.
    pytest.param("true", "boolean", True, id="tr-judge-parse-06 boolean"),
    pytest.param("Yes.", "boolean", True, id="yes"),
    pytest.param("**FAIL**", "boolean", False, id="fail"),
    pytest.param("1.0", "boolean", True, id="one"),
    pytest.param("0", "boolean", False, id="zero"),
    pytest.param("0.7", "boolean", None, id="neither one nor zero"),
    pytest.param("8/10", "boolean", None, id="no yes or no"),
    pytest.param("Yes, but it also lies.", "boolean", None, id="more than yes"),
    pytest.param('{"why": "so", "met": false}', "boolean", False, id="the only bool of an object"),
    pytest.param("  billing ", "categorical", "billing", id="tr-judge-parse-09"),
    pytest.param("", "categorical", None, id="no label"),
]


@pytest.mark.parametrize(("answer", "value_type", "value"), ANSWERS)
def test_an_answer_is_read_by_its_type(answer, value_type, value):
    [outcome] = score(RUN, [judge(Model(answer), value_type=value_type)])

    assert outcome.state == ("failed" if value is None else "scored")
    assert getattr(outcome, "value", None) == value
    assert type(getattr(outcome, "value", None)) is type(value)


def test_an_answer_that_cannot_be_read_is_quoted():
    """tr-judge-parse-03: with its first 200 characters."""
    [failed] = score(RUN, [judge(Model("Step 3: " + "x" * 500))])

    assert failed.error == "invalid_answer"
    assert f'"Step 3: {"x" * 192}"' in failed.reason


def test_a_categorical_judge_is_a_classification():
    """tr-judge-01: with the original only ``output_type`` makes it one."""
    for words in ({"value_type": "categorical"}, {"output_type": "classification"}):
        [mark] = score(RUN, [judge(Model("billing"), **words)])

        assert (mark.value, mark.label, mark.score, mark.passed) == ("billing", "billing", None, None)


def test_a_rubric_is_a_system_message_and_the_output():
    """tr-judge-02."""
    model = Model()
    score(RUN, [Scorer.llm_judge(name="j", model="M", rubric="RUB", complete=model)])
    [(_, [system, user])] = model.asked

    assert (system["role"], system["content"].splitlines()[0]) == ("system", "RUB")
    assert (user["role"], bare(user["content"])) == ("user", "out")


def test_a_judge_without_a_prompt_is_refused():
    """tr-judge-04."""
    with pytest.raises(ConfigError, match="it has no prompt"):
        Scorer.llm_judge(name="j", model="M")


def test_how_a_template_is_filled():
    """tr-judge-05. ``{{metadata}}`` is one of ours, too: here it is not known, and so empty."""
    model = Model()
    template = "{{input}}|{{ output }}|{{expected}}|{{metadata}}|{{input.q}}|{{Output}}|{output}"
    score(RUN, [judge(model, template)], input={"q": "hi"})

    assert bare(model.last.replace("|", "\n|\n")) == '{"q": "hi"}|out|||{{input.q}}|{{Output}}|{output}'


def test_a_functions_values_go_before_the_runs():
    """tr-judge-07."""
    model = Model()

    @judge(model, "{{answer}}|{{cities}}|{{output}}|{{missing}}")
    def filled(ctx):
        return {"answer": None, "cities": ["a", "b"], "output": "OVERRIDE"}

    score(RUN, [filled])

    assert bare(model.last.replace("|", "\n|\n")) == '|["a", "b"]|OVERRIDE|{{missing}}'


def test_messages_that_a_function_built_are_not_filled_again():
    """tr-judge-08: the original does, and a run that says ``{{expected}}`` tells the judge the answer."""
    model = Model()
    built = judge(model)(lambda ctx: [{"role": "user", "content": f"J: has {ctx.output}"}])
    score(Run(output="{{expected}}"), [built], expected="SECRET")

    assert model.last == "J: has {{expected}}"


def test_a_functions_values_are_not_filled_again():
    model = Model()
    filled = judge(model, "{{answer}}")(lambda ctx: {"answer": "{{expected}}"})
    score(RUN, [filled], expected="SECRET")

    assert bare(model.last) == "{{expected}}"


def test_a_function_may_be_async():
    """tr-judge-10: the original's may not."""

    async def values(ctx):
        return {"answer": "later"}

    model = Model()
    score(RUN, [judge(model, "{{answer}}")(values)])

    assert bare(model.last) == "later"


def test_the_model_and_the_messages_go_to_complete():
    """tr-judge-11. The run's text is fenced; the reason is the answer."""
    model = Model("1")
    [mark] = score(RUN, [judge(model)])
    [(name, [rule, message])] = model.asked

    assert (name, message["role"], bare(message["content"])) == ("M", "user", "out")
    assert rule["role"] == "system"
    assert (mark.name, mark.value, mark.reason) == ("j", 1.0, "1")


def test_the_reason_is_the_answer_up_to_2000_characters():
    [mark] = score(RUN, [judge(Model("1 " + "x" * 3_000))])

    assert len(mark.reason) == 2_000


def test_complete_may_be_async():
    async def complete(model, messages):
        await asyncio.sleep(0)
        return "0.5"

    [mark] = score(RUN, [judge(complete)])

    assert mark.score == 0.5


def test_a_complete_that_raises_has_failed():
    """tr-judge-13."""
    [failed] = score(RUN, [judge(Model(RuntimeError("429")))])

    assert (failed.state, failed.error) == ("failed", "RuntimeError")
    assert "RuntimeError: 429" in failed.reason


@pytest.mark.parametrize("made", [0.5, True, "text", None])
def test_a_function_gives_values_and_never_a_score(made):
    model = Model()
    [failed] = score(RUN, [judge(model)(lambda ctx: made)])

    assert (failed.state, failed.error) == ("failed", "TypeError")
    assert not model.asked


def test_a_label_is_one_of_those_that_were_named():
    judges = [judge(Model(answer), value_type="categorical", labels=["Good", "bad"]) for answer in ('"good."', "fine")]
    [mark], [failed] = (score(RUN, [each]) for each in judges)

    assert mark.value == "Good"
    assert failed.error == "invalid_answer"


def test_judges_are_asked_together():
    """Each waits for the other: one after the other they would never end."""

    async def main():
        first, second = asyncio.Event(), asyncio.Event()

        def meets(mine, other):
            async def complete(model, messages):
                mine.set()
                await asyncio.wait_for(other.wait(), 10)
                return "1"

            return complete

        pair = [
            Scorer.llm_judge(name=name, model="M", rubric="R", complete=complete)
            for name, complete in (("one", meets(first, second)), ("two", meets(second, first)))
        ]
        return await ascore(RUN, pair)

    assert [mark.score for mark in asyncio.run(main())] == [1, 1]
