"""What the commands write: JSON of any value, text for any terminal, progress."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_recordings import simple_run, written

from otel_chloe.cli import main
from otel_chloe.cli.console import Progress, Watched, complain, printable
from otel_chloe.cli.json_lines import line, run_object
from otel_chloe.cli.text import Page
from otel_chloe.mark import Failed, Line, Mark, Pending
from otel_chloe.run import Gap, Run, ToolCall

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(object()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner),
    max_leaves=20,
)


def refuse(constant):
    raise ValueError(constant)


@given(ANYTHING)
def test_any_value_is_one_line_of_strict_json(value):
    written = line(value)

    assert "\n" not in written
    assert written.isascii()

    json.loads(written, parse_constant=refuse)


def test_values_that_json_lacks_are_text():
    value = {"nan": float("nan"), "inf": [float("inf")], "bytes": b"ab", "set": {1}, "large": 1 << 20_000}

    read = json.loads(line(value))

    assert (read["nan"], read["inf"], read["bytes"], read["set"]) == ("nan", ["inf"], "ab", [1])
    assert read["large"].startswith("0x")


def test_values_that_hold_themselves_or_are_too_deep_end_somewhere():
    ring = []
    ring.append(ring)
    deep = []
    for _ in range(100_000):
        deep = [deep]

    assert json.loads(line(ring))
    assert json.loads(line({"deep": deep}))


def test_arguments_that_are_neither_object_nor_text_are_their_text():
    run = Run(tool_calls=[ToolCall("a", [1, 2]), ToolCall("b"), ToolCall("c", "text"), ToolCall("d", {})])

    shown = [call["arguments"] for call in run_object("f", run, None, explain=False)["tool_calls"]]

    assert shown == ["[1, 2]", None, "text", {}]


def test_marks_of_every_state():
    run = Run()
    said = Line(1, "says it", None, "cut", None, None)
    outcomes = [
        (run, Mark(None, "it is red", name="colour", value="red", label="red", lines=(said,))),
        (run, Pending("asked Ann", name="human")),
        (run, Failed("it broke", name="mine", error="KeyError")),
    ]

    mark, pending, failed = run_object("f", run, outcomes, explain=False)["marks"]

    assert (mark["score"], mark["value"], mark["passed"]) == (None, "red", None)
    assert mark["lines"] == [
        {"id": 1, "text": "says it", "met": None, "why": "cut", "evidence": None, "found": None},
    ]
    assert (pending["state"], pending["reason"], pending["error"]) == ("pending", "asked Ann", None)
    assert (failed["state"], failed["error"], failed["score"]) == ("failed", "KeyError", None)


def test_the_calls_of_nested_sub_runs_and_their_marks_are_all_there():
    inner = Run(agent="inner", span_id="2")
    run = Run(agent="a", sub_runs=[Run(agent="outer", span_id="1", sub_runs=[inner])])
    found = run_object("f", run, [(inner, Mark(1.0, "fine"))], explain=False)

    assert [(sub["agent"], "marks" in sub) for sub in found["sub_runs"]] == [("outer", False), ("inner", True)]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """A run's text on a terminal, by what the environment says."""

    def show(**environment):
        for name, value in {"NO_COLOR": "", "TERM": "xterm", **environment}.items():
            monkeypatch.setenv(name, value)
        with redirect_stdout(Terminal()):
            return Page().run("f", RUN)

    return show


RUN = Run(agent="a", tool_calls=[ToolCall("x", ok=True), ToolCall("y", ok=False, error="no"), ToolCall("z")])


def test_colours_on_a_terminal(shown):
    assert "\x1b[32mok" in shown()


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(shown, environment):
    assert "\x1b" not in shown(**environment)


def test_a_call_says_whether_it_went_well():
    text = Page().run("f", RUN)

    assert [row.split()[1] for row in text.splitlines()[1:]] == ["ok", "failed", "call"]
    assert "y -> no" in text


def test_text_of_what_is_missing():
    run = Run(
        gaps=[Gap("no_output"), Gap("truncated", "gen_ai.input")], complete=False, end="evicted", error="it broke"
    )
    text = Page().run("f", run, [(run, Pending("asked Ann", name="human"))])

    assert "(no name)  f  0 calls  incomplete: evicted" in text
    assert "gap       no_output" in text
    assert "gap       truncated: gen_ai.input" in text
    assert "error     it broke" in text
    assert "human     pending: asked Ann" in text


def test_a_long_path_shows_its_end():
    run = Run(agent="a", trace_id="0" * 32)

    assert "…" in Page().run("/long" * 60 + "/S1.jsonl", run)
    assert "/S1.jsonl  0 calls" in Page().run("/long" * 60 + "/S1.jsonl", run)


def test_nothing_printable_is_an_order_to_the_terminal():
    assert printable("a\x1b[0m\x00\x9b\r\u2028\ud800é😀") == "a\\e[0m\\x00\\x9b\\r\\u2028\\ud800é😀"


def test_complaints_have_a_name_on_every_line(capsys):
    complain("one\ntwo")

    assert capsys.readouterr().err == "otel-chloe: one\notel-chloe: two\n"


def test_progress_shows_itself_after_a_second_and_is_taken_away():
    now = [0.0]
    out = io.StringIO()
    progress = Progress(out, lambda: now[0], 4 << 20)
    progress.read(1 << 20, 3)

    assert out.getvalue() == ""

    now[0] = 1.5
    progress.read(1 << 20, 1234)

    assert out.getvalue() == "\rread 2.0 MB of 4.0 MB (50%), 1,234 runs"

    now[0] = 1.6
    progress.read(1 << 20, 1234)
    progress.clear()

    assert out.getvalue().count("read") == 1
    assert out.getvalue().endswith(" \r")


def test_progress_without_a_known_size_counts_bytes():
    now = [0.0]
    out = io.StringIO()
    progress = Progress(out, lambda: now[0], None)
    now[0] = 2
    progress.read(1 << 20, 0)

    assert out.getvalue() == "\rread 1.0 MB, 0 runs"


def test_a_watched_file_is_told_of_and_closed_at_its_end(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    counts = []
    watched = Watched(str(path), counts.append)
    buffer = bytearray(10)

    assert watched.readable()
    assert watched.read(2) == b"ab"
    assert watched.readinto1(buffer) == 4
    assert watched.read(1) == b""
    assert counts == [2, 4, 0]


def test_progress_on_a_terminal_reads_the_same(tmp_path, monkeypatch, capsys):
    path = written(tmp_path / "spans.jsonl", *simple_run(1))
    monkeypatch.setattr(sys, "stderr", Terminal())

    assert main(["runs", path, "--format", "json"]) == 0
    assert main(["runs", str(tmp_path / "none")]) == 2
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert "none: no such file" in sys.stderr.getvalue()
