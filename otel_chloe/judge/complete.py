"""A user's own way to a model, as a judge."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import math
import threading
from collections.abc import Awaitable, Callable
from typing import cast

from otel_chloe.judge.ask import Ask, Complete, JudgeError, Message, Reply


class CompleteJudge:
    """Asks by ``complete(model, messages)``, sync or async. What that raises goes on to the caller.

    A sync one runs in a thread of its own, so that the event loop goes on. The thread is a daemon: a gateway that
    never answers holds up neither an exit nor the next call.
    """

    def __init__(self, complete: Complete) -> None:
        self._complete = complete
        self._is_async = _is_async(complete)

    async def ask(self, ask: Ask) -> Reply:
        """Call it once. Raises JudgeError (``timeout``) where it takes longer than the ask allows."""
        task = asyncio.ensure_future(self._answer(ask))
        try:
            await asyncio.wait({task}, timeout=ask.timeout_s if math.isfinite(ask.timeout_s) else None)
        finally:
            if not task.done():  # late, or we were cancelled
                task.add_done_callback(_forget)
                task.cancel()
        if not task.done():
            message = f"complete= did not answer within {ask.timeout_s:g} s. Make it faster, or raise judge.timeout_s."
            raise JudgeError(message, error="timeout", retry=True)
        text = task.result()
        if not isinstance(text, str):
            raise TypeError(f"complete= returned {type(text).__name__}. Return the model's answer as a str.")
        return Reply(text=text)

    async def _answer(self, ask: Ask) -> object:
        messages = [dict(message) for message in ask.messages]  # its own: what it changes there is not sent again
        if self._is_async:
            return await cast("Awaitable[object]", self._complete(ask.model, messages))
        value = await _in_thread(self._complete, ask.model, messages)
        return await cast("Awaitable[object]", value) if inspect.isawaitable(value) else value


def _is_async(complete: Complete) -> bool:
    call = getattr(complete, "__call__", None)  # noqa: B004 - of an object, which may be async too
    return inspect.iscoroutinefunction(complete) or inspect.iscoroutinefunction(call)


def _forget(task: asyncio.Task[object]) -> None:
    """Looks at what a call that nobody waits for raised, or the event loop would log it."""
    if not task.cancelled():
        task.exception()


async def _in_thread(complete: Complete, model: str, messages: list[Message]) -> object:
    """Calls it in a daemon thread, in the caller's context."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: object, error: Exception | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    def call() -> None:
        value, error = _called(lambda: context.run(complete, model, messages))
        with contextlib.suppress(RuntimeError):  # the loop was closed, and nobody waits
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=call, name="otel_chloe.complete", daemon=True).start()
    return await answer


def _called(call: Callable[[], object]) -> tuple[object, Exception | None]:
    try:
        return call(), None
    except StopIteration as error:  # what no future takes
        return None, RuntimeError(f"complete= raised StopIteration: {error}")
    except Exception as error:  # noqa: BLE001 - the caller raises it again
        return None, error
    except BaseException as error:  # noqa: BLE001 - sys.exit() there is no reason to end this process
        return None, RuntimeError(f"complete= raised {type(error).__name__}: {error}")
