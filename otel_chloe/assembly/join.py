"""Spans of one run in other traces: a model call's second span, tools in bare threads, MCP servers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from otel_chloe.assembly.modelcalls import same_answer, same_question
from otel_chloe.assembly.runs import Delimited, Group
from otel_chloe.part import AGENT, HANDOFF, MODEL, TOOL, ModelFacts, Part


class Joined(NamedTuple):
    """The runs with the spans of theirs from other traces, and the model calls and tool spans that nothing links."""

    groups: list[Group]
    models: list[Part]
    tools: list[Part]


def join_traces(found: Delimited) -> Joined:
    """Give the spans that belong to runs of other traces to these runs, and lost pieces of runs to the whole."""
    if found.bare_models:
        known = _Models(found.groups)
        found.bare_models = [model for model in found.bare_models if not known.join(model)]
    groups = _with_pieces(found.groups)
    asked = _Asked(groups) if found.orphan_tools else None
    tools = [tool for tool in found.orphan_tools if asked is None or not asked.join(tool)]
    return Joined(groups, found.bare_models, tools)


def _with_pieces(groups: list[Group]) -> list[Group]:
    """The runs, without those that are tool calls alone which another run asked for: a span between them was lost."""
    pieces = [group for group in groups if not any(part.kind in (AGENT, MODEL, HANDOFF) for part in group.parts)]
    if not pieces or len(pieces) == len(groups):
        return groups
    gone = {id(piece) for piece in pieces}
    asked = _Asked([group for group in groups if id(group) not in gone])
    for piece in pieces:
        whole = next((g for part in piece.parts if part.kind is TOOL and (g := asked.by(part)) is not None), None)
        if whole is None:
            gone.discard(id(piece))
        else:
            whole.parts.extend(piece.parts)
    return [group for group in groups if id(group) not in gone]


class _Models:
    """The model calls of some runs, by what makes another span one of the same call."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._held: dict[Hashable, list[tuple[int, Part, Group]]] = {}
        number = 0
        for group in groups:
            for part in group.parts:
                if part.kind is MODEL:
                    number += 1
                    for key in _keys(part, part.reader.model(part)):
                        self._held.setdefault(key, []).append((number, part, group))

    def join(self, model: Part) -> bool:
        """Whether a bare model span doubles a model call of a run: then it belongs to that run."""
        facts = model.reader.model(model)
        fitting = (
            (number, group)
            for key in _keys(model, facts)
            for number, known, group in self._held.get(key, ())
            if known.start <= model.end and model.start <= known.end and _is_same(known, model, facts)
        )
        found = min(fitting, key=lambda each: each[0], default=None)
        if found is not None:
            found[1].parts.append(model)
        return found is not None


def _keys(part: Part, facts: ModelFacts) -> Iterator[Hashable]:
    """What two spans of one model call have in common, one of these at least."""
    if part.call_id is not None:
        yield "id", part.call_id
    for request in (request for message in facts.output or () for request in message.requests):
        if request.id:
            yield "asked", request.id
    said = tuple(message.text for message in facts.output or () if message.text)
    given = tuple(message.text for message in facts.input or () if message.text)
    if said:
        yield "said", said
    elif given:
        yield "given", given


def _is_same(known: Part, model: Part, facts: ModelFacts) -> bool:
    if model.call_id is not None and model.call_id == known.call_id:
        return True
    if known.scope == model.scope:
        return False
    other = known.reader.model(known)
    return same_answer(other, facts) or same_question(other, facts)


class _Asked:
    """The runs whose models asked for calls, by the calls' ids, and those that hold calls that an MCP server served."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = groups
        self._askers: dict[str, int] = {}
        self._calls: dict[str | None, list[tuple[int, Part]]] = {}
        for number, group in enumerate(groups):
            for part in group.parts:
                if part.kind is TOOL:
                    self._calls.setdefault(part.short_name, []).append((number, part))
                elif part.kind is MODEL:
                    for request in (r for m in part.reader.model(part).output or () for r in m.requests):
                        if request.id is not None:
                            self._askers.setdefault(request.id, number)

    def join(self, tool: Part) -> bool:
        """Give a tool span to the run that asked for it: by call id, else, for MCP, by the call it serves."""
        number = self._number(tool)
        if number is not None:
            self._calls.setdefault(tool.short_name, []).append((number, tool))
        else:
            number = next((number for number, call in self._served(tool) if _holds(call, tool)), None)
        if number is not None:
            self._groups[number].parts.append(tool)
        return number is not None

    def by(self, tool: Part) -> Group | None:
        """The run whose model asked for a call, by its id."""
        number = self._number(tool)
        return self._groups[number] if number is not None else None

    def _number(self, tool: Part) -> int | None:
        wanted = tool.call_id or tool.reader.tool(tool).call_id
        return self._askers.get(wanted) if wanted is not None else None

    def _served(self, tool: Part) -> Sequence[tuple[int, Part]]:
        return self._calls.get(tool.short_name, ()) if tool.mcp else ()


def _holds(call: Part, tool: Part) -> bool:
    return call.start <= tool.start and tool.end <= call.end
