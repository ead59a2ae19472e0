"""The judge through the real litellm, in its child, against stand-ins that speak as each provider does."""

from __future__ import annotations

import json
import os
import time
from email.utils import formatdate

import pytest
from judge_child import ask, refused, run
from judge_standins import PROVIDERS, SECRET, Answer, StandIn, anthropic, bedrock, gemini, openai, settings

from otel_chloe import Run, Scorer
from otel_chloe.judge.ask import Reply
from otel_chloe.judge.child import ChildJudge
from otel_chloe.judge.scorer import judge_outcomes
from otel_chloe.kit import context_of

VERDICT = '{"met": true}'
SCHEMA = {
    "type": "object",
    "properties": {"met": {"type": "boolean"}},
    "required": ["met"],
    "additionalProperties": False,
}
PRICED = {"openai", "anthropic", "gemini", "bedrock"}

pytestmark = pytest.mark.timeout(120)
"""The first waits for litellm's import, which takes seconds, on a busy machine many."""


@pytest.fixture(scope="module")
def standin():
    standin = StandIn()
    yield standin
    standin.close()


@pytest.fixture(scope="module")
def judge(standin, tmp_path_factory):
    """One child for all, started by an application in whose folder lie things that are not for it."""
    folder = tmp_path_factory.mktemp("application")
    (folder / "litellm.py").write_text("raise ImportError('not this one')")
    (folder / ".env").write_text("GROQ_API_KEY=leaked\n")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL", "_PROXY"))]:
            patch.delenv(name)
        for name, value in settings(standin.url).items():
            patch.setenv(name, value)
        patch.chdir(folder)
        judge = ChildJudge()
        refused(judge, "no-such-provider")  # it starts here
        yield judge
    judge.close()


@pytest.fixture(params=PROVIDERS)
def provider(request):
    return PROVIDERS[request.param]


@pytest.mark.parametrize(
    ("model", "path"),
    [("claude-haiku-4-5", "/anthropic/v1/messages"), ("gpt-4o-mini", "/openai/chat/completions")],
)
def test_a_models_own_name_is_enough_and_its_provider_chooses_the_temperature(judge, standin, model, path):
    """tr-judge-14: 512 tokens are the original's most, 8,000 are ours. Neither sends a temperature."""
    standin.says(Answer((anthropic if model.startswith("claude") else openai)("1.0")))
    scorer = Scorer.llm_judge(name="concrete", model=model, rubric="Reply 1.0 if it is concrete, else 0.0.")
    [mark] = run(
        judge_outcomes(
            scorer, context_of(Run(output="22 C")), judge=judge, nonce="0123456789abcdef", clock=time.monotonic
        )
    )

    assert mark.score == 1.0
    (request,) = standin.requests
    assert (request.path.partition("?")[0], request.body["max_tokens"]) == (path, 8_000)
    assert "temperature" not in request.body


class TestEveryProvider:
    def test_answers(self, judge, standin, provider):
        standin.says(Answer(provider.shape(VERDICT)))
        reply = ask(judge, provider.model, schema=SCHEMA)

        assert (reply.text, reply.finish, reply.input_tokens, reply.output_tokens) == (VERDICT, "stop", 11, 7)
        (request,) = standin.requests
        assert request.path.partition("?")[0] == provider.path
        assert request.body.get("stream", False) is False
        assert "additionalProperties" in json.dumps(request.body), "the schema is asked of it"

    def test_that_wants_us_slower_says_when(self, judge, standin, provider):
        standin.says(Answer({"error": {"message": "slow down", "code": 429}}, 429, {"retry-after": "7"}))
        error = refused(judge, provider.model, schema=SCHEMA)

        assert (error.error, error.retry, error.retry_after_s, error.lasting) == ("rate_limit", True, 7.0, False)
        assert str(error) == f"{provider.model}: slow down."
        assert len(standin.requests) == 1, "it is never tried again by litellm"

    def test_that_fails(self, judge, standin, provider):
        standin.says(Answer({"error": {"message": "oops"}}, 500))
        error = refused(judge, provider.model, schema=SCHEMA)

        assert (error.error, error.retry, error.lasting) == ("server", True, False)
        assert len(standin.requests) == 1

    def test_that_refuses_the_key(self, judge, standin, provider):
        standin.says(Answer({"error": {"message": "bad key"}}, 401))
        error = refused(judge, provider.model)

        assert (error.error, error.retry, error.lasting) == ("authentication", False, True)
        assert "check it, or pass complete=" in str(error)

    def test_that_knows_no_such_model(self, judge, standin, provider):
        standin.says(Answer({"error": {"message": "no such model"}}, 404))
        error = refused(judge, provider.model)

        assert (error.error, error.retry, error.lasting) == ("unknown_model", False, True)

    def test_that_takes_no_schema_is_asked_without_and_that_is_remembered(self, judge, standin, provider):
        standin.says(Answer({"error": {"message": "response_format"}}, 400), Answer(provider.shape(VERDICT)))
        first = ask(judge, provider.plain, schema=SCHEMA)
        asked_at_first = len(standin.requests)
        second = ask(judge, provider.plain, schema=SCHEMA)

        assert (first.text, second.text) == (VERDICT, VERDICT)
        assert (asked_at_first, len(standin.requests)) == (2, 3)
        assert "additionalProperties" not in json.dumps(standin.requests[-1].body)

    def test_that_takes_the_call_in_no_form(self, judge, standin, provider):
        standin.says(Answer({"error": {"message": "bad temperature"}}, 400))
        error = refused(judge, provider.model, schema=SCHEMA)

        assert (error.error, error.retry, error.lasting) == ("bad_request", False, False)
        assert "bad temperature" in str(error)

    @pytest.mark.parametrize(
        "answer",
        [
            pytest.param(lambda body: Answer(body[: len(body) // 2]), id="cut short"),
            pytest.param(lambda body: Answer(b"<html>log in</html>", 200, {"content-type": "text/html"}), id="html"),
            pytest.param(lambda body: Answer(b""), id="nothing"),
            pytest.param(lambda body: Answer(b"[1, 2]"), id="a list"),
            pytest.param(lambda body: Answer(b"{}"), id="an empty object"),
        ],
    )
    def test_that_cannot_be_understood(self, judge, standin, provider, answer):
        standin.says(answer(json.dumps(provider.shape("secret" * 100)).encode()))
        error = refused(judge, provider.model, schema=SCHEMA)

        assert (error.error, error.retry, error.lasting) == ("server", True, False)
        assert "secret" not in str(error), "what a model said is no reason"
        assert len(standin.requests) == 1

    def test_that_says_nothing_has_an_empty_answer(self, judge, standin, provider):
        standin.says(Answer(provider.shape(None)))

        assert ask(judge, provider.model, schema=SCHEMA).text == ""

    def test_whose_answer_was_cut_says_so(self, judge, standin, provider):
        standin.says(Answer(provider.shape('{"met": tr', provider.length)))
        reply = ask(judge, provider.model, schema=SCHEMA)

        assert (reply.text, reply.finish) == ('{"met": tr', "length")

    @pytest.mark.parametrize("name", sorted(PROVIDERS.keys() - {"ollama"}))
    def test_that_refuses_to_answer(self, judge, standin, name):
        provider = PROVIDERS[name]
        standin.says(Answer(provider.shape(None, provider.refusal)))
        error = refused(judge, provider.model, schema=SCHEMA)

        assert (error.error, error.retry, error.lasting) == ("refused", False, False)

    def test_that_hangs(self, judge, standin, provider):
        standin.says(None)
        error = refused(judge, provider.model, timeout_s=0.2)

        assert (error.error, error.retry) == ("timeout", True)


class TestUsage:
    @pytest.mark.parametrize("name", PROVIDERS)
    def test_has_a_price_where_litellm_knows_it(self, judge, standin, name):
        standin.says(Answer(PROVIDERS[name].shape(VERDICT)))
        cost = ask(judge, PROVIDERS[name].model).cost_usd

        assert (cost or 0) > 0 if name in PRICED else cost is None

    def test_room_is_no_more_than_the_model_has(self, judge, standin):
        standin.says(Answer(openai("ok")))
        ask(judge, "gpt-4o-mini", max_tokens=1_000_000)

        assert standin.requests[0].body["max_tokens"] == 16_384

    def test_that_a_provider_does_not_count_is_not_known(self, judge, standin):
        standin.says(Answer({**openai("ok"), "usage": None}))
        reply = ask(judge, "gpt-4o-mini")

        assert (reply.input_tokens, reply.output_tokens, reply.cost_usd) == (None, None, None)

    def test_the_model_is_the_one_that_answered(self, judge, standin):
        standin.says(Answer(openai("ok")))

        assert ask(judge, "gpt-4o-mini").model == "the-model"


class TestModels:
    @pytest.mark.parametrize(
        "written", ["anthropic/claude-haiku-4.5", "claude-haiku-4-5", "claude-haiku-4.5", "anthropic/claude-haiku-4-5"]
    )
    def test_are_found_as_the_seeds_write_them(self, judge, standin, written):
        standin.says(Answer(anthropic("ok")))
        reply = ask(judge, written)

        assert reply == Reply(
            text="ok", finish="stop", model="the-model", input_tokens=11, output_tokens=7, cost_usd=reply.cost_usd
        )
        assert standin.requests[0].body["model"] == "claude-haiku-4-5"
        assert (reply.cost_usd or 0) > 0

    def test_without_a_provider_are_an_error_that_says_how(self, judge):
        error = refused(judge, "nonsense")

        assert (error.error, error.lasting) == ("unknown_model", True)
        assert "as in anthropic/claude-haiku-4.5" in str(error)

    def test_of_a_provider_without_schemas_are_asked_plainly(self, judge, standin):
        standin.says(Answer({"message": "who are you?"}, 401))
        error = refused(judge, "cohere/command-r", schema=SCHEMA)

        assert "COHERE_API_KEY" in str(error), "it came past the refused response_format"


class TestErrors:
    @pytest.mark.parametrize(
        ("model", "key"),
        [("groq/llama-3.1-8b-instant", "GROQ_API_KEY"), ("deepseek/deepseek-chat", "DEEPSEEK_API_KEY")],
    )
    def test_a_key_that_is_missing_is_named(self, judge, standin, model, key):
        """And what lies in the working directory's .env gives none."""
        standin.says(Answer({"message": "who are you?"}, 401))
        error = refused(judge, model)

        assert (error.error, error.retry, error.lasting) == ("authentication", False, True)
        assert f"Set {key}, or pass complete=." in str(error)
        assert "leaked" not in str(standin.requests)

    @pytest.mark.parametrize(
        ("model", "body"),
        [
            ("gpt-4o-mini", {"message": "maximum context length is 9 tokens", "code": "context_length_exceeded"}),
            ("claude-haiku-4-5", {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}),
            ("bedrock/anthropic.claude-haiku-4-5-20251001-v1:0", {"message": "Input is too long for requested model"}),
        ],
    )
    def test_too_long_a_run(self, judge, standin, model, body):
        standin.says(Answer({"error": body}, 400))
        error = refused(judge, model, schema=SCHEMA)

        assert (error.error, error.retry, error.lasting) == ("context_length", False, False)
        assert len(standin.requests) == 1

    @pytest.mark.parametrize(
        ("model", "status", "body"),
        [
            ("gpt-4o-mini", 429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}),
            ("claude-haiku-4-5", 400, {"message": "Your credit balance is too low to access the Anthropic API."}),
        ],
    )
    def test_an_empty_account_is_not_tried_again(self, judge, standin, model, status, body):
        standin.says(Answer({"error": body}, status))
        error = refused(judge, model)

        assert (error.error, error.retry, error.lasting) == ("rate_limit", False, True)

    @pytest.mark.parametrize(
        ("headers", "seconds"),
        [
            ({"retry-after": "2.5"}, 2.5),
            ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
            ({"retry-after": "99999999"}, 3600.0),
            ({"retry-after": "soon"}, None),
            ({}, None),
        ],
    )
    def test_when_to_come_again(self, judge, standin, headers, seconds):
        standin.says(Answer({"error": {"message": "slow down"}}, 429, headers))

        assert refused(judge, "claude-haiku-4-5").retry_after_s == seconds

    def test_when_to_come_again_as_a_date(self, judge, standin):
        standin.says(Answer({}, 503, {"retry-after": formatdate(time.time() + 1000, usegmt=True)}))
        error = refused(judge, "claude-haiku-4-5")

        assert error.error == "server"
        assert 900 < (error.retry_after_s or 0) <= 1000

    def test_when_to_come_again_as_google_says_it(self, judge, standin):
        detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
        standin.says(Answer({"error": {"code": 429, "message": "quota", "details": [detail]}}, 429))

        assert refused(judge, "gemini/gemini-2.5-flash").retry_after_s == 34.0

    def test_a_refusal_in_words_of_its_own(self, judge, standin):
        standin.says(Answer(openai(None, refusal="I cannot help with that.")))

        assert refused(judge, "gpt-4o-mini").error == "refused"

    @pytest.mark.parametrize("model", ["hosted_vllm/x", "ollama_chat/x"])
    def test_nobody_there(self, judge, standin, model):
        standin.answer = lambda request: (_ for _ in ()).throw(ConnectionResetError)
        error = refused(judge, model)

        assert (error.error, error.retry, error.lasting) == ("connection", True, False)

    @pytest.mark.parametrize(
        ("model", "status", "error"),
        [
            ("gpt-4o-mini", 403, "authentication"),
            ("hosted_vllm/x", 413, "context_length"),
            ("claude-haiku-4-5", 529, "server"),
            ("hosted_vllm/x", 402, "rate_limit"),
            ("ollama_chat/llama3", 404, "unknown_model"),
        ],
    )
    def test_by_their_status(self, judge, standin, model, status, error):
        body = "it is so" if model.startswith("ollama") else {"message": "it is so"}
        standin.says(Answer({"error": body}, status))
        found = refused(judge, model)

        assert (found.error, str(found).startswith(f"{model}: it is so.")) == (error, True)

    def test_never_show_a_key(self, judge, standin, provider):
        standin.says(Answer({"error": {"message": "no"}}, 400))

        assert SECRET not in str(refused(judge, provider.model))


def test_shapes_are_all_used():
    assert {provider.shape for provider in PROVIDERS.values()} >= {openai, anthropic, gemini, bedrock}
