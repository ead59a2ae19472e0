"""The rules file: what it takes in which spelling, how entries join, and where its mistakes are."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from otel_chloe.config import AgentRules, Expectations, JudgeRules, Rules, Settings, load_rules
from otel_chloe.expected import ExpectedCalls, ExpectedOutcome

CAMEL = """\
judge: {model: anthropic/claude-haiku-4.5, timeoutS: 20, concurrency: 4, usdPerHour: 2, usdPerDay: 5.5}
agents:
  site_doctor:
    purpose: Keeps sites up.
    calls: {mustCall: [check_site], mustNotCall: [delete_site], atMostOnce: [restart_site], count: executed, per: name}
    expectations:
      situation: The site is down.
      should: [says which site is down]
      shouldNot: [invents a cause]
      threshold: 0.9
      minDecided: 0.5
      sample: 0.25
    severity: page
  "*": {calls: {mustNotCall: [drop_database], count: executed}}
settings: {settleS: 1, maxSpans: 10, evaluationSpans: false}
"""

SNAKE = """\
judge: {model: anthropic/claude-haiku-4.5, timeout_s: 20, concurrency: 4, usd_per_hour: 2, usd_per_day: 5.5}
agents:
  site_doctor:
    purpose: Keeps sites up.
    calls:
      must_call: [check_site]
      must_not_call: [delete_site]
      at_most_once: [restart_site]
      count: executed
      per: name
    expectations:
      situation: The site is down.
      should: [says which site is down]
      should_not: [invents a cause]
      threshold: 0.9
      min_decided: 0.5
      sample: 0.25
    severity: page
  "*": {calls: {must_not_call: [drop_database], count: executed}}
settings: {settle_s: 1, max_spans: 10, evaluation_spans: false}
"""

MAPPING: dict[str, Any] = {
    "judge": {
        "model": "anthropic/claude-haiku-4.5",
        "timeoutS": 20,
        "concurrency": 4,
        "usdPerHour": 2,
        "usdPerDay": 5.5,
    },
    "agents": {
        "site_doctor": {
            "purpose": "Keeps sites up.",
            "calls": {
                "mustCall": ["check_site"],
                "mustNotCall": ["delete_site"],
                "atMostOnce": ["restart_site"],
                "count": "executed",
                "per": "name",
            },
            "expectations": {
                "situation": "The site is down.",
                "should": ["says which site is down"],
                "shouldNot": ["invents a cause"],
                "threshold": 0.9,
                "minDecided": 0.5,
                "sample": 0.25,
            },
            "severity": "page",
        },
        "*": {"calls": {"mustNotCall": ["drop_database"], "count": "executed"}},
    },
    "settings": {"settleS": 1, "maxSpans": 10, "evaluationSpans": False},
}


class TestGoodFiles:
    """One file in every form that is taken."""

    def test_the_whole_file(self, rules_file: Any) -> None:
        """Each key has its place in the values."""
        rules = load_rules(rules_file(CAMEL))
        judged = Expectations(
            outcome=ExpectedOutcome("The site is down.", ["says which site is down"], ["invents a cause"]),
            threshold=0.9,
            min_decided=0.5,
            sample=0.25,
            model="anthropic/claude-haiku-4.5",
        )
        named = AgentRules(
            agent="site_doctor",
            purpose="Keeps sites up.",
            calls=ExpectedCalls(["check_site"], ["delete_site"], ["restart_site"], count="executed"),
            expectations=judged,
            severity="page",
        )

        assert rules.judge == JudgeRules(
            model="anthropic/claude-haiku-4.5", timeout_s=20, concurrency=4, usd_per_hour=2, usd_per_day=5.5
        )
        assert rules.settings == Settings(settle_s=1, max_spans=10, evaluation_spans=False)
        assert rules.everyone == AgentRules(
            agent="*", calls=ExpectedCalls(must_not_call=["drop_database"], count="executed")
        )
        assert rules.named("site_doctor") == named
        assert rules.agents == ("site_doctor",)

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            (SNAKE, "rules.yml"),
            (json.dumps(MAPPING), "rules.json"),
            (json.dumps(MAPPING, indent="\t"), "rules.json"),
            (json.dumps(MAPPING, indent="\t"), "rules"),
            ("\ufeff" + CAMEL, "rules.yaml"),
            (CAMEL.replace("\n", "\r\n"), "rules.yaml"),
        ],
    )
    def test_every_form_gives_the_same_rules(self, rules_file: Any, text: str, name: str) -> None:
        """Both spellings, YAML and JSON, with tabs, with a byte-order mark, from Windows."""
        expected = load_rules(rules_file(CAMEL))

        assert replace(load_rules(rules_file(text, name)), source=None) == replace(expected, source=None)

    def test_a_mapping_gives_the_same_rules(self, rules_file: Any) -> None:
        """It has no source."""
        rules = load_rules(MAPPING)

        assert rules.source is None
        assert rules == replace(load_rules(rules_file(CAMEL)), source=None)
        assert rules.digest == load_rules(rules_file(SNAKE)).digest

    def test_any_mapping_of_any_sequences_will_do(self) -> None:
        """What Python code builds is not always a dict of lists."""
        built = MappingProxyType({"agents": MappingProxyType({"a": {"calls": {"mustCall": ("x", "y")}}})})

        assert load_rules(built).alone["a"].calls == ExpectedCalls(["x", "y"])

    def test_a_path_may_be_text(self, rules_file: Any) -> None:
        """And is the source of the rules."""
        path = str(rules_file(CAMEL))

        assert load_rules(path).source == path

    def test_rules_stay_as_they_are(self) -> None:
        """Loading twice is loading once."""
        rules = load_rules(MAPPING)

        assert load_rules(rules) is rules

    def test_no_rules(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a source and without the variable there are none, and every run is only counted."""
        monkeypatch.delenv("OTEL_CHLOE_RULES", raising=False)
        rules = load_rules(None)

        assert rules == Rules()
        assert rules.for_run("any") is None
        assert rules.named(None) is None

    def test_the_variable_names_the_file(self, rules_file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where no source is given."""
        monkeypatch.setenv("OTEL_CHLOE_RULES", str(rules_file(CAMEL)))

        assert load_rules().agents == ("site_doctor",)

    def test_anchors_and_merges(self, rules_file: Any) -> None:
        """YAML's own ways of not repeating oneself."""
        text = "agents:\n  a: &a {calls: {mustCall: [x]}}\n  b: {<<: *a, severity: ticket}\n"
        rules = load_rules(rules_file(text))

        assert rules.alone["b"] == AgentRules(agent="b", calls=ExpectedCalls(["x"]), severity="ticket")


class TestDigests:
    """Digests tell one set of rules from another, and nothing else."""

    def digests(self, **entry: Any) -> dict[str, str]:
        """The digests of an agent with this entry."""
        return dict(load_rules({"judge": {"model": "m"}, "agents": {"a": entry}}).alone["a"].digests)

    def test_only_scorers_with_rules_have_one(self) -> None:
        """An agent with a purpose alone has none."""
        assert self.digests(purpose="p") == {}
        assert list(self.digests(calls={}, expectations={})) == ["calls", "expectations"]

    def test_order_and_severity_do_not_matter_to_calls(self) -> None:
        """They change no score."""
        assert self.digests(calls={"mustCall": ["a", "b"]}) == self.digests(
            calls={"mustCall": ["b", "a"]}, severity="page"
        )

    @pytest.mark.parametrize(
        "other", [{"mustCall": ["b"]}, {"mustNotCall": ["a"]}, {"mustCall": ["a"], "per": "arguments"}]
    )
    def test_other_rules_have_other_digests(self, other: dict[str, Any]) -> None:
        """Another name, another list, another option."""
        assert self.digests(calls=other) != self.digests(calls={"mustCall": ["a"]})

    def test_sampling_does_not_change_what_is_expected(self) -> None:
        """The threshold, the purpose and the model do."""
        lines = {"should": ["x"]}
        first = self.digests(expectations=lines)

        assert self.digests(expectations=lines | {"sample": 0.1}) == first
        assert self.digests(expectations=lines | {"threshold": 0.1}) != first
        assert self.digests(expectations=lines | {"model": "n"}) != first
        assert self.digests(expectations=lines, purpose="p") != first

    def test_settings_are_no_rules(self) -> None:
        """A longer wait makes no other marks."""
        assert load_rules({"settings": {"settleS": 5}}).digest == Rules().digest
        assert load_rules(MAPPING).digest != Rules().digest


class TestModels:
    """Lines need a model somewhere: their own, that of `*`, or the judge's."""

    @pytest.mark.parametrize(
        ("rules", "model"),
        [
            ({"judge": {"model": "j"}, "agents": {"a": {"expectations": {"should": ["x"]}}}}, "j"),
            ({"agents": {"a": {"expectations": {"should": ["x"], "model": "own"}}}}, "own"),
            ({"agents": {"*": {"expectations": {"model": "star"}}, "a": {"expectations": {"should": ["x"]}}}}, "star"),
        ],
    )
    def test_the_nearest_model_judges(self, rules: dict[str, Any], model: str) -> None:
        """It is known when the rules are loaded."""
        for entry in (load_rules(rules).named("a"), load_rules(rules).for_run("a")):
            assert entry is not None
            assert entry.expectations is not None
            assert entry.expectations.model == model

    def test_a_situation_alone_needs_none(self) -> None:
        """It expects nothing."""
        entry = load_rules({"agents": {"a": {"expectations": {"situation": "s"}}}}).named("a")

        assert entry is not None
        assert entry.expectations is not None
        assert not entry.expectations.has_lines


def test_importing_the_rules_costs_no_pydantic_and_no_yaml() -> None:
    """They are imported when a file is loaded, for they cost more than all the rest."""
    code = (
        "import sys, otel_chloe.config, otel_chloe.scorers; otel_chloe.config.load_rules(otel_chloe.config.Rules());"
        "print([name for name in ('pydantic', 'yaml') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert printed.stdout.strip() == "[]"
