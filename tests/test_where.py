"""`where:` in the rules: an entry holds only for runs with these attributes, live and recorded."""

from __future__ import annotations

from typing import Any

import pytest
from agent_app import FAILED, PASSED, App, agent_attributes, marks_of
from opentelemetry.sdk.resources import Resource
from small_recordings import agent, tool, written

from otel_chloe import ConfigError, Run, ToolCall, load_runs
from otel_chloe.cli import main
from otel_chloe.config import Rules, load_rules
from otel_chloe.scorers import outcomes
from otel_chloe.sinks import watched

TIER = "test.customer.tier"  # of no convention, and of no other test
GOLD = {TIER: "gold"}
BAN = {"calls": {"mustNotCall": ["restart_site"]}}
MUST = {"calls": {"mustCall": ["check_site"]}}


def run(agent: str | None = "site_doctor", **given: Any) -> Run:
    return Run(agent=agent, tool_calls=(ToolCall("restart_site"),), trace_id="1" * 32, span_id="2" * 16, **given)


def reasons(run: Run, rules: Rules) -> list[str]:
    return [str(outcome.reason).partition(" Used")[0] for _, outcome in outcomes(run, rules)]


NEVER, CALLED = "never called check_site.", "called restart_site, which it must not."
BOTH = "never called check_site; called restart_site, which it must not."


class TestWhichRulesHold:
    @pytest.mark.parametrize(
        ("everyone", "named", "attributes", "said"),
        [
            (BAN, {**MUST, "where": GOLD}, GOLD, [BOTH]),
            (BAN, {**MUST, "where": GOLD}, {TIER: "free"}, [CALLED]),
            (BAN, {**MUST, "where": GOLD}, None, [CALLED]),
            ({**BAN, "where": GOLD}, MUST, GOLD, [BOTH]),
            ({**BAN, "where": GOLD}, MUST, {}, [NEVER]),
            ({**BAN, "where": GOLD}, {**MUST, "where": {"region": "eu"}}, {}, []),
            ({**BAN, "where": GOLD}, {**MUST, "where": {"region": "eu"}}, {"region": "eu"}, [NEVER]),
            ({**BAN, "where": {**GOLD, "region": "eu"}}, {}, GOLD, []),
        ],
    )
    def test_those_of_everyone_and_of_the_agent_each_by_its_own(self, everyone, named, attributes, said):
        rules = load_rules({"agents": {"*": everyone, "site_doctor": named}})

        assert reasons(run(attributes=attributes), rules) == said

    def test_an_agent_without_an_entry(self):
        rules = load_rules({"agents": {"*": {**BAN, "where": GOLD}, "other": MUST}})

        assert reasons(run(None, attributes=GOLD), rules) == reasons(run("c", attributes=GOLD), rules) == [CALLED]
        assert reasons(run(None), rules) == reasons(run("c"), rules) == []

    @pytest.mark.parametrize("resource", [GOLD, Resource(GOLD)])
    def test_by_the_resource_too(self, resource):
        rules = load_rules({"agents": {"*": {**BAN, "where": GOLD}}})

        assert (
            reasons(run(resource=resource), rules) == reasons(run(resource=resource, attributes={}), rules) == [CALLED]
        )

    @pytest.mark.parametrize(
        ("value", "said", "holds"),
        [(1, 1, True), (1, 1.0, True), (1, True, False), ("1", 1, False), (True, True, True), (False, 0, False)],
    )
    def test_values_are_equal_as_attributes_are(self, value, said, holds):
        rules = load_rules({"agents": {"*": {**BAN, "where": {TIER: value}}}})

        assert bool(outcomes(run(attributes={TIER: said}), rules)) is holds

    def test_a_sub_run_by_its_own_span(self):
        rules = load_rules({"agents": {"site_doctor": {**MUST, "where": GOLD}}})

        assert reasons(Run(agent="a", attributes=GOLD, sub_runs=(run(),)), rules) == []
        assert reasons(Run(agent="a", sub_runs=(run(attributes=GOLD),)), rules) == [NEVER]

    def test_scorers_of_code_hold_whatever_it_says(self):
        from otel_chloe.config import ScorerRule
        from otel_chloe.kit import as_scorer

        given = (ScorerRule(scorer=as_scorer(len)),)
        rules = load_rules({"agents": {"*": {**BAN, "where": GOLD}, "site_doctor": {**MUST, "where": GOLD}}})

        for held in (rules.with_scorers(given).of_run(run(each)) for each in ("site_doctor", "c", None)):
            assert held is not None
            assert (held.scorers, held.calls) == (given, None)


GOLD_RULES = {"agents": {"site_doctor": {**MUST, "where": GOLD}}}


class TestLive:
    def ran(self, rules: Any, attributes: dict[str, Any], *calls: str, **resource: str) -> dict[str, Any]:
        with App(rules, resource=Resource({key.replace("__", "."): said for key, said in resource.items()})) as app:
            with app.agent(attributes={**agent_attributes("site_doctor"), **attributes}):
                for name in calls:
                    app.call(name)
            marks = app.marks()
            assert [score for _, score in app.scores()] == [
                marks[key] for key in marks if key.endswith(".score")
            ]  # the same on the span and after it
            return {key: said for key, said in marks.items() if key != TIER}

    def test_by_an_attribute_of_the_agent_span(self):
        assert self.ran(GOLD_RULES, GOLD, "check_site") == PASSED
        assert self.ran(GOLD_RULES, GOLD, "restart_site") == FAILED
        assert self.ran(GOLD_RULES, {TIER: "free"}, "restart_site") == {}
        assert self.ran(GOLD_RULES, {}, "restart_site") == {}

    def test_by_an_attribute_that_live_runs_drop_else(self):
        rules = {"agents": {"site_doctor": {**MUST, "where": {"gen_ai.request.test_tier": "gold"}}}}

        assert self.ran(rules, {"gen_ai.request.test_tier": "gold"}, "restart_site") == FAILED

    def test_by_the_resource(self):
        rules = {"agents": {"*": {**BAN, "where": {"service.name": "shop"}}}}

        assert self.ran(rules, {}, "restart_site", service__name="shop") == FAILED
        assert self.ran(rules, {}, "check_site", service__name="shop") == PASSED
        assert self.ran(rules, {}, "restart_site", service__name="blog") == {}

    def test_an_attribute_that_comes_after_the_start(self):
        with App(GOLD_RULES) as app:
            with app.agent() as span:
                app.call("restart_site")
                span.set_attribute(TIER, "gold")

            assert {key: said for key, said in app.marks().items() if key != TIER} == FAILED

    def test_a_forbidden_call_is_counted_only_where_the_rule_holds(self):
        with App({"agents": {"site_doctor": {**BAN, "where": GOLD}}}) as app:
            app.run("restart_site")
            with app.agent(attributes={**agent_attributes("site_doctor"), **GOLD}):
                app.call("restart_site")

            assert app.counted("chloe.violations", gen_ai__tool__name="restart_site") == 1


def test_series_start_at_0_whatever_holds():
    (agent,) = watched(load_rules({"agents": {"*": {**BAN, "where": GOLD}, "site_doctor": {**MUST, "where": GOLD}}}))

    assert (agent.agent, agent.scorers) == ("site_doctor", ("calls",))
    assert {violation.tool for violation in agent.violations} == {"check_site", "restart_site"}


def test_a_live_sub_run_by_its_own_span():
    with App(GOLD_RULES) as app:
        with app.agent("planner"), app.agent(attributes={**agent_attributes("site_doctor"), **GOLD}):
            app.call("restart_site")
        with app.agent("planner"):
            app.run("restart_site")

        first, second = app.exported("invoke_agent site_doctor")
        assert {key: said for key, said in marks_of(first).items() if key != TIER} == FAILED
        assert marks_of(second) == {}
        assert app.scores() == [("site_doctor", 0.0)]


def test_recorded_runs_by_span_and_by_resource(tmp_path, capsys):
    attribute = {TIER.replace(".", "__"): "gold"}
    path = written(
        tmp_path / "runs.jsonl",
        tool(1, 2, 1, name="restart_site", at=0.1, lasts=0.1),
        agent(1, 1, name="site_doctor", **attribute),
        tool(2, 4, 3, name="restart_site", at=2.1, lasts=0.1),
        agent(2, 3, name="site_doctor", at=2),
    )
    by_span = load_rules({"agents": {"site_doctor": {**MUST, "where": GOLD}}})
    by_both = load_rules({"agents": {"site_doctor": {**MUST, "where": {**GOLD, "service.name": "shop"}}}})
    by_resource = load_rules({"agents": {"*": {**BAN, "where": {"service.name": "shop"}}}})

    def scored(rules: Rules) -> list[list[str]]:
        return [reasons(each, rules) for each in load_runs(path)]

    assert scored(by_span) == scored(by_both) == [[NEVER], []]
    assert scored(by_resource) == [[CALLED], [CALLED]]

    rules = tmp_path / "rules.yaml"
    rules.write_text(f"agents:\n  site_doctor:\n    calls: {{mustCall: [check_site]}}\n    where: {{{TIER}: gold}}\n")
    assert main(["score", path, "--rules", str(rules)]) == 1
    assert "mean 0.00  pass 0/1" in capsys.readouterr().out
    assert main(["check", str(rules)]) == 0
    assert f'  where         {TIER}: "gold"\n' in capsys.readouterr().out


def test_check_says_which_conditions_no_recorded_run_has(tmp_path, capsys):
    path = written(
        tmp_path / "runs.jsonl",
        tool(1, 2, 1, name="restart_site", at=0.1, lasts=0.1),
        agent(1, 1, name="site_doctor", **{TIER.replace(".", "__"): "gold"}),
    )
    rules = tmp_path / "rules.yaml"

    def checked(text: str) -> tuple[int, list[str]]:
        rules.write_text(text)
        code = main(["check", str(rules), path])
        return code, [line for line in capsys.readouterr().out.splitlines() if line.startswith("never seen")]

    ban = "calls: {mustNotCall: [restart_site]}"
    assert checked(
        f"agents: {{site_doctor: {{{ban}, where: {{{TIER}: gold}}}}, '*': {{where: {{service.name: shop}}}}}}"
    ) == (
        0,
        [],
    )
    assert checked(
        f"agents: {{site_doctor: {{{ban}, where: {{{TIER}: free}}}}, '*': {{where: {{service.name: 7}}}}}}"
    ) == (
        1,
        [
            f'never seen    a run of site_doctor with {TIER}: "free" (where)',
            "never seen    a run of * with service.name: 7 (where)",
        ],
    )


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({}, "agents.a.where: {} has no attributes."),
        ([TIER], "has no attributes. Write them with their values"),
        ({TIER: None}, f"agents.a.where: {TIER}: None is no value of an attribute."),
        ({TIER: ["gold"]}, "is no value of an attribute. Write a text or a number."),
        ({1: "gold"}, "1 is a number, not a text."),
    ],
)
def test_what_is_no_condition_is_refused(where, said):
    with pytest.raises(ConfigError) as raised:
        load_rules({"agents": {"a": {"where": where}}})

    assert said in str(raised.value)


def test_rules_with_other_conditions_have_another_digest():
    digests = {
        load_rules({"agents": {"a": {**BAN, **more}}}).digest for more in ({}, {"where": GOLD}, {"where": {"x": "y"}})
    }

    assert len(digests) == 3
