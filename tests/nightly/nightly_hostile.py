"""A million inputs that nobody should send: recordings with mutations, texts, lines and bytes.

``CHLOE_CORPUS`` names a folder with more recordings (``*/*.otlp.jsonl``). A failure names its seed, which repeats it.
"""

from __future__ import annotations

import io
import os
import random
from pathlib import Path

import pytest
from broken_cases import case_of, truth_of
from chance import seed, size
from hostile_inputs import damaged, read_all, text
from mutation_oracle import wrongs
from mutations import MUTATIONS
from recording_forms import frames, rich_spans

from otel_chloe.recording import read_spans

FOLDERS = [Path(__file__).parent.parent / "spans", *(Path(each) for each in [os.environ.get("CHLOE_CORPUS")] if each)]
RECORDINGS = sorted(path for folder in FOLDERS for path in folder.glob("*/*.otlp.jsonl"))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.__name__)
def test_mutated_recordings_say_nothing_wrong(mutation):
    start, count = seed(), size(190_000) // len(MUTATIONS)
    for number in range(count):
        rng = random.Random(case := f"{start}/{mutation.__name__}/{number}")
        path = rng.choice(RECORDINGS)
        broken = case_of(path).copied()
        effect = mutation(rng, broken)

        assert wrongs(effect, truth_of(path), broken.runs()[0]) == [], (path, case)


def test_no_reader_of_values_raises():
    start = seed()
    for number in range(size(600_000)):
        rng = random.Random(case := f"{start}/{number}")
        try:
            read_all(text(rng))
        except Exception as error:
            raise AssertionError(case) from error


@pytest.mark.parametrize("binary", [True, False])
def test_damaged_recordings_are_told_or_read(binary):
    start, whole = seed(), frames(rich_spans())
    lines = [
        line.encode()
        for path in RECORDINGS
        for line in case_of(path).lines()
        if len(line) < 3_000 and "resourceSpans" in line
    ]
    for number in range(size(105_000)):
        rng = random.Random(case := f"{start}/{number}")
        data = damaged(rng, whole if binary else b"\n".join(rng.sample(lines, 3)))
        told: list[Exception] = []
        try:
            found = list(read_spans(io.BytesIO(data), problem=told.append))
        except Exception as error:
            raise AssertionError(case) from error

        assert found or told or data.strip() in {b"", b"{}"}, case
