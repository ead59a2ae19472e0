"""Runs that hold odd values and long texts, and what a judge is shown of them."""

from __future__ import annotations

import json
import math
from types import MappingProxyType

from hypothesis import strategies as st

from otel_chloe import Run, ToolCall
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.shown import Shown, show

PROSE = "The site was down since noon, so the agent restarted it; "
BUDGET = 24_000
ODD = {
    "object": object(),
    "number": 10**6000,
    "set": {1, 2},
    "mapping": MappingProxyType({"a": (1,)}),
    "surrogate": "\ud800",
    "nan": math.nan,
}
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.binary(max_size=20),
        st.text(max_size=40),
        st.sampled_from(sorted(ODD)).map(lambda name: ODD[name]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(st.one_of(st.text(max_size=9), st.integers(), st.binary(max_size=3)), inner, max_size=6),
    ),
    max_leaves=20,
)
CALLS = st.builds(
    ToolCall,
    st.text(max_size=20),
    VALUES,
    st.one_of(VALUES, st.integers(0, 3000).map(lambda count: PROSE * count)),
    ok=st.sampled_from([True, False, None]),
    error=st.one_of(st.none(), st.text(max_size=20)),
    agent=st.one_of(st.none(), st.text(max_size=20)),
    ran=st.sampled_from([True, False, None]),
)
LONG = {"prose": PROSE * 2000, "chinese": "网站" * 40_000, "addresses": "a@b.example " * 9000, "quotes": '"\n' * 9000}
TEXTS = st.one_of(st.none(), st.text(max_size=50), st.sampled_from(sorted(LONG)).map(lambda name: LONG[name]))
RUNS = st.builds(
    Run,
    agent=TEXTS,
    prompt=TEXTS,
    output=TEXTS,
    error=TEXTS,
    tool_calls=st.lists(CALLS, max_size=5),
    sub_runs=st.lists(st.builds(Run, agent=st.text(max_size=9), prompt=TEXTS, output=TEXTS), max_size=3),
)


def seen(run: Run, tokens: int = BUDGET) -> Shown:
    return show(run, redactor=Redactor(), tokens=tokens)


def texts(shown: Shown) -> list[str]:
    parts = (shown.prompt, shown.said, shown.did, shown.others, shown.agent, shown.error, *shown.cut)
    return [part for part in parts if part is not None]


def numbers(shown: Shown) -> list[int]:
    return [item["number"] for item in json.loads(shown.did) if isinstance(item, dict)]


def run_with(where: str, text: str) -> Run:
    """A run that holds a text in one place."""
    argument = {"note": text} if where == "argument" else {text: 1} if where == "key" else None
    call = ToolCall(
        text if where == "name" else "get",
        argument,
        {"rows": [1, text]} if where == "result" else None,
        error=text if where == "fault" else None,
    )
    top = {where: text} if where in ("prompt", "output", "agent", "error") else {}
    return Run(tool_calls=[call], **top)
