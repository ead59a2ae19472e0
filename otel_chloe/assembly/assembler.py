"""Runs of this process while they happen: spans start and end, and runs close when nothing more is to come.

Hooks call :meth:`RunAssembler.started` and :meth:`RunAssembler.ended` from any thread, inside signal handlers and
finalisers too: each changes shared state by single operations of a dict or a list, and takes no lock. Everything else
is called by one thread, with the time given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from otel_chloe.assembly.build import Builder
from otel_chloe.assembly.finished import Finished
from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.loose import Loose, Released, groups_with, near, parted, still_loose, unclaimed
from otel_chloe.assembly.over import is_over, is_whole, works
from otel_chloe.assembly.plain import calls_of, plain_run
from otel_chloe.assembly.quick import quick_calls
from otel_chloe.assembly.runs import Group, delimit, hands_over, mark_if_unclear
from otel_chloe.assembly.tables import give_back
from otel_chloe.assembly.traces import Traces
from otel_chloe.assembly.tree import NO_TREE, SPANS_LATE, Closed, Limits, Tree
from otel_chloe.part import AGENT, MODEL, OTHER, TOOL, Part
from otel_chloe.record import Record, shorten
from otel_chloe.run import End, Run, ToolCall

SWEEP_S: Final = 5.0
"""How often idle runs and limits over all runs are looked at."""
LEAST_LOOK_S: Final = 0.05


class RunAssembler:
    """Follows the spans of a process and closes their runs.

    Args:
        limits: How long runs wait and how much is held.
        describe: Reads an open span as a part, as far as it tells yet; None where it cannot.
        expand: Makes parts of what is held of a tree's ended spans, given its trace id and resource.
        count: Counts what happens: ``spans_late``.
    """

    def __init__(
        self,
        limits: Limits,
        describe: Callable[[Any], Part | None],
        expand: Callable[[Sequence[Part | Record], int, Any], list[Part]],
        count: Callable[[str, int], None],
    ) -> None:
        self.limits = limits
        self._max_bytes, self._max_spans, self._most_trees = limits.max_bytes, limits.max_spans, limits.most_trees
        self._describe = describe
        self._expand = expand
        self._count = count
        self.tree_of: dict[int, Tree] = {}
        self.trees: dict[int, Tree] = {}
        self.traces = Traces()
        self._closing: dict[int, Tree] = {}
        self._loose: Loose = []
        self._released = Released(limits, count)
        self._over = Finished(self.tree_of, limits.remembered_runs, count)
        self._finished = self._over.traces
        self._next_sweep_s: float | None = None

    # --- called by hooks ---------------------------------------------------------------------------------------------

    def began(self, context: Any, span: Any, *, orphan: bool = False) -> Tree:
        """A span with nothing of ours above it: a new tree.

        ``context`` is the span's own, as a tuple: trace id, span id, whether it is remote, trace flags.
        ``orphan``: its parent was ours, and has ended.
        """
        tree = Tree(context, span)
        if orphan:
            tree.orphan, tree.late = True, tree.trace_id in self._finished
        self.tree_of[tree.root_id] = self.trees[tree.root_id] = tree
        self.traces.add(tree)
        return tree

    @property
    def is_full(self) -> bool:
        """Whether there is no room for a new tree: they are closed more slowly than they come."""
        return len(self.trees) >= self._most_trees

    def tree_with(self, trace_id: int, span_id: int) -> Tree | None:
        """The tree, still waiting to be closed, in which a span has ended. Only for spans whose parent is over."""
        return next((tree for tree in self.traces.of(trace_id) if tree.has(span_id)), None)

    def started(self, tree: Tree, span_id: int, span: Any) -> None:
        """A span below one that is open."""
        tree.open[span_id] = span
        self.tree_of[span_id] = tree

    def ended(self, tree: Tree, part: Part) -> bool:
        """A span of a tree ended, and was kept as a part. True where the tree went over a limit of its own."""
        tree.open.pop(part.span_id, None)
        if tree.closed:
            self._over.late(tree, part.kind)
            return False
        if part.span_id == tree.root_id and not tree.orphan:
            part.remote_parent = True  # what stands above it is of another trade, not missing
        tree.ours = tree.ours or part.kind is not OTHER
        tree.bytes += part.size
        tree.parts.append(part)
        return tree.bytes > self._max_bytes or len(tree.parts) > self._max_spans

    def recorded(self, tree: Tree, record: Record) -> bool:
        """The same for a span kept as a record. An earlier model call that it repeats is shortened."""
        tree.open.pop(record[1], None)
        if tree.closed:
            self._over.late(tree, record[0])
            return False
        tree.ours = True
        told = record[8]
        size = tree.bytes + len(record[7])
        if told is not None:
            size += len(told)
        if record[0] is MODEL:
            newest = tree.newest
            tree.newest = record
            if newest is not None:
                size -= shorten(newest, record)
        parts = tree.parts
        parts.append(record)
        tree.bytes = size
        return size > self._max_bytes or len(parts) > self._max_spans

    def calls_at(self, tree: Tree, agent: str, compared: Collection[str]) -> tuple[ToolCall, ...] | None:
        """The calls of a tree that :func:`plain_calls` told; no message is read, and arguments only of ``compared``."""

        def call(record: Record) -> ToolCall | None:
            found = calls_of(agent, self._parts(tree, [record]))
            return found[0] if found else None

        return quick_calls((held for held in tree.parts if held[0] is TOOL), compared, call)  # type: ignore[index, misc]  # records

    def runs_at(self, tree: Tree, ending: Part, now_ns: int) -> tuple[Run, bool] | None:
        """The run that hangs on a span that is about to end, and whether it is a top-level run.

        None where the span is no agent and delimits no run, or hands over to another agent.
        """
        parts = [*self._parts(tree, tree.parts), ending]
        above = self._open_parts(tree, now_ns, ending.span_id)
        ending.end = ending.end or now_ns
        forest = Forest([*parts, *above])
        for group in delimit(forest).groups:
            if group.root is ending or ending in group.agents:
                if hands_over(group, ending):
                    return None
                mark_if_unclear(forest, group, ending)
                if any(works(above, parts) for above in forest.above(ending)):
                    own = Group(ending, [ending], [ending, *forest.below(ending)])
                    return self._run_so_far(forest, own, ending), False
                return self._run_so_far(forest, group, ending), True
            if ending in group.parts and ending.kind is AGENT:
                whole = self._run_so_far(forest, group, ending)
                return next(((sub, False) for sub in whole.sub_runs if sub.span_id == f"{ending.span_id:016x}"), None)
        return None

    def _run_so_far(self, forest: Forest, group: Group, ending: Part) -> Run:
        """A run of which an agent ends now. What is still open below it may yet turn out to be a call."""
        builder = Builder(forest, group, "root_ended", complete=True)
        wanted = builder.wanted()
        elsewhere = self._bare_tools(wanted) if wanted else []
        if elsewhere:
            group.parts.extend(elsewhere)
            builder = Builder(forest, group, "root_ended", complete=True)
        builder.complete = not builder.may_go_on(ending)
        return builder.run()

    def _bare_tools(self, wanted: set[str]) -> list[Part]:
        """The tool spans with these call ids that have traces of their own: tools in threads without a context."""
        here = [tree for tree in self.trees.copy().values() if not tree.plain_root and len(tree.parts) == 1]
        alone = [part for tree in here for part in self._parts(tree, tree.parts)]
        found = [*alone, *(part for part, _ in list(self._loose))]
        return [part for part in found if part.kind is TOOL and part.call_id in wanted]

    def closing(self, tree: Tree) -> None:
        """An agent span or the root of a tree ended: it closes once nothing comes any more."""
        if not tree.closed:
            self._closing[tree.root_id] = tree

    # --- called by one thread ----------------------------------------------------------------------------------------

    @property
    def open_runs(self) -> int:
        """Trees that hold a span, or whose root is open, and runs that are being stitched of model calls."""
        return len(self.trees) + len(self._released.held)

    def due(self, now: float, now_ns: int) -> Iterator[Closed]:
        """The runs that are over at this time, each made as it is taken. A passed deadline is never moved."""
        for tree in self._closing.copy().values():
            if tree.quiet_s(now) >= self.limits.settle_s:
                yield from self._close(tree, now_ns, "settled", everything=False)
        if self._next_sweep_s is None or now >= self._next_sweep_s:
            self._next_sweep_s = now + min(SWEEP_S, self.limits.idle_s / 4)
            yield from self._sweep(now, now_ns)
            yield from self._released.idle(now)
        yield from self._release_loose(everything=False)
        self._give_back()

    def next_due(self, now: float) -> float:
        """When :meth:`due` should be called next. Hooks wake nobody: while spans are open, it is looked for."""
        return now + min(SWEEP_S, max(self.limits.settle_s / 4, LEAST_LOOK_S))

    def flush(self, now_ns: int) -> Iterator[Closed]:
        """Closes every run whose root has ended, without waiting."""
        for tree in self._closing.copy().values():
            yield from self._close(tree, now_ns, "settled")
        yield from self._release_loose(everything=True)
        yield from self._released.close(everything=False)
        self._give_back()

    def close_all(self, now_ns: int) -> Iterator[Closed]:
        """Closes everything, finished or not."""
        yield from self.flush(now_ns)
        for tree in self.trees.copy().values():
            yield from self._close(tree, now_ns, "shutdown", everything=True)
        self._over.let_all_go()
        yield from self._release_loose(everything=True)
        yield from self._released.close(everything=True)
        self._give_back()

    def forget(self) -> None:
        """Drops everything held: in a forked child, it is the parent's."""
        for held in (self.tree_of, self.trees, self.traces, self._closing, self._over):
            held.clear()
        self._loose.clear()
        self._released.held.clear()

    def _give_back(self) -> None:
        if not self.trees:
            give_back(NO_TREE, self.tree_of, self.trees, self._closing)
            self.traces.give_back()

    # --- closing -----------------------------------------------------------------------------------------------------

    def _sweep(self, now: float, now_ns: int) -> Iterator[Closed]:
        """Closes what is idle for too long, and what goes over a limit: the longest idle first."""
        for tree in self.trees.copy().values():
            idle = tree.quiet_s(now) >= self.limits.idle_s
            end: End | None = self.limits.passed_by(tree) or ("idle_timeout" if idle else None)
            if end is not None:
                yield from self._close(tree, now_ns, end, everything=True)
        for tree in self.limits.too_many(self.trees):
            yield from self._close(tree, now_ns, "evicted", everything=True)

    def full(self, tree: Tree, now_ns: int) -> list[Closed]:
        """Closes a tree that went over a limit of its own."""
        return self._close(tree, now_ns, self.limits.passed_by(tree) or "byte_limit", everything=True)

    def _close(self, tree: Tree, now_ns: int, end: End, *, everything: bool = False) -> list[Closed]:
        """Closes the runs of a tree that are over; with ``everything``, the others too, with this end."""
        count = len(tree.parts)
        held = tree.parts[:count]
        parts = self._parts(tree, held)
        open_parts = self._open_parts(tree, now_ns, None)
        over = everything or not tree.open
        if not open_parts and not self._loose and (run := plain_run(parts)) is not None:
            self._drop(tree)
            return [Closed(run, tree)]
        groups, forest = self._groups(parts, open_parts)
        unfinished = {id(part) for part in open_parts}
        found: list[Closed] = []
        gone: set[int] = set()
        for group in groups:
            if not over and not is_over(forest, group, unfinished):
                continue
            gone.update(id(part) for part in group.parts)
            if tree.late and not any(part.kind is AGENT for part in group.parts):
                self._count(SPANS_LATE, sum(part.kind is not OTHER for part in group.parts))
                continue
            whole = end not in ("span_limit", "byte_limit") and is_whole(forest, group, unfinished)
            how: End = "root_ended" if whole else end
            found.append(Closed(Builder(forest, group, how, complete=whole).run(), tree))
        if over:
            self._drop(tree, of_run=bool(found))
            self._loose += unclaimed(tree, parts, gone)
        else:
            tree.parts[:count] = [each for each, part in zip(held, parts, strict=True) if id(part) not in gone]
            self._closing.pop(tree.root_id, None)
            self._leave(tree, [part.span_id for part in open_parts if id(part) in gone])
            if found:
                self._over.remember(tree)
        return found

    def _parts(self, tree: Tree, held: Sequence[Part | Record]) -> list[Part]:
        """What is held of ended spans, as parts."""
        found = self._expand(held, tree.trace_id, getattr(tree.origin, "resource", None))
        tree.tell(found)
        return found

    def _open_parts(self, tree: Tree, now_ns: int, but: int | None) -> list[Part]:
        """The open spans of a tree as far as they tell: they hold the tree together."""
        found: list[Part] = []
        for span_id, span in list(tree.open.items()):
            part = self._describe(span) if span_id != but else None
            if part is not None:
                part.end = now_ns
                found.append(part)
        return found

    def _groups(self, parts: Sequence[Part], open_parts: Sequence[Part]) -> tuple[list[Group], Forest]:
        nearby = near(self._loose, parts)
        forest = Forest([*parts, *open_parts, *nearby])
        groups = groups_with(forest, nearby)
        self._loose = still_loose(self._loose, groups)
        return groups, forest

    def drop(self, tree: Tree) -> None:
        """Lets go of a tree."""
        self._drop(tree, of_run=False)

    def runs_of(self, tree: Tree, span_id: int, now_ns: int) -> Iterable[tuple[Run, Run]]:
        """The run that a part belongs to, as far as it is known, and the run of the agent that made the call."""
        forest = Forest([*self._parts(tree, tree.parts), *self._open_parts(tree, now_ns, None)])
        for group in delimit(forest).groups:
            part = next((p for p in group.parts if p.span_id == span_id), None)
            if part is not None:
                builder = Builder(forest, group, "settled", complete=False)
                yield builder.named_run(), builder.named_run_of(part)

    def _drop(self, tree: Tree, *, of_run: bool = True) -> None:
        """Let go of a tree. What is still open in it, and starts below that, is late where the tree held a run."""
        tree.closed = True
        self.trees.pop(tree.root_id, None)
        self.traces.remove(tree)
        self._closing.pop(tree.root_id, None)
        tree.parts, tree.logs, tree.newest, tree.bytes = [], [], None, 0
        self._over.shut_in(tree, list(tree.open))
        if of_run:
            self._over.remember(tree)
        else:
            self._over.let_go(tree)

    def _leave(self, tree: Tree, span_ids: Sequence[int]) -> None:
        """Let go of the open spans of a run that was closed, in a tree that goes on."""
        if not span_ids:
            return
        self._over.leave(tree, span_ids)
        if not tree.open and not tree.parts:
            self._drop(tree)

    def _release_loose(self, *, everything: bool) -> Iterable[Closed]:
        """Has the loose spans that no open run can claim any more stitched to runs, or counted."""
        if not self._loose:
            return ()
        ready, self._loose = parted(self._loose, None if everything else self.trees, self.limits.max_open_runs)
        return self._released.take(ready)
