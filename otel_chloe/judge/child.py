"""The judge of this process: litellm in one child process, started at the first question and again when it dies."""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Final

from .ask import Ask, JudgeError, Reply
from .launch import Launch, start
from .link import Link, again
from .output import Output

MAX_WAIT_S: Final = 60.0
LONG_LIFE_S: Final = 60.0
"""A child that lived so long is replaced at once; what came of earlier starts does not count any more."""
HOPELESS: Final = 3
"""Starts in a row that came to nothing, before another is taken for no use."""
_IS_KEY: Final = re.compile(r"KEY|TOKEN|SECRET|CREDENTIAL|BASE|URL|PROFILE|REGION", re.IGNORECASE)


class ChildJudge:
    """Calls models through litellm in a child process. Asks of any event loop and thread share the one child.

    Args:
        launch: Which Python, how much memory.
        clock: Seconds that only rise.
    """

    def __init__(self, launch: Launch | None = None, *, clock: Callable[[], float] = monotonic) -> None:
        self._launch = launch or Launch()
        self._clock = clock
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._link: Link | None = None
        self._down: JudgeError | None = None
        self._keyless: dict[str, str] | None = None
        """The keys in the environment at a call that lacked one."""
        self._failures = 0
        self._started = self._not_before = 0.0
        if hasattr(os, "register_at_fork"):
            # Weakly, for what is registered at fork can never be taken back.
            forked = weakref.WeakMethod(self._forked)
            os.register_at_fork(after_in_child=lambda: (found := forked()) and found())

    @property
    def pid(self) -> int | None:
        """The process id of the child that takes the questions now; None before the first and after the end."""
        if self._owner != os.getpid():
            return None
        link = self._link
        return link.pid if link is not None and link.usable() else None

    def prepare(self) -> None:
        """Starts the child before it is asked: once the interpreter exits, none can be started any more.

        Where it cannot be started, the first question says so.
        """
        with suppress(JudgeError):
            self._usable()

    async def ask(self, ask: Ask) -> Reply:
        """Calls the model once.

        Raises:
            JudgeError: The call gave no answer, or there is no child to make it (``judge_down``): with ``retry`` where
                the next may live, with ``lasting`` where it cannot be started.
        """
        link = self._usable()
        try:
            return await link.ask(ask)
        except JudgeError as error:
            self._look_at(link, error)
            raise

    def close(self) -> None:
        """Ends the child. Another question starts a new one."""
        with self._lock:
            link, self._link = self._link, None
        if link is not None:
            link.end(JudgeError("The judge was closed.", error="judge_down"))

    def _usable(self) -> Link:
        if self._owner != os.getpid():  # a fork that Python was not told of
            self._forked()
        with self._lock:
            link = self._link
            if link is not None and self._keyless is not None and self._keyless != _keys():
                link.retire()  # the key that was missing may be there now: a child has the environment of its start
            if link is not None and link.usable():
                return link
            now = self._clock()
            if link is not None:
                self._note(link, now)
            if self._down is not None and now < self._not_before:
                raise self._waits(self._down, self._not_before - now)
            return self._start(now)

    def _start(self, now: float) -> Link:
        try:
            self._keyless = None
            self._link = link = Link(start(self._launch))
        except JudgeError as error:
            self._failed(error, now, started=False)
            raise
        self._started = now
        return link

    def _look_at(self, link: Link, error: JudgeError) -> None:
        with self._lock:
            if error.error == "authentication":
                self._keyless = _keys()
            if self._link is link and not link.usable():
                self._note(link, self._clock())

    def _note(self, link: Link, now: float) -> None:
        self._link = None
        if link.over is None:  # it retired
            self._down = None
        elif link.ready and now - self._started >= LONG_LIFE_S:
            self._down, self._failures = None, 0
        else:
            self._failed(link.over, now, started=link.ready)

    def _failed(self, error: JudgeError, now: float, *, started: bool) -> None:
        self._failures += 1
        lasting = error.lasting or (not started and self._failures >= HOPELESS)
        self._not_before = now + (MAX_WAIT_S if lasting else min(MAX_WAIT_S, 2.0 ** (self._failures - 1)))
        self._down = JudgeError(str(error), error="judge_down", retry=not lasting, lasting=lasting)
        Output.say(str(error))

    @staticmethod
    def _waits(down: JudgeError, wait_s: float) -> JudgeError:
        return again(down, f"{down} The next one is started in {wait_s:.0f} s.", wait_s)

    def _forked(self) -> None:
        # The lock may have been another thread's, which did not come along.
        self._owner, self._lock = os.getpid(), threading.RLock()
        link, self._link = self._link, None
        self._down = self._keyless = None
        self._failures = 0
        if link is not None:
            link.disown()


def _keys() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if _IS_KEY.search(name)}


_SHARED: Final = ChildJudge()


def shared_judge() -> ChildJudge:
    """The one judge of this process: N worker processes have N of them, each with its own memory."""
    return _SHARED
