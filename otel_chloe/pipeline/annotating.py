"""Annotations on their way to Phoenix: a bounded queue, and a thread of its own that sends and tries again.

Offered by the worker, never by a hook, so a lock does no harm here.
"""

from __future__ import annotations

import atexit
import math
import random
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

from otel_chloe.config import Settings
from otel_chloe.health import Health
from otel_chloe.mark import Outcome
from otel_chloe.pipeline.context import in_own_context
from otel_chloe.pipeline.exits import before_exit_handlers, reserve
from otel_chloe.pipeline.weak import weakly
from otel_chloe.run import Run
from otel_chloe.sinks import Sinks
from otel_chloe.sinks.phoenix import Annotation, Answer, Post, annotation, poster

ANNOTATIONS: Final = "annotations"
NOT_SAMPLED: Final = "annotations_not_sampled"
"""Of runs whose spans are not exported: Phoenix would have nothing to put them on."""
QUEUE_FULL: Final = "annotation_queue_full"
REFUSED: Final = "annotation_refused"
GAVE_UP: Final = "annotation_gave_up"
AT_END: Final = "annotation_after_shutdown"

MOST_WAITING: Final = 2_048
"""As many as the SDK's own batches hold."""
MOST_AT_ONCE: Final = 100
GIVE_UP_S: Final = 600.0
"""How long one is tried: as long as Phoenix itself waits for a span."""
_LONGEST_PAUSE_S: Final = 60.0


def pause_s(failures: int, chance: float) -> float:
    """How long to wait after this many failures in a row: 1 s, twice as long each time, 60 s at most.

    Less by up to a half by ``chance`` (0 to 1), so that many processes do not come back at once.
    """
    return min(_LONGEST_PAUSE_S, 2.0 ** (min(failures, 10) - 1)) * (1 - chance / 2)


def _pause_s(failures: int) -> float:
    return pause_s(failures, random.random())  # noqa: S311 - no secret


class _Waiting:
    """An annotation that is not taken yet."""

    __slots__ = ("alone", "annotation", "due_s", "since_s", "tries")

    def __init__(self, what: Annotation, since_s: float) -> None:
        self.annotation = what
        self.since_s = self.due_s = since_s
        self.tries = 0
        self.alone = False


class Annotating:
    """Sends the marks of runs as annotations, each until it is taken, refused or given up.

    Args:
        post: Sends some, and says what came of it.
        where: The address, for the log.
        reasons: Whether reasons go out.
        shutdown_s: How long a shutdown, and the interpreter's exit, may take in all.
        health: Counts what is taken and what is lost.
        clock: The time, in seconds.
        pause: How long to wait after so many failures in a row.
    """

    def __init__(
        self,
        post: Post,
        where: str,
        health: Health,
        *,
        reasons: bool = True,
        shutdown_s: float = 10.0,
        clock: Callable[[], float] = monotonic,
        pause: Callable[[int], float] = _pause_s,
    ) -> None:
        self._post = post
        self._where = where
        self._reasons = reasons
        self._shutdown_s = shutdown_s
        self._exit_began_s: float | None = None
        self._health = health
        self._clock = clock
        self._pause = pause
        self.forked()

    def forked(self) -> None:
        """In a forked process: what waits is the parent's, and its thread is not here."""
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._thread: threading.Thread | None = None
        self._failures = self._failed = 0
        self._resume_s = -math.inf
        self._closed = False

    # --- what the worker calls ---------------------------------------------------------------------------------------

    def offer(self, run: Run, outcome: Outcome) -> None:
        """Takes up an outcome; what there is no room for is counted."""
        made = annotation(run, outcome, reasons=self._reasons)
        if made is None:
            return
        if not run.sampled:
            self._health.count(NOT_SAMPLED)
            return
        with self._changed:
            full = len(self._waiting) >= MOST_WAITING
            if not full and not self._closed:
                self._waiting.append(_Waiting(made, self._clock()))
                self._changed.notify_all()
                self._start()
                return
        self._health.error(QUEUE_FULL if full else AT_END)

    # --- what the application waits for ------------------------------------------------------------------------------

    def wait(self, timeout_s: float) -> bool:
        """Has all that waits tried at once. False if some was not taken, or if that took too long."""
        until = self._clock() + timeout_s
        with self._changed:
            now, failed = self._clock(), self._failed
            self._resume_s = now
            for each in self._waiting:
                each.due_s = min(each.due_s, now)
            self._changed.notify_all()
            if self._thread is not None:
                return self._changed.wait_for(
                    lambda: not self._waiting or self._failed != failed, max(0.0, timeout_s)
                ) and not (self._waiting or self._failed != failed)
        # No thread could be started: at the interpreter's exit, from 3.12 on, or the system has no more.
        while self._waiting and self._failed == failed and self._clock() < until:
            in_own_context(self._send, self._due(self._clock()))
        return not self._waiting and self._failed == failed

    def register_exit(self) -> None:
        """Has the interpreter's exit send what waits: after the worker's handler, which is registered later."""
        atexit.register(weakly(self._at_exit))

    def _at_exit(self) -> None:
        with suppress(KeyboardInterrupt):
            self.end(self._clock() if self._exit_began_s is None else self._exit_began_s)

    def _exit_begins(self) -> None:
        self._exit_began_s = self._clock()

    def end(self, began_s: float) -> None:
        """Tries what waits a last time, and takes nothing more. What is left is counted.

        Args:
            began_s: When the shutdown began, by the clock.
        """
        try:
            self.wait(max(reserve(self._shutdown_s), began_s + self._shutdown_s - self._clock()))
        finally:
            with self._changed:
                self._closed = True
                left, self._waiting = len(self._waiting), []
                self._changed.notify_all()
            if left:
                self._health.error(AT_END, left)
                self._health.warn(f"otel_chloe: {left} annotations were not taken by {self._where} before the end.")
            self._health.write_log()

    # --- the thread --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._run, args=(self._changed,), name="otel_chloe.phoenix", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the next one that is offered tries again, and a flush sends without
            return
        self._thread = thread
        # Not before: what is registered last is called first, and the exit begins before the worker's own wait.
        before_exit_handlers(weakly(self._exit_begins))

    def _run(self, mine: threading.Condition) -> None:
        while True:
            with mine:
                if mine is not self._changed or self._closed:  # another process: user code forked on this thread
                    return
                batch = self._due(self._clock())
                if not batch:
                    mine.wait(self._next_s())
                    continue
            in_own_context(self._send, batch)

    def _next_s(self) -> float | None:
        due = [each.due_s for each in self._waiting]
        return max(0.0, max(min(due), self._resume_s) - self._clock()) if due else None

    def _due(self, now: float) -> list[_Waiting]:
        due = [each for each in self._waiting if each.due_s <= now] if now >= self._resume_s else []
        if due and due[0].alone:
            return due[:1]
        return [each for each in due if not each.alone][:MOST_AT_ONCE]

    def _send(self, batch: Sequence[_Waiting]) -> None:
        answer = Answer(taken=False, again=True, said="no answer")
        try:
            answer = self._post([each.annotation for each in batch])
        except Exception as error:  # noqa: BLE001 - a guard: the thread must outlive what it sends
            answer = Answer(taken=False, said=repr(error))
            self._health.failed("annotating", error)
        finally:
            self._answered(batch, answer)

    def _answered(self, batch: Sequence[_Waiting], answer: Answer) -> None:
        apart = answer.by_one and len(batch) > 1
        if not answer.taken and not apart:
            again = "They are tried again." if answer.again else "They are lost."
            self._health.warn(f"otel_chloe: {self._where} does not take annotations: {answer.said}. {again}")
        with self._changed:
            if answer.taken:
                self._failures = 0
                self._health.count(ANNOTATIONS, len(batch))
                self._drop(batch)
            elif apart:
                for each in batch:
                    each.alone = True
            else:
                self._failed += not answer.by_one  # of one alone: the others may be taken
                self._not_taken(batch, answer)
            self._changed.notify_all()
        self._health.write_log()

    def _not_taken(self, batch: Sequence[_Waiting], answer: Answer) -> None:
        now = self._clock()
        old = [each for each in batch if not answer.again or now - each.since_s >= GIVE_UP_S]
        if old:
            self._health.error(GAVE_UP if answer.again else REFUSED, len(old))
            self._drop(old)
        if not answer.again:
            return
        if answer.by_one:  # the one span is not there yet; others may be
            batch[0].tries += 1
            batch[0].due_s = now + self._pause(batch[0].tries)
            return
        self._failures += 1
        self._resume_s = now + self._pause(self._failures)

    def _drop(self, batch: Sequence[_Waiting]) -> None:
        gone = {id(each) for each in batch}
        self._waiting = [each for each in self._waiting if id(each) not in gone]


def annotating_in(settings: Settings, sinks: Sinks, health: Health) -> Annotating:
    """Has what the sinks send out posted to the Phoenix of the settings, too."""
    where = settings.phoenix
    made = Annotating(poster(where), where, health, reasons=settings.reasons, shutdown_s=settings.shutdown_s)
    made.register_exit()
    sinks.also = made.offer
    return made
