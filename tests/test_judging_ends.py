"""Judges that do what no judge should, and processes that end meanwhile: each run has its outcome, and one only."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pytest
from agent_app import App
from agent_script import run_script
from judge_script import JUDGED, Judge, checks

from otel_chloe import Run
from otel_chloe.pipeline.judgements import size_of

OUTCOME = "evaluation expectations"


def states(app: App) -> list[Any]:
    said = [span.attributes or {} for span in app.exporter.get_finished_spans() if span.name == OUTCOME]
    return [each.get("error.type", each["chloe.state"]) for each in said]


class Once:
    """Does something odd at the first call, and answers from then on."""

    def __init__(self, odd: Any) -> None:
        self._odd = odd
        self._calls = 0

    async def __call__(self, model: str, messages: list[dict[str, str]]) -> str:
        self._calls += 1
        if self._calls == 1:
            self._odd()
        return checks(True)


def interrupt() -> None:
    raise KeyboardInterrupt


def cancel() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("odd", "state"),
    [(sys.exit, "SystemExit"), (cancel, "CancelledError"), (lambda: asyncio.get_running_loop().stop(), "scored")],
)
def test_a_way_to_the_model_that_would_end_the_loop_ends_its_own_judgement_alone(odd, state: str):
    with App(JUDGED, complete=Once(odd)) as app:
        for _ in range(2):
            app.run("check_site")
            assert app.processor.force_flush(10_000)

        assert states(app) == [state, "scored"]


def test_ctrl_c_raised_on_the_judges_thread_does_not_end_the_judging():
    with App(JUDGED, complete=Once(interrupt)) as app:
        app.run("check_site")
        app.processor.force_flush(100)
        app.run("check_site")
        app.processor.force_flush(10_000)

        assert states(app)[-1] == "scored"
        assert len(states(app)) == 2


def test_a_way_to_the_model_that_blocks_the_loop_leaves_every_run_an_outcome():
    """An async function that waits without await: nothing else gets its turn on the judge's thread."""
    free = threading.Event()
    app = App(JUDGED, complete=Once(lambda: free.wait(20)), settings={"shutdown_s": 0.4})
    for _ in range(3):
        app.run("check_site")
    app.processor.shutdown()
    found = states(app)
    free.set()
    app.provider.shutdown()

    assert found == ["deadline"] * 3
    assert states(app) == found


def test_a_mark_function_that_ends_its_thread_keeps_no_mark_from_others():
    told = []

    def on_mark(run, outcome):
        told.append(outcome.name)
        sys.exit()

    with App(JUDGED, complete=Judge(), on_mark=on_mark, errors=6) as app:
        for _ in range(3):
            app.run("check_site")
        assert app.processor.force_flush(10_000)

        assert sorted(told) == ["calls"] * 3 + ["expectations"] * 3
        assert states(app) == ["scored"] * 3


@pytest.mark.parametrize(
    "letter", ["a", "\N{LATIN SMALL LETTER E WITH ACUTE}", "\N{CJK UNIFIED IDEOGRAPH-597D}", "\N{GREEN HEART}"]
)
def test_the_queues_bytes_are_those_that_a_text_takes(letter: str):
    text = letter * 1_000_000

    assert sys.getsizeof(text) <= size_of(Run(output=text)) < sys.getsizeof(text) + 10_000


def test_threads_that_go_on_after_the_main_one_have_their_runs_judged_at_the_end():
    """Longer than an exit may take: only what is waited for counts."""
    said = run_script("""
    from judge_script import JUDGED, Judge
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
    class Saying(SpanExporter):
        def export(self, spans):
            for span in spans:
                if span.name.startswith("evaluation"):
                    say(span.name, span.attributes["chloe.state"])
            return SpanExportResult.SUCCESS
    app = App(JUDGED, complete=Judge(), settings={"shutdown_s": 0.5, "settle_s": 60})
    app.provider.add_span_processor(SimpleSpanProcessor(Saying()))
    app.run("check_site")
    def later():
        threading.main_thread().join()
        threading.Event().wait(1.0)
        app.run("check_site")
    threading.Thread(target=later).start()
    """)

    assert sorted(said) == ["evaluation calls scored"] * 2 + ["evaluation expectations scored"] * 2
