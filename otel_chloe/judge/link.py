"""One running child, as this process sees it: questions out, answers in, and what happens when it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from json.encoder import encode_basestring_ascii
from typing import Any, Final

from .ask import Ask, JudgeError, Reply
from .frames import Frame, FrameError, FrameReader, encode, packed
from .launch import Started, close
from .output import Output
from .quoted import quoted

START_S: Final = 60.0
"""What the first answers may take longer, for the import of litellm."""
GRACE_S: Final = 5.0
"""How late an answer may be before its child is taken for hung. The child itself keeps the time of each call."""
_REAP_S: Final = 1.0
_READ: Final = 256 * 1024
_WRITE: Final = 64 * 1024
_MOST_SCHEMAS: Final = 16

_Waiting = asyncio.Future[Frame]


class Link:
    """One child. Coroutines of any event loops may ask; each loop reads the pipes while it waits for answers itself.

    So no thread is needed, which could not be started any more once the interpreter exits. Its lock is re-entrant: a
    forgotten coroutine may be finished by the garbage collector anywhere.
    """

    def __init__(self, started: Started) -> None:
        self.ready = self.retiring = False
        self.over: JudgeError | None = None
        """Why it has ended, once it has."""
        self._process = started.process
        self._in, self._out = started.frames_in, started.frames_out
        self._output = Output(started.output)
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._frames = FrameReader()
        self._unsent = bytearray()
        self._waiting: dict[int, _Waiting] = {}
        self._loops: dict[asyncio.AbstractEventLoop, int] = {}
        self._numbers = count(1)
        self._closed = False

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def usable(self) -> bool:
        """Whether it takes another question."""
        if self.retiring:
            return False
        if self.over is None and self._process.poll() is not None:
            self._ended()
        return self.over is None

    async def ask(self, ask: Ask) -> Reply:
        """Has the child call the model once. Raises JudgeError, also where the child ends meanwhile."""
        loop = asyncio.get_running_loop()
        number = next(self._numbers)
        question = _question(number, ask)
        answer: _Waiting = loop.create_future()
        late = ask.timeout_s + (0 if self.ready else START_S)
        # Two steps: after a machine's sleep all timers are due at once, and the child needs a moment like everybody.
        timer = loop.call_later(late, loop.call_later, GRACE_S, self._overdue, number)
        try:
            self._enter(loop, number, answer)
            self._send(loop, question)
            return _reply(await answer)
        except asyncio.CancelledError:
            self._send(loop, encode({"cancel": number}))
            raise
        finally:
            timer.cancel()
            self._leave(loop, number)

    def retire(self) -> None:
        """Takes no more questions, and ends the child after its last answer."""
        with self._lock:
            self.retiring = True
            self._close_unless_used()

    def end(self, error: JudgeError) -> None:
        """Kills the child; who waits for an answer gets the error."""
        if self._owner != os.getpid():
            return
        with self._lock:
            self.over = self.over or error
            waiting = list(self._waiting.values())
            for answer in waiting:
                _settle(answer, again(error))
            self._close_unless_used()

    def disown(self) -> None:
        """In a forked process, where the child is a sibling and not ours: closes the pipes that were inherited."""
        close(self._in, self._out, self._output.fd)
        self._owner, self._closed = 0, True
        self._process.returncode = 0  # else it would warn that it still runs

    # --- the loops that wait -----------------------------------------------------------------------------------------

    def _enter(self, loop: asyncio.AbstractEventLoop, number: int, answer: _Waiting) -> None:
        with self._lock:
            if self.over is not None:
                raise again(self.over)
            self._waiting[number] = answer
            self._loops[loop] = self._loops.get(loop, 0) + 1
            if self._loops[loop] == 1:
                loop.add_reader(self._in, self._read)
                self._output.watch(loop)

    def _leave(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        # A forked process shares the loop's epoll with its parent: to take something out there would take it from both.
        if self._owner != os.getpid():
            return
        with self._lock:
            if self._waiting.pop(number, None) is None:
                return
            self._loops[loop] -= 1
            if not self._loops[loop]:
                del self._loops[loop]
                with suppress(RuntimeError):  # the loop is closed
                    loop.remove_reader(self._in)
                    loop.remove_writer(self._out)
                    self._output.unwatch(loop)
            self._close_unless_used()

    def _close_unless_used(self) -> None:
        done = self.over is not None or (self.retiring and not self._waiting)
        if done and not self._closed:
            with suppress(ProcessLookupError):
                self._process.kill()
        # A loop must forget the pipes before they are closed: their numbers may be somebody else's at once.
        if done and not self._loops and not self._closed:
            self._closed = True
            close(self._in, self._out, self._output.fd)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_REAP_S)

    # --- the pipes ---------------------------------------------------------------------------------------------------

    def _send(self, loop: asyncio.AbstractEventLoop, frame: bytes) -> None:
        with self._lock:
            if self._closed or self.over is not None or self._owner != os.getpid():
                return
            self._unsent += frame
            if not self._write() and not loop.is_closed():
                loop.add_writer(self._out, self._write_more, loop)

    def _write_more(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            if self._write():
                loop.remove_writer(self._out)

    def _write(self) -> bool:
        """Writes what the pipe takes. True where nothing is left to be written."""
        try:
            while self._unsent and not self._closed:
                sent = _write_quietly(self._out, bytes(self._unsent[:_WRITE]))
                del self._unsent[:sent]
        except BlockingIOError:
            return False
        except OSError:
            self._ended()
        return True

    def _read(self) -> None:
        with self._lock:
            if self._closed or self.over is not None:
                return
            try:
                data = os.read(self._in, _READ)
                frames = self._frames.feed(data)
            except BlockingIOError:  # another loop was first
                return
            except (OSError, FrameError) as error:
                self.end(_died(f"The judge's child process sent what is no answer: {error}"))
                return
            for frame in frames:
                self._take(frame)
            if not data:
                self._ended()

    def _take(self, frame: Frame) -> None:
        if "ready" in frame:
            self.ready = True
        elif "retire" in frame:
            self._output.say(str(frame["retire"]))
            self.retire()
        elif "down" in frame:
            self._output.read()
            self.end(JudgeError(f"The judge is down: {frame['down']}", error="judge_down", lasting=True))
        elif (answer := self._waiting.get(frame.get("id", 0))) is not None:
            _settle(answer, frame)

    def _ended(self) -> None:
        """Its pipe is closed: it is dead or dies now."""
        self._output.read()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_S)
        last = self._output.last()
        self.end(_died(f"The judge's child process ended ({_status(self._process.returncode)}).{last}"))

    def _overdue(self, number: int) -> None:
        answer = self._waiting.get(number)
        if answer is not None and not answer.done():
            self._output.read()
            self.end(_died(f"The judge's child process did not answer in time and was ended.{self._output.last()}"))


def _write_quietly(fd: int, data: bytes) -> int:
    """Writes to a pipe whose reader may be dead, also in programs that let SIGPIPE kill them: Python's own do not."""
    if signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN:
        return os.write(fd, data)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        return os.write(fd, data)
    except BrokenPipeError:
        if signal.SIGPIPE not in blocked and signal.SIGPIPE in signal.sigpending():
            signal.sigwait({signal.SIGPIPE})
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _question(number: int, ask: Ask) -> bytes:
    """The frame of a question. Written by hand: the encoder takes as long for it as all else here together."""
    messages = ",".join(
        "{" + ",".join(f"{_text(key)}:{_text(value)}" for key, value in message.items()) + "}"
        for message in ask.messages
    )
    numbers = f'"id":{number},"max_tokens":{json.dumps(ask.max_tokens)},"timeout_s":{json.dumps(ask.timeout_s)}'
    question = f'{{{numbers},"model":{_text(ask.model)},"schema":{_schema(ask.schema)},"messages":[{messages}]}}'
    try:
        return packed(question)
    except FrameError as error:
        raise JudgeError(f"The judge was asked too much at once: {error}.", error="context_length") from error


def _text(text: str) -> str:
    # ASCII, so that half a surrogate pair in a tool's result is text like any other and not an encoding error.
    return quoted(text, encode_basestring_ascii)


_schemas: dict[int, tuple[Mapping[str, Any], str]] = {}
"""The schemas that were asked for, of which there are as many as kinds of scorers, by identity; and their JSON."""


def _schema(schema: Mapping[str, Any] | None) -> str:
    if schema is None:
        return "null"
    known = _schemas.get(id(schema))
    if known is None:
        if len(_schemas) >= _MOST_SCHEMAS:
            _schemas.clear()
        known = _schemas[id(schema)] = (schema, json.dumps(dict(schema)))
    return known[1]


def _reply(frame: Frame) -> Reply:
    if "error" in frame:
        raise JudgeError(**frame["error"])
    return Reply(**frame["reply"])


def _settle(answer: _Waiting, result: Frame | JudgeError) -> None:
    loop = answer.get_loop()
    if loop is _running_loop():
        _set(answer, result)
    else:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_set, answer, result)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _set(answer: _Waiting, result: Frame | JudgeError) -> None:
    if answer.done():
        return
    if isinstance(result, JudgeError):
        answer.set_exception(result)
    else:
        answer.set_result(result)


def again(error: JudgeError, message: str = "", retry_after_s: float | None = None) -> JudgeError:
    """The same error for one more who waits: one that is raised twice would gather the frames of both."""
    return JudgeError(
        message or str(error),
        error=error.error,
        retry=error.retry,
        retry_after_s=retry_after_s or error.retry_after_s,
        lasting=error.lasting,
    )


def _died(message: str) -> JudgeError:
    return JudgeError(message, error="judge_down", retry=True)


def _status(code: int | None) -> str:
    if code is None:
        return "it closed its pipe"
    if code == -signal.SIGKILL:
        return "killed by SIGKILL, as systems do that run out of memory"
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
