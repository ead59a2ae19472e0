"""What must not hang or deadlock, nor take the application's own end: spans that end inside our hooks."""

from __future__ import annotations

from agent_script import run_script


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
