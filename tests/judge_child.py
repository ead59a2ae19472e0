"""A judge whose child has a fake litellm, and what tests need to ask it and to watch processes."""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
import textwrap
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from otel_chloe.judge.ask import Ask, JudgeError, Reply
from otel_chloe.judge.child import ChildJudge
from otel_chloe.judge.launch import Launch

T = TypeVar("T")

HERE = Path(__file__).parent
FAKE = (str(HERE / "fake_litellm"),)
DEADLINE_S = 40.0


class Clock:
    """Seconds that rise when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def fake_judge(clock: Any = None, **launch: Any) -> ChildJudge:
    return ChildJudge(Launch(**{"first_path": FAKE, **launch}), **({"clock": clock} if clock else {}))


def asked(model: str, content: str = "hello", **more: Any) -> Ask:
    return Ask(model=model, messages=({"role": "user", "content": content},), **more)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs it in an event loop of its own."""
    return asyncio.run(asyncio.wait_for(coroutine, DEADLINE_S))


def ask(judge: ChildJudge, model: str, content: str = "hello", **more: Any) -> Reply:
    return run(judge.ask(asked(model, content, **more)))


def refused(judge: ChildJudge, model: str, content: str = "hello", **more: Any) -> JudgeError:
    with pytest.raises(JudgeError) as raised:
        ask(judge, model, content, **more)
    return raised.value


def has_ended(pid: int, within_s: float = DEADLINE_S) -> bool:
    """Waits for the end of any process, also of one that is not ours."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], within_s)[0])
    finally:
        os.close(handle)


def start_script(code: str, folder: Path | None = None, **more: Any) -> subprocess.Popen[str]:
    """An application that judges, in a process of its own; with ``say(...)`` for a line to the test."""
    lines = [
        "import asyncio, json, os, signal, sys, threading",
        f"sys.path.append({str(HERE)!r})",
        "from judge_child import *",
        "def say(*words): print(*words, flush=True)",
        textwrap.dedent(code),
    ]
    if folder is None:
        command = [sys.executable, "-c", "\n".join(lines)]
    else:
        (folder / "app.py").write_text("\n".join(lines))
        command = [sys.executable, str(folder / "app.py")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def finished(script: subprocess.Popen[str]) -> list[str]:
    """The lines that it still says, once it has ended well."""
    try:
        said, wrong = script.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        script.kill()
        script.communicate()
        raise
    assert script.returncode == 0, wrong
    return said.splitlines()


def run_script(code: str, folder: Path | None = None, **more: Any) -> list[str]:
    return finished(start_script(code, folder, **more))


def told(judge: ChildJudge, model: str) -> Any:
    return json.loads(ask(judge, model).text)
