"""The fixtures that pytest finds by itself where otel_chloe is installed. Their imports wait until they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from otel_chloe.testing.runs import RecordedRuns


class RecordRuns:
    """What the fixture ``record_runs`` is: call it as :func:`otel_chloe.testing.record_runs`, without a block."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(self, rules: Any = None, **more: Any) -> RecordedRuns:
        """Score the runs of the agent under test until the test is over."""
        from otel_chloe.testing.runs import record_runs

        return self._stack.enter_context(record_runs(rules, **more))


@pytest.fixture(name="record_runs")
def _record_runs() -> Iterator[RecordRuns]:
    """Scores the runs that the test makes: ``recorded = record_runs(rules)``, then ``recorded.runs``."""
    with ExitStack() as stack:
        yield RecordRuns(stack)
