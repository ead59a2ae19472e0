"""What a scorer may return of a live run, and what it may do: nothing of it harms the agent, or another scorer."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from agent_app import PASSED, RULES
from own_scorers import AGENT, Gate, Scored, is_up, states

from otel_chloe import DeferredScore, Score, Scorer, score


def named(name: str, function: Any, **more: Any) -> Any:
    return Scorer.code(function, name=name, **more)


class TestSeveralScores:
    def test_of_a_list_each_have_their_mark(self):
        def wording(output):
            return [Score("words", len(output.split()), comment="words"), Score("tone", "calm")]

        with Scored(wording) as app:
            app.run("check_site")

            assert app.score("words") == {"state": "scored", "score": 3.0, "reason": "words"}
            assert app.score("tone")["label"] == "calm"
            assert "score" not in app.score("tone")
            for name in ("words", "tone"):
                assert app.event(name)["chloe.scorer.key"] == "wording"
                assert app.marked(name) == 1
            assert app.event("tone")["gen_ai.evaluation.score.label"] == "calm"
            assert "gen_ai.evaluation.score.value" not in app.event("tone")

    def test_of_a_mapping_each_have_their_mark(self):
        with Scored(named("parts", lambda _: {"a": True, "b": 0.25})) as app:
            app.run("check_site")

            assert (app.score("a")["passed"], app.score("b")["score"]) == (True, 0.25)
            assert states(app.outcomes()) == [("a", "scored"), ("b", "scored")]

    def test_a_wrong_one_spoils_no_other(self):
        said = [Score("good", 1.0), Score("nan", float("nan")), Score("twice", 1), Score("twice", 0), 7]
        with Scored(named("mixed", lambda _: said)) as app:
            app.run("check_site")

            assert states(app.outcomes()) == [
                ("good", "scored"),
                ("mixed", "failed"),
                ("nan", "failed"),
                ("twice", "failed"),
            ]
            assert app.score("good")["score"] == 1.0
            assert "score" not in app.score("nan")
            assert app.numbers("nan") == app.numbers("twice") == []

    def test_one_name_of_two_scorers_is_the_first_ones(self):
        with Scored(is_up, named("other", lambda _: {"is_up": 0.5, "more": 1.0})) as app:
            app.run("check_site")

            assert app.score("is_up")["score"] == 1.0
            assert app.score("is_up")["state"] == "scored"
            assert states(app.outcomes()) == [("is_up", "failed"), ("is_up", "scored"), ("more", "scored")]

    def test_the_name_of_a_rule_is_the_rules(self):
        with Scored(named("other", lambda _: {"calls": 0.5}), rules=RULES) as app:
            app.run("check_site")

            assert {key: value for key, value in app.marks().items() if "calls" in key} == {
                key: value for key, value in PASSED.items() if "calls" in key
            }
            assert states(app.outcomes()) == [("calls", "failed"), ("calls", "scored")]


class TestAPersonsScore:
    def test_is_pending_wherever_it_goes_out_and_never_a_number(self):
        with Scored(named("helpful", lambda _: DeferredScore("helpful", reason="read on Friday")), is_up) as app:
            app.run("check_site")

            assert app.score("helpful") == {"state": "pending", "reason": "read on Friday"}
            assert app.verdict() is None
            for said in (app.event("helpful"), app.evaluation("helpful")):
                assert said["chloe.state"] == "pending"
                assert said["chloe.mark.revision"] == 0
                assert {"gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label", "error.type"}.isdisjoint(said)
            assert app.marked("helpful", chloe__state="pending") == app.marked("helpful") == 1
            assert app.numbers("helpful") == []

    def test_stands_in_lists_and_mappings_too(self):
        def both(_):
            return {"now": 1.0, "later": DeferredScore("later")}

        with Scored(both) as app:
            app.run("check_site")

            assert states(app.outcomes()) == [("later", "pending"), ("now", "scored")]
            assert app.score("later") == {"state": "pending"}

    def test_does_not_hide_that_another_failed(self):
        with Scored(named("helpful", lambda _: DeferredScore("helpful")), named("never", lambda _: False)) as app:
            app.run("check_site")

            assert app.verdict() is False


class TestNothingToSay:
    def test_is_unscored(self):
        with Scored(named("shy", lambda _: None)) as app:
            app.run("check_site")

            assert app.score("shy")["state"] == "unscored"
            assert app.event("shy")["error.type"] == "not_scored"
            assert app.marked("shy", chloe__state="unscored", error__type="not_scored") == 1

    def test_of_what_is_not_known(self):
        with Scored(named("needy", lambda expected: expected == "up", required_inputs=["expected"])) as app:
            app.run("check_site")

            assert app.event("needy")["error.type"] == "missing_input"
            assert "expected" in app.score("needy")["reason"]


def deep(run: Any) -> Any:
    return deep(run)


def raises(_: Any) -> None:
    raise KeyError("site")


def ends_the_program(_: Any) -> None:
    raise SystemExit(3)


class TestAScorerThatFails:
    @pytest.mark.parametrize(
        ("scorer", "kind", "text"),
        [
            (raises, "KeyError", "'site'"),
            (ends_the_program, "SystemExit", "3"),
            (named("odd", lambda _: object()), "TypeError", "object"),
            (named("endless", lambda _: float("inf")), "ValueError", "inf"),
            (named("deep", deep), "RecursionError", "recursion"),
        ],
    )
    def test_says_what_went_wrong_and_harms_nobody(self, scorer, kind, text):
        name = getattr(scorer, "name", None) or scorer.__name__
        with Scored(scorer, is_up, rules=RULES) as app:
            app.run("check_site")

            said = app.score(name)
            assert said["state"] == "failed"
            assert said["reason"].startswith(f"{kind}: ")
            assert text in said["reason"]
            assert (app.event(name)["chloe.state"], app.event(name)["error.type"]) == ("failed", kind)
            assert "gen_ai.evaluation.score.value" not in app.event(name)
            assert app.marked(name, chloe__state="failed", error__type=kind) == 1
            assert app.score("is_up")["score"] == app.score("calls")["score"] == 1.0
            assert app.verdict() is None

    def test_on_every_run_is_asked_of_every_run(self):
        with Scored(raises) as app:
            for _ in range(3):
                app.run("check_site")

            assert app.marked("raises", error__type="KeyError") == 3

    def test_by_what_is_no_exception_has_failed_too(self):
        class Odd(BaseException):
            pass

        def odd(_):
            raise Odd("so")

        with Scored(odd, is_up) as app:
            app.run("check_site")
            app.run("check_site")

            assert app.marked("odd", error__type="Odd") == 2
            assert app.marked("is_up", chloe__state="scored") == 2

    def test_when_ctrl_c_comes_it_passes_and_the_span_ends_and_the_run_is_scored(self):
        times: list[int] = []
        with Gate() as gate:

            def interrupted(_):
                times.append(1)
                if len(times) == 1:
                    os.kill(os.getpid(), signal.SIGINT)
                    gate.wait()
                return True

            with Scored(interrupted, is_up, rules=RULES) as app:
                with pytest.raises(KeyboardInterrupt):
                    app.run("check_site")
                gate.let_go()

                assert app.span().end_time is not None
                assert states(app.outcomes()) == [("calls", "scored"), ("interrupted", "scored"), ("is_up", "scored")]


class TestAScorerThatDoesMore:
    def test_changes_what_no_other_sees(self):
        def vandal(ctx):
            ctx.metadata["case"] = "changed"
            ctx.run.tool_calls[0].arguments["site"] = "changed"
            ctx.input.clear()
            return True

        def after(ctx):
            return (ctx.metadata, ctx.run.tool_calls[0].arguments, ctx.input) == (
                {"case": 7},
                {"site": "shop"},
                {"site": "shop"},
            )

        from otel_chloe import expecting

        with Scored(vandal, after) as app:
            with expecting(input={"site": "shop"}, metadata={"case": 7}):
                app.run("check_site")

            assert app.score("vandal")["state"] == "scored"
            assert app.score("after")["score"] == 1.0
            assert app.told[0][0].tool_calls[0].arguments == {"site": "shop"}

    def test_makes_spans_of_its_own(self):
        def traced(_):
            with app.tracer.start_as_current_span("looking"), app.tool("delete_site"):
                return True

        with Scored(traced, rules=RULES, errors=None) as app:
            app.run("check_site")

            assert app.score("traced")["score"] == 1.0
            assert app.score("calls")["score"] == 1.0
            assert len(app.exported("looking")) == 1
            assert app.processor.stats()["runs"] == 1  # a scorer's own work is no run: it would be scored for ever

    def test_ends_another_run_in_the_middle(self):
        def ends(run):
            if run.agent == "outer" and other:
                other.pop().end()
            return True

        with Scored(ends) as app:
            other = [app.start_agent("site_doctor")]
            app.run("check_site", agent="outer")

            assert app.score("ends")["score"] == 1.0
            assert app.score("ends", "invoke_agent outer")["score"] == 1.0
            assert app.marked("ends") == 2

    def test_ends_the_very_span(self):
        with Scored(named("hasty", lambda _: spans[-1].end() or True)) as app:
            spans = []
            with app.agent() as span:
                spans.append(span)
                app.call("check_site")

            assert len(app.exported(AGENT)) == 1
            assert app.marked("hasty") == 1

    def test_flushes(self):
        with Scored(named("flusher", lambda _: app.processor.force_flush(50) or True), errors=None) as app:
            app.run("check_site")

            assert app.score("flusher")["state"] == "scored"
            assert app.marked("flusher") == 1


class TestMetrics:
    def test_numbers_over_1_have_a_histogram_of_their_own(self):
        with Scored(named("words", lambda output: len(output.split()))) as app:
            app.run("check_site")

            assert app.numbers("words") == []
            assert app.numbers("words", "chloe.evaluation.value") == [(1, 3.0)]

    def test_a_number_under_0_is_a_mark_that_no_histogram_takes(self):
        with Scored(named("change", lambda _: -1.5), errors=None) as app:
            app.run("check_site")

            assert app.event("change")["gen_ai.evaluation.score.value"] == -1.5
            assert app.marked("change") == 1
            assert app.numbers("change") == app.numbers("change", "chloe.evaluation.value") == []

    def test_names_and_labels_without_end_are_few_series(self):
        numbers = iter(range(1_000))
        with Scored(named("wild", lambda _: [Score(f"n{next(numbers)}", f"label {next(numbers)}")])) as app:
            for _ in range(70):
                app.run("check_site")

            assert app.marked("_other") == 20
            assert app.counted("chloe.marks", gen_ai__evaluation__score__label="_other") == 20
            assert len(app.outcomes()) == 70


def test_reasons_are_redacted_on_their_way_out():
    secret = "sk-ant-api03-" + "a1B2" * 20
    with Scored(named("leaky", lambda _: [Score("leaky", 1.0, comment=f"saw {secret}")])) as app:
        app.run("check_site")

        assert secret not in app.score("leaky")["reason"]
        assert secret not in str(app.event("leaky"))
        assert secret not in str(app.evaluation("leaky"))


def test_reasons_are_not_told_where_they_are_off():
    with Scored(named("told", lambda _: [Score("told", 1.0, comment="why")]), settings={"reasons": False}) as app:
        app.run("check_site")

        assert app.score("told") == {"state": "scored", "score": 1.0}
        assert "gen_ai.evaluation.explanation" not in app.event("told")


def test_a_span_without_room_keeps_its_own():
    from opentelemetry.sdk.trace import SpanLimits

    with Scored(is_up, rules=RULES, span_limits=SpanLimits(max_span_attributes=6)) as app:
        app.run("check_site")

        said = app.span().attributes or {}
        assert {"gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.input.messages"} <= set(said)
        assert said["chloe.passed"] is True
        assert app.marked("is_up") == app.marked("calls") == 1


def test_all_marks_are_those_of_score():
    functions = [is_up, raises, named("many", lambda _: {"a": 1, "b": "x", "c": None}), named("none", lambda _: [])]
    with Scored(*functions) as app:
        app.run("check_site")
        found = app.outcomes()

    assert found == score(app.told[0][0], functions)
