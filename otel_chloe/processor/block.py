"""``expecting()``: what holds for the runs that start inside a block of the program, or of one that called it.

From one program to the next it travels in W3C baggage, where the setting ``baggage`` is on. From there on it travels as
an attribute of the spans that start there, so that a recording of them is scored the same way.
"""

# pyright: reportPrivateUsage=false
# A live span's own slots are read, as in the hooks.

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakSet

from opentelemetry.baggage import get_baggage
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span

from otel_chloe.assembly import RunAssembler
from otel_chloe.expected import ExpectedCalls, ExpectedOutcome
from otel_chloe.inside import Inside
from otel_chloe.semconv import CHLOE_EXPECTED

MOST_SPANS: Final = 100_000
"""Spans of one block that are remembered, to tell the outermost ones."""


@dataclass(slots=True, eq=False)
class Block:
    """A block that is open: what is expected in it, as text, and the spans that started in it."""

    inside: Inside
    text: str
    spans: set[int] = field(default_factory=set[int])


MOST_CARRIED: Final = 4_096
"""Characters of baggage that are read: what the W3C's propagators carry of one entry. Anybody may have sent it."""

_block: Final[ContextVar[Block | None]] = ContextVar("otel_chloe_expecting", default=None)
used = False
"""Whether any block was ever opened, or baggage is read. Until then a hook looks at nothing else."""
_reads_baggage = False
_assemblers: Final[WeakSet[RunAssembler]] = WeakSet()


def follow(assembler: RunAssembler, *, baggage: bool) -> None:
    """Has blocks hold for the runs of this assembler; with ``baggage`` what callers expect, for those of all."""
    global used, _reads_baggage  # noqa: PLW0603 - one for all processors of this process
    _assemblers.add(assembler)
    if baggage:
        used = _reads_baggage = True


def _use() -> None:
    """The first block: spans below those that are open already may be its outermost."""
    global used  # noqa: PLW0603 - one for all processors of this process
    if used:
        return
    used = True
    for assembler in list(_assemblers):
        for tree in assembler.trees.copy().values():
            tree.watched = True


@contextmanager
def expecting(
    *,
    calls: ExpectedCalls | Mapping[str, object] | None = None,
    outcome: ExpectedOutcome | Mapping[str, object] | None = None,
    situation: str | None = None,
    input: Any = None,  # noqa: A002 - the word that scorers have for it
    expected: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> Generator[None]:
    """Expect more of the agent runs that start inside, in this thread, task or generator.

    It adds to the rules and never relaxes them: lists are joined, and a ``count`` or ``per`` of the rules stays. Blocks
    inside a block add to it. A thread of your own starts with no block, unless it is run in a copy of the context.

    Args:
        calls: Tools that must, must not, or may be called once, as in the rules file.
        outcome: Lines that a model judges. They need a model: ``judge: {model: …}`` in the rules.
        situation: What is true now; the same as in ``outcome``.
        input: What the run is given, for scorers.
        expected: What should come of it, for scorers.
        metadata: Anything else, for scorers.

    Raises :class:`~otel_chloe.errors.ConfigError` where a value is wrong.
    """
    block = _opened(_rules(calls, outcome, situation), input, expected, metadata)
    _use()
    token = _block.set(block)
    try:
        yield
    finally:
        with suppress(ValueError):  # a generator that is closed in another context than it was started in
            _block.reset(token)


def _rules(calls: Any, outcome: Any, situation: str | None) -> Inside:
    rules = calls if calls is None or isinstance(calls, ExpectedCalls) else ExpectedCalls.from_mapping(calls)
    if outcome is not None and not isinstance(outcome, ExpectedOutcome):
        outcome = ExpectedOutcome.from_mapping(outcome)
    inside = Inside(calls=rules, outcome=outcome)
    return inside if situation is None else inside.within(Inside(outcome=ExpectedOutcome(situation=situation)))


def _opened(rules: Inside, given: Any, expected: Any, metadata: Mapping[str, Any] | None) -> Block:
    known = None if metadata is None else dict(metadata)
    inside = Inside(calls=rules.calls, outcome=rules.outcome, input=given, expected=expected, metadata=known)
    around = _block.get()
    if around is not None:
        inside = around.inside.within(inside)
    return Block(inside, inside.to_json())


def mark_started(span: Span, parent_context: Context | None = None, *, root: bool = False) -> bool:
    """Write what is expected on a span that starts now, if it is the outermost in its block. Whether it was.

    ``root``: it has no span of ours above it, so what a caller expects is written, too.
    """
    carried = get_baggage(CHLOE_EXPECTED, parent_context) if root and _reads_baggage else None
    text = _text_of_block(span)
    if carried is not None:
        text = str(carried)[:MOST_CARRIED] if text is None else _joined(str(carried), text)
    if text is None:
        return False
    if CHLOE_EXPECTED not in (span.attributes or {}):  # the program's own word for this span
        span.set_attribute(CHLOE_EXPECTED, text)
    return True


def _text_of_block(span: Span) -> str | None:
    """What the block expects of a span that starts, if it is the outermost there."""
    block = _block.get()
    context, parent = span._context, span._parent
    if block is None or context is None or len(block.spans) >= MOST_SPANS:
        return None
    block.spans.add(context.span_id)
    return None if parent is not None and parent.span_id in block.spans else block.text


def _joined(carried: str, text: str) -> str:
    """What both expect; what cannot be read stays so, and lets no run pass."""
    outer, inner = Inside.from_json(carried[:MOST_CARRIED]), Inside.from_json(text)
    return carried[:MOST_CARRIED] if outer is None or inner is None else outer.within(inner).to_json()
