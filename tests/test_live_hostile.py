"""Scorers of live runs that hang, fork, or say what cannot be said: the others go on, and nothing leaks."""

from __future__ import annotations

import os
from typing import Any

import pytest
from agent_script import run_script
from own_scorers import Gate, Scored, is_up, states, until

from otel_chloe import Score, Scorer
from otel_chloe.testing import ScriptedJudge


def named(name: str, function: Any) -> Any:
    return Scorer.code(function, name=name)


async def looked_up(output: str) -> float:
    return 0.5 if output else 0.0


def test_a_scorer_that_hangs_keeps_no_other_from_being_asked():
    with Gate() as gate:

        async def hangs(_):
            gate.wait()
            return True

        with Scored(hangs, looked_up) as app:
            for _ in range(12):
                app.run("check_site")
            assert not app.processor.force_flush(300)

            assert states([outcome for _, outcome in app.told]) == [("looked_up", "scored")] * 12
            gate.let_go()
            assert app.marked("hangs", chloe__state="scored") == 12


def test_a_judges_function_that_hangs_keeps_no_other_judge_waiting():
    with Gate() as gate:

        @Scorer.llm_judge(name="hangs", model="m", rubric="Is it?", complete=ScriptedJudge("1"))
        def hangs(output):
            gate.wait()
            return {}

        with Scored(
            hangs, Scorer.llm_judge(name="asks", model="m", rubric="Is it?", complete=ScriptedJudge("1"))
        ) as app:
            app.run("check_site")
            assert not app.processor.force_flush(100)  # hands the run over
            gate.wait_for()
            until(lambda: app.told)

            assert states([outcome for _, outcome in app.told]) == [("asks", "scored")]
            gate.let_go()
            assert app.marked("hangs", chloe__state="scored") == 1


def test_a_flush_that_waited_for_a_scorer_has_its_marks():
    """However long it takes to take up what a scorer said, as with many scores."""

    async def many(_):
        return [Score(f"n{number}", number) for number in range(400)]

    with Scored(many) as app:
        app.run("check_site")
        assert app.processor.force_flush(20_000)

        assert len(app.told) == 400


def test_an_exception_that_cannot_say_what_it_is_is_an_outcome_like_any_other():
    class Silent(BaseException):
        def __str__(self) -> str:
            raise SystemExit("in the middle of it")

    def raises(_):
        raise Silent

    async def raises_later(_):
        raise Silent

    with Scored(raises, raises_later, is_up) as app:
        for _ in range(5):
            app.run("check_site")

        assert states(app.outcomes()) == sorted(
            [("is_up", "scored"), ("raises", "failed"), ("raises_later", "failed")] * 5
        )


def test_half_a_character_is_sent_as_a_question_mark():
    with Scored(named("half", lambda _: Score("half\ud83d", "kind\ud83d", comment="\ud83d"))) as app:
        app.run("check_site")

        assert app.score("half?") == {"state": "scored", "label": "kind?", "reason": "?"}
        assert app.event("half?")["gen_ai.evaluation.score.label"] == "kind?"


def test_a_label_that_is_a_text_of_the_run_shows_no_secret():
    with Scored(named("says", lambda _: "It is up, write to ann@example.com")) as app:
        app.run("check_site")

        assert app.score("says")["label"] == "It is up, write to <email-1>"
        assert "ann@" not in str(app.evaluation("says"))
        assert "ann@" not in str(app.event("says"))
        (mark,) = app.outcomes("says")
        assert (mark.value, mark.label) == ("It is up, write to <email-1>",) * 2  # type: ignore[union-attr]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_that_comes_back_from_a_scorer_ends_and_says_nothing():
    said = run_script(
        """
        first = os.getpid()
        def forks(output):
            if (pid := os.fork()) == 0:
                return False
            say("child left", os.waitpid(pid, 0)[1])
            return os.getpid() == first
        app = Bare(None, scorers=[forks], on_mark=lambda run, outcome: say(os.getpid() == first, outcome.passed))
        app.run("check_site")
        say(app.processor.force_flush(20_000))
        app.processor.shutdown()
        """
    )

    assert said == ["child left 0", "True True", "True"]
