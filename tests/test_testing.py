"""The fakes in `otel_chloe.testing`, and the examples of the pages about them."""

from __future__ import annotations

import asyncio
import json

import pytest
import yaml
from example_programs import ROOT, blocks
from opentelemetry.sdk.trace import TracerProvider

from otel_chloe import testing
from otel_chloe.config import load_rules
from otel_chloe.judge.answer import Check, read_answer
from otel_chloe.testing import Ask, CountingIds, JudgeError, Reply, ScriptedJudge, SteppingClock, checks

ASK = Ask(model="M", messages=({"role": "user", "content": "?"},))


def answers(judge, times=1):
    """What it answers to so many asks in a row."""

    async def main():
        return [(await judge.ask(ASK)).text for _ in range(times)]

    return asyncio.run(main())


class TestScriptedJudge:
    def test_one_text_is_the_answer_to_every_call(self):
        assert answers(ScriptedJudge("yes"), 2) == ["yes", "yes"]

    def test_a_list_is_answered_one_by_one(self):
        assert answers(ScriptedJudge(["a", Reply(text="b", finish="length")]), 2) == ["a", "b"]

    def test_a_function_is_given_the_ask(self):
        assert answers(ScriptedJudge(lambda ask: ask.model)) == ["M"]

    def test_an_async_function_too(self):
        async def model_of(ask):
            return ask.model

        assert answers(ScriptedJudge(model_of)) == ["M"]

    @pytest.mark.parametrize("how", [lambda error: [error], lambda error: lambda _: error])
    def test_an_exception_is_raised(self, how):
        with pytest.raises(JudgeError, match="Too many"):
            answers(ScriptedJudge(how(JudgeError("Too many.", error="rate_limit"))))

    def test_a_call_too_many_says_so(self):
        with pytest.raises(AssertionError, match=r"The script has no answer to call 2\."):
            answers(ScriptedJudge(["a"]), 2)

    def test_it_keeps_what_it_was_asked(self):
        judge = ScriptedJudge("yes")
        answers(judge)

        assert judge.asks == [ASK]
        assert judge.messages == [ASK.messages]

    def test_as_a_complete_it_knows_the_model_and_the_messages(self):
        judge = ScriptedJudge("yes")

        assert asyncio.run(judge("M", [{"role": "user", "content": "?"}])) == "yes"
        assert judge.asks == [ASK]


def test_checks_are_a_valid_answer():
    assert read_answer(checks(True, None, False, why="w", evidence={"call": 1}), 3) == tuple(
        Check(met, "w", {"call": 1}) for met in (True, None, False)
    )
    assert [check["id"] for check in json.loads(checks(True, True))["checks"]] == [1, 2]


class TestSteppingClock:
    def test_it_stands_still_until_it_is_stepped(self):
        clock = SteppingClock(10.0)
        seen = [clock(), clock()]
        clock.step(2.5)

        assert [*seen, clock(), clock.ns()] == [10.0, 10.0, 12.5, 12_500_000_000]

    def test_it_may_go_on_whenever_it_is_read(self):
        clock = SteppingClock(each_s=1.0)

        assert [clock(), clock(), clock()] == [0.0, 1.0, 2.0]

    def test_it_does_not_run_backwards(self):
        with pytest.raises(ValueError, match="backwards"):
            SteppingClock().step(-1)


def test_ids_are_counted():
    tracer = TracerProvider(id_generator=CountingIds()).get_tracer("t")
    contexts = [tracer.start_span(name).get_span_context() for name in "ab"]

    assert [(context.trace_id, context.span_id) for context in contexts] == [(1, 1), (2, 2)]


def test_every_public_name_is_there_and_on_its_page():
    page = (ROOT / "docs/testing.md").read_text("utf-8")

    for name in testing.__all__:
        assert hasattr(testing, name)
        assert name in page
    assert set(dir(testing)) >= set(testing.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Mock'"):
        testing.Mock  # noqa: B018 - asking is the test


@pytest.mark.parametrize("page", ["docs/testing.md", "docs/expectations.md"])
def test_the_examples_run(page):
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), {"__name__": "example"})


def test_the_rules_on_the_page_load():
    [block] = blocks("docs/expectations.md", "yaml")
    rules = load_rules(yaml.safe_load(block)).for_run("site_doctor")

    assert rules.expectations.outcome.should_not == ("invents a cause",)
    assert rules.expectations.model == "anthropic/claude-haiku-4.5"
