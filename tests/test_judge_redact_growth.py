"""No text makes redaction slow: four times the text takes about four times the instructions, whatever is in it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import otel_chloe

HOSTILE = [
    *("a", "4", "4 ", "@", "a@", "a.", "sk-", "eyJ", "eyJ.", "ghp_", "AKIA", "SG.", "-", "-----BEGIN PRIVATE KEY-----"),
    *(
        "token",
        "token: a ",
        "password=",
        'password="',
        "password: '",
        "password:\\",
        "bearer ",
        "authorization: basic ",
    ),
    *("://", "://a:", "://a:b", "+1 ", "+1-", "(555) ", "555-123-", "4111 1111 ", "01 ", "0 1", "phone: ", "\\", "\\n"),
    *("é", "\u0130", "网", "a@b.co ", "x@a.", "cookie: a", "\u200b", " ", "&sig=", "--token "),
]
BEGIN = "-----BEGIN PRIVATE KEY-----\n"
CODE = """
import sys, types
package = types.ModuleType("otel_chloe")  # without the front, which imports the world
package.__path__ = [sys.argv[1]]
sys.modules["otel_chloe"] = package
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.fence import Fence
size, fence = int(sys.argv[2]), Fence("0123456789abcdef")
for unit in eval(sys.argv[3]):
    text = (unit * size)[:size]
    fence.inside(Redactor().text(text))
for begin, unit in eval(sys.argv[4]):
    fence.inside(Redactor().text(begin + (unit * size)[:size]))
"""
BEGUN = [
    (BEGIN, "A"),
    (BEGIN, "AAAAAAAA\n"),
    (BEGIN, "Proc-Type: a\n"),
    ('password="', '\\"'),
    ("password=", "\\"),
    ("<", "\u200b"),
    ("run-text", "< "),
    ("run-text", "<\u200b"),
    ("run-text", "r\u200b"),
]


def instructions(valgrind: str, size: int, out: Path) -> int:
    """What it takes to redact and fence every hostile text of so many characters, Python's start included."""
    program = [sys.executable, "-I", "-S", "-B", "-c", CODE, str(Path(otel_chloe.__file__).parent), str(size)]
    tool = [valgrind, "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={out}"]
    done = subprocess.run(
        [*tool, *program, repr(HOSTILE), repr(BEGUN)], capture_output=True, text=True, timeout=100, check=True
    )
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    assert found is not None
    return int(found[1].replace(",", ""))


@pytest.mark.timeout(200)
def test_it_grows_with_the_text_and_no_faster(needs: Callable[[str], str], tmp_path: Path):
    valgrind = needs("valgrind")
    nothing, once, often = (instructions(valgrind, size, tmp_path / "out") for size in (0, 1_500, 6_000))

    assert often - nothing < 4.4 * (once - nothing)
