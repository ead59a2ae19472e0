"""The marks of recordings that wait for a person: those of evaluation spans that no later one has resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from .. import semconv
from ..errors import InputError
from .read import read_spans
from .source import Source
from .span import RecordedSpan

PENDING: Final = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A pending mark as its evaluation span tells it; ``span_id`` is the agent span that it stands on."""

    file: str
    trace_id: str
    span_id: str
    name: str
    agent: str | None = None
    waits_for: str | None = None
    id: str | None = None
    key: str | None = None
    version: str | None = None
    revision: int = 0
    end_ns: int | None = None


def waiting(
    sources: Iterable[tuple[str, Source]], *, problem: Callable[[InputError], None] | None = None
) -> list[Waiting]:
    """The pending marks of all recordings together, in the order in which they were met.

    A mark is resolved where one of the same id, or of the same name on the same span, has a higher revision and is no
    longer pending. What cannot be read is told to ``problem``; without it the first is raised.
    """
    found: dict[tuple[str, str, str, str | None], Waiting] = {}
    settled: dict[str | tuple[str, str, str], int] = {}
    for file, source in sources:
        for span in read_spans(source, problem=problem):
            one = _mark(span, file)
            if one is None:
                continue
            at = (one.trace_id, one.span_id, one.name)
            if span.attributes.get(semconv.CHLOE_STATE) == PENDING:
                which = (*at, one.id)
                if one.revision > found.setdefault(which, one).revision:
                    found[which] = one
            else:
                for settles in (at, one.id):
                    if settles is not None:
                        settled[settles] = max(one.revision, settled.get(settles, -1))
    return [one for one in found.values() if not _is_settled(one, settled)]


def _is_settled(one: Waiting, settled: dict[str | tuple[str, str, str], int]) -> bool:
    by_name = settled.get((one.trace_id, one.span_id, one.name), -1)
    by_id = settled.get(one.id, -1) if one.id is not None else -1
    return max(by_name, by_id) > one.revision


def _mark(span: RecordedSpan, file: str) -> Waiting | None:
    """What an evaluation span of ours says; None for every other span."""
    scope = span.instrumentation_scope
    name = span.attributes.get(semconv.GEN_AI_EVALUATION_NAME)
    if scope is None or scope.name != semconv.SCOPE or span.parent is None or not isinstance(name, str):
        return None
    said = span.attributes
    revision = said.get(semconv.CHLOE_MARK_REVISION)
    return Waiting(
        file=file,
        trace_id=f"{span.context.trace_id:032x}",
        span_id=f"{span.parent.span_id:016x}",
        name=name,
        agent=_text(said.get(semconv.GEN_AI_AGENT_NAME)),
        waits_for=_text(said.get(semconv.GEN_AI_EVALUATION_EXPLANATION)),
        id=_text(said.get(semconv.CHLOE_MARK_ID)),
        key=_text(said.get(semconv.CHLOE_SCORER_KEY)),
        version=_text(said.get(semconv.CHLOE_SCORER_VERSION)),
        revision=revision if isinstance(revision, int) else 0,
        end_ns=span.end_time,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
