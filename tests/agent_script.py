"""Scripts in a process of their own, with a deadline: for what must not hang, and for how a process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

DEADLINE_S = 30.0

START = """
    import asyncio, atexit, contextvars, faulthandler, gc, os, signal, sys, threading, weakref
    faulthandler.enable()
    from agent_app import RULES, App, Kept, agent_attributes, marks_of, tool_attributes
    from opentelemetry import _logs, metrics, trace
    from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
    from otel_chloe import ScoringSpanProcessor

    def say(*words):
        os.write(1, (" ".join(map(str, words)) + "\\n").encode())

    class Bare(App):
        '''Without exporters of spans: theirs take locks that a handler must not wait for.'''
        def __init__(self, rules=RULES, **more):
            super().__init__(rules, **more)
            self.kept = Kept()
            # Where values are cut, marks are written by the span's own set_attributes, which a test can stand in for.
            limits = SpanLimits(max_span_attribute_length=10_000)
            self.provider = TracerProvider(shutdown_on_exit=False, span_limits=limits)
            self.provider.add_span_processor(self.processor)
            self.provider.add_span_processor(self.kept)
            self.tracer = self.provider.get_tracer("app")

        def marked(self, name="invoke_agent site_doctor"):
            return [marks_of(span).get("chloe.passed") for span in self.kept.spans if span.name == name]
"""


def run_script(script: str, *, code: int = 0, raises: bool = True, python: str = sys.executable) -> list[str]:
    """The lines that a script says. Hooks raise what they would count; else they are to log one."""
    here = Path(__file__).parent
    paths = sys.path if python == sys.executable else [str(here.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *paths])}
    environment.pop("OTEL_CHLOE_RAISE", None)
    with subprocess.Popen(
        [python, "-W", "ignore", "-c", textwrap.dedent(START) + textwrap.dedent(script)],
        env={**environment, "OTEL_CHLOE_RAISE": "1"} if raises else environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, errors = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGABRT)  # says where all threads are, of forked children too
            said, errors = process.communicate()
            pytest.fail(f"hangs after saying {said!r}\n{errors[-8_000:]}")
    assert process.returncode == code, errors[-4_000:]
    assert ("Traceback" in errors) is not raises, errors[-4_000:]
    return said.splitlines()
