"""Stands in for litellm in the judge's child, where a test is about the process: what it does is the model's name."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

model_cost = {"echo": {"max_output_tokens": 50}}
kept = []


class BadRequestError(Exception):
    pass


class UnsupportedParamsError(BadRequestError):
    pass


async def acompletion(model, messages, **settings):
    kind, _, what = model.partition(":")
    text = await DO[kind](what, messages[-1]["content"], settings)
    return SimpleNamespace(
        model=model,
        choices=[SimpleNamespace(message=SimpleNamespace(content=text), finish_reason="stop")],
        usage=SimpleNamespace(prompt_tokens=len(messages), completion_tokens=1),
    )


def completion_cost(completion_response, model):
    return 0.25 if model in model_cost else 0.0


def validate_environment(model):
    return {"missing_keys": ["FAKE_API_KEY"]}


async def echo(what, content, settings):
    return content


async def settings(what, content, settings):
    return json.dumps(settings)


async def environment(what, content, settings):
    return json.dumps(dict(os.environ))


async def where(what, content, settings):
    told = {"path": sys.path, "cwd": str(Path.cwd()), "modules": sorted(sys.modules), "session": os.getsid(0)}
    return json.dumps(told)


async def say(what, content, settings):
    print(content)
    print("and on the other", file=sys.stderr)
    return "said"


async def fetch(what, content, settings):
    def now():
        with urlopen(what, data=b"{}") as answer:
            return answer.read().decode()

    return await asyncio.to_thread(now)


async def inherits(what, content, settings):
    return str([end for end in range(3, 64) if is_inherited(end)])


def is_inherited(end):
    try:
        return os.get_inheritable(end)
    except OSError:  # it is not open, or not any more: other threads close theirs meanwhile
        return False


async def die(what, content, settings):
    os.kill(os.getpid(), signal.SIGKILL)


async def leave(what, content, settings):
    print("Traceback: something was wrong")
    os._exit(int(what))


async def hang(what, content, settings):
    await asyncio.Event().wait()


async def stop(what, content, settings):
    os.kill(os.getpid(), signal.SIGSTOP)


async def hog(what, content, settings):
    kept.append(bytearray(os.urandom(1024) * 1024 * int(what)))
    return "held"


async def hog_and_hang(what, content, settings):
    await hog(what, content, settings)
    await hang(what, content, settings)


async def told_by(what, content, settings):
    """Answers what somebody writes to this pipe."""
    return await asyncio.to_thread(Path(what).read_text)


async def long(what, content, settings):
    return "x" * int(what)


async def picky(what, content, settings):
    kept.append("response_format" in settings)
    if kept[-1]:
        raise UnsupportedParamsError("response_format is not supported")
    return json.dumps(kept)


async def keyless(what, content, settings):
    if "FAKE_API_KEY" not in os.environ:
        raise ValueError("Missing Fake API Key")
    return os.environ["FAKE_API_KEY"]


async def met(what, content, settings):
    """A verdict on one line, after so many seconds."""
    await asyncio.sleep(float(what))
    return json.dumps({"checks": [{"id": 1, "expectation": "", "why": "so it is", "evidence": None, "met": True}]})


DO = {
    "echo": echo,
    "settings": settings,
    "environment": environment,
    "where": where,
    "say": say,
    "fetch": fetch,
    "inherits": inherits,
    "die": die,
    "leave": leave,
    "hang": hang,
    "stop": stop,
    "hog": hog,
    "hog_and_hang": hog_and_hang,
    "told_by": told_by,
    "long": long,
    "picky": picky,
    "keyless": keyless,
    "met": met,
}
