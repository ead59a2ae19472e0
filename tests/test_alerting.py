"""The example alerts: each fires when it should and is quiet when it should be, and a forbidden call pages somebody."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from queue import Empty

import pytest
import yaml
from backends import ALERTING, LOOPBACK, ROOT, alertmanager, collector, get, is_scraped, prometheus, until, webhook
from example_programs import blocks
from stack_agent import RULES, Agent

TESTS = ("tests.yml", "tests_days.yml")
PAGED_WITHIN_S = 20.0
"""With an export, a scrape and an evaluation each second."""


def _checked(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ALERTING)


def test_the_rules_are_valid(needs: Callable[[str], str]):
    said = _checked(needs("promtool"), "check", "rules", "rules.yml")

    assert said.returncode == 0, said.stdout + said.stderr


def test_the_prometheus_config_of_the_docs_is_valid_and_names_what_the_others_open(
    tmp_path: Path, needs: Callable[[str], str]
):
    [config] = blocks("docs/alerting.md", "yaml")
    (tmp_path / "prometheus.yml").write_text(config)
    shutil.copy(ALERTING / "rules.yml", tmp_path)

    said = _checked(needs("promtool"), "check", "config", str(tmp_path / "prometheus.yml"))

    assert said.returncode == 0, said.stdout + said.stderr
    assert "PROMETHEUS_PORT:-9464" in (ROOT / "collector-config.yaml").read_text()
    assert yaml.safe_load(config)["scrape_configs"][0]["static_configs"] == [{"targets": ["localhost:9464"]}]


@pytest.mark.parametrize("tests", TESTS)
def test_each_alert_fires_and_stays_quiet_as_it_should(needs: Callable[[str], str], tests: str):
    said = _checked(needs("promtool"), "test", "rules", tests)

    assert said.returncode == 0, said.stdout + said.stderr


def test_every_alert_is_tested_both_ways():
    groups = yaml.safe_load((ALERTING / "rules.yml").read_text())["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}
    cases = [
        (case["alertname"], bool(case.get("exp_alerts")))
        for file in TESTS
        for test in yaml.safe_load((ALERTING / file).read_text())["tests"]
        for case in test["alert_rule_test"]
    ]

    assert set(cases) == {(alert, fires) for alert in alerts for fires in (True, False)}


def test_alertmanagers_config_is_valid(needs: Callable[[str], str]):
    said = _checked(needs("amtool"), "check-config", "alertmanager.yml")

    assert said.returncode == 0, said.stdout + said.stderr


def test_a_forbidden_call_pages_within_seconds_and_a_good_run_does_not(tmp_path: Path, needs: Callable[[str], str]):
    needs("go")
    server, manager = needs("prometheus"), needs("prometheus-alertmanager")
    with ExitStack() as programs:
        hook, posted = programs.enter_context(webhook())
        alerts = programs.enter_context(alertmanager(tmp_path / "alertmanager", manager, hook))
        gate = programs.enter_context(collector(tmp_path / "collector"))
        scraped = [f"{LOOPBACK}:{gate.ports['prometheus']}"]
        scores = programs.enter_context(
            prometheus(tmp_path / "prometheus", server, scrape=scraped, rules=ALERTING / "rules.yml", alerts=alerts)
        )
        until(lambda: is_scraped(scores), "the first scrape")
        app = programs.enter_context(Agent(gate.url("http")))
        app.run("good")
        seen = f"{scores.url('query')}/api/v1/query?query=sum(chloe_runs_total)==1"
        until(lambda: get(seen)["data"]["result"], "the good run in Prometheus")
        with pytest.raises(Empty):
            posted.get_nowait()

        app.run("very bad")
        path, page = posted.get(timeout=PAGED_WITHIN_S)
        assert gate.lines("\terror\t", "\twarn\t") == []  # it has no backend for traces and events, and knows it

    assert path == "/page"
    (alert,) = page["alerts"]
    assert alert["labels"]["alertname"] == "AgentCalledForbiddenTool"
    assert alert["annotations"]["summary"] == "site_doctor called delete_site, which it must not"
    assert alert["labels"]["chloe_rule"] == "must_not_call"
    assert alert["labels"]["severity"] == RULES["agents"]["site_doctor"]["severity"]
