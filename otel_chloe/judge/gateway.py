"""A user's own way to a model, as a judge."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import cast

from otel_chloe.judge.ask import Ask, Complete, JudgeError, Reply
from otel_chloe.kit.returns import failure


class Gateway:
    """Asks by ``complete(model, messages)``, sync or async. What that raises becomes a JudgeError with its type.

    A sync one runs on a daemon thread of its own, in the caller's context, and the event loop goes on. On a pool's
    thread, one that hangs would hang the exit.
    """

    def __init__(self, complete: Complete) -> None:
        self._complete = complete
        call = getattr(complete, "__call__", None)  # noqa: B004 - not whether it can be called: an object's own method
        self._is_async = inspect.iscoroutinefunction(complete) or inspect.iscoroutinefunction(call)

    async def ask(self, ask: Ask) -> Reply:
        """Call it once."""
        try:
            text = await self._answer(ask)
        except JudgeError:
            raise
        except (Exception, SystemExit) as error:  # sys.exit() there is no reason to end the loop
            raise _failed(error) from error
        if not isinstance(text, str):
            message = f"complete= returned {type(text).__name__}. Return the model's answer as a str."
            raise JudgeError(message, error="TypeError")
        return Reply(text=text, model=ask.model)

    async def _answer(self, ask: Ask) -> object:
        messages = [dict(message) for message in ask.messages]  # its own: what it changes there is not sent again
        if self._is_async:
            return await cast("Awaitable[object]", self._complete(ask.model, messages))
        said = await on_a_thread(self._complete, ask.model, messages)
        return await cast("Awaitable[object]", said) if inspect.isawaitable(said) else said


async def on_a_thread(function: Callable[..., object], *args: object) -> object:
    """What a sync function of the user's returns, on a daemon thread of its own and in the caller's context."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: object, error: Exception | None) -> None:
        if answer.done():
            return  # given up meanwhile
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    def work() -> None:
        value, error = _called(lambda: context.run(function, *args))
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name="otel_chloe.complete", daemon=True).start()
    return await answer


def _called(call: Callable[[], object]) -> tuple[object, Exception | None]:
    try:
        return call(), None
    except JudgeError as error:
        return None, error
    except BaseException as error:  # noqa: BLE001 - sys.exit() there is no reason to end this process
        return None, _failed(error)  # and no future takes a StopIteration


def _failed(error: BaseException) -> JudgeError:
    failed = failure(error)
    return JudgeError(f"complete= raised {failed.reason}", error=failed.error)
