"""The judge's child as whoever asks sees it: answers, errors, death and a new one, memory, many loops."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

import pytest
from judge_child import Clock, ask, asked, fake_judge, has_ended, refused, run, told

from otel_chloe.judge import link as links
from otel_chloe.judge.ask import JudgeError, Reply
from otel_chloe.judge.child import HOPELESS, LONG_LIFE_S, MAX_WAIT_S, shared_judge
from otel_chloe.judge.frames import MAX_FRAME


@pytest.fixture(scope="module")
def judge():
    judge = fake_judge()
    yield judge
    judge.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def mortal(clock):
    """A judge whose child may die."""
    judge = fake_judge(clock, memory_mib=64)
    yield judge
    judge.close()


class TestAsk:
    def test_gives_text_and_usage(self, judge):
        assert ask(judge, "echo", "hi") == Reply(
            text="hi", finish="stop", model="echo", input_tokens=1, output_tokens=1, cost_usd=0.25
        )

    def test_a_cost_that_nobody_knows_is_none(self, judge):
        assert ask(judge, "settings").cost_usd is None

    def test_starts_nothing_before_the_first(self):
        assert fake_judge().pid is None

    def test_many_at_once_share_the_child_and_keep_apart(self, judge):
        async def many():
            return await asyncio.gather(*(judge.ask(asked("echo", str(n))) for n in range(200)))

        assert [reply.text for reply in run(many())] == [str(n) for n in range(200)]

    def test_never_retries_and_limits_time_and_room(self, judge):
        settings = told(judge, "settings")

        assert (settings["num_retries"], settings["max_retries"], settings["stream"]) == (0, 0, False)
        assert (settings["timeout"], settings["max_tokens"]) == (30.0, 8_000)
        assert "response_format" not in settings

    def test_an_answer_of_any_text_comes_whole(self, judge):
        text = "ünïcödé \u2028 \x00 😀 " * 1_000

        assert ask(judge, "echo", text).text == text

    def test_half_a_surrogate_pair_is_no_error(self, judge):
        assert ask(judge, "echo", "a\ud83d!").text == "a?!"

    def test_more_than_a_pipe_holds_goes_through(self, judge):
        assert len(ask(judge, "echo", "x" * 900_000).text) == 900_000

    def test_too_long_an_answer_is_an_error(self, judge):
        error = refused(judge, "long:1000001")

        assert error.error == "server"

    def test_too_long_a_question_is_an_error(self, judge):
        error = refused(judge, "echo", "x" * (MAX_FRAME + 1))

        assert (error.error, error.retry) == ("context_length", False)
        assert ask(judge, "echo").text == "hello"

    def test_a_call_that_hangs_ends_at_its_own_time(self, judge):
        pid = judge.pid
        error = refused(judge, "hang", timeout_s=0.05)

        assert (error.error, error.retry) == ("timeout", True)
        assert judge.pid == pid

    def test_one_that_is_cancelled_leaves_the_others_alone(self, judge):
        async def one_of_two():
            lost = asyncio.create_task(judge.ask(asked("hang")))
            kept = await judge.ask(asked("echo"))
            lost.cancel()
            return kept, await asyncio.gather(lost, return_exceptions=True), await judge.ask(asked("echo", "again"))

        kept, lost, again = run(one_of_two())

        assert (kept.text, again.text) == ("hello", "again")
        assert isinstance(lost[0], asyncio.CancelledError)


SCHEMA = {"type": "object", "properties": {"met": {"type": "boolean"}}}


class TestAnswersShape:
    def test_is_asked_of_the_provider(self, judge):
        settings = json.loads(ask(judge, "settings", schema=SCHEMA).text)

        assert settings["response_format"] == {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": False},
        }

    def test_is_strict_where_the_schema_is(self, judge):
        schema = {**SCHEMA, "required": ["met"], "additionalProperties": False}
        settings = json.loads(ask(judge, "settings", schema=schema).text)

        assert settings["response_format"]["json_schema"]["strict"] is True

    def test_is_left_out_where_it_is_refused_and_that_is_remembered(self, judge):
        first = json.loads(ask(judge, "picky:one", schema=SCHEMA).text)
        second = json.loads(ask(judge, "picky:one", schema=SCHEMA).text)

        assert first[-2:] == [True, False]
        assert second[len(first) :] == [False]


class TestKeys:
    def test_one_that_is_missing_is_named(self, judge):
        error = refused(judge, "keyless")

        assert (error.error, error.retry, error.lasting) == ("authentication", False, True)
        assert str(error) == "keyless: no API key is set. Set FAKE_API_KEY, or pass complete=."

    def test_one_that_was_missing_is_seen_once_it_is_set(self, mortal, monkeypatch):
        refused(mortal, "keyless")
        monkeypatch.setenv("FAKE_API_KEY", "sesame")

        assert ask(mortal, "keyless").text == "sesame"


class TestDeath:
    def test_of_the_child_is_an_error_for_who_waits(self, mortal):
        async def two():
            asks = mortal.ask(asked("hang")), mortal.ask(asked("die"))
            return await asyncio.gather(*asks, return_exceptions=True)

        for error in run(two()):
            assert isinstance(error, JudgeError)
            assert (error.error, error.retry, error.lasting) == ("judge_down", True, False)
            assert "SIGKILL" in str(error)

    def test_says_what_it_printed_last(self, mortal):
        error = refused(mortal, "leave:7")

        assert "exit code 7" in str(error)
        assert "something was wrong" in str(error)

    def test_is_followed_by_a_new_one_after_a_wait_that_grows(self, mortal, clock):
        refused(mortal, "die")
        early = refused(mortal, "echo")
        clock.now += 1.0
        assert ask(mortal, "echo").text == "hello"

        refused(mortal, "die")
        clock.now += 1.0
        still_early = refused(mortal, "echo")
        clock.now += 1.0

        assert (early.error, early.retry, early.retry_after_s) == ("judge_down", True, 1.0)
        assert still_early.retry_after_s == 1.0
        assert ask(mortal, "echo").text == "hello"

    def test_after_a_long_life_is_followed_by_a_new_one_at_once(self, mortal, clock):
        ask(mortal, "echo")
        clock.now += LONG_LIFE_S
        os.kill(old := mortal.pid, signal.SIGKILL)
        assert has_ended(old)

        assert ask(mortal, "echo").text == "hello"
        assert mortal.pid != old

    def test_of_a_child_that_hangs_is_ours_to_bring(self, mortal, clock, monkeypatch):
        monkeypatch.setattr(links, "GRACE_S", 0.05)
        ask(mortal, "echo")
        pid = mortal.pid
        error = refused(mortal, "stop", timeout_s=0.05)

        assert (error.error, error.retry) == ("judge_down", True)
        assert "did not answer in time" in str(error)
        assert has_ended(pid)

    def test_closing_ends_it_and_another_question_starts_a_new_one(self, mortal):
        ask(mortal, "echo")
        old = mortal.pid
        mortal.close()

        assert mortal.pid is None
        assert has_ended(old)
        assert ask(mortal, "echo").text == "hello"

    def test_closing_while_somebody_asks(self, mortal):
        async def closed():
            await mortal.ask(asked("echo"))
            waits = asyncio.create_task(mortal.ask(asked("hang")))
            await mortal.ask(asked("echo"))
            mortal.close()
            await waits

        with pytest.raises(JudgeError, match="closed"):
            run(closed())


class TestNoStart:
    def test_without_the_program(self, clock):
        judge = fake_judge(clock, python="/no/such/python")
        first, second = refused(judge, "echo"), refused(judge, "echo")

        assert (first.error, first.retry, first.lasting) == ("judge_down", False, True)
        assert "/no/such/python" in str(first)
        assert "complete=" in str(first)
        assert second.lasting

    @pytest.mark.parametrize("program", ["/usr/bin/uwsgi", "", None, "/opt/shop/shop"])
    def test_where_the_process_is_not_run_by_a_python(self, monkeypatch, program):
        monkeypatch.setattr(sys, "executable", program)
        error = refused(fake_judge(), "echo")

        assert (error.error, error.lasting) == ("judge_down", True)
        assert "OTEL_CHLOE_JUDGE_PYTHON" in str(error)
        assert "complete=" in str(error)

    def test_but_with_a_python_that_is_named(self, monkeypatch):
        monkeypatch.setenv("OTEL_CHLOE_JUDGE_PYTHON", sys.executable)
        monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")
        judge = fake_judge()

        assert ask(judge, "echo").text == "hello"
        judge.close()

    def test_without_litellm(self, tmp_path, caplog):
        (tmp_path / "litellm.py").write_text("raise ImportError('no wheel')")
        judge = fake_judge(first_path=(str(tmp_path),))
        error = refused(judge, "echo")

        assert (error.error, error.lasting) == ("judge_down", True)
        assert f"litellm cannot be imported by {sys.executable}: ImportError: no wheel" in str(error)
        judge.close()

    def test_that_dies_each_time_is_given_up(self, tmp_path, clock):
        (tmp_path / "litellm.py").write_text("import os; os._exit(9)")
        judge = fake_judge(clock, first_path=(str(tmp_path),))
        for _ in range(HOPELESS):
            assert not refused(judge, "echo").lasting
            clock.now += LONG_LIFE_S - 1
        error = refused(judge, "echo")
        clock.now += MAX_WAIT_S
        again = refused(judge, "echo")

        assert (error.lasting, error.retry_after_s) == (True, 1.0)
        assert "exit code 9" in str(error)
        assert again.retry_after_s is None, "it is tried again, rarely"
        judge.close()


class TestMemory:
    def test_over_the_limit_is_followed_by_a_new_child(self, mortal, caplog):
        ask(mortal, "echo")
        old = mortal.pid

        assert ask(mortal, "hog:70").text == "held"
        assert ask(mortal, "echo").text == "hello"
        assert mortal.pid != old
        assert has_ended(old)
        assert "over its 64" in caplog.text

    def test_over_the_limit_others_are_answered_first(self, mortal, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)

        async def three():
            late = asyncio.create_task(mortal.ask(asked(f"told_by:{pipe}")))
            await mortal.ask(asked("hog:70"))
            await mortal.ask(asked("echo"))
            pipe.write_text("late")
            return await late

        assert run(three()).text == "late"

    def test_over_twice_the_limit_the_child_ends_at_once(self, mortal):
        error = refused(mortal, "hog_and_hang:140")

        assert (error.error, error.retry) == ("judge_down", True)
        assert "over twice its limit" in str(error)

    def test_a_limit_below_what_it_needs_is_said(self):
        judge = fake_judge(memory_mib=1)
        error = refused(judge, "echo")

        assert error.lasting
        assert "over its limit of 1 MiB" in str(error)
        judge.close()


def test_a_process_has_one_judge():
    assert shared_judge() is shared_judge()
