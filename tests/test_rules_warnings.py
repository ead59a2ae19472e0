"""Rules that can be meant, but hardly are: loading them warns."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from otel_chloe.config import load_rules


def warnings(caplog: pytest.LogCaptureFixture, source: Any) -> list[str]:
    """What loading these rules says in the log."""
    with caplog.at_level(logging.WARNING, "otel_chloe.config"):
        load_rules(source)
    return [record.getMessage() for record in caplog.records if record.name == "otel_chloe.config"]


class TestWarnings:
    """What can be meant, but hardly is, is warned about once."""

    def test_a_tool_that_must_and_must_not_be_called(self, rules_file: Any, caplog: pytest.LogCaptureFixture) -> None:
        """With its place."""
        path = rules_file("agents:\n  a:\n    calls: {mustCall: [x], mustNotCall: [x]}\n")

        assert warnings(caplog, path) == [
            f"{path}:3:12: agents.a.calls: x is in must_call and in must_not_call: no run can pass"
        ]

    def test_an_agent_that_contradicts_everyone(self, caplog: pytest.LogCaptureFixture) -> None:
        """Each list is fine by itself."""
        everyone = {"calls": {"mustNotCall": ["x"]}}

        assert warnings(caplog, {"agents": {"*": everyone, "a": {"calls": {"mustCall": ["x"]}}, "b": {}}}) == [
            "rules: agents.a.calls: x is in must_call and in must_not_call: no run can pass"
        ]

    def test_everyones_own_contradiction_is_said_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """Not again for each agent."""
        everyone = {"calls": {"mustNotCall": ["x"], "mustCall": ["x"]}}

        assert len(warnings(caplog, {"agents": {"*": everyone, "a": {}, "b": {}}})) == 1

    def test_names_that_look_like_patterns(self, caplog: pytest.LogCaptureFixture) -> None:
        """A pattern that is none would pass for ever."""
        assert warnings(caplog, {"agents": {"site_*": {"calls": {"mustNotCall": ["delete_*"]}}}}) == [
            "rules: agents.site_*.calls: 'delete_*' is taken as it stands: names are exact, there are no patterns",
            "rules: agents.site_*: 'site_*' is taken as it stands: names are exact, there are no patterns",
        ]

    def test_good_rules_are_loaded_in_silence(self, caplog: pytest.LogCaptureFixture) -> None:
        """Nothing to say."""
        calls = {"mustCall": ["x"], "mustNotCall": ["y"], "atMostOnce": ["x"]}

        assert warnings(caplog, {"agents": {"*": {"calls": calls}, "a": {"calls": calls}}}) == []
