"""No code: `opentelemetry-instrument` starts a program that knows nothing of otel_chloe, and its runs are scored."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from importlib import metadata
from pathlib import Path

import pytest
from example_programs import ROOT, load

from otel_chloe.attachment.instrumentor import ChloeInstrumentor

APP = Path(__file__).parent / "instrumented_app.py"
RULES = "agents: {site_doctor: {calls: {mustNotCall: [delete_site]}}}"
FILE = """
file_format: "1.0"
tracer_provider:
  processors:
    - simple: {exporter: {otlp_http: {endpoint: "%s/v1/traces"}}}
instrumentation/development:
  python:
    chloe: {rules: "%s"}
"""
DEADLINE_S = 45.0


@pytest.fixture
def instrument():
    """The program, where it and what it needs is installed; else the test is skipped, and says for want of what."""
    path = Path(sys.executable).parent / "opentelemetry-instrument"
    if not path.exists():
        pytest.skip("needs opentelemetry-instrument, which is not installed")
    if importlib.util.find_spec("opentelemetry.distro") is None:
        pytest.skip("needs opentelemetry-distro, which is not installed")
    if not metadata.entry_points(group="opentelemetry_instrumentor", name="chloe"):
        pytest.skip("needs otel-chloe installed anew: its entry point is not there")
    return str(path)


@pytest.fixture
def received():
    """A backend for what is sent."""
    return load("examples/site_doctor/backend.py").Backend()


@pytest.fixture
def rules(rules_file):
    return str(rules_file(RULES))


def variables(url, **more):
    """Everything of the application's set-up that stands in variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "CHLOE_", "PYTHONPATH"))}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(APP.parent)]),
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_METRIC_EXPORT_INTERVAL": "600000",
        **more,
    }


def run(instrument, url, *argv, cwd=None, **more):
    done = subprocess.run(
        [instrument, sys.executable, str(APP), *argv],
        env=variables(url, **more),
        cwd=cwd or APP.parent,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "the program goes on" in done.stdout
    return done


def verdicts(received):
    return [span.attributes.get("chloe.passed") for span in received.spans() if span.name == "invoke_agent site_doctor"]


class TestScript:
    def test_is_scored(self, instrument, received, rules):
        with received.listening() as url:
            done = run(instrument, url, OTEL_CHLOE_RULES=rules)

        assert done.stderr == ""
        assert verdicts(received) == [False]
        assert [span.name for span in received.spans()].count("evaluation calls") == 1
        assert [event.attributes["gen_ai.evaluation.score.label"] for event in received.events()] == ["fail"]
        broken = {point.attributes["gen_ai.tool.name"] for point in received.points() if point.metric.endswith("tions")}
        assert broken == {"delete_site"}

    @pytest.mark.parametrize(
        "more",
        [
            {},
            {"OTEL_CHLOE_RULES": "RULES", "OTEL_CHLOE_DISABLED": "true"},
            {"OTEL_CHLOE_RULES": "RULES", "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "chloe"},
            {"OTEL_CHLOE_RULES": ""},
        ],
        ids=["not configured", "OTEL_CHLOE_DISABLED", "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "empty"],
    )
    def test_is_left_alone(self, instrument, received, rules, more):
        with received.listening() as url:
            done = run(instrument, url, **{name: value.replace("RULES", rules) for name, value in more.items()})

        assert done.stderr == ""
        assert verdicts(received) == [None]
        assert received.events() == []

    def test_goes_on_under_wrong_rules_which_are_told(self, instrument, received, rules_file):
        path = rules_file("agents: {a: {calls: {mustCal: [x]}}}")
        with received.listening() as url:
            done = run(instrument, url, OTEL_CHLOE_RULES=str(path))

        assert f"otel_chloe scores nothing: {path}:1:22" in done.stderr
        assert "Did you mean mustCall?" in done.stderr
        assert "Traceback" not in done.stderr
        assert verdicts(received) == [None]

    def test_is_scored_by_the_sdks_own_configuration_file(self, instrument, received, rules, tmp_path):
        if importlib.util.find_spec("opentelemetry.configuration") is None:
            pytest.skip("needs opentelemetry-configuration, which is not installed")
        file = tmp_path / "otel.yaml"
        with received.listening() as url:
            file.write_text(FILE % (url, rules), "utf-8")
            run(instrument, url, OTEL_CONFIG_FILE=str(file))

        assert verdicts(received) == [False]

    def test_is_scored_together_with_code_that_attaches_too(self, instrument, received, rules, tmp_path):
        """By hand and by the program, with the same rules: one processor."""
        (tmp_path / "sitecustom.py").write_text("from otel_chloe import attach\nattach()\n", "utf-8")
        code = "import sitecustom, runpy, sys; sys.argv[1:] = []; runpy.run_path(%r, run_name='__main__')" % str(APP)  # noqa: UP031
        with received.listening() as url:
            env = variables(url, OTEL_CHLOE_RULES=rules)
            done = subprocess.run(
                [instrument, sys.executable, "-c", code],
                env={**env, "PYTHONPATH": os.pathsep.join([env["PYTHONPATH"], str(tmp_path)])},
                capture_output=True, text=True, timeout=DEADLINE_S, check=False,
            )  # fmt: skip

        assert done.returncode == 0, done.stderr
        assert len(received.events()) == 1

    @pytest.mark.parametrize("method", ["fork", "spawn"])
    def test_pools_of_processes_are_scored(self, instrument, received, rules, method):
        with received.listening() as url:
            run(instrument, url, "pool", method, OTEL_CHLOE_RULES=rules)

        assert verdicts(received) == [False, False]


@contextlib.contextmanager
def serving(command, url, **more):
    """A server under `opentelemetry-instrument`, on a free port, ended as an operator ends it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [part.replace("PORT", str(port)) for part in command]
    with subprocess.Popen(
        argv, env=variables(url, **more), cwd=APP.parent, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            yield port
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                errors = server.communicate(timeout=DEADLINE_S)[1]
            except subprocess.TimeoutExpired:
                server.kill()
                errors = server.communicate()[1]
                pytest.fail(f"does not end\n{errors}")
        assert "Traceback" not in errors, errors


def asked(port, times):
    """The workers that answered."""
    workers = set()
    deadline = time.monotonic() + DEADLINE_S
    while times and time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            workers.add(answer.read())
            times -= 1
    assert not times, "the server does not answer"
    return workers


def arrived(received, count):
    """Waits until so many marks came, with a deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while min(len(received.events()), len(verdicts(received))) < count:
        assert time.monotonic() < deadline, (verdicts(received), received.events())
        time.sleep(0.05)


AT_ONCE = {"OTEL_CHLOE_SETTLE_S": "0", "OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_BLRP_SCHEDULE_DELAY": "100"}
SERVERS = {
    "gunicorn": ["gunicorn", "-w", "2", "-b", "127.0.0.1:PORT", "instrumented_app:wsgi"],
    "gunicorn --preload": ["gunicorn", "-w", "2", "--preload", "-b", "127.0.0.1:PORT", "instrumented_app:wsgi"],
    "uvicorn": ["uvicorn", "--port", "PORT", "instrumented_app:asgi"],
    "uvicorn --workers": ["uvicorn", "--workers", "2", "--port", "PORT", "instrumented_app:asgi"],
}


class TestServers:
    @pytest.mark.parametrize("name", SERVERS)
    def test_every_run_of_every_worker_is_scored(self, instrument, received, rules, name):
        program, *argv = SERVERS[name]
        path = Path(sys.executable).parent / program
        if not path.exists() and shutil.which(program) is None:
            pytest.skip(f"needs {program}, which is not installed")
        with received.listening() as url:
            with serving([instrument, str(path), *argv], url, OTEL_CHLOE_RULES=rules, **AT_ONCE) as port:
                asked(port, 6)
                # While they serve: uvicorn ends by the signal itself, without what Python does at an exit.
                arrived(received, 6)

            assert verdicts(received) == [False] * 6
            assert len(received.events()) == 6


class TestCelery:
    def test_every_task_of_every_forked_worker_is_scored(self, instrument, received, rules, tmp_path):
        celery = Path(sys.executable).parent / "celery"
        if not celery.exists():
            pytest.skip("needs celery, which is not installed")
        worker = ["celery_app", "worker", "-P", "prefork", "-c", "2", "--without-gossip", "--without-mingle"]
        with received.listening() as url:
            more = {"OTEL_CHLOE_RULES": rules, "CELERY_FOLDER": str(tmp_path), **AT_ONCE}
            subprocess.run(
                [sys.executable, "celery_app.py"], env=variables(url, **more), cwd=APP.parent, check=True, timeout=60
            )
            with serving([instrument, str(celery), "-A", *worker], url, **more):
                arrived(received, 6)  # while it works: the pool ends its workers without an exit

        assert verdicts(received) == [False] * 6
        assert len(received.events()) == 6
        assert list(tmp_path.glob("worker-*"))


class Broken(ChloeInstrumentor):
    """Stands for any error within."""

    def _attach(self, options):
        raise RuntimeError("broken within")


class TestTheInstrumentor:
    def test_never_raises(self, caplog):
        Broken().instrument(skip_dep_check=True)

        assert "otel_chloe scores nothing: broken within" in caplog.text

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"rule": "x.yaml", "rules": "rules.yaml"}, "chloe: unknown key 'rule'. Did you mean rules?"),
            ({"otlp": "http://localhost:4318"}, "chloe: names no rules. Write rules: and the file's path."),
            ({"rules": {"agents": {}}}, "the OpenTelemetry SDK has no TracerProvider yet"),
        ],
    )
    def test_says_what_is_wrong(self, options, said, caplog, monkeypatch):
        monkeypatch.delenv("OTEL_CHLOE_RULES", raising=False)
        ChloeInstrumentor().instrument(**options)

        assert said in caplog.text
        assert ChloeInstrumentor.attachment is None

    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            ("OTEL_CHLOE_RULE", "rules.yaml", "there is no variable OTEL_CHLOE_RULE, so it says nothing. Did you mean"),
            ("OTEL_CHLOE_DISABLED", "yes", "OTEL_CHLOE_DISABLED: 'yes' is neither true nor false"),
        ],
    )
    def test_tells_of_a_variable_that_says_nothing(self, name, value, said, caplog, monkeypatch):
        monkeypatch.delenv("OTEL_CHLOE_RULES", raising=False)
        monkeypatch.setenv(name, value)
        ChloeInstrumentor().instrument()

        assert said in caplog.text
        assert ChloeInstrumentor.attachment is None

    def test_can_be_asked_to_go_without_having_come(self):
        ChloeInstrumentor().uninstrument()

        assert not ChloeInstrumentor().is_instrumented_by_opentelemetry
        assert ChloeInstrumentor().instrumentation_dependencies() == ()
