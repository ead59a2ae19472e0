"""What runs in the judge's child process: questions in, litellm's answers out, and nothing else.

Run by its path, never imported by the application: the only file that imports litellm. It needs no other part of
otel_chloe than the files beside it, and imports them without the package's front.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import signal
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from otel_chloe.judge.frames import Frame
    from otel_chloe.judge.litellm_calls import Calls

_TICK_S: Final = 0.5
_READ: Final = 256 * 1024
_MIB: Final = 1024 * 1024
_HARD: Final = 2
"""Times its limit that the child may come to before it ends at once, instead of after its last answer."""


def main(instructions: dict[str, Any]) -> None:
    """Serves until the parent closes its pipe or is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Service managers signal the whole group. The parent decides: what it still waits for is answered first.
        signal.signal(number, signal.SIG_IGN)
    _set_path(instructions["first_path"], instructions["last_path"])
    Child(instructions).run()


class Child:
    """The process: a thread that listens, watches memory and parent, and a loop that calls models."""

    def __init__(self, instructions: dict[str, Any]) -> None:
        self._in: int = instructions["in"]
        self._out: int = instructions["out"]
        self._parent: int = instructions["parent"]
        self._limit: int = instructions["memory_mib"] * _MIB
        self._concurrency: int = instructions["concurrency"]
        self._retiring = False
        self._calls: Calls | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        for end in (self._in, self._out):
            os.set_inheritable(end, False)

    def run(self) -> None:
        """Imports litellm, then answers. Listens meanwhile: a parent that ends early must not leave it behind."""
        threading.Thread(target=self._listen, daemon=True).start()
        asyncio.set_event_loop(self._loop)
        try:
            calls = _calls(self._concurrency)
        except BaseException as error:  # noqa: BLE001  # whatever an import runs into
            self._say({"down": f"litellm cannot be imported by {sys.executable}: {type(error).__name__}: {error}"})
            return
        if (used := memory()) > self._limit:
            text = f"it has {used // _MIB} MiB after its start, which is over its limit of {self._limit // _MIB} MiB"
            self._say({"down": text})
            return
        self._calls = calls
        self._say({"ready": True})
        self._loop.run_forever()

    # --- the thread that listens -------------------------------------------------------------------------------------

    def _listen(self) -> None:
        from otel_chloe.judge.frames import FrameReader

        reader = FrameReader()
        while os.getppid() == self._parent and not self._is_swollen():
            if not select.select([self._in], [], [], _TICK_S)[0]:
                continue
            data = os.read(self._in, _READ)
            if not data:
                os._exit(0)
            for frame in reader.feed(data):
                self._loop.call_soon_threadsafe(self._take, frame)
        if os.getppid() == self._parent:
            text = f"{memory() // _MIB} MiB are over twice its limit: the judge's child process ends."
            sys.stderr.write(f"{text}\n")
        os._exit(1)

    def _is_swollen(self) -> bool:
        return self._calls is not None and memory() > self._limit * _HARD

    # --- the loop ----------------------------------------------------------------------------------------------------

    def _take(self, frame: Frame) -> None:
        if "cancel" in frame:
            if task := self._tasks.get(frame["cancel"]):
                task.cancel()
            return
        number: int = frame["id"]
        task = self._loop.create_task(self._answer(number, frame))
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _answer(self, number: int, frame: Frame) -> None:
        if self._calls is not None:
            self._say({"id": number, **await self._calls.answer(frame)})
        if not self._retiring and (used := memory()) > self._limit:
            self._retiring = True
            text = f"the judge's child process has {used // _MIB} MiB, over its {self._limit // _MIB}: it is replaced"
            self._say({"retire": text})

    def _say(self, frame: Frame) -> None:
        from otel_chloe.judge.frames import encode

        data = memoryview(encode(frame))
        while data:
            data = data[os.write(self._out, data) :]


def memory() -> int:
    """Bytes of resident memory; where the system tells only the highest so far, that."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123  # twice a second
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _calls(concurrency: int) -> Calls:
    # Nothing of an import is garbage, and what it leaves is never: each full collection would look at 380,000 objects.
    gc.disable()
    import litellm

    from otel_chloe.judge.litellm_calls import Calls

    calls = Calls(litellm, concurrency)
    gc.freeze()
    gc.enable()
    return calls


def _set_path(first: list[str], last: list[str]) -> None:
    sys.path[:0] = first
    sys.path += [folder for folder in last if folder not in sys.path]
    # The package without its front, which would import the SDK and every room.
    room = Path(__file__).parent
    for name, folder in (("otel_chloe", room.parent), ("otel_chloe.judge", room)):
        module = ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module


if __name__ == "__main__":
    main(json.loads(sys.argv[2]))
