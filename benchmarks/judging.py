#!/usr/bin/env python3
"""Our own processor time for a judgement in the agent's process, beside redaction.

    python benchmarks/judging.py
    python benchmarks/judging.py --child     # through a stand-in for the judge's process, with its pipes
    python benchmarks/judging.py --profile   # where it goes

Judges runs of about 4.6 kB with three lines each, by a ``complete=`` that answers at once or by a child that does, and
takes the time of the whole process less that of the same without redaction. Held to: 100 microseconds a judgement.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import tempfile
import threading
import time
from pathlib import Path

from otel_chloe import Run, ToolCall
from otel_chloe.config import load_rules
from otel_chloe.judge import child
from otel_chloe.judge.ask import Complete
from otel_chloe.judge.launch import Launch
from otel_chloe.judge.redact import Redactor
from otel_chloe.mark import Mark
from otel_chloe.pipeline.judgements import Answered, Judgements

LINES = ["says which site is down", "names the time since when", "asks before it restarts anything"]
RULES = {
    "judge": {"model": "openai/gpt-4o-mini", "usd_per_hour": 1e6, "usd_per_day": 1e6},
    "agents": {"site_doctor": {"expectations": {"situation": "The shop is down.", "should": LINES}}},
}
WORDS = "The page of the shop answers with an error since noon, and the log says that the disk is full. "
ANSWER = json.dumps(
    {
        "checks": [
            {"id": number, "expectation": line, "why": "It says so.", "evidence": {"call": 1}, "met": True}
            for number, line in enumerate(LINES, start=1)
        ]
    }
)
STAND_IN = """
from types import SimpleNamespace

model_cost = {{}}

class BadRequestError(Exception):
    pass

class UnsupportedParamsError(BadRequestError):
    pass

async def acompletion(model, messages, **settings):
    said = SimpleNamespace(message=SimpleNamespace(content={answer!r}), finish_reason="stop")
    usage = SimpleNamespace(prompt_tokens=1_000, completion_tokens=100)
    return SimpleNamespace(model=model, choices=[said], usage=usage)

def completion_cost(completion_response, model):
    return 0.0
"""


def run_of(number: int) -> Run:
    """A run of about 4.6 kB: a question, three calls with their results, a reply."""
    calls = [
        ToolCall(name, {"site": "shop", "number": number}, (WORDS * 12)[:1_150], ok=True, ran=True)
        for name in ("check_site", "read_log", "free_disk")
    ]
    return Run(
        agent="site_doctor",
        prompt=(WORDS * 5)[:400],
        output=(WORDS * 8)[:700],
        tool_calls=calls,
        trace_id=f"{number + 1:032x}",
        span_id=f"{number + 1:016x}",
    )


def judged(count: int, complete: Complete | None) -> float:
    """Microseconds of this process for each of so many judgements."""
    rules = load_rules(RULES)
    marks: list[Answered] = []
    done = threading.Semaphore(0)

    def back(item: object) -> None:
        if isinstance(item, Answered):
            marks.append(item)
            done.release()

    work = Judgements(rules, complete, back)
    runs = [run_of(number) for number in range(count)]
    for number, run in enumerate([*runs[:20], *runs]):
        if number == 20:
            for _ in range(20):
                done.acquire()
            began = time.process_time()
        work.begin(run, rules, None, [])
        if number % 100 == 99:
            work.wait(60)
    work.wait(60)
    spent = time.process_time() - began
    work.close()
    assert all(isinstance(each, Mark) and each.passed for mark in marks for each in mark.outcomes), marks[0]
    assert len(marks) == count + 20
    return spent / count * 1e6


async def answer(_model: str, _messages: list[dict[str, str]]) -> str:
    return ANSWER


def unredacted(_redactor: Redactor, text: str) -> str:
    return text


def figures(count: int, complete: Complete | None) -> None:
    """Print the best of five, with redaction and without."""
    whole = min(judged(count, complete) for _ in range(5))
    kept = Redactor.text
    Redactor.text = unredacted  # type: ignore[method-assign]
    try:
        rest = min(judged(count, complete) for _ in range(5))
    finally:
        Redactor.text = kept  # type: ignore[method-assign]
    print(f"a judgement {whole:6.0f} us, of which redaction {whole - rest:.0f} us and all else {rest:.0f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--child", action="store_true", help="through a child process and its pipes")
    parser.add_argument("--profile", action="store_true", help="what takes the time on the judge's thread")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.child:
            Path(folder, "litellm.py").write_text(STAND_IN.format(answer=ANSWER))
            own = child.ChildJudge(Launch(first_path=(folder,)))
            child.shared_judge = lambda: own
        complete = None if given.child else answer
        if given.profile:
            profile(given.count, complete)
        else:
            figures(given.count, complete)


def profile(count: int, complete: Complete | None) -> None:
    """Print where the judge's thread spends its time, without redaction."""
    Redactor.text = unredacted  # type: ignore[method-assign]
    profiler = cProfile.Profile()
    threading.setprofile(lambda *_: profiler.enable())
    judged(count, complete)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
