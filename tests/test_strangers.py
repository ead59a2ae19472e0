"""An agent whose name the rules nearly have: it would pass everything for ever, so it is told once."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from own_provider import Setup

from otel_chloe import attach
from otel_chloe.pipeline.glance import MOST_AGENTS, Strangers


@pytest.fixture
def setup() -> Iterator[Setup]:
    made = Setup()
    yield made
    made.provider.shutdown()


def told(setup: Setup, caplog: pytest.LogCaptureFixture, named: tuple[str, ...], *agents: str) -> list[str]:
    rules = {"agents": {name: {"calls": {"mustNotCall": ["delete_site"]}} for name in named}}
    attachment = attach(rules, provider=setup.provider)
    with caplog.at_level(logging.WARNING, "otel_chloe"):
        for agent in agents:
            setup.run("check_site", agent=agent)
            attachment.flush()
    return [record.getMessage() for record in caplog.records if "no rules name" in record.getMessage()]


def test_it_is_told_once_with_the_name_that_is_meant(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    [said] = told(setup, caplog, ("site_docter",), "site_doctor", "site_doctor")

    assert said == (
        "no rules name the agent 'site_doctor', which has run; they name 'site_docter', which has not. "
        "Write site_doctor in the rules, if it is meant."
    )


@pytest.mark.parametrize(
    ("named", "agents"),
    [
        (("site_doctor",), ["site_doctor"]),
        (("planner_a", "planner_b"), ["planner_a", "planner_b"]),
        (("planner_a",), ["planner_a", "planner_b"]),
        (("researcher",), ["research_planner"]),
        ((), ["site_doctor"]),
    ],
    ids=["the same", "two that are alike", "one beside its like", "another", "no names"],
)
def test_nothing_is_told_of_others(
    setup: Setup, caplog: pytest.LogCaptureFixture, named: tuple[str, ...], agents: list[str]
) -> None:
    assert told(setup, caplog, named, *agents) == []


def test_names_without_end_are_not_all_remembered() -> None:
    strangers = Strangers()
    for n in range(2 * MOST_AGENTS):
        list(strangers.look(("planner",), frozenset({f"agent {n}"})))

    assert len(strangers.seen) == MOST_AGENTS
