"""Runs of this process while they happen: spans start and end, and runs close when nothing more is to come.

Hooks call :meth:`RunAssembler.started` and :meth:`RunAssembler.ended` from any thread, inside signal handlers and
finalisers too: each changes shared state by single operations of a dict or a list, and takes no lock. Everything else
is called by one thread, with the time given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from otel_chloe.assembly.build import Builder
from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.join import join_traces
from otel_chloe.assembly.plain import plain_run
from otel_chloe.assembly.runs import Group, delimit, hands_over
from otel_chloe.assembly.tree import Closed, Limits, Tree
from otel_chloe.part import AGENT, MODEL, OTHER, TOOL, Part
from otel_chloe.record import SPAN_ID, START, Record, repeats, shorten
from otel_chloe.run import End, Run

SWEEP_S: Final = 5.0
"""How often idle runs and limits over all runs are looked at."""
LEAST_LOOK_S: Final = 0.05

SPANS_LATE: Final = "spans_late"


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
        self._max_bytes, self._max_spans = limits.max_bytes, limits.max_spans
        self._describe = describe
        self._expand = expand
        self._count = count
        self.tree_of: dict[int, Tree] = {}
        self.trees: dict[int, Tree] = {}
        self._closing: dict[int, Tree] = {}
        self._loose: list[tuple[Part, Tree]] = []
        self._finished: dict[int, int] = {}
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
        return tree

    def tree_with(self, trace_id: int, span_id: int) -> Tree | None:
        """The tree, still waiting to be closed, in which a span has ended. Only for spans whose parent is over."""
        for tree in list(self.trees.values()):
            if tree.trace_id == trace_id and any(_id_of(held) == span_id for held in tree.parts):
                return tree
        return None

    def started(self, tree: Tree, span_id: int, span: Any) -> None:
        """A span below one that is open."""
        tree.open[span_id] = span
        self.tree_of[span_id] = tree

    def ended(self, tree: Tree, part: Part) -> bool:
        """A span of a tree ended, and was kept as a part. True where the tree went over a limit of its own."""
        tree.open.pop(part.span_id, None)
        if tree.closed:
            if part.kind is not OTHER:
                self._count(SPANS_LATE, 1)
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
            self._count(SPANS_LATE, 1)
            return False
        tree.ours = True
        told = record[8]
        size = tree.bytes + len(record[7])
        if told is not None:
            size += len(told)
        if record[0] is MODEL:
            newest = tree.newest
            tree.newest = record
            if newest is not None and repeats(newest, record):
                size -= shorten(newest)
        parts = tree.parts
        parts.append(record)
        tree.bytes = size
        return size > self._max_bytes or len(parts) > self._max_spans

    def runs_at(self, tree: Tree, ending: Part, now_ns: int) -> tuple[Run, bool] | None:
        """The run that hangs on a span that is about to end, and whether it is a top-level run.

        None where the span is no agent and delimits no run, or hands over to another agent.
        """
        parts = [*self._parts(tree, tree.parts), ending]
        above = self._open_parts(tree, now_ns, ending.span_id)
        forest = Forest([*parts, *above])
        ending.end = ending.end or now_ns
        for group in delimit(forest).groups:
            if group.root is ending or ending in group.agents:
                if hands_over(group, ending):
                    return None
                top = not any(_works(above, parts) for above in forest.above(ending))
                return Builder(forest, group, "root_ended", complete=True).run(), top
            if ending in group.parts and ending.kind is AGENT:
                whole = Builder(forest, group, "root_ended", complete=True).run()
                return next(((sub, False) for sub in whole.sub_runs if sub.span_id == f"{ending.span_id:016x}"), None)
        return None

    def closing(self, tree: Tree) -> None:
        """An agent span or the root of a tree ended: it closes once nothing comes any more."""
        self._closing[tree.root_id] = tree

    # --- called by one thread ----------------------------------------------------------------------------------------

    @property
    def open_runs(self) -> int:
        """Trees that hold a span, or whose root is open."""
        return len(self.trees)

    def due(self, now: float, now_ns: int) -> list[Closed]:
        """The runs that are over at this time. Idempotent; a passed deadline is never moved."""
        found: list[Closed] = []
        for tree in list(self._closing.values()):
            if self._settled(tree, now):
                found += self._close(tree, now_ns, "settled", everything=False)
        if self._next_sweep_s is None or now >= self._next_sweep_s:
            self._next_sweep_s = now + min(SWEEP_S, self.limits.idle_s / 4)
            found += self._sweep(now, now_ns)
        return found + self._release_loose(everything=False)

    def next_due(self, now: float) -> float:
        """When :meth:`due` should be called next. Hooks wake nobody: while spans are open, it is looked for."""
        return now + min(SWEEP_S, max(self.limits.settle_s / 4, LEAST_LOOK_S))

    def flush(self, now_ns: int) -> list[Closed]:
        """Closes every run whose root has ended, without waiting."""
        found = [closed for tree in list(self._closing.values()) for closed in self._close(tree, now_ns, "settled")]
        return found + self._release_loose(everything=True)

    def close_all(self, now_ns: int) -> list[Closed]:
        """Closes everything, finished or not."""
        found = self.flush(now_ns)
        for tree in list(self.trees.values()):
            found += self._close(tree, now_ns, "shutdown", everything=True)
        return found + self._release_loose(everything=True)

    def forget(self) -> None:
        """Drops everything held: in a forked child, it is the parent's."""
        for held in (self.tree_of, self.trees, self._closing, self._finished):
            held.clear()
        self._loose.clear()

    # --- closing -----------------------------------------------------------------------------------------------------

    def _settled(self, tree: Tree, now: float) -> bool:
        """Whether nothing happened in the tree for the settle delay."""
        events = len(tree.parts) + len(tree.open) * 1_000_003
        if events != tree.seen or tree.last_s is None:
            tree.seen, tree.last_s = events, now
        return now - tree.last_s >= self.limits.settle_s

    def _sweep(self, now: float, now_ns: int) -> list[Closed]:
        """Closes what is idle for too long, and what goes over a limit: the longest idle first."""
        found: list[Closed] = []
        for tree in list(self.trees.values()):
            self._settled(tree, now)
            end = self._over(tree, now)
            if end is not None:
                found += self._close(tree, now_ns, end, everything=True)
        return found + self._evict(now_ns)

    def _over(self, tree: Tree, now: float) -> End | None:
        if len(tree.parts) > self.limits.max_spans:
            return "span_limit"
        if tree.bytes > self.limits.max_bytes:
            return "byte_limit"
        idle = tree.last_s is not None and now - tree.last_s >= self.limits.idle_s
        return "idle_timeout" if idle else None

    def full(self, tree: Tree, now_ns: int) -> list[Closed]:
        """Closes a tree that went over a limit of its own."""
        end: End = "span_limit" if len(tree.parts) > self.limits.max_spans else "byte_limit"
        return self._close(tree, now_ns, end, everything=True)

    def _evict(self, now_ns: int) -> list[Closed]:
        found: list[Closed] = []
        held = sum(tree.bytes for tree in self.trees.values())
        if len(self.trees) <= self.limits.max_open_runs and held <= self.limits.max_open_bytes:
            return found
        for tree in sorted(self.trees.values(), key=lambda t: t.last_s or 0.0):
            if len(self.trees) <= self.limits.max_open_runs and held <= self.limits.max_open_bytes:
                break
            held -= tree.bytes
            found += self._close(tree, now_ns, "evicted", everything=True)
        return found

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
            if not over and not self._is_over(forest, group, unfinished):
                continue
            gone.update(id(part) for part in group.parts)
            found += self._closed(tree, forest, group, end, unfinished)
        if over:
            self._drop(tree)
            self._keep_loose(tree, parts, gone)
        else:
            tree.parts[:count] = [each for each, part in zip(held, parts, strict=True) if id(part) not in gone]
            self._closing.pop(tree.root_id, None)
        return found

    def _parts(self, tree: Tree, held: Sequence[Part | Record]) -> list[Part]:
        """What is held of ended spans, as parts."""
        found = self._expand(held, tree.trace_id, getattr(tree.origin, "resource", None))
        for part in found:
            part.sampled = tree.sampled
            if part.span_id == tree.root_id and not tree.orphan:
                part.remote_parent = True
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
        start = min((p.start for p in parts), default=0)
        end = max((p.end for p in parts), default=0)
        near = [p for p, _ in self._loose if p.start <= end and start <= p.end]
        forest = Forest([*parts, *open_parts, *near])
        delimited = delimit(forest)
        nearby = {id(part) for part in near}
        own = [p for p in delimited.bare_models if id(p) not in nearby]
        delimited.bare_models = [p for p in delimited.bare_models if id(p) in nearby]
        groups = join_traces(delimited, alone=False)
        taken = {id(part) for group in groups for part in group.parts}
        self._loose = [(p, t) for p, t in self._loose if id(p) not in taken]
        del own
        return groups, forest

    def _is_over(self, forest: Forest, group: Group, unfinished: set[int]) -> bool:
        """Whether a run of a tree that goes on is over: its root ended, and nothing open above may hold it."""
        root = group.root
        if root is None or id(root) in unfinished or any(id(agent) in unfinished for agent in group.agents):
            return False
        scopes = {part.scope for part in group.parts if part.vocabulary}
        return not any(
            id(above) in unfinished and (above.vocabulary or above.scope in scopes) for above in forest.above(root)
        )

    def _closed(self, tree: Tree, forest: Forest, group: Group, end: End, unfinished: set[int]) -> Iterable[Closed]:
        cut = any(id(part) in unfinished for part in group.parts)
        root_open = group.root is None or id(group.root) in unfinished
        if tree.late and not any(part.kind is AGENT for part in group.parts):
            self._count(SPANS_LATE, sum(part.kind is not OTHER for part in group.parts))
            return
        why: End = end if root_open or end not in ("settled", "shutdown") else ("settled" if cut else "root_ended")
        if end == "shutdown" and cut and not root_open:
            why = "shutdown"
        complete = not cut and not root_open and why == "root_ended"
        yield Closed(Builder(forest, group, why, complete=complete).run(), tree)

    def drop(self, tree: Tree) -> None:
        """Lets go of a tree."""
        self._drop(tree)
        self._finished.pop(tree.trace_id, None)

    def runs_of(self, tree: Tree, span_id: int, now_ns: int) -> Iterable[tuple[Run, Run]]:
        """The run that a part belongs to, as far as it is known, and the run of the agent that made the call."""
        forest = Forest([*self._parts(tree, tree.parts), *self._open_parts(tree, now_ns, None)])
        for group in delimit(forest).groups:
            part = next((p for p in group.parts if p.span_id == span_id), None)
            if part is not None:
                builder = Builder(forest, group, "settled", complete=False)
                yield builder.named_run(), builder.named_run_of(part)

    def _drop(self, tree: Tree) -> None:
        tree.closed = True
        self.trees.pop(tree.root_id, None)
        self._closing.pop(tree.root_id, None)
        for span_id in list(tree.open):
            self.tree_of.pop(span_id, None)
        tree.open.clear()
        self._finished[tree.trace_id] = tree.root_id
        while len(self._finished) > self.limits.remembered_runs:
            self._finished.pop(next(iter(self._finished)), None)

    def _keep_loose(self, tree: Tree, parts: Sequence[Part], gone: set[int]) -> None:
        """Model and tool spans of no run wait for the run in another trace that they may belong to."""
        for part in parts:
            if part.kind in (MODEL, TOOL) and id(part) not in gone:
                self._loose.append((part, tree))

    def _release_loose(self, *, everything: bool) -> list[Closed]:
        """Model spans that no run claimed, and no open run can claim any more, are a run each; tools are late."""
        if not self._loose:
            return []
        since = min((_start_of(tree.parts[0]) for tree in self.trees.values() if tree.parts), default=None)
        ready = [(p, t) for p, t in self._loose if everything or since is None or p.end < since]
        if not ready:
            return []
        taken = {id(p) for p, _ in ready}
        self._loose = [(p, t) for p, t in self._loose if id(p) not in taken]
        forest = Forest([p for p, _ in ready])
        tree_of = {id(p): t for p, t in ready}
        delimited = delimit(forest)
        groups = join_traces(delimited, alone=True)
        left = {id(p) for g in groups for p in g.parts}
        self._count(SPANS_LATE, sum(id(p) not in left for p in delimited.orphan_tools))
        return [
            Closed(Builder(forest, group, "root_ended", complete=True).run(), tree_of[id(group.parts[0])])
            for group in groups
        ]


def _works(above: Part, parts: Sequence[Part]) -> bool:
    """Whether an open span that does not tell its kind yet acts like an agent: models or tools ran right below it."""
    if above.vocabulary or above.foreign:
        return False
    return any(p.parent_id == above.span_id and p.scope == above.scope and p.kind in (MODEL, TOOL) for p in parts)


def _id_of(held: Part | Record) -> int:
    return held.span_id if isinstance(held, Part) else int(held[SPAN_ID])


def _start_of(held: Part | Record) -> int:
    return held.start if isinstance(held, Part) else int(held[START])
