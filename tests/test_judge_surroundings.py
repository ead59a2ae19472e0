"""What the judge's child must not pick up from the application around it, nor leave in the application's telemetry."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from judge_child import ask, fake_judge, run_script, told
from judge_standins import Answer, StandIn

from otel_chloe.judge import launch
from otel_chloe.judge.launch import environment


@pytest.fixture(scope="module")
def judge():
    judge = fake_judge()
    yield judge
    judge.close()


INSTRUMENTS = """
import http.client, os
from opentelemetry import propagate, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

class Kept(SpanExporter):
    def export(self, spans):
        with open(os.environ["SPANS"], "a") as file:
            file.writelines(span.name + "\\n" for span in spans)
        return SpanExportResult.SUCCESS

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Kept()))
trace.set_tracer_provider(provider)
really = http.client.HTTPConnection.request

def request(self, method, url, body=None, headers={}, **more):
    with trace.get_tracer("http").start_as_current_span("HTTP " + method):
        propagate.inject(headers)
        return really(self, method, url, body, headers, **more)

http.client.HTTPConnection.request = request
"""


def test_nothing_of_it_shows_in_the_telemetry_of_an_instrumented_application(tmp_path):
    agent, spans = tmp_path / "agent", tmp_path / "spans"
    agent.mkdir()
    (agent / "__init__.py").write_text("")
    (agent / "sitecustomize.py").write_text(INSTRUMENTS)
    standin = StandIn()
    standin.says(Answer({"fine": True}))
    path = os.pathsep.join([str(agent), str(Path(__file__).parent.parent)])
    said = run_script(
        f"""
        from urllib.request import urlopen
        from opentelemetry import trace
        with trace.get_tracer("app").start_as_current_span("agent"):
            urlopen("{standin.url}/own", data=b"{{}}").close()
            say(ask(fake_judge(), "fetch:{standin.url}/judge").text)
        """,
        env={**os.environ, "PYTHONPATH": path, "SPANS": str(spans)},
    )
    standin.close()

    assert said == ['{"fine": true}']
    assert spans.read_text().split("\n") == ["HTTP POST", "agent", ""]
    assert [(request.path, "traceparent" in request.headers) for request in standin.requests] == [
        ("/own", True),
        ("/judge", False),
    ]


class TestSurroundings:
    def test_the_users_own_modules_shadow_nothing(self, tmp_path):
        """Neither in the working directory, nor beside the program, nor where PYTHONPATH names the directory."""
        cwd = tmp_path / "cwd"
        cwd.mkdir()
        for folder in (tmp_path, cwd):
            (folder / "litellm.py").write_text("raise ImportError('the wrong one')")
        here = Path(__file__).parent.parent
        (path,) = run_script(
            """
            judge = fake_judge()
            say(json.dumps(told(judge, "where")))
            """,
            folder=tmp_path,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": f".{os.pathsep}{here}{os.pathsep}"},
        )

        assert '""' not in path
        assert '"."' not in path
        assert f'"{cwd}"' not in path.partition('"cwd"')[0]
        assert f'"{tmp_path}"' not in path

    def test_our_own_modules_shadow_nothing(self, judge):
        assert str(launch.MAIN.parent) not in told(judge, "where")["path"]

    def test_it_imports_neither_our_front_nor_a_tracer(self, judge):
        modules = set(told(judge, "where")["modules"])

        assert {"otel_chloe.judge.frames", "otel_chloe.judge.models"} <= modules
        assert not {name for name in modules if name.startswith("opentelemetry") or name == "otel_chloe.processor"}

    def test_it_has_a_session_of_its_own(self, judge):
        assert told(judge, "where")["session"] == judge.pid

    def test_litellm_reads_no_env_file_and_fetches_no_prices(self, judge):
        found = told(judge, "environment")

        assert (found["LITELLM_MODE"], found["LITELLM_LOCAL_MODEL_COST_MAP"]) == ("PRODUCTION", "True")

    def test_nothing_traces_it(self, judge):
        assert told(judge, "environment")["OTEL_SDK_DISABLED"] == "true"

    def test_auto_instrumentation_is_left_out(self, tmp_path, monkeypatch):
        agent, own = tmp_path / "agent", tmp_path / "own"
        for folder in (agent, own):
            folder.mkdir()
            (folder / "sitecustomize.py").write_text("")
        (agent / "__init__.py").write_text("")
        found = environment({"PYTHONPATH": os.pathsep.join(map(str, (agent, own))), "KEY": "x"})

        assert found["PYTHONPATH"] == str(own)
        assert found["KEY"] == "x"

    def test_opentelemetry_instrument_is_left_out(self):
        instruments = pytest.importorskip("opentelemetry.instrumentation.auto_instrumentation")
        folder = str(Path(instruments.__file__).parent)

        assert "PYTHONPATH" not in environment({"PYTHONPATH": folder})

    def test_warnings_of_the_application_stay_its_own(self, tmp_path):
        said = run_script("say(ask(fake_judge(), 'echo').text)", env={**os.environ, "PYTHONWARNINGS": "error"})

        assert said == ["hello"]

    def test_a_working_directory_that_is_gone_is_no_error(self, tmp_path):
        gone = tmp_path / "gone"
        gone.mkdir()
        said = run_script(f"os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); say(ask(fake_judge(), 'echo').text)")

        assert said == ["hello"]

    def test_nothing_that_it_starts_holds_its_pipes(self, judge):
        assert ask(judge, "inherits").text == "[]"
