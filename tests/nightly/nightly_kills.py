"""Agents killed by SIGKILL at random moments: no outcome appears twice, and what is missing was open or queued."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from chance import seed, size
from endings import case_of, end_programs, told


@pytest.mark.parametrize("judge", ["complete", "child"])
def test_nothing_twice_and_nothing_that_was_flushed_is_missing(judge: str, tmp_path: Path):
    chance = random.Random(seed())
    count = size(180 if judge == "complete" else 20, least=3)
    cases = [
        case_of(chance, "killed", signal=signal.SIGKILL, judge=judge, flushes=True, after_s=chance.random() * 2)
        for _ in range(count)
    ]

    ended = end_programs(cases, tmp_path)
    missing = [key for each in ended for key in each.missing]
    print(told(ended), "missing:", len(missing), "flushed:", sum(len(each.flushed) for each in ended))

    assert {each.code for each in ended} == {-signal.SIGKILL}
    assert [each.doubled for each in ended if each.doubled] == []
    lost = [key for each in ended for key in each.missing if key[0] in each.flushed]
    assert lost == []
    assert any(each.flushed for each in ended), "nothing was flushed, so nothing was tried"
