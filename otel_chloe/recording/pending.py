"""The marks of recordings that wait for a person: those that no later one has resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from .. import semconv
from ..errors import InputError
from .read import read_spans
from .source import Source
from .values import as_object, attributes_of, identifier, nanoseconds, objects_in

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

    Evaluation spans tell of them, and events. A mark is resolved where one of the same id, or of the
    same name on the same span, has a higher revision and is no longer pending. What cannot be read is told to
    ``problem``; without it the first is raised.
    """
    marks = _Marks()
    for file, source in sources:
        for span in read_spans(source, problem=problem, logs=partial(_events, marks, file)):
            scope = span.instrumentation_scope
            if scope is not None and scope.name == semconv.SCOPE and span.parent is not None:
                marks.add(file, span.context.trace_id, span.parent.span_id, span.end_time, span.attributes)
    return marks.waiting()


class _Marks:
    """The marks of recordings: those that are pending, and up to which revision others have settled them."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, str | None], Waiting] = {}
        self._settled: dict[str | tuple[str, str, str], int] = {}

    def add(self, file: str, trace_id: int, span_id: int, end_ns: int | None, said: Mapping[str, Any]) -> None:
        """Take up what an evaluation span or event says."""
        name = said.get(semconv.GEN_AI_EVALUATION_NAME)
        if not isinstance(name, str):
            return
        revision = said.get(semconv.CHLOE_MARK_REVISION)
        one = Waiting(
            file=file,
            trace_id=f"{trace_id:032x}",
            span_id=f"{span_id:016x}",
            name=name,
            agent=_text(said.get(semconv.GEN_AI_AGENT_NAME)),
            waits_for=_text(said.get(semconv.GEN_AI_EVALUATION_EXPLANATION)),
            id=_text(said.get(semconv.CHLOE_MARK_ID)),
            key=_text(said.get(semconv.CHLOE_SCORER_KEY)),
            version=_text(said.get(semconv.CHLOE_SCORER_VERSION)),
            revision=revision if isinstance(revision, int) else 0,
            end_ns=end_ns,
        )
        at = (one.trace_id, one.span_id, one.name)
        if said.get(semconv.CHLOE_STATE) == PENDING:
            which = (*at, one.id)
            if one.revision > self._found.setdefault(which, one).revision:
                self._found[which] = one
            return
        for settles in (at, one.id):
            if settles is not None:
                self._settled[settles] = max(one.revision, self._settled.get(settles, -1))

    def waiting(self) -> list[Waiting]:
        """Those that nothing has settled."""
        return [one for one in self._found.values() if not self._is_settled(one)]

    def _is_settled(self, one: Waiting) -> bool:
        by_name = self._settled.get((one.trace_id, one.span_id, one.name), -1)
        by_id = self._settled.get(one.id, -1) if one.id is not None else -1
        return max(by_name, by_id) > one.revision


def _events(marks: _Marks, file: str, groups: Any) -> None:
    """Take up the evaluation events among log records."""
    for scoped in (each for group in objects_in(groups) for each in objects_in(group.get("scopeLogs"))):
        if as_object(scoped.get("scope")).get("name") != semconv.SCOPE:
            continue
        for record in objects_in(scoped.get("logRecords")):
            trace_id, span_id = identifier(record.get("traceId"), 16), identifier(record.get("spanId"), 8)
            if trace_id and span_id:
                said = attributes_of(record.get("attributes"))
                marks.add(file, trace_id, span_id, nanoseconds(record.get("timeUnixNano")), said)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
