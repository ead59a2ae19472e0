"""The command line: ``runs`` and ``check``, what they print, and how they end."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys

import pytest
from small_recordings import agent, bad, silent, simple_run, span, tool, written

from otel_chloe.cli import main

RUN_KEYS = [
    "file", "trace_id", "span_id", "agent", "conversation", "prompt", "output", "end", "complete", "gaps", "tool_calls",
    "sub_runs",
]  # fmt: skip
CALL_KEYS = ["name", "raw_name", "arguments", "result", "ok", "error", "agent", "ran", "source"]


@pytest.fixture
def objects(capsys):
    """The JSON objects that a command prints."""

    def run(*argv, code=0):
        assert main([*argv, "--format", "json"]) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def process(*argv, **given):
    return subprocess.run(
        [sys.executable, "-m", "otel_chloe", *argv], capture_output=True, check=False, timeout=50, **given
    )


def test_without_arguments_it_prints_help(capsys):
    assert main([]) == 0
    assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["runs", "score", "check"])
def test_every_command_has_help_with_examples_and_exit_codes(command, capsys):
    assert main([command, "--help"]) == 0

    printed = capsys.readouterr().out

    assert f"otel-chloe {command} " in printed.split("examples:")[1]
    assert "exit codes:" in printed


@pytest.mark.parametrize("argv", [["--help"], ["runs", "--help"], ["score", "--help"], ["check", "--help"]])
def test_help_fits_any_terminal(argv, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(argv)

    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("otel-chloe")


@pytest.mark.parametrize("argv", [["runs"], ["score", "x"], ["nothing"], ["runs", "x", "--format", "xml"], ["check"]])
def test_wrong_arguments_end_with_2(argv, capsys):
    assert main(argv) == 2
    assert "usage: otel-chloe" in capsys.readouterr().err


def test_options_are_not_abbreviated(recording, capsys):
    """Else an option that comes later could break a script."""
    assert main(["runs", recording, "--tog"]) == 2
    assert "--tog" in capsys.readouterr().err


def test_a_run_as_json(recording, objects):
    (run,) = objects("runs", recording)

    assert list(run) == RUN_KEYS
    assert run["file"] == recording
    assert (run["trace_id"], run["span_id"]) == (f"{1:032x}", f"{1:016x}")
    assert (run["agent"], run["prompt"], run["output"], run["conversation"]) == ("doctor", "Fix it.", "Done.", None)
    assert (run["end"], run["complete"], run["gaps"], run["sub_runs"]) == ("root_ended", True, [], [])
    assert list(run["tool_calls"][0]) == CALL_KEYS
    assert run["tool_calls"][0] == {
        "name": "check_site",
        "raw_name": "check_site",
        "arguments": {"site": "a"},
        "result": "up",
        "ok": True,
        "error": None,
        "agent": "doctor",
        "ran": True,
        "source": "span",
    }


def test_calls_of_sub_agents_are_the_runs_in_the_order_they_started(tmp_path, objects):
    path = written(
        tmp_path / "spans.jsonl",
        tool(1, 5, 4, name="restart_site", at=3, lasts=1),
        agent(1, 4, 3, name="helper", prompt="Restart a.", output="Restarted.", at=2.5, lasts=2),
        tool(1, 3, 1, name="ask_helper", at=2, lasts=3),
        tool(1, 2, 1, at=1, lasts=0.5),
        agent(1, 1, lasts=6),
    )

    (run,) = objects("runs", path)

    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [
        ("check_site", "doctor"),
        ("ask_helper", "doctor"),
        ("restart_site", "helper"),
    ]
    assert run["sub_runs"] == [
        {"agent": "helper", "prompt": "Restart a.", "output": "Restarted.", "span_id": f"{4:016x}"}
    ]


def test_gaps_have_a_code_and_a_detail(tmp_path, objects):
    (run,) = objects("runs", written(tmp_path / "spans.jsonl", silent(1, 1)))

    assert {"code": "bare_model_call", "detail": None} in run["gaps"]


@pytest.mark.parametrize(
    ("written_as", "shown"),
    [('{"a": [1, null]}', {"a": [1, None]}), ("half of {", "half of {")],
)
def test_arguments_are_an_object_where_they_parse_else_text(tmp_path, objects, written_as, shown):
    path = written(tmp_path / "spans.jsonl", tool(1, 2, 1, arguments=written_as), agent(1, 1, lasts=2))

    (run,) = objects("runs", path)

    assert run["tool_calls"][0]["arguments"] == shown


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_lacks_become_text(tmp_path, objects, value):
    path = written(tmp_path / "spans.jsonl", tool(1, 2, 1, arguments=f'{{"x": {value}}}'), agent(1, 1, lasts=2))

    (run,) = objects("runs", path)

    assert isinstance(run["tool_calls"][0]["arguments"], dict | str)


def test_each_file_is_named_as_it_was_given(tmp_path, objects, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.jsonl", *simple_run(1))
    written(tmp_path / "b.jsonl", *simple_run(2))

    assert [run["file"] for run in objects("runs", "b.jsonl", "./a.jsonl")] == ["b.jsonl", "./a.jsonl"]


def test_runs_are_joined_across_files_only_together(tmp_path, objects):
    one = written(tmp_path / "1.jsonl", agent(1, 1))
    two = written(tmp_path / "2.jsonl", tool(1, 2, 1, at=0.2, lasts=0.5))

    alone = [(run["file"], len(run["tool_calls"])) for run in objects("runs", one, two)]
    together = [(run["file"], len(run["tool_calls"])) for run in objects("runs", one, two, "--together")]

    assert alone == [(one, 0)]
    assert together == [(one, 1)]


def test_gzip(tmp_path, objects):
    path = tmp_path / "spans.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(simple_run(1)).encode()))

    assert len(objects("runs", str(path))) == 1


def test_standard_input(objects, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(simple_run(1)).encode())))

    (run,) = objects("runs", "-")

    assert run["file"] == "-"


def test_explain_says_what_each_call_was_read_from(recording, objects, capsys):
    (run,) = objects("runs", recording, "--explain")

    assert run["tool_calls"][0]["span_id"] == f"{2:016x}"
    assert run["tool_calls"][0]["call_id"] == "call_2"

    main(["runs", recording, "--explain"])

    assert f"span      execute_tool check_site {2:016x}, call id call_2, ran" in capsys.readouterr().out


def test_a_run_as_text(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(
        tmp_path / "spans.jsonl",
        tool(1, 2, 1, at=1, lasts=1, arguments=json.dumps({"site": "a" * 500}), result="down"),
        tool(1, 3, 1, name="restart_site", at=3, lasts=1, status=2, result=""),
        tool(1, 6, 5, name="mcp__ops__page", at=5.5, lasts=0.5),
        agent(1, 5, 4, name="helper", prompt="Page someone.", output="Paged.", at=5, lasts=2),
        tool(1, 4, 1, name="helper_tool", at=4.5, lasts=3),
        agent(1, 1, lasts=9, prompt="The site\nis down.", output="It is up."),
    )

    assert main(["runs", "spans.jsonl"]) == 0
    assert capsys.readouterr().out == (
        f"doctor  spans.jsonl  4 calls  9.0 s  trace {1:032x}\n"
        "├─ prompt    The site is down.\n"
        f'├─ ok        check_site {{"site": "{"a" * 44}… -> down\n'
        '├─ failed    restart_site {"site": "a"}\n'
        '├─ ok        helper_tool {"site": "a"} -> up\n'
        '├─ ok        page (mcp__ops__page) by helper {"site": "a"} -> up\n'
        "├─ agent     helper\n"
        "│  ├─ prompt    Page someone.\n"
        "│  └─ output    Paged.\n"
        "└─ output    It is up.\n"
        "\n"
    )


def test_text_is_safe_for_a_terminal(tmp_path, capsys):
    """What an agent says could else clear the screen, or write over what stands there."""
    main(["runs", written(tmp_path / "spans.jsonl", agent(1, 1, output="\x1b[2J\x07\u202eevil\ud800"))])

    printed = capsys.readouterr().out

    assert "\\e[2J\\x07\\u202eevil" in printed
    assert not {"\x1b", "\x07", "\u202e"} & set(printed)


def test_lines_are_no_longer_than_110_columns(tmp_path, capsys):
    long = "word " * 400
    path = written(tmp_path / "spans.jsonl", *simple_run(1, prompt=long, output=long, name="n" * 300))

    main(["runs", path])

    assert max(map(len, capsys.readouterr().out.splitlines())) <= 130


BAD = {
    "not json": b"no json at all\n",
    "another kind of json": b'{"a": 1}\n',
    "empty": b"",
    "utf-16": "{}".encode("utf-16"),
    "binary": bytes(range(256)),
    "logs": b'{"resourceLogs": []}\n',
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_bad_input_ends_with_2_and_names_the_file(tmp_path, capsys, content):
    path = bad(tmp_path / "bad.jsonl", content)

    assert main(["runs", path]) == 2

    told = capsys.readouterr().err

    assert told.startswith(f"otel-chloe: {path}")
    assert "Traceback" not in told


def test_a_directory_and_a_file_that_is_not_there_end_with_2(tmp_path, capsys):
    assert main(["runs", str(tmp_path), str(tmp_path / "none")]) == 2

    told = capsys.readouterr().err.splitlines()

    assert len(told) == 2
    assert all(line.startswith(f"otel-chloe: {tmp_path}") for line in told)


def test_good_lines_before_and_after_a_bad_one_count(tmp_path, objects, capsys):
    path = written(tmp_path / "spans.jsonl", *simple_run(1), '{"resourceSpans": [', *simple_run(2, at=9))

    assert main(["runs", path, "--format", "json"]) == 2

    captured = capsys.readouterr()

    assert len(captured.out.splitlines()) == 2
    assert "line 3" in captured.err


def test_a_recording_without_runs_is_said_and_is_no_error(tmp_path, capsys):
    path = written(tmp_path / "spans.jsonl", span("GET /", 1, 1))

    assert main(["runs", path, "--format", "json"]) == 0

    captured = capsys.readouterr()

    assert captured.out == ""
    assert "no runs" in captured.err


def test_as_a_process_it_reads_standard_input_and_writes_plain_text():
    done = process("runs", "-", input="\n".join(simple_run(1)).encode())

    assert done.returncode == 0
    assert done.stdout.decode().startswith("doctor  -  1 call")
    assert b"\x1b" not in done.stdout
    assert done.stderr == b""


def test_as_a_process_it_writes_in_any_encoding():
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("runs", "-", input="\n".join(simple_run(1, output="Grüße")).encode(), env=env)

    assert done.returncode == 0
    assert b"`- output    Gr\\xfc\\xdfe" in done.stdout


def test_a_broken_pipe_ends_quietly(tmp_path):
    path = written(tmp_path / "spans.jsonl", *[line for trace in range(1, 2000) for line in simple_run(trace)])
    command = [sys.executable, "-m", "otel_chloe", "runs", path, "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.readline()
        child.stdout.close()

        assert child.stderr.read() == b""
        assert child.wait(50) == 141


def test_ctrl_c_ends_with_130():
    command = [sys.executable, "-m", "otel_chloe", "runs", "-", "--format", "json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        # A problem that is told says that the command is at work.
        child.stdin.write(b"{}\nno json\n\n[\n" + b"x\n" * 200_000)
        child.stdin.flush()
        child.stderr.readline()
        child.send_signal(signal.SIGINT)

        assert child.wait(50) == 130
        assert b"Traceback" not in child.stderr.read()


def test_help_imports_nothing_that_reads_recordings():
    script = (
        "import sys; from otel_chloe.cli import main; main(['--help']); "
        "print(sorted({'otel_chloe.recording', 'pydantic', 'yaml'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=50)

    assert done.stderr.strip() == b"[]"
