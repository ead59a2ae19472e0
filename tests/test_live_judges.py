"""Judges of the user's own on live runs: they share the desk with `expectations`, and hold mode waits for them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from agent_app import App, marks_of
from judge_script import JUDGED, checks
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from own_scorers import AGENT, Gate, Scored, is_up, states, until

from otel_chloe import ConfigError, Scorer, ScoringSpanProcessor, score
from otel_chloe.config import load_rules
from otel_chloe.config.rules import ScorerRule
from otel_chloe.testing import JudgeError, Reply, ScriptedJudge


def judge(name: str = "is_kind", **more: Any) -> Any:
    more.setdefault("rubric", "Is it kind? 0 to 1.")
    return Scorer.llm_judge(**{"name": name, "model": "test/own", "threshold": 0.8, **more})


def ruled(*scorers: ScorerRule, rules: Any = None) -> Any:
    """Rules with these scorers, as a file has them."""
    return load_rules(rules or {}).with_scorers(scorers)


class TestAJudge:
    def test_has_its_mark_beside_the_span(self):
        model = ScriptedJudge("0.9")
        with Scored(judge(complete=model)) as app:
            app.run("check_site")

            assert app.score("is_kind") == {}
            event, said = app.event("is_kind"), app.evaluation("is_kind")
            assert event["gen_ai.evaluation.score.value"] == 0.9
            assert event["gen_ai.evaluation.score.label"] == "pass"
            assert event["chloe.scorer.key"] == "is_kind"
            assert (said["chloe.judge.model"], said["chloe.judge.calls"]) == ("test/own", 1)
            assert app.numbers("is_kind") == [(1, 0.9)]
            assert app.counted("chloe.judge.calls", gen_ai__request__model="test/own") == 1
            assert "It is up." in model.messages[0][-1]["content"]

    def test_gives_the_mark_that_score_gives(self):
        scorer = judge(complete=ScriptedJudge("0.9"))
        with Scored(scorer) as app:
            app.run("check_site")
            [live] = app.outcomes()
            [alone] = score(app.told[0][0], [scorer])

        assert replace(live, judged=None) == replace(alone, judged=None)  # type: ignore[call-arg]

    def test_asks_by_its_own_way_before_the_processors(self):
        own, others = ScriptedJudge("1"), ScriptedJudge("0")
        with Scored(judge("a", complete=own), judge("b"), complete=others) as app:
            app.run("check_site")

            assert app.event("a")["gen_ai.evaluation.score.value"] == 1.0
            assert app.event("b")["gen_ai.evaluation.score.value"] == 0.0
            assert (len(own.asks), len(others.asks)) == (1, 1)
            assert others.asks[0].model == "test/own"

    def test_asks_beside_the_expectations_of_the_rules(self):
        with Scored(judge(complete=ScriptedJudge("0.9")), rules=JUDGED, complete=ScriptedJudge(checks(True))) as app:
            app.run("check_site")

            assert states(app.outcomes()) == [("calls", "scored"), ("expectations", "scored"), ("is_kind", "scored")]

    def test_needs_no_judge_in_the_rules(self):
        with Scored(judge(), complete=ScriptedJudge("0.5")) as app:
            app.run("check_site")

            assert app.event("is_kind")["chloe.passed"] is False

    @pytest.mark.parametrize(
        ("answer", "state", "error"),
        [
            ("8/10", "failed", "invalid_answer"),
            (JudgeError("no such model", error="not_found"), "failed", "not_found"),
            (ValueError("odd"), "failed", "ValueError"),
        ],
    )
    def test_that_fails_gives_no_number(self, answer, state, error):
        with Scored(judge(complete=ScriptedJudge([answer])), is_up) as app:
            app.run("check_site")

            said = app.event("is_kind")
            assert (said["chloe.state"], said["error.type"]) == (state, error)
            assert "gen_ai.evaluation.score.value" not in said
            assert app.event("is_up")["chloe.passed"] is True

    def test_takes_its_variables_from_a_function_that_may_raise(self):
        def broken(ctx):
            raise LookupError(ctx.run.agent)

        with Scored(judge(rubric=None, messages=[{"role": "user", "content": "{{x}}"}])(broken)) as app:
            app.run("check_site")

            assert app.event("is_kind")["error.type"] == "LookupError"

    def test_of_a_run_that_does_not_say_what_it_needs_asks_no_model(self):
        model = ScriptedJudge("1")
        with Scored(judge(complete=model, required_inputs=["expected"])) as app:
            app.run("check_site")

            assert app.event("is_kind")["error.type"] == "missing_input"
            assert model.asks == []

    def test_is_redacted_as_the_processor_says(self):
        model = ScriptedJudge("1")
        with Scored(judge(complete=model), redact=lambda text: text.replace("up", "<state>")) as app:
            app.run("check_site")
            app.flush()

        assert "It is <state>." in model.messages[0][-1]["content"]

    def test_one_that_is_out_of_order_stops_no_other(self):
        broken = [JudgeError("down", error="auth", lasting=True)] * 9
        with Scored(
            judge("a", model="test/a", complete=ScriptedJudge(broken)), judge("b", complete=ScriptedJudge("1"))
        ) as app:
            for _ in range(4):
                app.run("check_site")

            assert app.marked("b", chloe__state="scored") == 4
            assert app.marked("a", chloe__state="scored") == 0
            assert app.marked("a") == 4

    def test_keeps_to_the_budget_of_the_rules(self):
        dear = ScriptedJudge(lambda _: Reply(text="1", input_tokens=1_000_000, output_tokens=1))
        rules = {
            "judge": {"usd_per_hour": 1, "usd_per_million_input": 2, "usd_per_million_output": 2, "concurrency": 1}
        }
        with Scored(judge(), rules=rules, complete=_metered(dear)) as app:
            for _ in range(3):
                app.run("check_site")
                app.flush()

            assert app.marked("is_kind") == 3


def _metered(model: ScriptedJudge) -> Any:
    async def complete(name: str, messages: list[dict[str, str]]) -> str:
        return await model(name, messages)

    return complete


class TestShutdown:
    def test_that_cannot_wait_leaves_what_is_judged_unscored(self):
        with Gate() as gate:

            def stuck(_model: str, _messages: object) -> str:
                gate.wait()
                return "1"

            app = Scored(judge(complete=stuck), is_up, settings={"shutdown_s": 1.0})
            app.run("check_site")
            app.run("check_site")
            app.provider.shutdown()
            gate.let_go()

        found = [outcome for _, outcome in app.told]
        assert states(found) == [("is_kind", "unscored")] * 2 + [("is_up", "scored")] * 2
        assert {o.error for o in found if o.state == "unscored"} == {"deadline"}  # type: ignore[union-attr]


class TestSampling:
    def test_of_code_leaves_runs_unscored(self):
        seen: list[Any] = []
        scorer = Scorer.code(lambda run: seen.append(run) or True, name="seen")
        with Scored(rules=ruled(ScorerRule(scorer=scorer, sample=0.0))) as app:
            app.run("check_site")

            assert app.event("seen")["error.type"] == "sampled_out"
            assert app.score("seen")["state"] == "unscored"
            assert app.marked("seen", chloe__state="unscored", error__type="sampled_out") == 1
            assert app.verdict() is None
        assert seen == []

    def test_of_a_judge_leaves_runs_unscored(self):
        model = ScriptedJudge("1")
        with Scored(rules=ruled(ScorerRule(scorer=judge(complete=model), sample=0.0))) as app:
            app.run("check_site")

            assert app.event("is_kind")["error.type"] == "sampled_out"
        assert model.asks == []

    def test_of_a_judge_leaves_no_run_out_whose_calls_failed(self):
        model = ScriptedJudge("1")
        calls = {"agents": {"*": {"calls": {"mustNotCall": ["delete_site"]}}}}
        with Scored(rules=ruled(ScorerRule(scorer=judge(complete=model), sample=0.0), rules=calls)) as app:
            app.run("delete_site")

            assert app.event("is_kind")["chloe.state"] == "scored"

    def test_is_the_same_for_a_run_wherever_it_is_scored(self):
        scorer = Scorer.code(is_up)
        with Scored(rules=ruled(ScorerRule(scorer=scorer, sample=0.5))) as app:
            for _ in range(40):
                app.run("check_site")
            app.flush()

            for span, event in zip(app.exported(AGENT), app.events(), strict=True):
                if "chloe.is_up.state" in marks_of(span):  # else the machine was slow
                    assert marks_of(span)["chloe.is_up.state"] == event["chloe.state"]
            assert 0 < app.marked("is_up", chloe__state="scored") < 40


def test_a_scorer_has_the_severity_of_its_rule_else_of_its_agent():
    rules = load_rules({"agents": {"*": {"severity": "ticket"}}})
    own = ScorerRule(scorer=Scorer.code(is_up), severity="page")
    other = ScorerRule(scorer=Scorer.code(lambda _: True, name="other"))
    with Scored(rules=rules.with_scorers((own, other))) as app:
        app.run("check_site")

        assert app.event("is_up")["chloe.severity"] == "page"
        assert app.event("other")["chloe.severity"] == "ticket"
        assert app.marked("is_up", chloe__severity="page") == 1


def test_a_scorer_of_the_rules_wins_over_one_of_that_name_in_code():
    ruled_one = ScorerRule(scorer=Scorer.code(lambda _: 0.25, name="is_up"))
    with Scored(is_up, rules=ruled(ruled_one)) as app:
        app.run("check_site")

        assert app.event("is_up")["gen_ai.evaluation.score.value"] == 0.25
        assert app.marked("is_up") == 1


class TestHoldMode:
    def held(self, app: App, **more: Any) -> InMemorySpanExporter:
        exporter = InMemorySpanExporter()
        app.provider = TracerProvider(shutdown_on_exit=False)
        app.provider.add_span_processor(app.processor)
        app.provider.add_span_processor(app.processor.hold(SimpleSpanProcessor(exporter), **more))
        app.tracer = app.provider.get_tracer("app")
        return exporter

    def marks(self, exporter: InMemorySpanExporter) -> dict[str, Any]:
        (root,) = [span for span in exporter.get_finished_spans() if span.name == AGENT]
        return marks_of(root)

    def test_puts_judged_and_async_marks_on_the_span(self):
        async def looked_up(_):
            await asyncio.sleep(0)
            return True

        with Scored(judge(complete=ScriptedJudge("0.9")), looked_up, is_up) as app:
            exporter = self.held(app)
            app.run("check_site")
            assert app.provider.force_flush(20_000)

            said = self.marks(exporter)
            assert said["chloe.is_kind.score"] == 0.9
            assert said["chloe.looked_up.score"] == said["chloe.is_up.score"] == 1.0
            assert said["chloe.passed"] is True

    def test_holds_no_span_where_all_marks_are_there_at_once(self):
        with Scored(is_up) as app:
            exporter = self.held(app)
            app.run("check_site")

            assert self.marks(exporter)["chloe.is_up.score"] == 1.0

    def test_hands_on_the_span_of_a_scorer_that_is_stuck(self):
        with Gate() as gate:

            async def stuck(_):
                gate.wait()
                return True

            with Scored(stuck, is_up) as app:
                exporter = self.held(app, seconds=0.05)
                app.run("check_site")
                until(lambda: [span for span in exporter.get_finished_spans() if span.name == AGENT])

                assert self.marks(exporter)["chloe.is_up.score"] == 1.0
                gate.let_go()


def test_a_judge_that_is_wrong_is_refused_at_once():
    with pytest.raises(ConfigError, match="complete"):
        ScoringSpanProcessor(scorers=[judge(complete=5)])
