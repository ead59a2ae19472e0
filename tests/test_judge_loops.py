"""The judge's child asked from several event loops and threads, and what it prints meanwhile."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from judge_child import ask, asked, fake_judge, run


@pytest.fixture(scope="module")
def judge():
    judge = fake_judge()
    yield judge
    judge.close()


class TestLoops:
    def test_one_after_the_other_share_the_child(self, judge):
        ask(judge, "echo")
        pid = judge.pid

        assert ask(judge, "echo").text == "hello"
        assert judge.pid == pid

    def test_the_thread_that_started_the_child_may_end(self):
        judge = fake_judge()
        thread = threading.Thread(target=ask, args=(judge, "echo"))
        thread.start()
        thread.join(20)
        pid = judge.pid

        assert ask(judge, "echo").text == "hello"
        assert judge.pid == pid
        judge.close()

    def test_of_several_threads_ask_at_once(self, judge):
        texts: dict[int, list[str]] = {}

        def many(thread: int) -> None:
            async def all_of_them():
                return await asyncio.gather(*(judge.ask(asked("echo", f"{thread}.{n}")) for n in range(50)))

            texts[thread] = [reply.text for reply in run(all_of_them())]

        threads = [threading.Thread(target=many, args=(n,)) for n in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(40)

        assert texts == {thread: [f"{thread}.{n}" for n in range(50)] for thread in range(4)}

    def test_one_that_is_closed_while_it_asks_hurts_nobody(self, judge):
        loop = asyncio.new_event_loop()
        task = loop.create_task(judge.ask(asked("hang")))
        loop.run_until_complete(judge.ask(asked("echo")))
        loop.close()

        assert ask(judge, "echo").text == "hello"
        task.get_coro().close()
        task._log_destroy_pending = False


class TestOutput:
    def test_goes_into_our_log_and_not_into_the_answers(self, judge, caplog, capfd):
        with caplog.at_level(logging.INFO, "otel_chloe.judge"):
            assert ask(judge, "say", "printed").text == "said"
            ask(judge, "echo")

        assert {"litellm: printed", "litellm: and on the other"} <= set(caplog.messages)
        assert capfd.readouterr() == ("", "")

    def test_of_any_amount_blocks_nobody(self, judge):
        async def chatty():
            return await asyncio.gather(*(judge.ask(asked("say", "x" * 100_000)) for _ in range(5)))

        assert [reply.text for reply in run(chatty())] == ["said"] * 5
