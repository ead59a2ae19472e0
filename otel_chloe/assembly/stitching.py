"""The runs that model calls are stitched to, for whoever holds spans: loose ones of a process, or those of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from otel_chloe.assembly.build import Builder
from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.modelcalls import model_calls
from otel_chloe.assembly.runs import Group
from otel_chloe.assembly.stitch import Stitcher
from otel_chloe.assembly.stitched import Stitched
from otel_chloe.part import Part
from otel_chloe.run import Run


def stitch(
    stitcher: Stitcher, models: Iterable[Part], tools: Iterable[Part], origin_of: Callable[[Part], Any] | None = None
) -> tuple[list[Stitched], list[Part]]:
    """Hand spans that nothing links to a stitcher: gives the runs that are over now, and the tools of none."""
    over: list[Stitched] = []
    waiting = sorted(tools, key=lambda tool: tool.start)
    left: list[Part] = []
    for call in model_calls(models):
        while waiting and waiting[0].start < call.start:
            _give(stitcher, waiting.pop(0), left)
        over += stitcher.add(call, origin_of(call.parts[0]) if origin_of is not None else None)
    for tool in waiting:
        _give(stitcher, tool, left)
    return over, left


def _give(stitcher: Stitcher, tool: Part, left: list[Part]) -> None:
    if not stitcher.give(tool):
        left.append(tool)


def stitched_run(held: Stitched, builder: type[Builder] = Builder) -> Run:
    """The run that was stitched: keyed by its first model span, its marks on its last."""
    parts: Sequence[Part] = [*(part for call in held.calls for part in call.parts), *held.tools]
    first, last = held.first.parts[0], held.last.parts[0]
    agents = [first] if first is last else [first, last]
    group = Group(first, agents, [*parts], bare=held.bare, roots=[first], unclear=held.unclear, unseen=held.unseen)
    return builder(Forest(parts), group, held.end, complete=held.end == "root_ended").run()
