"""Processes with a judge that end: every run has one outcome in the backend, whatever ended the process."""

from __future__ import annotations

import os

import pytest
from agent_script import run_script

START = """
from judge_script import JUDGED, checks
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

class Saying(SpanExporter):
    def export(self, spans):
        for span in spans:
            said = span.attributes or {}
            if span.name == "evaluation expectations":
                say(os.getpid() == first, said["chloe.state"], said.get("error.type"))
        return SpanExportResult.SUCCESS

async def answer(model, messages):
    await asyncio.sleep(wait_s)
    return checks(True)

first = os.getpid()
wait_s = 0.05
provider = TracerProvider()
processor = ScoringSpanProcessor(JUDGED, complete=answer)
provider.add_span_processor(processor)
provider.add_span_processor(BatchSpanProcessor(Saying()))
trace.set_tracer_provider(provider)
tracer = provider.get_tracer("app")

def one_run():
    with tracer.start_as_current_span("invoke_agent site_doctor", attributes=agent_attributes("site_doctor")):
        with tracer.start_as_current_span("execute_tool", attributes=tool_attributes("check_site")):
            pass
"""

ENDS = {
    "returns": "one_run()",
    "asyncio": "async def main(): one_run()\nasyncio.run(main())",
    "sys.exit": "one_run(); sys.exit(3)",
    "SIGTERM turned into exit": "signal.signal(15, lambda *_: sys.exit(3)); one_run(); os.kill(os.getpid(), 15)",
    "a thread": "t = threading.Thread(target=one_run); t.start(); t.join()",
}


@pytest.mark.parametrize("end", ENDS)
def test_what_was_judged_is_out_when_the_process_is_over(end: str):
    code = 3 if "exit" in end else 0

    assert run_script(START + ENDS[end], code=code) == ["True scored None"]


@pytest.mark.parametrize("error", ["KeyError('odd')", "KeyboardInterrupt"])
def test_of_an_exception_too(error: str):
    script = START + f"one_run()\nsys.excepthook = lambda *_: None\nraise {error}"

    assert run_script(script, code=1) == ["True scored None"]


def test_a_judge_that_is_too_slow_leaves_an_outcome_within_the_time_of_an_exit():
    script = START.replace("complete=answer", "complete=answer, settings={'shutdown_s': 1.0}")

    assert run_script(script + "wait_s = 600\none_run()") == ["True unscored deadline"]


def test_each_process_of_a_fork_judges_its_own_runs_once():
    said = run_script(
        START
        + """
one_run()
if (pid := os.fork()) == 0:
    one_run()
    sys.exit(0)
say("status", os.waitpid(pid, 0)[1])
"""
    )

    assert sorted(said) == ["False scored None", "True scored None", "status 0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_workers_of_a_server_that_loaded_the_application_first_judge_their_own_runs():
    said = run_script(
        START
        + """
for _ in range(3):
    if os.fork() == 0:
        one_run()
        sys.exit(0)
say("codes", [os.wait()[1] for _ in range(3)])
"""
    )

    assert sorted(said) == [*["False scored None"] * 3, "codes [0, 0, 0]"]


def test_a_flush_for_each_invocation_leaves_nothing_waiting():
    """As in a function that is frozen when it has answered."""
    said = run_script(
        START
        + """
for _ in range(3):
    one_run()
    assert provider.force_flush(10_000)
    say("answered")
os._exit(0)
"""
    )

    assert said == ["True scored None", "answered"] * 3
