"""The readers on texts and bytes that nobody should write: nothing is raised, and nothing is made up.

``make nightly`` tries very many more.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from broken_cases import case_of
from hostile_inputs import begins, damaged, read_all, text
from hypothesis import given
from hypothesis import strategies as st
from recording_forms import frames, rich_spans
from test_mutations import SMALL

from otel_chloe.cli import main
from otel_chloe.conventions.salvage import salvaged
from otel_chloe.conventions.values import arguments, literal, structure
from otel_chloe.recording import read_spans

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
STRUCTURES = st.lists(JSON, max_size=4) | st.dictionaries(st.text(max_size=4), JSON, max_size=4)


@pytest.mark.parametrize("block", range(10))
def test_no_reader_of_values_raises(block: int):
    for number in range(150):
        rng = random.Random(f"{block}/{number}")
        read_all(text(rng))


@given(STRUCTURES, st.floats(0, 1))
def test_what_is_salvaged_is_the_beginning_of_what_was_written(value: Any, share: float):
    whole = json.dumps(value)

    found = salvaged(whole[: int(len(whole) * share)])

    assert found is None or begins(value, found)


@given(STRUCTURES)
def test_every_cut_of_a_text_keeps_what_was_closed_before(value: Any):
    whole = json.dumps(value)
    sizes = [_size(salvaged(whole[:at])) for at in range(len(whole))]

    assert sizes == sorted(sizes)


def _size(value: Any) -> int:
    return sum(1 for _ in _nodes(value))


def _nodes(value: Any) -> Iterator[Any]:
    if value is not None:
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nodes(inner)


@given(STRUCTURES)
def test_what_python_printed_or_was_encoded_twice_is_the_structure_that_it_was(value: Any):
    twice = json.dumps(json.dumps(value))
    printed = repr(value)

    assert structure(twice) == value
    assert structure(printed) in (value, printed)
    if isinstance(value, dict) and "input_str" not in value and "kwargs" not in value:
        assert arguments(twice) == value


@given(
    st.dictionaries(st.text("ab'\"\\\n ü", max_size=4), st.none() | st.booleans() | st.integers() | st.text("a'\"\\"))
)
def test_a_printed_mapping_is_read(value: dict[str, Any]):
    assert literal(repr(value)) == value


@pytest.mark.parametrize(
    "value", ["{'a': '\\d'}", "{'a': 1 is 1}", "{'a': 1or 2}", "{'a': x}", "{'a': open('/')}", "{1in [1]}"]
)
def test_what_is_no_plain_data_is_left_alone(value: str):
    """Python's parser prints warnings of what it finds odd: here they would be errors."""
    assert literal(value) == value


@pytest.mark.parametrize("block", range(10))
def test_a_damaged_line_costs_no_other(block: int):
    for number in range(20):
        rng = random.Random(f"lines/{block}/{number}")
        lines = [line.encode() for line in case_of(rng.choice(SMALL)).lines() if "resourceSpans" in line]
        at = rng.randrange(len(lines))
        ids = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"] for line in lines]
        broken = [*lines[:at], damaged(rng, lines[at]), *lines[at + 1 :]]

        told: list[Exception] = []
        found = {f"{s.context.span_id:016x}" for s in spans_of(b"\n".join(broken), told)}

        assert {each for place, each in enumerate(ids) if place != at} <= found, (block, number)


def spans_of(recording: bytes, told: list[Exception]) -> list[Any]:
    found = list(read_spans(io.BytesIO(recording), problem=told.append))
    for span in found:
        assert span.context.trace_id
        assert span.context.span_id
        _ = (span.events, span.links, span.attributes)
    return found


@pytest.mark.parametrize("block", range(10))
def test_damaged_bytes_are_told_or_read(block: int):
    binary = frames(rich_spans())
    for number in range(100):
        rng = random.Random(f"bytes/{block}/{number}")
        told: list[Exception] = []

        found = spans_of(damaged(rng, binary), told)

        assert found or told


def test_the_command_says_what_is_wrong_with_damaged_bytes(tmp_path: Any, capsys: pytest.CaptureFixture[str]):
    binary = frames(rich_spans())
    for number in range(30):
        path = tmp_path / "spans.bin"
        path.write_bytes(damaged(random.Random(number), binary))

        code = main(["runs", str(path)])

        assert code == 0 or (code == 2 and capsys.readouterr().err)
