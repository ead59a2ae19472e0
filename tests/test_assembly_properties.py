"""Assembly and the ways of keeping spans, for runs that are known before their spans are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from span_builders import Spans
from true_runs import SHAPES, Script, differences, scripts, tell, timed

from otel_chloe.assembly import assemble
from otel_chloe.conventions import read


@given(script=scripts(), shape=st.sampled_from(SHAPES))
def test_whole_runs_are_told_as_they_were(script: Script, shape) -> None:
    true = tell(Spans(), "a", script, shape)
    (run,) = assemble(map(read, timed(true.events)))

    assert differences(true, run) == []
    assert run.complete
    assert run.span_id == f"{true.root.context.span_id:016x}"
    assert run.mark_span_id == f"{true.last.context.span_id:016x}"
