"""A rules file that changes while the program runs: runs that start from then on are scored by it, the others not."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from agent_app import FAILED, PASSED, App
from opentelemetry.sdk.trace import TracerProvider
from own_scorers import until

from otel_chloe import attach
from otel_chloe.config import load_rules
from otel_chloe.config.changes import RulesChanges, file_read
from otel_chloe.errors import ConfigError
from otel_chloe.health import Health
from otel_chloe.pipeline.reloading import NOT_RELOADED, Reloading

OFTEN = {"reload_s": 0.01}
CHECK = {"calls": {"mustCall": ["check_site"]}}
RESTART = {"calls": {"mustCall": ["restart_site"]}}


def write(path: Path, **agents: Any) -> Path:
    """Write a rules file as most editors do: a new file takes the place of the old one."""
    return write_text(path, json.dumps({"agents": agents}))


def write_text(path: Path, text: str) -> Path:
    new = path.with_suffix(".new")
    new.write_text(text)
    return new.replace(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "rules.yaml", site_doctor=CHECK)


def must_call(rules: Any) -> list[str]:
    held = rules.for_run("site_doctor")
    return list(held.calls.must_call) if held is not None else []


# --- is it another one? ----------------------------------------------------------------------------------------------


class Changes:
    """A file that is looked at, and what was found."""

    def __init__(self, path: Path) -> None:
        self.changes = RulesChanges(file_read(path))

    def look(self, times: int = 2) -> list[str] | None:
        found = [self.changes.look() for _ in range(times)]
        return next((must_call(rules) for rules in found if rules is not None), None)


def test_a_file_that_stays_is_not_read_again(path):
    assert Changes(path).look(5) is None


def test_a_change_is_taken_at_the_second_look_and_once(path):
    changes = Changes(path)
    write(path, site_doctor=RESTART)

    assert [changes.look(1), changes.look(1), changes.look(5)] == [None, ["restart_site"], None]


def test_a_file_that_is_still_being_written_is_left_alone(path):
    changes = Changes(path)
    whole = json.dumps({"agents": {"site_doctor": RESTART}})
    for length in range(0, len(whole), 10):
        path.write_text(whole[:length])
        assert changes.look(1) is None
    path.write_text(whole)

    assert changes.look() == ["restart_site"]


def test_what_was_written_while_it_was_read_is_a_change(path):
    before = file_read(path)
    write(path, site_doctor=RESTART)

    assert RulesChanges(before).look() is None
    assert Changes(path).look() is None, "it was read after that"


def test_a_link_that_leads_elsewhere_is_a_change(path, tmp_path):
    """A ConfigMap of Kubernetes is exchanged so."""
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    changes = Changes(link)
    other = write(tmp_path / "other.yaml", site_doctor=RESTART)
    (tmp_path / "link.new").symlink_to(other)
    (tmp_path / "link.new").replace(link)

    assert changes.look() == ["restart_site"]


def test_the_program_may_go_to_another_directory(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    changes = Changes(Path("rules.yaml"))
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    write(path, site_doctor=RESTART)

    assert changes.look() == ["restart_site"]


@pytest.mark.parametrize(
    "spoil", [lambda p: p.unlink(), lambda p: write_text(p, "agents: ["), lambda p: write_text(p, "")]
)
def test_what_gives_no_rules_is_said_once_and_what_comes_after_is_taken(path, spoil):
    changes = Changes(path)
    spoil(path)

    assert changes.look(1) is None
    with pytest.raises(ConfigError, match=r"rules\.yaml"):
        changes.look(1)
    assert changes.look(5) is None
    write(path, site_doctor=RESTART)
    assert changes.look() == ["restart_site"]


# --- when it is looked at --------------------------------------------------------------------------------------------


def test_it_is_looked_at_as_often_as_said(path):
    taken: list[Any] = []
    reloading = Reloading(load_rules(path), 10.0, Health(lambda: 0.0), taken.append)

    assert reloading.due(100.0) == 110.0
    write(path, site_doctor=RESTART)
    assert [reloading.due(now) for now in (105.0, 110.0, 119.0)] == [110.0, 120.0, 120.0]
    assert taken == []
    assert reloading.due(120.0) == 130.0
    assert [must_call(rules) for rules in taken] == [["restart_site"]]


@pytest.mark.parametrize("rules", ["path", "mapping", "off"])
def test_it_is_not_looked_at(rules, path):
    """Where there is no file, or nobody wants it."""
    found = load_rules({"agents": {"site_doctor": CHECK}} if rules == "mapping" else path)
    reloading = Reloading(
        found, 10.0 if rules == "path" else 0.0 if rules == "off" else 10.0, Health(lambda: 0.0), print
    )

    assert (reloading.due(0.0) is None) == (rules != "path")


# --- runs ------------------------------------------------------------------------------------------------------------


def reloaded(app: App, path: Path, **agents: Any) -> None:
    """Write the file, and wait until it is taken."""
    write(path, **agents)
    wanted = load_rules(path).digest
    until(lambda: app.processor.rules.digest == wanted)


def test_runs_that_start_from_then_on_are_scored_by_it(path):
    with App(path, settings=OFTEN) as app:
        app.run("check_site")
        assert app.marks() == PASSED
        app.exporter.clear()
        reloaded(app, path, site_doctor=RESTART)

        app.run("check_site")

        assert app.marks() == FAILED
        assert "never called restart_site" in app.reason()
        assert [event["gen_ai.evaluation.score.value"] for event in app.events()] == [1.0, 0.0]


def test_a_run_that_is_open_is_scored_by_the_rules_that_it_began_under(path):
    with App(path, settings=OFTEN) as app:
        with app.agent():
            app.call("check_site")
            reloaded(app, path, site_doctor=RESTART)

        assert app.marks() == PASSED
        assert [event["gen_ai.evaluation.score.value"] for event in app.events()] == [1.0]


def test_a_sub_agent_of_it_too(path):
    write(path, helper=CHECK)
    with App(path, settings=OFTEN) as app:
        with app.agent():
            app.call("check_site")
            reloaded(app, path, helper=RESTART)
            with app.agent("helper"):
                app.call("check_site")

        assert app.marks("invoke_agent helper") == PASSED


def test_a_newly_forbidden_call_is_counted_at_once_and_one_that_was_allowed_is_forgotten(path):
    ban = {"calls": {"mustNotCall": ["delete_site"]}}
    with App(path, settings=OFTEN) as app:
        app.run("check_site", "delete_site")
        reloaded(app, path, site_doctor=ban, other=ban)
        assert app.counted("chloe.violations", gen_ai__tool__name="delete_site", gen_ai__agent__name="other") == 0

        with app.agent():
            app.call("delete_site")
            assert app.counted("chloe.violations", gen_ai__tool__name="delete_site") == 1


def test_a_call_that_was_forbidden_when_its_run_began_still_is(path):
    write(path, site_doctor={"calls": {"mustNotCall": ["delete_site"]}})
    with App(path, settings=OFTEN) as app, app.agent():
        reloaded(app, path, site_doctor=CHECK)
        app.call("delete_site")
        assert app.counted("chloe.violations", gen_ai__tool__name="delete_site") == 1


def test_scorers_and_a_judge_that_were_not_there_before(path, monkeypatch, tmp_path):
    (tmp_path / "reload_scorers.py").write_text("def long(output):\n    return len(output) > 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    judged = threading.Event()

    def complete(model: str, messages: Any) -> str:
        judged.set()
        return "no answer"

    with App(path, settings=OFTEN, complete=complete, errors=None) as app:
        app.run("check_site")
        lines = {"expectations": {"should": ["says that it is up"], "model": "test/none"}}
        reloaded(app, path, site_doctor={**lines, "scorers": ["reload_scorers:long"]})
        app.exporter.clear()

        app.run("check_site")
        app.processor.force_flush()

        assert judged.is_set()
        assert app.span("invoke_agent site_doctor").attributes["chloe.long.passed"] is True
        names = [event["gen_ai.evaluation.name"] for event in app.events()]
        assert sorted(names) == ["calls", "expectations", "long"]


def test_a_scorer_that_was_slow_still_is(path, monkeypatch, tmp_path):
    (tmp_path / "slow_scorers.py").write_text("import time\ndef late(output):\n    time.sleep(0.05)\n    return True\n")
    monkeypatch.syspath_prepend(tmp_path)
    scorers = {"scorers": ["slow_scorers:late"]}
    write(path, site_doctor={**CHECK, **scorers})
    with App(path, settings=OFTEN) as app:
        app.run("check_site")
        assert app.processor.slow_scorers == ["late"]
        reloaded(app, path, site_doctor={**RESTART, **scorers})
        app.exporter.clear()

        app.run("check_site")

        assert "chloe.late.passed" not in app.marks()
        assert app.processor.slow_scorers == ["late"]


def test_scorers_that_the_program_gave_stay(path):
    with App(path, settings=OFTEN, scorers=[lambda output: len(output) > 3]) as app:
        app.run("check_site")
        reloaded(app, path, site_doctor=RESTART)
        app.exporter.clear()
        app.run("restart_site")

        assert sum(key.endswith(".passed") for key in app.marks()) == 3


@pytest.mark.parametrize(
    "text", ["agents: [", "agents: {site_doctor: {calls: {mustCal: [a]}}}", "agents: {a: {scorers: [nowhere:f]}}"]
)
def test_a_broken_file_keeps_the_old_rules_and_is_counted_and_said(path, text, caplog):
    with App(path, settings=OFTEN, errors=1) as app:
        app.run("check_site")
        write_text(path, text)
        until(lambda: app.processor.stats().get(f"errors.{NOT_RELOADED}"))
        until(lambda: "rules.yaml" in caplog.text)
        app.exporter.clear()

        app.run("check_site")

        assert app.marks() == PASSED
        assert app.counted("chloe.errors", error__type=NOT_RELOADED) == 1


def test_settings_and_the_judges_limits_need_a_new_start(path, caplog):
    with App(path, settings=OFTEN) as app:
        app.run("check_site")
        write_text(path, json.dumps({"settings": {"settle_s": 5}, "agents": {"site_doctor": RESTART}}))
        until(lambda: must_call(app.processor.rules) == ["restart_site"])
        until(lambda: "settings: of the rules file has changed" in caplog.text)


def test_of_what_is_as_it_was_at_the_start_or_comes_for_the_first_time_nothing_is_said(path, caplog):
    lines = {"expectations": {"should": ["says that it is up"]}}
    with App(path, settings=OFTEN, complete=lambda model, messages: "") as app:
        app.run("check_site")
        for settings in ({"settle_s": 5}, {}):
            write_text(path, json.dumps({"settings": settings, "agents": {"site_doctor": RESTART}}))
            wanted = load_rules(path).settings
            until(lambda wanted=wanted: app.processor.rules.settings == wanted)
        judge = {"model": "test/none", "usd_per_day": 3}
        write_text(path, json.dumps({"judge": judge, "agents": {"site_doctor": lines}}))
        until(lambda: app.processor.rules.judged)
        app.processor.force_flush(0)

    assert caplog.text.count("of the rules file has changed") == 1


def test_it_is_looked_at_while_no_run_comes(path, monkeypatch):
    monkeypatch.setattr("otel_chloe.pipeline.scoring.LINGER_S", 0.0)
    with App(path, settings=OFTEN) as app:
        app.run("check_site")
        app.processor.force_flush()
        until(lambda: not app.processor._pipeline.awake)

        reloaded(app, path, site_doctor=RESTART)
        app.exporter.clear()
        app.run("check_site")

        assert "never called restart_site" in app.reason()


def test_a_second_attach_with_the_file_that_has_changed_is_the_same(path):
    provider = TracerProvider(shutdown_on_exit=False)
    attachment = attach(path, provider=provider)
    write(path, site_doctor=RESTART)

    assert attach(path, provider=provider) is attachment
    with pytest.raises(ConfigError):
        attach({"agents": {"site_doctor": RESTART}}, provider=provider)
    attachment.detach()
    provider.shutdown()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_looks_for_itself(path):
    with App(path, settings=OFTEN) as app:
        app.run("check_site")
        pid = os.fork()
        if pid == 0:  # pragma: no cover - another process
            code = 1
            try:
                app.run("check_site")
                reloaded(app, path, site_doctor=RESTART)
                app.exporter.clear()
                app.run("check_site")
                code = 0 if app.marks() == FAILED else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
