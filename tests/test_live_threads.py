"""Scorers that are async, slow or stuck: they run on threads of their own, and each gives one outcome of each run."""

from __future__ import annotations

import asyncio
import os
import threading
from time import perf_counter
from typing import Any

import pytest
from agent_app import RULES
from agent_script import run_script
from own_scorers import Gate, Scored, is_up, states

from otel_chloe import DeferredScore, Score, Scorer

SLOW_S = 0.06
"""Several glances of the agent, even where a busy scorer lets nobody else run for 5 ms at a time."""


def named(name: str, function: Any, **more: Any) -> Any:
    return Scorer.code(function, name=name, **more)


def busy(seconds: float = SLOW_S) -> None:
    """Computes for so long."""
    until = perf_counter() + seconds
    while perf_counter() < until:
        pass


async def looked_up(output: str) -> float:
    await asyncio.sleep(0)
    return 0.5 if output else 0.0


class TestAnAsyncScorer:
    def test_has_its_mark_beside_the_span(self):
        with Scored(looked_up, is_up) as app:
            app.run("check_site")

            assert app.score("looked_up") == {}
            assert app.score("is_up")["score"] == 1.0
            assert app.event("looked_up")["gen_ai.evaluation.score.value"] == 0.5
            assert app.evaluation("looked_up")["chloe.scorer.key"] == "looked_up"
            assert app.numbers("looked_up") == [(1, 0.5)]
            assert app.marked("looked_up") == 1

    def test_may_give_several_and_a_persons(self):
        async def many(_):
            return [Score("a", 1.0), DeferredScore("b"), Score("c", float("nan"))]

        with Scored(many) as app:
            app.run("check_site")

            assert states(app.outcomes()) == [("a", "scored"), ("b", "pending"), ("c", "failed")]

    @pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(3), asyncio.CancelledError("gone")])
    def test_that_raises_has_failed(self, error):
        async def raises(_):
            raise error

        with Scored(raises, is_up) as app:
            app.run("check_site")

            assert app.event("raises")["error.type"] == type(error).__name__
            assert states(app.outcomes()) == [("is_up", "scored"), ("raises", "failed")]

    def test_that_only_turns_out_to_be_one_is_awaited(self):
        def hidden(output):
            return looked_up(output)

        with Scored(hidden) as app:
            app.run("check_site")
            app.run("check_site")

            assert [event["gen_ai.evaluation.score.value"] for event in app.events()] == [0.5, 0.5]

    def test_runs_on_no_thread_of_the_application(self):
        seen: list[str] = []

        async def where(_):
            seen.append(threading.current_thread().name)

        with Scored(where) as app:
            app.run("check_site")
            app.flush()

        assert seen
        assert threading.current_thread().name not in seen


class TestASlowScorer:
    def test_is_on_the_span_once_and_then_beside_it(self):
        def slow(_):
            busy()
            return True

        with Scored(slow, is_up) as app:
            for _ in range(3):
                app.run("check_site")

            app.flush()
            first, *others = [dict(span.attributes or {}) for span in app.ended()]
            assert first["chloe.slow.score"] == 1.0
            assert all("chloe.slow.state" not in each for each in others)
            assert all(each["chloe.is_up.score"] == 1.0 for each in (first, *others))
            assert app.marked("slow", chloe__state="scored") == 3
            assert app.numbers("slow") == [(3, 3.0)]

    def test_that_hangs_keeps_the_agent_for_a_moment_once(self):
        with Gate() as gate:

            def stuck(_):
                gate.wait()
                return True

            with Scored(stuck, is_up) as app:
                for _ in range(6):
                    app.run("check_site")  # comes back
                assert [dict(span.attributes or {}).get("chloe.is_up.score") for span in app.ended()] == [1.0] * 6
                gate.let_go()

                assert app.marked("stuck", chloe__state="scored") == 6
                assert all("chloe.stuck.state" not in (span.attributes or {}) for span in app.ended())


class TestThreads:
    def test_are_four_at_most_and_daemons(self):
        others: set[int | None] = {thread.ident for thread in threading.enumerate()}
        with Gate() as gate:

            async def stuck(_):
                gate.wait()
                return True

            with Scored(stuck) as app:
                for _ in range(9):
                    app.run("check_site")
                assert not app.processor.force_flush(500)
                gate.wait_for(4)
                made = [thread for thread in threading.enumerate() if thread.ident not in others]
                assert all(thread.daemon for thread in made)
                assert not gate.entered.acquire(blocking=False)
                gate.let_go()

                assert app.marked("stuck") == 9

    def test_are_not_made_for_scorers_that_are_quick(self):
        others = threading.active_count()
        with Scored(is_up, rules=RULES) as app:
            app.run("check_site")
            app.flush()

            assert threading.active_count() <= others + 1  # the worker's

    def test_one_stuck_run_keeps_no_other_waiting(self):
        with Gate() as gate:

            async def stuck(run):
                if run.agent == "stuck":
                    gate.wait()
                return True

            with Scored(stuck) as app:
                app.run("check_site", agent="stuck")
                for _ in range(20):
                    app.run("check_site")
                assert not app.processor.force_flush(500)

                assert sum(outcome.state == "scored" for _, outcome in app.told) == 20
                gate.let_go()
                assert app.marked("stuck") == 21


class TestFlushAndShutdown:
    def test_a_flush_waits_for_them(self):
        with Scored(looked_up) as app:
            app.run("check_site")
            assert app.processor.force_flush(20_000)

            assert [outcome.state for _, outcome in app.told] == ["scored"]

    def test_a_flush_that_takes_too_long_says_so_and_loses_nothing(self):
        with Gate() as gate:

            async def stuck(_):
                gate.wait()
                return True

            with Scored(stuck) as app:
                app.run("check_site")
                assert not app.processor.force_flush(200)
                gate.let_go()

                assert app.marked("stuck", chloe__state="scored") == 1

    def test_a_shutdown_waits_for_them(self):
        app = Scored(looked_up)
        app.run("check_site")
        app.provider.shutdown()

        assert states([outcome for _, outcome in app.told]) == [("looked_up", "scored")]

    def test_a_shutdown_that_cannot_wait_gives_every_run_its_one_outcome(self):
        with Gate() as gate:

            async def stuck(_):
                gate.wait()
                return True

            app = Scored(stuck, is_up, settings={"shutdown_s": 1.0})
            for _ in range(9):
                app.run("check_site")
            began = perf_counter()
            app.provider.shutdown()
            took = perf_counter() - began
            gate.let_go()

        assert took < 10
        assert states([outcome for _, outcome in app.told]) == [("is_up", "scored")] * 9 + [("stuck", "unscored")] * 9
        assert {o.error for _, o in app.told if o.state == "unscored"} == {"deadline"}  # type: ignore[union-attr]

    def test_what_comes_back_after_that_is_no_second_outcome(self):
        with Gate() as gate:

            async def stuck(_):
                gate.wait()
                done.set()
                return True

            done = threading.Event()
            app = Scored(stuck, settings={"shutdown_s": 0.5})
            app.run("check_site")
            app.provider.shutdown()
            gate.let_go()
            assert done.wait(20)

        assert [outcome.state for _, outcome in app.told] == ["unscored"]

    def test_a_scorer_may_flush_from_its_own_thread(self):
        async def flusher(_):
            app.processor.force_flush(50)
            return True

        with Scored(flusher) as app:
            app.run("check_site")

            assert app.marked("flusher", chloe__state="scored") == 1


SCORERS = """
        async def slow(run):
            await asyncio.sleep(0)
            return 1.0
        def quick(output): return True
        def outcome(run, outcome): say(os.getpid() == first, outcome.name, outcome.state)
        first = os.getpid()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
class TestFork:
    def test_a_child_scores_its_own_runs_and_none_of_its_parents(self):
        said = run_script(
            SCORERS
            + """
        gate = threading.Event()
        async def stuck(run):
            if os.getpid() == first: gate.wait(20)
            return 1.0
        app = Bare(None, scorers=[stuck, quick], on_mark=outcome)
        app.run("check_site")
        app.processor.force_flush(300)
        if (pid := os.fork()) == 0:
            app.run("check_site")
            say("child", app.processor.force_flush(20_000))
            sys.exit(0)
        say("left", os.waitpid(pid, 0)[1])
        gate.set()
        say("parent", app.processor.force_flush(20_000))
        """
        )

        assert sorted(said) == [
            "False quick scored",
            "False stuck scored",
            "True quick scored",
            "True stuck scored",
            "child True",
            "left 0",
            "parent True",
        ]


class TestExit:
    def test_scores_what_is_left(self):
        said = run_script(
            SCORERS
            + """
        app = Bare(None, scorers=[slow, quick], on_mark=outcome)
        app.run("check_site")
        """
        )

        assert sorted(said) == ["True quick scored", "True slow scored"]

    def test_waits_for_no_scorer_that_is_stuck(self):
        said = run_script(
            SCORERS
            + """
        async def stuck(run): threading.Event().wait()
        app = Bare(None, scorers=[stuck, quick], on_mark=outcome, settings={"shutdown_s": 1.0})
        app.run("check_site")
        """
        )

        assert sorted(said) == ["True quick scored", "True stuck unscored"]


def test_who_has_no_scorers_imports_nothing_for_them():
    said = run_script("""
        app = Bare()
        app.run("check_site")
        app.processor.force_flush(20_000)
        say(*sorted(name for name in sys.modules if name.startswith(("otel_chloe.kit", "otel_chloe.pipeline.own",
            "otel_chloe.pipeline.threads", "otel_chloe.pipeline.judg"))))
        """)

    assert said == [""]
