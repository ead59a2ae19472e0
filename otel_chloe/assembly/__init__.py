"""Assembly: parts in, runs out. Pure: no clock, no threads, no OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterable

from otel_chloe.assembly.assembler import RunAssembler
from otel_chloe.assembly.build import Builder
from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.join import join_traces
from otel_chloe.assembly.plain import plain_run
from otel_chloe.assembly.quick import plain_calls
from otel_chloe.assembly.runs import delimit
from otel_chloe.assembly.stitch import Stitcher
from otel_chloe.assembly.stitching import stitch, stitched_run
from otel_chloe.assembly.tree import Closed, Limits, Tree
from otel_chloe.part import Part
from otel_chloe.run import Run

__all__ = ["Closed", "Limits", "RunAssembler", "Tree", "assemble", "plain_calls", "plain_run"]


def assemble(parts: Iterable[Part]) -> list[Run]:
    """The runs that a set of ended spans tells of, in the order they ended. The order of the spans does not matter."""
    forest = Forest(parts)
    found = join_traces(delimit(forest))
    runs = [
        Builder(forest, group, "root_ended" if group.root else "shutdown", complete=True).run()
        for group in found.groups
    ]
    stitcher = Stitcher()
    over, _ = stitch(stitcher, found.models, found.tools)
    runs += [stitched_run(held) for held in [*over, *stitcher.rest()]]
    return sorted(runs, key=lambda run: run.end_ns or 0)
