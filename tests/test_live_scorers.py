"""Functions that score live runs: their marks stand on the agent span and go out beside it."""

from __future__ import annotations

from typing import Any

import pytest
from agent_app import RULES, tool_attributes
from own_scorers import AGENT, Scored, is_up

from otel_chloe import ConfigError, Mark, Scorer, ScoringSpanProcessor, expecting, score


class TestAFunction:
    def test_marks_the_span_before_it_is_exported(self):
        with Scored(is_up) as app:
            app.run("check_site")

            said = app.score("is_up")
            assert said == {"state": "scored", "score": 1.0, "passed": True, "reason": said["reason"]}
            assert app.verdict() is True

    def test_goes_out_as_evaluation_span_event_and_metrics_too(self):
        with Scored(is_up) as app:
            app.run("check_site")

            agent, evaluation, event = app.span(), app.evaluation("is_up"), app.event("is_up")
            assert event["span_id"] == agent.context.span_id
            for said in (evaluation, event):
                assert said["gen_ai.evaluation.score.value"] == 1.0
                assert said["gen_ai.evaluation.score.label"] == "pass"
                assert said["chloe.scorer.key"] == "is_up"
                assert said["chloe.state"] == "scored"
            assert evaluation["chloe.mark.id"] == event["chloe.mark.id"]
            assert evaluation["chloe.scorer.version"] == event["chloe.scorer.version"]
            assert app.marked("is_up", chloe__state="scored", gen_ai__evaluation__score__label="pass") == 1
            assert app.numbers("is_up") == [(1, 1.0)]

    def test_gives_the_mark_that_score_gives(self):
        def counted(run):
            return len(run.tool_calls) / 4

        with Scored(is_up, counted) as app:
            app.run("check_site", "restart_site")
            app.flush()

            run = app.told[0][0]
            assert app.outcomes() == score(run, [is_up, counted])
            assert all(outcome.id for outcome in app.outcomes())

    def test_is_called_once_for_each_run(self):
        seen: list[Any] = []
        with Scored(Scorer.code(lambda run: seen.append(run) or True, name="seen")) as app:
            app.run("check_site")
            app.run("check_site")
            app.flush()

        assert len(seen) == 2

    def test_that_never_says_the_same_twice_says_one_thing_of_a_run(self):
        numbers = iter(range(1, 9))
        with Scored(Scorer.code(lambda _: next(numbers) / 10, name="dice")) as app:
            app.run("check_site")

            assert app.score("dice")["score"] == app.event("dice")["gen_ai.evaluation.score.value"]

    def test_is_given_what_the_program_expects_of_the_run(self):
        seen: list[Any] = []

        def look(ctx):
            seen.append((ctx.input, ctx.output, ctx.expected, ctx.metadata))

        with Scored(look) as app:
            with expecting(input={"site": "shop"}, expected="up", metadata={"case": 7}):
                app.run("check_site")
            app.run("check_site")
            app.flush()

        assert seen == [
            ({"site": "shop"}, "It is up.", "up", {"case": 7}),
            ("Is the shop up?", "It is up.", None, None),
        ]

    def test_is_given_the_whole_run_though_its_tool_spans_would_do_for_the_rules(self):
        def look(run):
            call = run.tool_calls[0]
            return (run.agent, run.prompt, call.arguments, call.result) == (
                "site_doctor",
                "Is the shop up?",
                {"site": "shop"},
                "up",
            )

        with Scored(look, rules=RULES) as app:
            app.run("check_site")

            assert app.score("look")["score"] == 1.0

    def test_scores_the_runs_of_every_agent_and_no_sub_run(self):
        with Scored(is_up, rules=RULES) as app:
            with app.agent("planner"):
                app.run("check_site")
            app.run("check_site")

            planner = dict(app.span("invoke_agent planner").attributes or {})
            inner, alone = app.exported(AGENT)
            assert planner["chloe.is_up.score"] == 1.0
            assert "chloe.is_up.state" not in (inner.attributes or {})
            assert (alone.attributes or {})["chloe.is_up.score"] == 1.0
            assert app.marked("is_up") == 2

    def test_scores_a_run_whose_agent_shows_only_at_its_end(self):
        with Scored(is_up) as app:
            with app.tracer.start_as_current_span("ask") as span:
                app.call("check_site")
                span.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "late"})
                span.set_attribute("gen_ai.output.messages", '[{"role":"assistant","content":"It is up."}]')

            assert app.score("is_up", "ask")["state"] == "scored"

    def test_is_called_beside_the_rules_and_each_has_its_mark(self):
        with Scored(Scorer.code(lambda _: False, name="never"), rules=RULES) as app:
            app.run("check_site")

            assert app.score("calls")["passed"] is True
            assert app.score("never")["passed"] is False
            assert app.verdict() is False
            assert sorted(event["gen_ai.evaluation.name"] for event in app.events()) == ["calls", "never"]


class TestAPassMark:
    @pytest.mark.parametrize(
        ("value", "direction", "passed"),
        [(0.5, "higher_is_better", True), (0.49, "higher_is_better", False), (0.5, "lower_is_better", True)],
    )
    def test_is_inclusive(self, value, direction, passed):
        scorer = Scorer.code(lambda _: value, name="share", threshold=0.5, direction=direction)
        with Scored(scorer) as app:
            app.run("check_site")

            assert app.score("share")["passed"] is passed
            assert app.event("share")["chloe.passed"] is passed

    def test_left_out_leaves_the_verdict_open(self):
        with Scored(Scorer.code(lambda _: 0.4, name="share")) as app:
            app.run("check_site")

            assert "passed" not in app.score("share")
            assert app.verdict() is None
            assert "gen_ai.evaluation.score.label" not in app.event("share")

    def test_does_not_matter_to_a_bool(self):
        with Scored(Scorer.code(lambda _: True, name="yes", threshold=5)) as app:
            app.run("check_site")

            assert app.score("yes")["passed"] is True


class TestALateCall:
    def test_changes_the_event_and_not_what_stands_on_the_span(self):
        def tools(run):
            return float(len(run.tool_calls))

        with Scored(tools) as app:
            with app.agent():
                late = app.tracer.start_span("execute_tool check_site", attributes=tool_attributes("check_site"))
            late.end()

            assert app.event("tools")["gen_ai.evaluation.score.value"] == 1.0
            assert app.numbers("tools") == [(1, 1.0)]
            assert app.marked("tools") == 1


class TestWhatIsNoScorer:
    @pytest.mark.parametrize(
        ("scorers", "said"),
        [
            ([5], "5 is no scorer"),
            (["is_up"], "is no scorer"),
            ([lambda: True], "takes nothing of the run"),
            ([lambda run, other: True], "other"),
            ([is_up, is_up], "two scorers have this name"),
            (is_up, "Write a list"),
            ([int], "is a class"),
        ],
    )
    def test_is_refused_at_once(self, scorers, said):
        with pytest.raises(ConfigError, match=said):
            ScoringSpanProcessor(scorers=scorers)

    @pytest.mark.parametrize("name", ["calls", "expectations"])
    def test_may_have_no_name_of_the_rules(self, name):
        with pytest.raises(ConfigError, match=name):
            ScoringSpanProcessor(scorers=[Scorer.code(is_up, name=name)])


def test_it_is_attached_with_its_scorers():
    from opentelemetry.sdk.trace import TracerProvider

    from otel_chloe import attach

    told: list[Any] = []
    with Scored() as app:
        provider = TracerProvider(shutdown_on_exit=False)
        attachment = attach(
            {},
            provider=provider,
            scorers=[is_up],
            on_mark=lambda _, outcome: told.append(outcome),
            meter_provider=app.meters,
            logger_provider=app.loggers,
        )
        app.tracer = provider.get_tracer("app")
        app.run("check_site")
        assert attachment.flush()
        assert attach({}, provider=provider, scorers=[is_up]) is attachment
        with pytest.raises(ConfigError, match="scored by"):
            attach(RULES, provider=provider)
        attachment.detach()

    (mark,) = told
    assert isinstance(mark, Mark)
    assert (mark.name, mark.passed) == ("is_up", True)


def test_a_test_records_runs_by_scorers_too():
    from opentelemetry.sdk.trace import TracerProvider

    from otel_chloe.testing import record_runs

    provider = TracerProvider(shutdown_on_exit=False)
    with Scored() as app, record_runs(provider=provider, scorers=[is_up]) as recorded:
        app.tracer = provider.get_tracer("app")
        app.run("check_site")
        [run] = recorded.runs

    assert run["is_up"].state == "scored"
