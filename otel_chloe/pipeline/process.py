"""The worker's state in one process, and the requests that somebody waits for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Request:
    """A flush or a shutdown that somebody waits for."""

    __slots__ = ("done", "everything")

    def __init__(self, *, everything: bool) -> None:
        self.everything = everything
        self.done = threading.Event()


class Slot:
    """Lets one in until it leaves, without a lock: `dict.setdefault` is one operation of the interpreter."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[str, object] = {}

    def enter(self, token: object) -> bool:
        """True for the one that is let in."""
        return self._held.setdefault("by", token) is token

    def holds(self, token: object) -> bool:
        """Whether this one is in."""
        return self._held.get("by") is token

    def leave(self) -> None:
        """Lets the next one in."""
        self._held.pop("by", None)


class Process(Generic[T]):
    """The worker's state in one process. A forked child gets a new one: threads and locks do not come along."""

    __slots__ = (
        "_children",
        "_stops",
        "exit_left_s",
        "exits",
        "gave_up",
        "ident",
        "pid",
        "queue",
        "retry_at",
        "running",
        "thread",
        "woken",
    )

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.queue: SimpleQueue[T | Request | None] = SimpleQueue()
        self.thread = Slot()
        self.running = False
        """Whether a thread runs or is about to; also read by who must not wait for one that never comes."""
        self.ident: int | None = None
        self.retry_at: float | None = None
        self.woken = False
        self.gave_up = False
        self.exit_left_s: float | None = None
        """How long the interpreter's exit may still wait for us, once it has begun."""
        self.exits: list[Callable[[], None]] = []
        self._stops: dict[str, Request] = {}
        self._children: dict[int, Process[T]] = {}

    @property
    def stop(self) -> Request | None:
        """The shutdown that was asked for, if one was."""
        return self._stops.get("stop")

    def ask_to_stop(self, request: Request) -> Request:
        """The one shutdown of this process: this request, or the one that came first."""
        return self._stops.setdefault("stop", request)

    def child(self, pid: int) -> tuple[Process[T], bool]:
        """The state of a forked child, and whether it was made just now."""
        made: Process[T] = Process()
        child = self._children.setdefault(pid, made)
        return child, child is made

    def over(self) -> bool:
        """Whether the shutdown is done."""
        return self.stop is not None and self.stop.done.is_set()

    def waiting(self) -> Iterator[T | Request | None]:
        """What waits in the queue, until it is empty."""
        with suppress(Empty):
            while True:
                yield self.queue.get_nowait()
