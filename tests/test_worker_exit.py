from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest


def run_script(script: str, *, python: str = sys.executable, fails: bool = False) -> list[str]:
    done = subprocess.run(
        [python, "-X", "dev", "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(SCRIPT_START + script)],
        capture_output=True,
        text=True,
        timeout=30.0,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ("Traceback" in done.stderr) is fails, done.stderr
    return done.stdout.split()


SCRIPT_START = """
    import os, signal, sys, threading, time
    from otel_chloe.health import Health
    from otel_chloe.pipeline import Work, Worker

    taken, closed = [], []
    def say(*words):
        os.write(1, (" ".join(map(str, words)) + "\\n").encode())
    def make(take=taken.append, close=closed.append, forked=lambda: None, **more):
        return Worker(Work(take, lambda now: None, close, forked), Health(time.monotonic), clock=time.monotonic, **more)
"""


def test_what_ends_the_thread_does_not_end_the_worker():
    """A user's function that calls sys.exit(), here while the next item waits already."""
    said = run_script("""
    threads, stuck, free = set(), threading.Event(), threading.Event()
    def take(item):
        threads.add(threading.current_thread())
        if item == "stuck":
            stuck.set()
            free.wait(20)
            sys.exit()
        say(item)
    worker = make(take)
    worker.hand_over("stuck")
    stuck.wait(20)
    worker.hand_over("next")
    free.set()
    say(worker.flush(20), len(threads))
    """)

    assert said == ["next", "True", "2"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_starts_clean_with_a_thread_of_its_own():
    said = run_script("""
    stuck, free = threading.Event(), threading.Event()
    def take(item):
        if item == "stuck":
            stuck.set()
            free.wait(20)
        taken.append(item)
    worker = make(take, forked=lambda: say("forked"))
    worker.hand_over("stuck")
    stuck.wait(20)
    worker.hand_over("parent's")
    if (pid := os.fork()) == 0:
        worker.hand_over("child's")
        say("child", worker.flush(20), *taken)
        say("child", worker.shutdown(20), closed)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    free.set()
    say("parent", worker.flush(20), *taken)
    """)

    assert said[:8] == ["forked", "child", "True", "child's", "child", "True", "[False,", "True]"]
    assert said[8:] == ["parent", "True", "stuck", "parent's"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_fork_on_the_worker_thread_leaves_the_child_to_itself():
    said = run_script("""
    done = threading.Event()
    def take(item):
        if (pid := os.fork()) == 0:
            return
        say(os.waitpid(pid, 0)[1])
        done.set()
    worker = make(take)
    worker.hand_over("fork")
    assert done.wait(20)
    """)

    assert said == ["0"]


def test_exit_drains_what_waits_before_the_providers_shut_down():
    """The meter provider is made after the first hand-over, so its exit handler would run before ours."""
    said = run_script("""
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, PeriodicExportingMetricReader
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

    class Saying(MetricExporter):
        def export(self, metrics_data, timeout_millis=10_000, **kwargs):
            for resource in metrics_data.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        say("exported", metric.data.data_points[0].value)
            return MetricExportResult.SUCCESS
        def force_flush(self, timeout_millis=10_000):
            return True
        def shutdown(self, timeout_millis=30_000, **kwargs):
            say("exporter-shut-down")
    class Closing(SpanProcessor):
        def shutdown(self):
            say("tracer-provider-shut-down")

    tracer_provider = TracerProvider()
    tracer_provider.add_span_processor(Closing())
    def take(item):
        metrics.get_meter("app").create_counter("taken").add(item)
    worker = make(take)
    worker.hand_over(1)
    assert worker.flush(20)
    metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(Saying())]))
    worker.register_exit()
    worker.hand_over(41)
    """)

    assert said == ["exported", "41", "exporter-shut-down", "tracer-provider-shut-down"]


def test_exit_closes_what_is_open_though_nothing_was_handed_over():
    said = run_script("""
    worker = make(close=lambda everything: say("closed", everything, threading.current_thread().name))
    worker.register_exit()
    """)

    assert said == ["closed", "True", "MainThread"]


STUCK = """
    stuck = threading.Event()
    def take(item):
        stuck.set()
        threading.Event().wait(600)
    worker = make(take, shutdown_s=SHUTDOWN_S)
    worker.hand_over(1)
    stuck.wait(20)
    say("leaving")
    """
"""A worker whose work is not done when the program ends."""


def test_exit_waits_no_longer_than_it_may():
    began = time.monotonic()
    said = run_script(STUCK.replace("SHUTDOWN_S", "0.1"))

    assert said == ["leaving"]
    assert time.monotonic() - began < 20


def test_work_goes_on_where_the_system_has_no_more_threads():
    said = run_script(
        """
    worker = make()
    threading.stack_size(1 << 46)
    assert worker.hand_over(1)
    say(worker._process.running, dict(worker._health.errors()))
    threading.stack_size(0)
    say(worker.shutdown(20), *taken, *closed)
    """,
        fails=True,
    )

    assert said == ["False", "{'RuntimeError':", "1}", "True", "1", "True"]


def test_ctrl_c_ends_the_wait_at_exit():
    script = STUCK.replace("SHUTDOWN_S", "600")
    program = [sys.executable, "-c", textwrap.dedent(SCRIPT_START + script)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "leaving\n"
        for _ in range(50):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(0.2)
                break
            except subprocess.TimeoutExpired:
                continue
        ended = process.poll() is not None
        process.kill()

    assert ended
