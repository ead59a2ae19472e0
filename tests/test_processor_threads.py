"""Agents in threads, asyncio tasks and generators: whoever starts and ends the spans, each run has its own marks."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from agent_app import FAILED, PASSED, App, agent_attributes, marks_of, messages, tool_attributes
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.trace import SpanKind

STAR = {"agents": {"*": {"calls": {"mustCall": ["check_site"], "atMostOnce": ["check_site"]}}}}


def in_thread(work, *, context=None):
    """Runs in a thread of its own, with a context or with none, as bare threads do."""
    thread = threading.Thread(target=(context or contextvars.Context()).run, args=(work,))
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


class TestThreads:
    def test_tools_in_threads_that_know_the_agent(self):
        with App() as app:
            with app.agent(), ThreadPoolExecutor(4) as pool:
                for name in ("check_site", "restart_site", "check_site"):
                    pool.submit(contextvars.copy_context().run, app.call, name).result(20)

            assert app.marks() == PASSED
            assert app.reason() == "Used: check_site, restart_site, check_site."

    def test_concurrent_runs_in_one_trace_under_a_request(self):
        n = 8
        meet = threading.Barrier(n, timeout=20)

        def run(number):
            meet.wait()
            with app.agent(f"agent_{number}"):
                meet.wait()
                app.call(*(["check_site"] * (1 + number % 2)))
                meet.wait()

        with App(STAR) as app:
            with app.tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER), ThreadPoolExecutor(n) as pool:
                for done in [pool.submit(contextvars.copy_context().run, run, number) for number in range(n)]:
                    done.result(20)

            for number in range(n):
                assert app.marks(f"invoke_agent agent_{number}") == (FAILED if number % 2 else PASSED)
            assert app.scores() == [(f"agent_{number}", float(1 - number % 2)) for number in range(n)]
            assert len({event["span_id"] for event in app.events()}) == n

    @pytest.mark.parametrize("below", ["nothing", "a plain root"])
    def test_many_runs_at_once(self, below):
        n, each = 16, 25
        meet = threading.Barrier(n, timeout=20)

        def work():
            meet.wait()
            for _ in range(each):
                if below == "nothing":
                    app.run("check_site")
                else:
                    with app.tracer.start_as_current_span("handle"):
                        app.run("check_site")

        with App() as app:
            threads = [threading.Thread(target=work) for _ in range(n)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)

            spans = app.exported("invoke_agent site_doctor")
            assert len(spans) == n * each
            assert [span for span in spans if marks_of(span) != PASSED] == []
            assert app.scores() == [("site_doctor", 1.0)] * (n * each)
            assert app.processor.stats()["runs"] == n * each
            assert app.processor.stats()["runs_open"] == 0

    def test_an_agent_started_here_and_ended_there(self):
        with App() as app:
            span = app.start_agent()
            in_thread(lambda: app.call("check_site", context=trace.set_span_in_context(span)))
            in_thread(span.end)

            assert app.marks() == PASSED

    def test_a_call_in_a_bare_thread_belongs_to_the_run_whose_message_asked_for_it(self):
        """A thread that was given no context starts a trace of its own."""
        asked = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "check_site"}]}]
        model = {
            "gen_ai.operation.name": "chat",
            "gen_ai.response.id": "r1",
            "gen_ai.input.messages": messages("user", "Is the shop up?"),
            "gen_ai.output.messages": json.dumps(asked),
            "gen_ai.response.finish_reasons": ("tool_calls",),
        }
        with App() as app:
            with app.agent():
                with app.tracer.start_as_current_span("chat", attributes=model):
                    pass
                in_thread(lambda: app.call("check_site", attributes=tool_attributes("check_site", "c1")))

            assert app.scores() == [("site_doctor", 1.0)]
            assert app.processor.stats()["runs"] == 1
            assert app.marks().get("chloe.passed") is not False


class TestAsyncio:
    def test_concurrent_runs_with_concurrent_tools(self):
        async def tool(name):
            with app.tool(name):
                await asyncio.sleep(0)

        async def run(number):
            with app.agent(f"agent_{number}"):
                await asyncio.gather(*(tool("check_site") for _ in range(1 + number % 2)))
                await tool("restart_site")

        async def request():
            with app.tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER):
                await asyncio.gather(*(run(number) for number in range(6)))

        with App(STAR) as app:
            asyncio.run(request())

            for number in range(6):
                assert app.marks(f"invoke_agent agent_{number}") == (FAILED if number % 2 else PASSED)
            assert app.scores() == [(f"agent_{number}", float(1 - number % 2)) for number in range(6)]

    def test_a_task_that_outlives_its_agent(self):
        """The task's span ends after the agent's, and starts before it: late, and part of the run."""

        async def late():
            with app.tool("delete_site"):
                started.set()
                await release.wait()

        async def run():
            nonlocal started, release
            started, release = asyncio.Event(), asyncio.Event()
            with app.agent():
                app.call("check_site")
                task = asyncio.create_task(late())
                await started.wait()
            release.set()
            await task

        started = release = None
        with App() as app:
            asyncio.run(run())

            assert app.marks() == FAILED
            assert app.scores() == [("site_doctor", 0.0)]

    def test_a_cancelled_run(self):
        async def run():
            with app.agent():
                app.call("check_site")
                running.set()
                await asyncio.Event().wait()

        async def cancel():
            nonlocal running
            running = asyncio.Event()
            task = asyncio.create_task(run())
            await running.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        running = None
        with App() as app:
            asyncio.run(cancel())

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]


def stream(app, *tools):
    """An agent that streams: its span stays open until its last word was taken."""
    span = app.tracer.start_span("invoke_agent site_doctor", attributes=agent_attributes("site_doctor"))
    try:
        for name in tools:
            app.call(name, context=trace.set_span_in_context(span))
            yield name
    finally:
        span.end()


class TestGenerators:
    def test_a_stream_that_is_taken_whole(self):
        with App() as app:
            for _ in stream(app, "check_site", "restart_site"):
                assert app.exported("invoke_agent site_doctor") == []
                assert app.events() == []

            assert app.marks() == PASSED
            assert app.reason() == "Used: check_site, restart_site."

    def test_a_stream_that_is_closed_early(self):
        with App() as app:
            words = stream(app, "check_site", "delete_site")
            next(words)
            words.close()

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]

    def test_streams_taken_in_turns(self):
        with App() as app:
            for _ in zip(stream(app, "check_site"), stream(app, "delete_site"), strict=True):
                pass

            assert sorted(marks_of(span)["chloe.passed"] for span in app.exported("invoke_agent site_doctor")) == [
                False,
                True,
            ]
            assert app.scores() == [("site_doctor", 0.0), ("site_doctor", 1.0)]

    def test_a_stream_that_somebody_forgot_ends_when_it_is_freed(self):
        with App() as app:
            words = stream(app, "check_site", "restart_site")
            next(words)
            del words
            gc.collect()

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]

    def test_a_stream_whose_request_is_over_before_it_is_taken(self):
        with App() as app:
            with app.tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER):
                words = stream(app, "check_site")
            list(words)

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]

    def test_a_stream_below_a_plain_root_that_is_over_first(self):
        with App() as app:
            with app.tracer.start_as_current_span("handle"):
                words = stream(app, "check_site", "delete_site")
                next(words)
            list(words)

            assert app.marks() == FAILED
            assert app.scores() == [("site_doctor", 0.0)]

    def test_an_async_stream(self):
        async def stream_it():
            with app.agent():
                for name in ("check_site", "restart_site"):
                    with app.tool(name):
                        await asyncio.sleep(0)
                    yield name

        async def take():
            return [word async for word in stream_it()]

        with App() as app:
            assert asyncio.run(take()) == ["check_site", "restart_site"]
            assert app.marks() == PASSED

    def test_a_context_that_leaks_from_a_generator(self):
        """Generators share their caller's context: what one made current stays so while the caller goes on."""

        def leaking():
            with app.agent():
                yield

        with App() as app:
            outer = context_api.get_current()
            words = leaking()
            next(words)
            app.call("check_site")
            words.close()

            assert context_api.get_current() == outer
            assert app.marks() == PASSED
