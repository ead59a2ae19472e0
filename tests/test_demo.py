"""The examples: what the demo prints, that its picture is true, and that the programs and rules work."""

from __future__ import annotations

import logging
import re
import sys

import pytest
import yaml
from example_programs import ROOT, load, program

from otel_chloe.config import load_rules

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal that POSIX knows")


@pytest.fixture(scope="module")
def demo():
    """One run of the demo, its output in a pipe."""
    done = program("examples/demo.py")

    assert done.returncode == 0, done.stderr

    return done


@pytest.fixture(scope="module")
def backend():
    """The backend that the demo has, as one to send to."""
    return load("examples/site_doctor/backend.py").Backend


def alike(text: str) -> str:
    """The text without what differs from run to run: ids, and which of two runs an exemplar is of."""
    return re.sub(r"→ (?:very )?bad", "→ …", re.sub(r"\b[0-9a-f]{32}\b", "0" * 32, text))


def test_the_demo_gives_its_three_verdicts_in_order(demo):
    verdicts = re.findall(r"^│  (\S) chloe\.passed=(\w+) .* chloe\.calls\.score=(\S+)", demo.stdout, re.MULTILINE)
    reasons = re.findall(r"chloe\.calls\.reason=(.{30})", demo.stdout)

    assert verdicts == [("✔", "true", "1.0"), ("✘", "false", "0.0"), ("✘", "false", "0.0")]
    assert reasons == [
        "Used: check_site, restart_site",
        "called restart_site more than ",
        "never called check_site; calle",
    ]


def test_the_lines_are_judged_and_a_judge_that_fails_gives_no_number(demo):
    judged = re.findall(r"evaluation expectations +(\S+)  (\S+)\n +\S+explanation=(.{20})", demo.stdout)

    assert judged == [
        ("gen_ai.evaluation.score.value=1.0", "gen_ai.evaluation.score.label=pass", "Met every expectatio"),
        ("gen_ai.evaluation.score.value=0.5", "gen_ai.evaluation.score.label=fail", "0.50. Missed: says w"),
        ("chloe.state=failed", "error.type=ConnectionError", "complete= raised Con"),
    ]
    assert "expectations failed ConnectionError: 1 → very bad" in demo.stdout


def test_the_demo_shows_events_and_metrics(demo):
    names = re.findall(r"^(?:event|metric) +(\S+)", demo.stdout, re.MULTILINE)

    assert names == [
        "gen_ai.evaluation.result",
        "chloe.marks",
        "chloe.runs",
        "chloe.violations",
        "gen_ai.evaluation.score",
    ]
    events, _, metrics = demo.stdout.partition("\nevent ")[2].partition("\nmetric ")
    assert len(re.findall("→ (?:good|bad|very bad)", events)) == 6
    assert len(re.findall("→ (?:good|bad|very bad)", metrics)) == 12


def test_the_demo_fits_a_terminal(demo):
    lines = demo.stdout.splitlines()

    assert len(lines) < 60
    assert max(len(line) for line in lines) <= 110
    assert lines[-1].strip()


def test_the_demo_says_nothing_on_standard_error(demo):
    assert demo.stderr == ""


def test_there_are_no_colours_in_a_pipe(demo):
    assert "\x1b" not in demo.stdout


def test_there_are_colours_on_a_terminal_but_not_with_no_color(monkeypatch):
    picture = load("docs/picture.py")

    assert "\x1b[32m✔" in picture.printed()

    environment = picture._environment()
    monkeypatch.setattr(picture, "_environment", lambda: {**environment, "NO_COLOR": "1"})

    assert "\x1b" not in picture.printed()


def test_the_picture_is_what_the_demo_prints(demo):
    """`python docs/picture.py` draws it anew."""
    picture = load("docs/picture.py")

    assert alike(picture.texts(picture.PICTURE.read_text("utf-8"))) == alike(demo.stdout)


def test_drawing_keeps_the_text():
    picture = load("docs/picture.py")
    text = '\x1b[1m── <a> & "b"\x1b[0m  c\n\n\x1b[31m✘\x1b[0m d\n'

    assert picture.texts(picture.drawn(text)) == '── <a> & "b"  c\n\n✘ d\n'


def test_the_demo_sends_to_another_backend_what_it_shows(backend):
    other = backend()
    with other.listening() as url:
        done = program("examples/demo.py", OTLP=f"{url}/", OTEL_EXPORTER_OTLP_HEADERS="api-key=secret")

    assert done.returncode == 0, done.stderr
    assert f"Sent on to {url}: /v1/traces 200, /v1/logs 200, /v1/metrics 200" in done.stdout
    assert len(done.stdout.splitlines()) < 60
    assert {request.headers.get("Api-Key") for request in other.requests} == {"secret"}
    assert [span.name for span in other.spans()].count("evaluation calls") == 3
    assert [span.name for span in other.spans()].count("evaluation expectations") == 3
    assert [event.name for event in other.events()] == ["gen_ai.evaluation.result"] * 6
    shown = " ".join(done.stdout.split())
    for span in other.spans():
        for key, value in span.attributes.items():
            if key.startswith("chloe.calls."):
                said = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
                assert f"{key}={said}" in shown.replace(" │ ", " ")


def test_the_demo_says_when_the_other_backend_was_not_reached():
    done = program("examples/demo.py", OTLP="http://127.0.0.1:1")

    assert done.returncode == 1
    assert "http://127.0.0.1:1 was not reached: " in done.stdout
    assert done.stderr == ""


def test_what_is_set_in_the_shell_does_not_change_the_demo(demo):
    other = program(
        "examples/demo.py",
        OTEL_SDK_DISABLED="true",
        OTEL_TRACES_SAMPLER="always_off",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1",
        HTTP_PROXY="http://127.0.0.1:1",
        http_proxy="http://127.0.0.1:1",
    )

    assert other.stderr == ""
    assert alike(other.stdout) == alike(demo.stdout)


def test_the_attached_example_scores_its_run(backend):
    received = backend()
    with received.listening() as url:
        done = program("examples/attach.py", OTEL_EXPORTER_OTLP_ENDPOINT=url)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    root = next(span for span in received.spans() if span.name == "invoke_agent site_doctor")
    assert root.attributes["chloe.passed"] is True
    assert root.attributes["chloe.calls.reason"] == "Used: check_site, restart_site."
    assert len(received.events()) == 1
    assert sum(point.value for point in received.points() if point.metric == "chloe.runs") == 1


@pytest.mark.parametrize("file", ["examples/rules.yaml", "examples/site_doctor/rules.yaml"])
def test_the_rules_load_without_a_warning(file, caplog):
    with caplog.at_level(logging.WARNING):
        rules = load_rules(ROOT / file)

    assert rules.agents == ("site_doctor",)
    assert not caplog.records


def test_the_rules_that_are_off_in_the_example_are_right_too(caplog):
    """Prose stands one space after its #; what stands elsewhere is YAML."""
    text = (ROOT / "examples/rules.yaml").read_text("utf-8")
    turned_on = re.sub(r"^( *)#(?! \S)", r"\1", text, flags=re.MULTILINE)
    with caplog.at_level(logging.WARNING):
        rules = load_rules(yaml.safe_load(turned_on))

    assert not load_rules(ROOT / "examples/rules.yaml").judged
    assert rules.judge.model == "anthropic/claude-haiku-4.5"
    expected = rules.joined["site_doctor"].expectations
    assert expected.outcome.should == ("says what was wrong",)
    assert expected.sample == 0.1
    assert not caplog.records
