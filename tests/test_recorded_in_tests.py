"""`record_runs`: the runs of an agent under test with their marks, as a block and as pytest's fixture."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from agent_app import RULES, agent_attributes, tool_attributes
from example_programs import ROOT, program
from opentelemetry.sdk.trace import TracerProvider

from otel_chloe import ConfigError, Mark
from otel_chloe.testing import CountingIds, ScriptedJudge, checks, record_runs

LINES = {"should": ["says whether it is up"]}
JUDGED = {"judge": {"model": "M"}, "agents": {"site_doctor": {**RULES["agents"]["site_doctor"], "expectations": LINES}}}


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    provider = TracerProvider(id_generator=CountingIds())
    yield provider
    provider.shutdown()


def visit(provider: TracerProvider, *tools: str, agent: str = "site_doctor") -> None:
    """A run of the agent that calls these tools."""
    tracer = provider.get_tracer("an_agent")
    with tracer.start_as_current_span(f"invoke_agent {agent}", attributes=agent_attributes(agent)):
        for name in tools:
            tracer.start_span(f"execute_tool {name}", attributes=tool_attributes(name)).end()


def test_runs_and_their_marks(provider):
    with record_runs(RULES, provider=provider) as recorded:
        visit(provider, "check_site")
        visit(provider, "delete_site")
        first, second = recorded.runs

    assert [call.name for call in first.run.tool_calls] == ["check_site"]
    assert (first.run.span_id, second.run.span_id) == (f"{1:016x}", f"{3:016x}")
    assert [mark.score for recorded in (first, second) for mark in recorded.outcomes] == [1, 0]
    assert second["calls"].reason.startswith("never called check_site; called delete_site")


def test_a_judged_run_has_both_outcomes(provider):
    judge = ScriptedJudge(checks(True))
    with record_runs(JUDGED, provider=provider, complete=judge) as recorded:
        visit(provider, "check_site")
        [run] = recorded.runs

    assert {outcome.name for outcome in run.outcomes} == {"calls", "expectations"}
    assert isinstance(run["expectations"], Mark)
    assert "Is the shop up?" in judge.messages[0][1]["content"]


def test_reading_twice_shows_what_came_between(provider):
    with record_runs(RULES, provider=provider) as recorded:
        visit(provider)
        seen = [len(recorded.runs)]
        visit(provider)
        seen.append(len(recorded.runs))

    assert seen == [1, 2]


def test_a_run_without_a_rule_is_not_recorded(provider):
    with record_runs(RULES, provider=provider) as recorded:
        visit(provider, agent="another")

        assert recorded.runs == []


def test_an_outcome_that_is_not_there_names_those_that_are(provider):
    with record_runs(RULES, provider=provider) as recorded:
        visit(provider)
        [run] = recorded.runs

    with pytest.raises(KeyError, match="the outcomes are calls"):
        run["expectations"]


def test_after_the_block_nothing_is_recorded(provider):
    with record_runs(RULES, provider=provider) as recorded:
        visit(provider)
    visit(provider)

    assert len(recorded.runs) == 1


def test_what_was_open_at_the_end_of_the_block_is_recorded(provider):
    with record_runs(RULES, provider=provider) as recorded:
        provider.get_tracer("an_agent").start_span("invoke_agent x", attributes=agent_attributes("site_doctor"))

    assert [run.run.end for run in recorded.runs] == ["shutdown"]


def test_a_provider_that_takes_no_processor_is_said_at_once():
    with (
        pytest.raises(ConfigError, match=r"Set up a TracerProvider of the SDK, or pass provider="),
        record_runs(RULES, provider=object()),
    ):
        pass


FIXTURE = """
from opentelemetry.sdk.trace import TracerProvider

def test_it(record_runs):
    provider = TracerProvider()
    recorded = record_runs({"agents": {"*": {"calls": {"mustCall": ["a"]}}}}, provider=provider)
    provider.get_tracer("t").start_span("x", attributes={"gen_ai.operation.name": "invoke_agent"}).end()
    [run] = recorded.runs
    assert run["calls"].score == 0
"""


def test_the_fixture(tmp_path):
    """In a pytest of its own, without what this one has loaded."""
    (tmp_path / "test_it.py").write_text(FIXTURE, "utf-8")

    plugins = ("-p", "otel_chloe.testing.plugin", "-p", "no:cacheprovider")
    done = program("-m", "pytest", "-q", *plugins, cwd=tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_pytest_finds_the_fixture_where_otel_chloe_is_installed():
    """And takes it for the same plugin where a command names it too."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    [found] = re.findall(r"^\[project\.entry-points\.pytest11\]\n((?:(?!\[).*\n)*)", project, re.MULTILINE)

    assert '"otel_chloe.testing.plugin" = "otel_chloe.testing.plugin"' in found.splitlines()


def test_pytest_pays_for_the_fixture_only_where_it_is_used():
    code = "import sys, otel_chloe.testing.plugin; print(sorted({'opentelemetry', 'asyncio'} & set(sys.modules)))"

    assert program("-c", f"import pytest, sys; before = set(sys.modules); {code}").stdout.strip() == "[]"
