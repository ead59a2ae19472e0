"""The one worker thread: takes what hooks hand over, does what falls due, and ends in time.

What a hook may call (`hand_over`, `wake`) takes no lock, because a hook may run inside a signal handler or a
garbage-collection finaliser that interrupted the same call on the same thread:

- items go through `queue.SimpleQueue`, whose `put` is documented as re-entrant;
- "only the first does it" is decided by `dict.setdefault`, one operation of the interpreter;
- the thread is started through `_thread.start_new_thread`, which returns at once. `threading.Thread.start` waits for
  the new thread, which needs a lock of `threading` that the interrupted code may hold: a deadlock. So a bare thread is
  started, and starts the real one from its own, uninterrupted stack.
"""

from __future__ import annotations

import _thread
import atexit
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from queue import Empty
from typing import Final, Generic, TypeVar

from otel_chloe.health import Health

from .context import in_own_context
from .exits import LAST_S, before_exit_handlers, others_go_on, reserve
from .process import Process, Request
from .weak import weakly
from .work import Work

T = TypeVar("T")

QUEUE_FULL: Final = "queue_full"
AFTER_SHUTDOWN: Final = "after_shutdown"

_CHUNK: Final = 512
"""Items taken before due work is looked at again."""
_LEAST_WAIT_S: Final = 0.01
"""Due work that stays due must not keep a core busy."""
_MOST_WAIT_S: Final = 3_600.0
"""A wake-up with nothing to do is harmless; a wait beyond the platform's maximum raises."""
_RETRY_S: Final = 1.0
"""After due work failed, and after a thread could not be started."""


class Worker(Generic[T]):
    """One daemon thread, started at the first hand-over.

    Args:
        work: What to do.
        health: Counts what is dropped and what fails.
        clock: The time, in seconds, that `tick` is given and answers in.
        queue_size: Items that may wait; what comes on top is dropped and counted.
        shutdown_s: How long the interpreter's exit waits at most.
        name: The thread's name.
    """

    def __init__(
        self,
        work: Work[T],
        health: Health,
        *,
        clock: Callable[[], float],
        queue_size: int = 50_000,
        shutdown_s: float = 10.0,
        name: str = "otel_chloe",
    ) -> None:
        self._work = work
        self._health = health
        self._clock = clock
        self._queue_size = queue_size
        self._shutdown_s = shutdown_s
        self._name = name
        self._process: Process[T] = Process()
        if hasattr(os, "register_at_fork"):
            # Weakly, for what is registered at fork can never be taken back.
            os.register_at_fork(after_in_child=weakly(self._forked))

    # --- what hooks may call: no lock, nothing slow ------------------------------------------------------------------

    def hand_over(self, item: T) -> bool:
        """Hands an item to the worker; False if it was dropped, which is counted."""
        process = self._here()
        if process.stop is not None:
            self._health.error(AFTER_SHUTDOWN)
            return False
        # Threads that look at the same time may each add one more: the limit is one of memory, not an exact number.
        if process.queue.qsize() >= self._queue_size:
            self._health.error(QUEUE_FULL)
            return False
        process.queue.put(item)
        if not process.running:
            self._start(process)
        return True

    def wake(self) -> None:
        """Has `tick` called soon, and starts the thread if it is not running."""
        process = self._here()
        if process.stop is not None:
            return
        # The worker takes the flag back before it looks at its work, so a wake-up that finds it up is not lost.
        if not process.woken:
            process.woken = True
            try:
                process.queue.put(None)
            except BaseException:  # Ctrl-C before it was put: the next wake-up must do it
                process.woken = False
                raise
        if not process.running:
            self._start(process)

    def register_exit(self) -> None:
        """Has the interpreter's exit drain the worker before all exit handlers registered so far.

        The last registered runs first. The worker calls it when it starts, which is with the first run, so after the
        tracer provider; call it again when a meter or logger provider is first seen. The handler that comes second
        finds nothing left to do.
        """
        process = self._here()
        if not process.exits:
            before_exit_handlers(weakly(self._before_exit))
        drain = weakly(self._at_exit)
        process.exits.append(drain)
        atexit.register(drain)

    # --- what callers wait for ---------------------------------------------------------------------------------------

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Has everything handed over so far done, and what is finished closed. False if that took too long."""
        process = self._here()
        if process.stop is not None or _thread.get_ident() == process.ident:
            return False  # the worker cannot wait for itself: a user's on_mark called us
        return self._flush(process, timeout_s)

    def _flush(self, process: Process[T], timeout_s: float, *, last: bool = False, everything: bool = False) -> bool:
        """Has done what is here, then what is under way elsewhere: that comes back through the queue.

        The ``last`` one ends what takes too long, and keeps a little of its time for what comes of that.
        """
        deadline = self._clock() + timeout_s
        if not everything and not process.running:  # a shutdown starts no thread
            self._start(process)
        if not self._asked(process, Request(everything=everything), timeout_s):
            return False
        elsewhere = self._work.elsewhere
        if not elsewhere:
            return True
        left_s = deadline - self._clock()
        last_s = reserve(left_s)
        if not elsewhere.wait(left_s - last_s if last else left_s):
            if not last:
                return False
            elsewhere.give_up(last_s / 2)
        return self._asked(process, Request(everything=everything), deadline - self._clock())

    def _asked(self, process: Process[T], request: Request, timeout_s: float) -> bool:
        process.queue.put(request)
        return self._waited(process, request, timeout_s)

    def shutdown(self, timeout_s: float | None = None) -> bool:
        """Has everything done and closed, and ends the thread. False if that took too long.

        May be called any number of times; one that comes after a shutdown gave up does not wait again. It starts no
        thread: where none runs, the work is done by the caller.
        """
        process = self._here()
        if _thread.get_ident() == process.ident:
            return False
        deadline = self._clock() + (self._shutdown_s if timeout_s is None else timeout_s)
        try:
            elsewhere = self._work.elsewhere
            if elsewhere and process.stop is None and not process.gave_up:
                self._flush(process, deadline - self._clock(), last=True, everything=True)
                # What threads have begun meanwhile must be back before the queue is shut.
                elsewhere.close()
                elsewhere.give_up(min(LAST_S, max(0.0, deadline - self._clock())) / 2)
            asked = Request(everything=True)
            stop = process.ask_to_stop(asked)
            if stop is asked:
                process.queue.put(stop)
            if process.gave_up:
                return stop.done.is_set()
            done = self._waited(process, stop, deadline - self._clock())
        except BaseException:
            process.gave_up = True  # Ctrl-C in the wait: the exit handlers that follow must not wait again
            raise
        process.gave_up = not done
        while process.exits:
            atexit.unregister(process.exits.pop())
        self._health.write_log()
        return done

    def _waited(self, process: Process[T], request: Request, timeout_s: float) -> bool:
        token = object()
        deadline = self._clock() + timeout_s
        try:
            if process.running or not process.thread.enter(token):
                return request.done.wait(max(0.0, timeout_s))
            # No thread ran, or none can be started: at the interpreter's exit, from 3.12 on, or the system has no
            # more. The caller takes the thread's place, so that no second one works at the same time.
            process.ident = _thread.get_ident()
            for item in process.waiting():
                in_own_context(self._do, item)
                if request.done.is_set() or self._clock() >= deadline:
                    break
        finally:
            if process.thread.holds(token):
                self._ended(process)
        return request.done.is_set()

    def _before_exit(self) -> None:
        process = self._here()
        # A forked process has its parent's handler beside its own.
        if not process.running or process.stop is not None or process.exit_left_s is not None:
            return
        process.exit_left_s = self._shutdown_s
        process.gave_up = True  # the exit handler waits only if this came to its end
        began = self._clock()
        # Threads that the interpreter waits for may go on for hours: then it is not the last flush.
        more = others_go_on()
        with suppress(KeyboardInterrupt):
            done = self._flush(process, self._shutdown_s - (reserve(self._shutdown_s) if more else 0), last=not more)
            process.gave_up = not (done or more)
        process.exit_left_s -= self._clock() - began

    def _at_exit(self) -> None:
        left_s = self._here().exit_left_s
        # The second Ctrl-C. The first one ended the program, the next must end the wait.
        with suppress(KeyboardInterrupt):
            self.shutdown(None if left_s is None else max(reserve(self._shutdown_s), left_s))

    # --- the thread --------------------------------------------------------------------------------------------------

    def _start(self, process: Process[T]) -> None:
        if process.retry_at is not None and self._clock() < process.retry_at:
            return
        token = object()
        try:
            if not process.thread.enter(token):
                return
            # Before the thread runs: who waits must know that there will be one.
            process.running = True
            _thread.start_new_thread(self._launch, (process, token))
        except RuntimeError as error:
            process.retry_at = self._clock() + _RETRY_S
            self._health.failed("starting the worker thread", error)
            self._ended(process)
        except BaseException:
            # Ctrl-C came in between. If the thread did start, it finds that it holds the slot no more, and ends.
            if process.thread.holds(token):
                self._ended(process)
            raise
        if not process.exits:
            self.register_exit()

    def _launch(self, process: Process[T], token: object) -> None:
        thread = threading.Thread(target=self._run, args=(process, token), name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the last thread that the system had is this one
            self._run(process, token)

    def _run(self, process: Process[T], token: object) -> None:
        process.ident = _thread.get_ident()
        deadline: float | None = None
        try:
            # Another process: user code forked on this thread, and the child came back here.
            while not process.over() and process is self._process:
                first = self._next(process, deadline)
                if not process.thread.holds(token):
                    process.queue.put(first)
                    break
                deadline = in_own_context(self._turn, process, first)
        finally:
            if process.thread.holds(token):
                self._ended(process)
                # What is no Exception ended the thread (sys.exit in a user's function): the next one goes on.
                if not process.over() and not process.queue.empty():
                    self._start(process)

    @staticmethod
    def _ended(process: Process[T]) -> None:
        process.ident = None
        process.running = False
        process.thread.leave()

    def _next(self, process: Process[T], deadline: float | None) -> T | Request | None:
        if deadline is None:
            return process.queue.get()
        wait_s = min(max(deadline - self._clock(), _LEAST_WAIT_S), _MOST_WAIT_S)
        try:
            return process.queue.get(timeout=wait_s)
        except Empty:
            return None

    def _turn(self, process: Process[T], first: T | Request | None) -> float | None:
        process.woken = False
        self._do(first)
        for item in islice(process.waiting(), _CHUNK):
            self._do(item)
        return self._tick()

    def _do(self, item: T | Request | None) -> None:
        try:
            if isinstance(item, Request):
                self._serve(item)
            elif item is not None:
                self._work.take(item)
        except Exception as error:  # noqa: BLE001 - the worker's one guard: it must outlive whatever it works for
            self._health.failed("the worker", error)

    def _serve(self, request: Request) -> None:
        try:
            if request.everything:
                # Threads that handed over while the shutdown was asked for came behind it.
                for item in islice(self._process.waiting(), self._queue_size):
                    self._do(item)
            self._work.close(request.everything)
        finally:
            self._health.write_log()
            request.done.set()

    def _tick(self) -> float | None:
        try:
            return self._work.tick(self._clock())
        except Exception as error:  # noqa: BLE001 - see _do
            self._health.failed("the worker", error)
            return self._clock() + _RETRY_S
        finally:
            self._health.write_log()

    # --- fork --------------------------------------------------------------------------------------------------------

    def _here(self) -> Process[T]:
        if self._process.pid != os.getpid():
            # Some servers fork without calling what is registered at fork.
            self._forked()
        return self._process

    def _forked(self) -> None:
        pid = os.getpid()
        if self._process.pid == pid:
            return
        # A new queue, for the old one may be locked by a thread that is not here, and its items are the parent's.
        self._process, made = self._process.child(pid)
        if made:
            self._work.forked()
