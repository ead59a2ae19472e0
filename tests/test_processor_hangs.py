"""What must not hang, deadlock or lose the application's own end: each in a process of its own, with a deadline."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")

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


def run_script(script: str, *, code: int = 0, raises: bool = True) -> list[str]:
    """The lines that a script says. Hooks raise what they would count; else they are to log one."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    environment.pop("OTEL_CHLOE_RAISE", None)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(START) + textwrap.dedent(script)],
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


class TestGarbageCollection:
    def test_abandoned_generators_whose_spans_end_inside_our_hooks(self):
        said = run_script("""
        def stream(app):
            span = app.start_agent()
            try:
                app.call("check_site", context=trace.set_span_in_context(span))
                yield
            finally:
                span.end()

        with Bare() as app:
            gc.set_threshold(1, 1, 1)
            for _ in range(400):
                words = stream(app)
                next(words)
                ring = [words]
                ring.append(ring)
                del words, ring
                app.run("check_site")
            gc.collect()
            gc.set_threshold(700, 10, 10)
            assert app.processor.force_flush(20_000)
            stats = app.processor.stats()
            say(stats["runs"], stats["marks"], stats["runs_open"], stats["errors"], app.marked().count(True))
        """)

        assert said == ["800 800 0 0 800"]

    def test_a_finaliser_that_starts_and_ends_spans(self):
        said = run_script("""
        class Loud:
            def __init__(self, app):
                self.app, self.ring = app, self
            def __del__(self):
                contextvars.Context().run(self.app.run, "check_site")

        with Bare() as app:
            gc.set_threshold(1, 1, 1)
            for _ in range(400):
                Loud(app)
                app.run("check_site")
            gc.collect()
            gc.set_threshold(700, 10, 10)
            assert app.processor.force_flush(20_000)
            stats = app.processor.stats()
            say(stats["runs"], stats["runs_open"], stats["errors"], app.marked().count(True))
        """)

        assert said == ["800 0 0 800"]


class TestSignals:
    def test_spans_that_end_in_a_handler_that_interrupts_a_hook(self):
        said = run_script("""
        with Bare() as app:
            handled = []
            def handle(*_):
                contextvars.Context().run(app.run, "check_site")  # a run of its own, not one below what it interrupts
                handled.append(1)
                signal.setitimer(signal.ITIMER_REAL, 0.0002 if len(handled) < 400 else 0)
            signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, 0.0002)
            ran = 0
            while len(handled) < 400:
                app.run("check_site", "restart_site")
                ran += 1
            assert app.processor.force_flush(20_000)
            stats = app.processor.stats()
            say(stats["runs"] == ran + 400, stats["runs_open"], stats["errors"], app.marked().count(True) == ran + 400)
        """)

        assert said == ["True 0 0 True"]

    def test_the_span_of_the_hook_that_a_handler_interrupts(self):
        """The handler ends the very span whose end() it interrupted, before that has ended it."""
        said = run_script("""
        with Bare() as app:
            span = app.start_agent()
            real = span.set_attributes
            def interrupted(attributes):
                signal.raise_signal(signal.SIGUSR1)
                real(attributes)
            span.set_attributes = interrupted
            signal.signal(signal.SIGUSR1, lambda *_: span.end())
            span.end()
            assert app.processor.force_flush(20_000)
            say(len(app.marked()), app.processor.stats()["runs"], app.processor.stats()["errors"])
        """)

        assert said == ["1 1 0"]

    def test_ctrl_c_inside_the_hook_ends_the_span_and_passes(self):
        said = run_script("""
        with Bare() as app:
            span = app.start_agent()
            span.set_attributes = lambda attributes: signal.raise_signal(signal.SIGINT)
            try:
                span.end()
            except KeyboardInterrupt:
                say("passed", span.end_time is not None)
            app.run("check_site")
            assert app.processor.force_flush(20_000)
            say(app.processor.stats()["runs"], app.processor.stats()["runs_open"], *app.marked())
        """)

        assert said == ["passed True", "2 0 None True"]

    def test_ctrl_c_at_any_moment_of_a_run_leaves_nothing_stuck(self):
        said = run_script("""
        with Bare() as app:
            hits = 0
            for step in range(300):
                signal.signal(signal.SIGALRM, signal.default_int_handler)
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.00001 + step * 0.000002)
                    while True:
                        app.run("check_site")
                except KeyboardInterrupt:
                    hits += 1
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            app.run("check_site")
            assert app.processor.force_flush(20_000)
            say(hits, app.processor.stats()["errors"], app.marked()[-1])
            app.stop()
            say(app.processor.stats()["runs_open"])
        """)

        assert said == ["300 0 True", "0"]


def test_an_exception_in_the_hook_is_counted_and_the_span_ends():
    said = run_script(
        """
        with Bare(errors=1) as app:
            span = app.start_agent()
            def broken(attributes):
                raise LookupError("broken")
            span.set_attributes = broken
            span.end()
            assert app.processor.force_flush(20_000)
            say(span.end_time is not None, app.processor.stats()["errors.LookupError"], app.processor.stats()["runs"])
        """,
        raises=False,
    )

    assert said == ["True 1 1"]


def test_end_from_four_threads_at_once_acts_once():
    said = run_script("""
    with Bare() as app:
        sys.setswitchinterval(0.00001)
        rounds, meet = 300, threading.Barrier(4, timeout=20)
        spans = [app.start_agent() for _ in range(rounds)]
        written = []
        def counting(span):
            real = span.set_attributes
            return lambda attributes: (written.append(span), real(attributes))
        for span in spans:
            app.call("check_site", context=trace.set_span_in_context(span))
            span.set_attributes = counting(span)
        def work():
            for span in spans:
                meet.wait()
                span.end()
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join(30)
        assert app.processor.force_flush(20_000)
        stats = app.processor.stats()
        say(len(app.marked()), len(written) <= rounds, len(set(written)) == len(written))
        say(stats["runs"], stats["marks"], stats["errors"], len(app.log_exporter.get_finished_logs()))
    """)

    assert said == ["300 True True", "300 300 0 300"]


@forks
class TestFork:
    def test_while_another_thread_is_inside_a_hook(self):
        said = run_script("""
        app = Bare()
        app.run("check_site")
        inside, free = threading.Event(), threading.Event()
        stuck, before = app.start_agent(), app.start_agent()
        stuck.set_attributes = lambda attributes: (inside.set(), free.wait(30))
        thread = threading.Thread(target=stuck.end)
        thread.start()
        assert inside.wait(20)
        if (pid := os.fork()) == 0:
            app.kept.spans.clear()
            before.end()
            app.run("check_site")
            say("child", app.processor.force_flush(20_000), app.marked())
            app.processor.shutdown()
            say("child", app.processor.stats()["runs_open"])
            sys.exit(0)
        status = os.waitpid(pid, 0)[1]
        free.set()
        thread.join(20)
        before.end()
        say("parent", status, app.processor.force_flush(20_000), app.processor.stats()["runs"])
        """)

        assert said[0].startswith("child True [")
        assert said[0].endswith("True]")
        assert said[1:] == ["child 0", "parent 0 True 3"]

    def test_again_and_again_while_threads_run_agents(self):
        said = run_script("""
        app = Bare()
        over = threading.Event()
        def work():
            while not over.is_set():
                app.run("check_site")
        threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for thread in threads: thread.start()
        fine = 0
        for _ in range(20):
            if (pid := os.fork()) == 0:
                app.run("check_site")
                ok = app.processor.force_flush(20_000) and app.processor.stats()["runs_open"] == 0
                os._exit(0 if ok else 3)
            fine += os.waitpid(pid, 0)[1] == 0
        over.set()
        for thread in threads: thread.join(20)
        say(fine, app.processor.force_flush(20_000), app.processor.stats()["errors"])
        """)

        assert said == ["20 True 0"]

    def test_of_a_server_that_loaded_the_application_first(self):
        """As with gunicorn's preload: every worker scores its own runs, none the parent's."""
        said = run_script("""
        class Saying(SpanProcessor):
            def on_end(self, span):
                if span.name == "evaluation calls":
                    say("evaluated", (span.attributes or {})["gen_ai.agent.name"])
        provider = TracerProvider()
        processor = ScoringSpanProcessor({"agents": {"*": {"calls": {}}}})
        provider.add_span_processor(processor)
        provider.add_span_processor(Saying())
        app = App()
        app.tracer = provider.get_tracer("app")
        app.run(agent="parent_before")
        for worker in range(3):
            if os.fork() == 0:
                app.run(agent=f"worker_{worker}")
                sys.exit(0)
        codes = [os.wait()[1] for _ in range(3)]
        app.run(agent="parent_after")
        say("codes", codes)
        """)

        workers = [f"evaluated worker_{n}" for n in range(3)]
        assert sorted(said) == sorted(
            [*workers, "evaluated parent_before", "evaluated parent_after", "codes [0, 0, 0]"]
        )


SAYING = """
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, PeriodicExportingMetricReader
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Spans(SpanExporter):
        def export(self, spans):
            for span in spans:
                say("span", span.name, (span.attributes or {}).get("chloe.passed"))
            return SpanExportResult.SUCCESS
    class Logs:
        def export(self, batch):
            for each in batch:
                say("event", each.log_record.event_name)
        def shutdown(self):
            pass
        def force_flush(self, timeout_millis=10_000):
            return True
    class Points(MetricExporter):
        def export(self, metrics_data, timeout_millis=10_000, **kwargs):
            for found in (m for r in metrics_data.resource_metrics for s in r.scope_metrics for m in s.metrics):
                if found.name == "chloe.marks":
                    say("marks", sum(point.value for point in found.data.data_points))
            return MetricExportResult.SUCCESS
        def force_flush(self, timeout_millis=10_000):
            return True
        def shutdown(self, timeout_millis=30_000, **kwargs):
            pass

    def tracers():
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(Spans()))
        provider.add_span_processor(ScoringSpanProcessor(RULES))
        trace.set_tracer_provider(provider)
    def meters():
        metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(Points())]))
    def loggers():
        provider = LoggerProvider()
        provider.add_log_record_processor(BatchLogRecordProcessor(Logs()))
        _logs.set_logger_provider(provider)

    async def main():
        tracer = trace.get_tracer("app")
        with tracer.start_as_current_span("invoke_agent site_doctor", attributes=agent_attributes("site_doctor")):
            with tracer.start_as_current_span("execute_tool", attributes=tool_attributes("check_site")):
                pass
"""
EVERYTHING = sorted(
    [
        "event gen_ai.evaluation.result",
        "marks 1",
        "span evaluation calls True",
        "span execute_tool None",
        "span invoke_agent site_doctor True",
    ]
)


class TestExit:
    @pytest.mark.parametrize(
        "order",
        [
            "tracers(); meters(); loggers(); asyncio.run(main())",
            "meters(); loggers(); tracers(); asyncio.run(main())",
            "loggers(); tracers(); meters(); asyncio.run(main())",
            "tracers(); asyncio.run(main()); meters(); loggers()",
        ],
    )
    def test_without_shutdown_hands_over_everything_once(self, order):
        assert sorted(run_script(textwrap.dedent(SAYING) + order)) == EVERYTHING

    def test_by_an_exception_hands_over_everything_too(self):
        script = textwrap.dedent(SAYING) + "tracers(); meters(); loggers(); asyncio.run(main()); sys.exit(3)"

        assert sorted(run_script(script, code=3)) == EVERYTHING

    def test_after_a_shutdown_of_its_own_hands_over_nothing_again(self):
        script = (
            SAYING
            + """
    tracers(); meters(); loggers()
    asyncio.run(main())
    trace.get_tracer_provider().shutdown()
    """
        )

        assert sorted(run_script(textwrap.dedent(script))).count("event gen_ai.evaluation.result") == 1

    def test_at_once_loses_what_is_in_memory_and_does_not_hang(self):
        script = textwrap.dedent(SAYING) + "tracers(); meters(); loggers(); asyncio.run(main()); os._exit(7)"

        assert "event gen_ai.evaluation.result" not in run_script(script, code=7)

    def test_with_ten_thousand_spans_open(self):
        said = run_script("""
        app = Bare()
        atexit.register(lambda: say("over", *(app.processor.stats()[name] for name in ("runs", "runs_open", "errors"))))
        spans = [app.start_agent() for _ in range(10_000)]
        say("leaving", app.processor.stats()["runs_open"])
        """)

        assert said == ["leaving 10000", "over 10000 0 0"]

    def test_with_a_run_of_ten_thousand_open_tools(self):
        said = run_script("""
        app = Bare()
        atexit.register(lambda: say("over", *(app.processor.stats()[name] for name in ("runs", "runs_open", "errors"))))
        with app.agent():
            spans = [app.tracer.start_span("execute_tool", attributes=tool_attributes("check_site")) for _ in range(10_000)]
        """)

        assert said == ["over 1 0 0"]
