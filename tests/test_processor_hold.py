"""Hold mode: a run's own span reaches its exporter with the judge's marks on it, and never not at all."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from agent_app import App
from judge_script import JUDGED, Judge, Stuck, checks
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_chloe.mark import Mark
from otel_chloe.processor import hold
from otel_chloe.processor.hold import MOST_HELD

ROOT = "invoke_agent site_doctor"


class Holding(App):
    """An application whose exporters stand behind hold mode."""

    def __init__(
        self, rules: Any = JUDGED, *, seconds: float = 10.0, batch: bool = False, hold_first: bool = False, **more: Any
    ) -> None:
        options = {key: more.pop(key) for key in ("span_limits",) if key in more}
        super().__init__(rules, **more)
        self.held_exporter = InMemorySpanExporter()
        inner = (BatchSpanProcessor if batch else SimpleSpanProcessor)(self.held_exporter)
        holding = self.processor.hold(inner, seconds=seconds)
        self.provider = TracerProvider(shutdown_on_exit=False, **options)
        for processor in (holding, self.processor) if hold_first else (self.processor, holding):
            self.provider.add_span_processor(processor)
        self.tracer = self.provider.get_tracer("app")

    def exported(self, name: str = ROOT) -> list[ReadableSpan]:
        return [span for span in self.held_exporter.get_finished_spans() if span.name == name]


def said(span: ReadableSpan) -> dict[str, Any]:
    return {key: value for key, value in (span.attributes or {}).items() if key.startswith("chloe.")}


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("hold_first", [False, True])
def test_the_judges_mark_stands_on_the_exported_span(batch: bool, hold_first: bool):
    with Holding(complete=Judge(checks(True)), batch=batch, hold_first=hold_first) as app:
        app.run("check_site")
        assert app.provider.force_flush(10_000)

        (root,) = app.exported()
        marks = said(root)
        assert marks["chloe.expectations.score"] == 1.0
        assert marks["chloe.calls.score"] == 1.0
        assert marks["chloe.passed"] is True


def test_a_verdict_that_the_judge_turns_is_turned_on_the_span():
    with Holding(complete=Judge(checks(False))) as app:
        app.run("check_site")
        app.provider.force_flush(10_000)

        marks = said(app.exported()[0])
        assert (marks["chloe.calls.passed"], marks["chloe.expectations.passed"]) == (True, False)
        assert marks["chloe.passed"] is False


def test_a_judge_that_fails_takes_the_verdict_away():
    def fails() -> str:
        raise RuntimeError("no way")

    with Holding(complete=Judge(fails)) as app:
        app.run("check_site")
        app.provider.force_flush(10_000)

        marks = said(app.exported()[0])
        assert marks["chloe.expectations.state"] == "failed"
        assert "chloe.passed" not in marks


def test_every_other_span_goes_on_at_once():
    judge = Stuck()
    with Holding(complete=judge) as app:
        app.run("check_site")

        assert len(app.exported("execute_tool check_site")) == 1
        assert app.exported() == []
        judge.let_go.set()


def test_a_span_goes_when_its_time_is_over_and_only_once():
    judge = Stuck()
    with Holding(complete=judge, seconds=0.05, settings={"settle_s": 0.01}) as app:
        app.run("check_site")
        _until(app.exported)
        judge.let_go.set()
        app.provider.force_flush(10_000)

        (root,) = app.exported()
        assert "chloe.expectations.score" not in said(root)
        assert (
            len([span for span in app.held_exporter.get_finished_spans() if span.name == "evaluation expectations"])
            == 1
        )


def test_the_oldest_goes_where_too_many_are_held():
    judge = Stuck()
    with Holding(complete=judge) as app:
        for _ in range(MOST_HELD + 3):
            app.run("check_site")

        assert len(app.exported()) == 3
        judge.let_go.set()
        app.provider.force_flush(10_000)
        assert len(app.exported()) == MOST_HELD + 3


def test_a_shutdown_hands_on_what_is_held():
    judge = Stuck()
    app = Holding(complete=judge, settings={"shutdown_s": 0.1}, seconds=0.1)
    app.run("check_site")
    app.provider.shutdown()
    judge.let_go.set()

    assert len(app.exported()) == 1


def test_what_the_span_dropped_is_kept_in_its_counts():
    with Holding(complete=Judge(), span_limits=SpanLimits(max_span_attributes=12)) as app:
        span = app.start_agent()
        span.set_attributes({f"own.{n}": n for n in range(30)})
        span.end()
        app.provider.force_flush(10_000)

        (root,) = app.exported()
        assert root.dropped_attributes > 0
        assert len(root.attributes or {}) <= 12
        assert sum(key.startswith("own.") for key in root.attributes or {}) == 12


def test_several_exporters_each_get_it_once():
    with Holding(complete=Judge()) as app:
        other = InMemorySpanExporter()
        app.provider.add_span_processor(app.processor.hold(SimpleSpanProcessor(other)))
        app.run("check_site")
        app.provider.force_flush(10_000)

        (one,) = app.exported()
        (two,) = [span for span in other.get_finished_spans() if span.name == ROOT]
        assert said(one) == said(two)
        assert "chloe.expectations.score" in said(one)


def test_without_lines_to_judge_nothing_is_held():
    rules = {"agents": {"*": {"calls": {"mustCall": ["check_site"]}}}}
    with Holding(rules) as app:
        app.run("check_site")

        assert len(app.exported()) == 1


def _until(true: Callable[[], object]) -> None:
    tick = threading.Event()
    for _ in range(500):
        if true():
            return
        tick.wait(0.01)
    raise AssertionError("never came true")


def test_a_processor_that_raises_keeps_no_other_span_back():
    class Raising(SpanProcessor):
        def __init__(self) -> None:
            self.got = 0

        def on_end(self, span: ReadableSpan) -> None:
            self.got += span.name == ROOT
            raise KeyError("odd")

    judge = Stuck()
    app = App(JUDGED, complete=judge, errors=None)
    raising = Raising()
    app.provider = TracerProvider(shutdown_on_exit=False)
    app.provider.add_span_processor(app.processor)
    holding = app.processor.hold(raising)
    app.provider.add_span_processor(holding)
    app.tracer = app.provider.get_tracer("app")
    with app:
        for _ in range(3):
            app.start_agent().end()
        assert raising.got == 0
        holding.force_flush(100)

        assert raising.got == 3
        judge.let_go.set()


def test_a_span_that_comes_in_the_middle_of_a_shutdown_is_handed_on():
    """The shutdown has looked at what is held, when another thread that saw it coming holds one more."""
    with Holding(complete=Judge()) as app:
        holding = app.provider._active_span_processor._span_processors[-1]
        tree_of = holding._tree_of

        def shut_meanwhile(span: ReadableSpan):
            tree = tree_of(span)
            holding._shut = tree is not None
            return tree

        holding._tree_of = shut_meanwhile
        app.run("check_site")

        assert len(app.exported()) == 1


class _CtrlC:
    """Raises KeyboardInterrupt at the n-th line that this thread runs of a function of the module for hold mode."""

    def __init__(self, function: str, at: int) -> None:
        self.function, self.left, self.raised = function, at, False

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != hold.__file__ or frame.f_code.co_name != self.function:
            return None
        if event == "line":
            self.left -= 1
            if not self.left:
                self.raised = True
                raise KeyboardInterrupt
        return self


@pytest.mark.parametrize("at", range(1, 40))
def test_ctrl_c_loses_no_span_and_hands_none_on_twice(at: int):
    with Holding(complete=Judge(checks(True))) as app:
        holding = app.provider._active_span_processor._span_processors[-1]
        for _ in range(3):
            app.run("check_site")
        assert app.processor.force_flush(10_000)
        release, held = holding._release, holding._held
        for _ in range(3):
            app.run("check_site")
        for each in held.values():
            each.outcomes.append(Mark(1.0, "kept"))
        sys.settrace(interrupt := _CtrlC("marked", at))
        try:
            release(list(held))
        except KeyboardInterrupt:
            assert interrupt.raised
        finally:
            sys.settrace(None)

        assert len(app.exported()) == 6
        assert held == {}


def test_ctrl_c_while_a_shutdown_waits_hands_on_what_is_held():
    with Holding(complete=Stuck()) as app:
        holding = app.provider._active_span_processor._span_processors[-1]
        app.run("check_site")

        def interrupted(_: float) -> bool:
            raise KeyboardInterrupt

        flush, app.processor._pipeline.flush = app.processor._pipeline.flush, interrupted
        with pytest.raises(KeyboardInterrupt):
            holding.shutdown()
        app.processor._pipeline.flush = flush

        assert len(app.exported()) == 1
