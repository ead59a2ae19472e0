"""Draws docs/demo.svg, the picture in the README: runs the demo in a terminal of its own and draws what it printed."""
# ruff: noqa: INP001, T201 - a script, and it prints

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

ROOT: Final = Path(__file__).parent.parent
PICTURE: Final = ROOT / "docs" / "demo.svg"
COLUMNS: Final = 110
ADVANCE: Final = 7.8
"""Width of a letter at the font's size of 13."""
LINE: Final = 18
EDGE: Final = 18
STYLES: Final = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}
HEAD: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" xml:space="preserve">
<title>What make demo prints: three runs of an agent with their marks, and the events and metrics of them</title>
<style>text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}}
text{{fill:#d1d7e0}}
.b{{font-weight:700;fill:#f0f6fc}}.d{{fill:#7d8590}}.r{{fill:#ff7b72}}.g{{fill:#7ee787}}.y{{fill:#e3b341}}.c{{fill:#79c0ff}}</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
"""

_STYLED: Final = re.compile(r"\x1b\[(\d+)m(.*?)\x1b\[0m|([^\x1b]+)")


def printed() -> str:
    """What the demo prints in a terminal, colours and all."""
    main, terminal = pty.openpty()
    with subprocess.Popen([sys.executable, "examples/demo.py"], cwd=ROOT, stdout=terminal, env=_environment()) as demo:
        os.close(terminal)
        text = _read(main)
    if demo.returncode:
        sys.exit(f"the demo ended with {demo.returncode}")
    return text.replace("\r\n", "\n")


def _environment() -> dict[str, str]:
    left_out = {"NO_COLOR", "OTLP", "JUDGE"}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "TERM": "xterm-256color", "PYTHONPATH": path, "PYTHONUTF8": "1"}


def _read(terminal: int) -> str:
    found = bytearray()
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # how Linux says that the other side was closed
            piece = b""
        if not piece:
            os.close(terminal)
            return found.decode("utf-8")
        found += piece


def drawn(text: str) -> str:
    """The picture of a text with colour codes."""
    lines = text.rstrip("\n").split("\n")
    size = {"width": 2 * EDGE + COLUMNS * ADVANCE, "height": 2 * EDGE + len(lines) * LINE}
    rows = [_row(line, EDGE + LINE * (number + 0.75)) for number, line in enumerate(lines)]
    return HEAD.format(**size) + "\n".join(rows) + "\n</svg>\n"


def _row(line: str, y: float) -> str:
    """One line. Every piece has its place and its length, so that any monospaced font lines up."""
    column = 0
    pieces: list[str] = []
    for code, styled, bare in _STYLED.findall(line):
        piece = styled or bare
        name = f' class="{STYLES[code]}"' if code else ""
        place = f'x="{EDGE + column * ADVANCE:.1f}" textLength="{len(piece) * ADVANCE:.1f}"'
        pieces.append(f"<tspan {place}{name}>{escape(piece)}</tspan>")
        column += len(piece)
    return f'<text y="{y:.1f}">{"".join(pieces)}</text>'


def texts(picture: str) -> str:
    """The text in a picture, as the demo printed it."""
    rows = re.findall(r"<text [^>]*>(.*?)</text>", picture)
    bare = [re.sub(r"<[^>]+>", "", row) for row in rows]
    return "\n".join(row.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for row in bare) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn(printed()), "utf-8")
    print(f"{PICTURE.relative_to(ROOT)} is drawn")
