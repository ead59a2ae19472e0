"""`complete=`: a user's own way to a model, sync or async, whatever it does."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from functools import partial

import pytest

from otel_chloe import Failed, Mark, expectations
from otel_chloe.judge.ask import Ask, JudgeError
from otel_chloe.judge.gateway import Gateway
from otel_chloe.testing import checks

TRUE = checks(True)
ASK = Ask(model="M", messages=({"role": "user", "content": "?"},))


class Sync:
    def __call__(self, model, messages):
        return TRUE

    def method(self, model, messages):
        return TRUE


class Async:
    async def __call__(self, model, messages):
        return TRUE

    async def method(self, model, messages):
        return TRUE


async def with_more(model, messages, more):
    return TRUE


def outcome(complete):
    return asyncio.run(expectations("P", {"text": "done"}, {"should": ["x"]}, "M", complete=complete))


@pytest.mark.parametrize(
    "complete",
    [
        Sync(),
        Sync().method,
        Async(),
        Async().method,
        lambda model, messages: TRUE,
        lambda model, messages: with_more(model, messages, 1),
        partial(with_more, more=1),
    ],
)
def test_every_kind_of_callable_is_asked(complete):
    mark = outcome(complete)

    assert isinstance(mark, Mark)
    assert mark.score == 1


def raising(error):
    def complete(model, messages):
        raise error

    return complete


def raising_async(error):
    async def complete(model, messages):
        raise error

    return complete


@pytest.mark.parametrize("how", [raising, raising_async])
@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (ValueError("bad key"), "ValueError", "complete= raised ValueError: bad key"),
        (TimeoutError(), "TimeoutError", "complete= raised TimeoutError"),
        (JudgeError("Slow down.", error="rate_limit"), "rate_limit", "Slow down."),
    ],
)
def test_what_it_raises_is_a_failed_with_its_type(how, error, kind, reason):
    failed = outcome(how(error))

    assert isinstance(failed, Failed)
    assert (failed.error, failed.reason) == (kind, reason)


@pytest.mark.parametrize(
    ("error", "kind"), [(StopIteration(3), "StopIteration"), (SystemExit(3), "SystemExit")], ids=repr
)
def test_what_no_future_takes_and_what_ends_a_program_are_failures_too(error, kind):
    """A script that is at its end raises StopIteration, which would leave whoever waits waiting for ever."""
    failed = outcome(raising(error))

    assert (failed.error, failed.reason) == (kind, f"complete= raised {kind}: 3")


@pytest.mark.parametrize("value", [None, 3, {"checks": []}, b"{}"])
def test_what_is_no_text_is_a_failure(value):
    failed = outcome(lambda model, messages: value)

    assert failed.error == "TypeError"
    assert failed.reason == f"complete= returned {type(value).__name__}. Return the model's answer as a str."


def test_a_sync_one_leaves_the_event_loop_free():
    """It waits for what only the loop can give it."""
    go = threading.Event()

    async def main():
        asked = asyncio.ensure_future(Gateway(lambda model, messages: go.wait(30) and TRUE).ask(ASK))
        asyncio.get_running_loop().call_later(0, go.set)
        return await asked

    assert asyncio.run(main()).text == TRUE


def test_one_that_never_answers_can_be_given_up():
    """The loop closes while it still runs, and its thread holds up nothing."""
    started, go, threads = threading.Event(), threading.Event(), []

    def complete(model, messages):
        threads.append(threading.current_thread())
        started.set()
        go.wait(30)
        return TRUE

    async def main():
        asked = asyncio.ensure_future(expectations("P", {}, {"should": ["x"]}, "M", complete=complete))
        await asyncio.to_thread(started.wait, 30)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(main())
    go.set()
    threads[0].join(30)

    assert threads[0].daemon
    assert not threads[0].is_alive()


def test_it_sees_the_callers_context():
    who = contextvars.ContextVar("who", default="nobody")

    async def main():
        who.set("caller")
        return await Gateway(lambda model, messages: who.get()).ask(ASK)

    assert asyncio.run(main()).text == "caller"


def test_what_it_does_to_the_messages_is_not_sent_again():
    seen = []

    def complete(model, messages):
        seen.append(len(messages))
        messages.append({"role": "user", "content": "more"})
        messages[0]["content"] = ""
        return "no"

    outcome(complete)

    assert seen == [2, 4]
