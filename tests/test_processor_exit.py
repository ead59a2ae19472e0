"""Processes that fork and end: each child scores its own runs, and what was scored is handed over once."""

from __future__ import annotations

import os
import textwrap

import pytest
from agent_script import run_script

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")


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
            while not over.wait(0.005):  # as fast as the worker can follow, or it has more to do at the end than time
                app.run("check_site")
        threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for thread in threads: thread.start()
        fine = 0
        for _ in range(5):
            if (pid := os.fork()) == 0:
                app.run("check_site")
                ok = app.processor.force_flush(20_000) and app.processor.stats()["runs_open"] == 0
                os._exit(0 if ok else 3)
            fine += os.waitpid(pid, 0)[1] == 0
        over.set()
        for thread in threads: thread.join(20)
        say(fine, app.processor.force_flush(20_000), app.processor.stats()["errors"])
        """)

        assert said == ["5 True 0"]

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
            said = tool_attributes("check_site")
            spans = [app.tracer.start_span("execute_tool", attributes=said) for _ in range(10_000)]
        """)

        assert said == ["over 1 0 0"]
