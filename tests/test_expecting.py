"""`expecting()`, and the attribute that carries it: what a program expects of some runs alone."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading

import pytest
from agent_app import FAILED, PASSED, RULES, App, agent_attributes, marks_of
from hypothesis import given
from hypothesis import strategies as st
from judge_script import Judge, checks

from otel_chloe import ConfigError, ExpectedCalls, ExpectedOutcome, Run, ToolCall, calls, expecting
from otel_chloe.config import load_rules
from otel_chloe.inside import Inside, added_calls
from otel_chloe.processor import block
from otel_chloe.scorers import outcomes

MORE = {"mustCall": ["restart_site"]}
KEY = "chloe.expected"


def verdicts(app):
    return [marks_of(span).get("chloe.passed") for span in app.exported("invoke_agent site_doctor")]


def carriers(app):
    app.flush()
    return [span.name for span in app.exporter.get_finished_spans() if KEY in (span.attributes or {})]


class TestABlock:
    def test_adds_to_the_rules_of_runs_that_start_inside(self):
        with App() as app:
            app.run("check_site")
            with expecting(calls=MORE):
                app.run("check_site")
                app.run("check_site", "restart_site")
            app.run("check_site")

            assert verdicts(app) == [True, False, True, True]
            assert app.scores() == [("site_doctor", score) for score in (0.0, 1.0, 1.0, 1.0)]
            assert app.counted("chloe.violations", chloe__rule="must_call", gen_ai__tool__name="restart_site") == 1

    def test_holds_without_any_rules(self):
        with App({}) as app:
            with expecting(calls=MORE):
                app.run("check_site")
            app.run("check_site")

            assert verdicts(app) == [False, None]

    def test_never_relaxes_a_rule(self):
        rules = {"agents": {"*": {"calls": {"mustNotCall": ["delete_site"], "count": "attempted"}}}}
        with App(rules) as app, expecting(calls={"mustCall": ["check_site"], "count": "succeeded"}):
            app.run("check_site", "delete_site")

            assert verdicts(app) == [False]

    def test_inside_another_adds_to_it(self):
        with App() as app:
            with expecting(calls=MORE), expecting(calls={"mustCall": ["page_somebody"]}):
                app.run("check_site", "page_somebody")

            assert app.reason() == "never called restart_site. Used: check_site, page_somebody."

    def test_marks_the_outermost_spans_alone(self):
        with App() as app:
            with expecting(calls=MORE):
                app.run("check_site", "restart_site")
                app.run("check_site", "restart_site")

            assert carriers(app) == ["invoke_agent site_doctor"] * 2

    def test_holds_for_runs_below_a_span_from_outside(self):
        with App() as app:
            with app.tracer.start_as_current_span("job"):
                app.run("check_site")
                with expecting(calls=MORE):
                    app.run("check_site")

            assert verdicts(app) == [True, False]
            assert marks_of(app.span("job")) == {}

    def test_holds_for_runs_below_a_span_from_inside(self):
        with App() as app:
            with expecting(calls=MORE), app.tracer.start_as_current_span("job"):
                app.run("check_site")
                app.run("restart_site", "check_site")

            assert verdicts(app) == [False, True]
            assert carriers(app) == ["job"]

    @pytest.mark.parametrize("rules", [{}, RULES, {"agents": {"*": {"calls": {"mustNotCall": ["delete_site"]}}}}])
    def test_that_is_the_first_of_all_holds_below_a_span_that_was_open_already(self, rules, monkeypatch):
        monkeypatch.setattr(block, "used", False)
        with App(rules) as app:
            with app.tracer.start_as_current_span("job"), expecting(calls=MORE):
                app.run("check_site")

            assert verdicts(app) == [False]

    def test_holds_for_no_run_that_started_before(self):
        with App() as app:
            with app.agent(), expecting(calls=MORE):
                app.call("check_site")

            assert verdicts(app) == [True]

    def test_that_expects_nothing_leaves_all_as_it_is(self):
        with App() as app:
            with expecting(metadata={"case": 7}):
                app.run("check_site")

            assert {key: value for key, value in app.marks().items() if key != KEY} == PASSED

    def test_gives_scorers_what_they_ask_for(self):
        said = []
        with App(on_mark=lambda run, _: said.append(run.inside)) as app:
            with (
                expecting(input={"site": "shop"}, metadata={"a": 1, "b": 1}),
                expecting(expected=["up"], metadata={"b": 2}),
            ):
                app.run("check_site")

            app.flush()
        assert said == [Inside(input={"site": "shop"}, expected=["up"], metadata={"a": 1, "b": 2})]

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"calls": {"mustCal": []}}, "Did you mean mustCall?"),
            ({"calls": {"mustCall": "x"}}, "is one text, not a list"),
            ({"outcome": {"shuld": []}}, "Did you mean should?"),
            ({"situation": ""}, "an empty text"),
            ({"metadata": {"a": object()}}, "Give values that JSON has"),
        ],
    )
    def test_that_is_wrong_says_so_where_it_stands(self, wrong, message):
        with pytest.raises(ConfigError, match=message.replace("?", r"\?")), expecting(**wrong):
            pytest.fail("the block was entered")


class TestWhereItHolds:
    def test_in_tasks_that_start_inside(self):
        async def main(app):
            async def one(*more):
                if more:
                    with expecting(calls={"mustCall": [*more]}):
                        await asyncio.sleep(0)
                        app.run("check_site")
                else:
                    await asyncio.sleep(0)
                    app.run("check_site")

            await asyncio.gather(one(), one("restart_site"), one())

        with App() as app:
            asyncio.run(main(app))

            assert sorted(verdicts(app)) == [False, True, True]

    def test_in_threads_that_run_in_a_copy_of_the_context(self):
        with App() as app:
            with expecting(calls=MORE):
                context = contextvars.copy_context()
                thread = threading.Thread(target=context.run, args=(app.run, "check_site"))
                thread.start()
                thread.join()

            assert verdicts(app) == [False]

    def test_not_in_other_threads_at_the_same_time(self):
        with App() as app:
            thread = threading.Thread(target=contextvars.Context().run, args=(app.run, "check_site"))
            with expecting(calls=MORE):
                thread.start()
                thread.join()

            assert verdicts(app) == [True]

    def test_in_a_generator_that_is_closed_elsewhere(self):
        def steps(app):
            with expecting(calls=MORE):
                app.run("check_site")
                yield

        with App() as app:
            started = steps(app)
            contextvars.copy_context().run(next, started)
            started.close()
            app.run("check_site")

            assert verdicts(app) == [False, True]


class TestLines:
    def test_are_judged_with_those_of_the_rules(self):
        rules = {"judge": {"model": "m"}, "agents": {"site_doctor": {"expectations": {"should": ["is polite"]}}}}
        judge = Judge(checks(True, False))
        with App(rules, complete=judge) as app:
            with expecting(situation="The shop is down.", outcome={"should": ["says that it is down"]}):
                app.run("check_site")
            app.flush()

            (event,) = app.events()
            assert event["gen_ai.evaluation.score.value"] == 0.5
            assert "The shop is down." in str(judge.asked)

    def test_are_judged_where_the_rules_have_a_model_and_no_lines(self):
        with App({"judge": {"model": "m"}}, complete=Judge(checks(True))) as app:
            with expecting(outcome={"should": ["says that it is down"]}):
                app.run("check_site")
            app.flush()

            assert [event["gen_ai.evaluation.score.value"] for event in app.events()] == [1.0]

    def test_without_a_model_are_unscored_and_say_why(self):
        said = []
        with App(on_mark=lambda _, outcome: said.append((outcome.name, outcome.state, outcome.reason))) as app:
            with expecting(outcome={"should": ["says that it is down"]}):
                app.run("check_site")
            app.flush()

        assert said[1] == ("expectations", "unscored", "no model to judge with: write judge: {model: …} in the rules")


class TestTheAttribute:
    """What a program in any language writes itself."""

    def written(self, app, text, *, late=False):
        with app.agent() as span:
            if late:
                span.set_attribute(KEY, text)
            app.call("check_site")

    @pytest.mark.parametrize("late", [False, True])
    def test_is_read(self, late):
        text = json.dumps({"calls": MORE})
        with App() as app:
            attributes = agent_attributes("site_doctor") | ({} if late else {KEY: text})
            with app.agent(attributes=attributes) as span:
                app.call("check_site")
                if late:
                    span.set_attribute(KEY, text)

            assert {key: value for key, value in app.marks().items() if key != KEY} == FAILED
            assert app.scores() == [("site_doctor", 0.0)]

    def test_of_the_program_is_not_written_over(self):
        text = json.dumps({"calls": {"mustCall": ["check_site"]}})
        with App() as app, expecting(calls=MORE):
            with app.agent(attributes=agent_attributes("site_doctor") | {KEY: text}):
                app.call("check_site")

            assert verdicts(app) == [True]

    @pytest.mark.parametrize("text", ["{", "[]", '{"calls": {"mustCal": []}}', '{"more": 1}', "", '{"calls": 5}'])
    def test_that_cannot_be_read_lets_no_run_pass(self, text):
        with App() as app:
            with app.agent(attributes=agent_attributes("site_doctor") | {KEY: text}):
                app.call("check_site")

            assert app.marks()["chloe.calls.state"] == "unscored"
            assert app.reason() == "what the span expects of this run cannot be read"

    def test_that_cannot_be_read_saves_no_run(self):
        with App() as app:
            with app.agent(attributes=agent_attributes("site_doctor") | {KEY: "{"}):
                app.call("delete_site")

            assert verdicts(app) == [False]


names = st.lists(st.sampled_from("abcd"), max_size=3)
expected_calls = st.builds(
    ExpectedCalls,
    names,
    names,
    names,
    count=st.sampled_from(["attempted", "executed", "succeeded"]),
    per=st.sampled_from(["name", "arguments"]),
)
runs = st.builds(
    Run,
    tool_calls=st.lists(st.builds(ToolCall, st.sampled_from("abcd"), ok=st.booleans(), ran=st.booleans()), max_size=5),
)


@given(runs, expected_calls, expected_calls)
def test_a_run_that_breaks_a_rule_breaks_it_with_more_added(run, base, more):
    if calls(run, base).state == "scored" and calls(run, base).score == 0:
        assert calls(run, added_calls(base, more)).score == 0


@given(
    st.builds(
        Inside,
        calls=st.none() | expected_calls,
        outcome=st.none() | st.builds(ExpectedOutcome, st.none() | st.just("down"), names, names),
        input=st.none() | st.text(),
        metadata=st.none() | st.dictionaries(st.text(), st.integers(), min_size=1),
    )
)
def test_the_text_says_all(inside):
    assert Inside.from_json(inside.to_json()) == inside


@given(
    st.text()
    | st.integers()
    | st.recursive(st.integers(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)).map(json.dumps)
)
def test_any_text_is_read_or_not(text):
    assert Inside.from_json(text) is None or Inside.from_json(text) == Inside()


def test_a_recorded_run_is_scored_by_what_its_span_says():
    run = Run(agent="a", tool_calls=(ToolCall("b"),), inside=Inside(calls=ExpectedCalls(must_call=["c"])))

    assert [outcome.score for _, outcome in outcomes(run, load_rules(RULES))] == [0.0]
