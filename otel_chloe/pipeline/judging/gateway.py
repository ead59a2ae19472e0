"""A user's own function as the judge."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from otel_chloe.judge.ask import Ask, Complete, JudgeError, Reply


class Gateway:
    """Asks a user's ``complete(model, messages)``, sync or async. What it raises becomes a JudgeError.

    A sync one runs on a daemon thread of its own: on a pool's thread, one that hangs would hang the exit.
    """

    def __init__(self, complete: Complete) -> None:
        self._complete = complete
        self._is_async = inspect.iscoroutinefunction(complete) or inspect.iscoroutinefunction(
            getattr(complete, "__call__", None)  # noqa: B004 - not whether it can be called: an object's own method
        )

    async def ask(self, ask: Ask) -> Reply:
        """Call it once."""
        messages = [dict(message) for message in ask.messages]
        try:
            if self._is_async:
                said: Any = self._complete(ask.model, messages)
            else:
                said = await _on_a_thread(lambda: self._complete(ask.model, messages))
            text = await said if inspect.isawaitable(said) else said
        except JudgeError:
            raise
        except Exception as error:
            raise JudgeError(f"complete raised {type(error).__name__}: {error}", error=type(error).__name__) from error
        if not isinstance(text, str):
            raise JudgeError(f"complete gave {type(text).__name__}. Let it give the answer's text.", error="TypeError")
        return Reply(text=text, model=ask.model)


async def _on_a_thread(work: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if done.done():
            return  # given up meanwhile
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:  # noqa: BLE001 - it belongs to whoever waits
            error = raised
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="otel_chloe.complete", daemon=True).start()
    return await done
