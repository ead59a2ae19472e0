"""Calls that two instrumentations tell of count once, however many of one tool run at the same time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from span_builders import OTHER_SCOPE, SCOPE, Spans, names

from otel_chloe.assembly import toolcalls, twins
from otel_chloe.assembly.forest import Forest
from otel_chloe.part import TOOL, Part

MANY = 400
START, WHILE, APART = 10**7, 10**9, 1_000


def doubled(ids: str, arguments: str) -> Spans:
    """Many calls of one tool that all overlap, each told by two instrumentations, the second one's span in the first.

    All first spans have started when the second ones do: a queue between them, say.
    """
    spans = Spans()
    agent = spans.agent("ops", end=3 * WHILE)
    for number in range(MANY):
        for at, scope in enumerate((SCOPE, OTHER_SCOPE)):
            told = ids == "both" or (ids == "first" and not at) or (ids == "second" and at)
            spans.tool(
                "check_site",
                f"call-{number}" if told else None,
                under=agent,
                scope=scope,
                start=START + (number + at * MANY) * APART,
                end=START + number * APART + WHILE - at,
            ).attributes["gen_ai.tool.call.arguments"] = {
                "none": "",
                "same": '{"site": "a"}',
                "each": f'{{"site": "{number}", "how": ["x"]}}',
                "first": f'{{"site": "{number}"}}' if not at else "",
            }[arguments]
    return spans


@pytest.mark.parametrize("arguments", ["none", "same", "each", "first"])
@pytest.mark.parametrize("ids", ["none", "first", "second", "both"])
def test_many_doubled_calls_at_the_same_time_are_each_one_call(ids: str, arguments: str) -> None:
    run = doubled(ids, arguments).run()

    assert names(run) == ["check_site"] * MANY


@pytest.mark.parametrize("arguments", ["none", "same", "each", "first"])
@pytest.mark.parametrize("ids", ["none", "first", "second", "both"])
def test_a_span_is_compared_with_few_others(monkeypatch: pytest.MonkeyPatch, ids: str, arguments: str) -> None:
    compared = 0

    def counting(*given: Any) -> bool:
        nonlocal compared
        compared += 1
        return is_twin(*given)

    is_twin = twins.is_twin
    monkeypatch.setattr(twins, "is_twin", counting)
    doubled(ids, arguments).run()

    assert compared <= 8 * MANY


# --- the index finds what looking at all calls finds ----------------------------------------------------------------


class Everywhere:
    """Looks at every call of the tool: what the index must not take longer than, and must find."""

    def __init__(self, models: list[Part], tools: list[Part]) -> None:
        self.models, self.several = models, len({part.scope for part in tools}) > 1
        self.calls: list[twins.Seen] = []

    def add(self, call: twins.Seen) -> None:
        self.calls.append(call)

    def told(self, part: Part, call: twins.Seen) -> None:
        pass

    def of(self, part: Part) -> twins.Seen | None:
        near = [
            call
            for call in self.calls
            if call.part.short_name == part.short_name
            and (part.mcp or self.several or any(k.call_id == part.call_id for k in (call.part, *call.folded)))
        ]
        fitting = [call for call in near if twins.is_twin(call, part, self.models)]
        return max(fitting, key=lambda call: twins._fits(call, part), default=None)


DOUBLES = st.lists(
    st.tuples(
        st.sampled_from(["check_site", "restart_site"]),
        st.sampled_from([None, None, "1", "2", "3"]),
        st.sampled_from([SCOPE, OTHER_SCOPE, "third.test"]),
        st.integers(0, 20),
        st.integers(0, 12),
        st.sampled_from(["", '{"a": 1}', '{"a": 1.0}', '{"a": [1]}', '{"a": [2]}', "[1]"]),
        st.booleans(),
    ),
    max_size=12,
)


def grouped(parts: list[Part], index: Any) -> list[list[int]]:
    before, toolcalls.Twins = toolcalls.Twins, index
    try:
        found = toolcalls.seen_calls(Forest(parts), [part for part in parts if part.kind == TOOL])
    finally:
        toolcalls.Twins = before
    return [[part.span_id for part in (call.part, *call.folded)] for call in found]


@given(tools=DOUBLES)
def test_the_index_finds_what_looking_at_every_call_finds(tools: Any) -> None:
    spans = Spans()
    agent = spans.agent("ops", end=WHILE)
    for name, call_id, scope, start, lasts, arguments, mcp in tools:
        when = {"start": START + start, "end": START + start + lasts, "under": agent}
        if mcp:
            spans.mcp(name, **when)
        else:
            tool = spans.tool(name, call_id, scope=scope, **when)
            tool.attributes["gen_ai.tool.call.arguments"] = arguments
    parts = spans.parts()

    assert grouped(parts, twins.Twins) == grouped(parts, Everywhere)
