"""Programs that end at a random moment, with a judge and runs under way: one process has everything imported, and forks
a program for each line that it reads: a case as JSON. It answers with a line about how that program ended.

What the program's exporter gets is written to the case's file, a line for each span, by ``os.write``: also what a
process exported that was killed the moment after.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import random
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from agent_app import agent_attributes, tool_attributes
from judge_child import FAKE
from judge_script import checks, rules
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import set_span_in_context

from otel_chloe import Run, ScoringSpanProcessor, expectations
from otel_chloe.judge import child
from otel_chloe.judge.launch import Launch

DEADLINE_S = 60.0
CODE = 3


class Returned(Exception):  # noqa: N818 - what happened, not an error
    """Ends the main program as a return from all its functions would."""


class Writing(SpanExporter):
    """Writes a line for each span: its process, name, id and parent, and the state of a mark."""

    def __init__(self, file: int) -> None:
        self._file = file

    def export(self, spans):
        for span in spans:
            said = span.attributes or {}
            parent = span.parent.span_id if span.parent is not None else None
            mark = (said.get("chloe.state"), said.get("error.type"))
            line = json.dumps([os.getpid(), span.name, span.context.span_id, parent, *mark])
            os.write(self._file, line.encode() + b"\n")
        return SpanExportResult.SUCCESS


class Program:
    """An agent's process. ``step`` is called between all that it does, and ends it when its moment has come."""

    def __init__(self, case: dict[str, Any], file: int) -> None:
        self.case = case
        self.chance = random.Random(case["seed"])
        self.left = self.chance.randrange(1, 60)
        self.file = file
        self.over: list[int] = []
        self.provider = TracerProvider()
        self.processor = self._scoring()
        out = BatchSpanProcessor(Writing(file), schedule_delay_millis=self.chance.choice([5, 100, 5_000]))
        if self.chance.random() < 0.2:
            out = self.processor.hold(out, seconds=self.chance.choice([0.05, 10.0]))
        for each in self._shuffled(self.processor, out):
            self.provider.add_span_processor(each)
        self.tracer = self.provider.get_tracer("app")

    def _shuffled(self, *processors):
        return self.chance.sample(processors, len(processors))

    def _scoring(self) -> ScoringSpanProcessor:
        settings = {"settle_s": self.chance.choice([0.01, 0.2, 2.0]), "shutdown_s": 20.0}
        if self.case["judge"] == "child":
            child._SHARED._launch = Launch(first_path=FAKE)
            return ScoringSpanProcessor({**rules(), "judge": {"model": "met:0.05"}}, settings=settings)
        complete = self._sync if self.chance.random() < 0.3 else self._async
        return ScoringSpanProcessor(
            rules(sample=self.chance.choice([1.0, 1.0, 0.5])), complete=complete, settings=settings
        )

    async def _async(self, model, messages):
        await asyncio.sleep(random.random() * 0.1)
        return self._answer()

    def _sync(self, model, messages):
        time.sleep(random.random() * 0.1)
        return self._answer()

    def _answer(self) -> str:
        if random.random() < 0.1:
            raise ValueError("no answer this time")
        return random.choice(["prose", checks(True), checks(False), checks(True)])

    # --- runs --------------------------------------------------------------------------------------------------------

    def run(self, step) -> None:
        """One run, which ends whatever comes."""
        root = self.tracer.start_span(
            "invoke_agent site_doctor", context=Context(), attributes=agent_attributes("site_doctor")
        )
        try:
            step()
            for name in random.choices(["check_site", "restart_site", "delete_site"], k=random.randrange(4)):
                here = set_span_in_context(root, Context())
                tool = self.tracer.start_span(f"execute_tool {name}", context=here, attributes=tool_attributes(name))
                try:
                    step()
                finally:
                    tool.end()
            step()
        finally:
            root.end()
        self.over.append(root.get_span_context().span_id)

    def beside(self) -> None:
        """A thread that runs agents for a while."""
        for _ in range(random.randrange(1, 30)):
            self.run(lambda: time.sleep(random.random() * 0.002))

    def main(self, ready: int) -> None:
        for _ in range(self.chance.randrange(3)):
            threading.Thread(target=self.beside, daemon=self.case["daemons"]).start()
        os.write(ready, b"r")
        if self.case["kill"] == "child":
            threading.Thread(target=self._kill_the_child, args=(self.chance.random() * 0.6,), daemon=True).start()
        while True:
            self.run(self.step)
            if self.case["flushes"] and random.random() < 0.2:
                self._flush()

    def _flush(self) -> None:
        """What a flush said is out must be there, whatever comes then."""
        over = self.over.copy()
        # Twice: where the exporter stands before our processor, it was flushed before the marks came.
        if self.provider.force_flush(10_000) and self.provider.force_flush(10_000):
            for span_id in over:
                os.write(self.file, b'[0, "flushed", %d, null, null, null]\n' % span_id)

    def _kill_the_child(self, after_s: float) -> None:
        time.sleep(after_s)
        if (pid := child.shared_judge().pid) is not None:
            os.write(self.file, b'[0, "killed the child", 0, null, null, null]\n')
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def step(self) -> None:
        time.sleep(random.random() * 0.004)
        self.left -= 1
        if self.left <= 0:
            self._end(self.case["how"])

    def _end(self, how: str) -> None:
        if how == "return":
            raise Returned
        if how == "sys.exit":
            sys.exit(CODE)
        if how == "exception":
            raise KeyError("odd")
        if how == "fork" and self.left == 0:
            if (pid := os.fork()) == 0:
                for _ in range(self.chance.randrange(1, 5)):
                    self.run(lambda: time.sleep(random.random() * 0.002))
                raise Returned
            if os.waitpid(pid, 0)[1] != 0:
                os.write(self.file, b'[0, "the forked child failed", 0, null, null, null]\n')
            raise Returned
        # Else a signal comes from outside.


def run_program(case: dict[str, Any], ready: int) -> None:
    """In the forked process. What it raises ends the interpreter as in any program."""
    random.seed(case["seed"])
    file = os.open(case["file"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(case["file"] + ".err", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(CODE))
    with suppress(Returned):
        Program(case, file).main(ready)


def watch(case: dict[str, Any], pid: int, ready: int) -> dict[str, Any]:
    """Sends the case's signal when its moment has come, and says how the program ended."""
    select.select([ready], [], [], DEADLINE_S)
    if case["signal"] is not None:
        time.sleep(case["after_s"])
        with suppress(ProcessLookupError):
            os.kill(pid, case["signal"])
    until = time.monotonic() + DEADLINE_S
    while not (found := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.kill(pid, signal.SIGABRT)  # its threads say where they are
            return {"code": None, "status": os.waitpid(pid, 0)[1]}
        time.sleep(0.002)
    return {"code": os.waitstatus_to_exitcode(found[1])}


def _import_what_runs_need() -> None:
    """Once, instead of in every program."""
    asyncio.run(asyncio.sleep(0))
    asyncio.run(expectations("", Run(), {"should": ["x"]}, "m", complete=lambda model, messages: checks(True)))
    ScoringSpanProcessor(rules())


def serve() -> None:
    """Returns in forked processes only, and at the end."""
    _import_what_runs_need()
    for line in iter(sys.stdin.readline, ""):
        case = json.loads(line)
        read, write = os.pipe()
        if (pid := os.fork()) == 0:
            os.close(read)
            run_program(case, write)
            return
        os.close(write)
        ended = watch(case, pid, read)
        os.close(read)
        sys.stdout.write(json.dumps(ended) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
