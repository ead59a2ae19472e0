"""How the rules for everyone and those of one agent join."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_chloe import ExpectedCalls, Mark, Run, ToolCall
from otel_chloe.config import AgentRules, Expectations, load_rules
from otel_chloe.expected import COUNTS, PERS, ExpectedOutcome, relaxed
from otel_chloe.scorers import calls


class TestJoining:
    """`*` holds for every top-level run, in addition to the named entry."""

    def joined(self, everyone: dict[str, Any], named: dict[str, Any]) -> AgentRules:
        """The rules of a top-level run of an agent with an entry of its own."""
        rules = load_rules({"judge": {"model": "m"}, "agents": {"*": everyone, "a": named}}).for_run("a")
        assert rules is not None
        return rules

    def test_an_agent_without_an_entry_has_the_rules_for_everyone(self) -> None:
        """So has a run whose agent is not known."""
        rules = load_rules({"agents": {"*": {"calls": {"mustNotCall": ["x"]}}, "a": {}}})

        assert rules.for_run("other") == rules.for_run(None) == rules.everyone
        assert rules.everyone is not None
        assert rules.named("other") is None
        assert rules.named("*") is None

    def test_lists_are_joined(self) -> None:
        """A name can add; what is forbidden for everyone stays so."""
        calls = self.joined(
            {"calls": {"mustNotCall": ["x"], "mustCall": ["c"]}}, {"calls": {"mustNotCall": ["y", "x"]}}
        ).calls

        assert calls == ExpectedCalls(["c"], ["x", "y"])

    def test_an_empty_list_does_not_relax(self) -> None:
        """It adds nothing."""
        assert self.joined({"calls": {"mustNotCall": ["x"]}}, {"calls": {"mustNotCall": []}}).calls == ExpectedCalls(
            must_not_call=["x"]
        )

    @pytest.mark.parametrize("named", [{}, {"calls": {}}, {"calls": {"mustCall": ["c"]}}])
    def test_values_that_the_name_does_not_give_are_those_of_everyone(self, named: dict[str, Any]) -> None:
        """What is not said is not the default."""
        joined = self.joined({"calls": {"atMostOnce": ["x"], "count": "executed", "per": "arguments"}}, named)

        assert joined.calls is not None
        assert (joined.calls.count, joined.calls.per) == ("executed", "arguments")

    def test_values_of_the_name_win(self) -> None:
        """A default, written out, too."""
        joined = self.joined(
            {
                "purpose": "p",
                "severity": "ticket",
                "calls": {"count": "executed"},
                "expectations": {"situation": "s", "should": ["x"], "threshold": 0.5, "sample": 0.1, "model": "m1"},
            },
            {
                "severity": "none",
                "calls": {"count": "attempted"},
                "expectations": {"situation": "t", "should": ["y"], "threshold": 0.8},
            },
        )

        assert joined == AgentRules(
            agent="a",
            purpose="p",
            severity="none",
            calls=ExpectedCalls(),
            expectations=Expectations(outcome=ExpectedOutcome("t", ["x", "y"]), sample=0.1, model="m1"),
        )

    def test_a_sub_run_has_the_named_entry_alone(self) -> None:
        """The rules for everyone are for top-level runs."""
        rules = load_rules({"agents": {"*": {"calls": {"mustNotCall": ["x"]}}, "a": {"calls": {"mustCall": ["y"]}}}})

        assert rules.named("a") == AgentRules(agent="a", calls=ExpectedCalls(["y"]))


LISTS = st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "mustCall": LISTS,
        "mustNotCall": LISTS,
        "atMostOnce": LISTS,
        "count": st.sampled_from(COUNTS),
        "per": st.sampled_from(PERS),
    },
)
OK = st.sampled_from([True, False, None])
MADE = st.lists(
    st.builds(ToolCall, st.sampled_from(["x", "y"]), st.sampled_from([None, {"a": 1}, {"a": 2}]), ok=OK, ran=OK).filter(
        lambda call: not call.ok or call.ran is not False
    ),  # what never ran did not go well
    max_size=4,
)


def passes(run: Run, rules: AgentRules | None) -> bool:
    told = calls(run, rules.calls) if rules is not None and rules.calls is not None else None
    return told is None or (isinstance(told, Mark) and told.passed is True)


class TestRelaxing:
    """A single value of an agent wins, and is warned about where it relaxes a rule for everyone."""

    @given(everyone=CALLS, own=CALLS, made=MADE)
    def test_without_a_warning_a_run_that_passes_keeps_the_rules_for_everyone(
        self, everyone: Any, own: Any, made: Any
    ) -> None:
        """Whatever the agent's own entry says."""
        rules = load_rules({"agents": {"*": {"calls": everyone}, "a": {"calls": own}}})
        joined = rules.for_run("a")
        assert rules.everyone is not None
        assert joined is not None
        run = Run(agent="a", tool_calls=made)

        if not relaxed(rules.everyone.calls, joined.calls):
            assert not passes(run, joined) or passes(run, rules.everyone)

    @pytest.mark.parametrize(
        ("everyone", "own", "said"),
        [
            ({"mustNotCall": ["x"]}, {"count": "succeeded"}, "count: succeeded relaxes mustNotCall, attempted"),
            ({"atMostOnce": ["x"]}, {"count": "executed"}, "count: executed relaxes atMostOnce, attempted"),
            (
                {"mustCall": ["x"], "count": "executed"},
                {"count": "attempted"},
                "count: attempted relaxes mustCall, executed",
            ),
            ({"atMostOnce": ["x"]}, {"per": "arguments"}, "per: arguments relaxes atMostOnce, name"),
        ],
    )
    def test_what_relaxes_is_warned_about(
        self, caplog: pytest.LogCaptureFixture, everyone: Any, own: Any, said: str
    ) -> None:
        """With what to write instead."""
        key = said.partition(":")[0]
        relaxes, _, other = said.partition(", ")
        with caplog.at_level("WARNING", "otel_chloe.config"):
            load_rules({"agents": {"*": {"calls": everyone}, "a": {"calls": own}, "b": {"calls": {}}}})

        (told,) = (record.getMessage() for record in caplog.records)
        assert told == (
            f'rules: agents.a.calls.{relaxes} of "*" for this agent, where {key} is {other}. '
            f'Leave {key} out here, or write it in "*" too if that is meant'
        )

    @pytest.mark.parametrize(
        ("everyone", "own"),
        [
            ({"mustCall": ["x"]}, {"mustCall": ["y"], "count": "succeeded"}),
            ({"mustNotCall": ["x"], "count": "executed"}, {"count": "attempted"}),
            ({"mustNotCall": ["x"]}, {"atMostOnce": ["y"], "per": "arguments"}),
            ({"atMostOnce": ["x"], "per": "arguments"}, {"per": "name"}),
            ({}, {"mustNotCall": ["y"], "count": "succeeded"}),
        ],
    )
    def test_what_is_stricter_or_touches_no_rule_for_everyone_is_taken_in_silence(
        self, caplog: pytest.LogCaptureFixture, everyone: Any, own: Any
    ) -> None:
        """A name can add."""
        with caplog.at_level("WARNING", "otel_chloe.config"):
            load_rules({"agents": {"*": {"calls": everyone}, "a": {"calls": own}}})

        assert caplog.records == []
