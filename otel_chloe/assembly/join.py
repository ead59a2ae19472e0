"""Spans of one run in other traces: a model call's second span, tools in bare threads, MCP servers."""

from __future__ import annotations

from typing import NamedTuple

from otel_chloe.assembly.modelcalls import same_answer, same_question
from otel_chloe.assembly.runs import Delimited, Group
from otel_chloe.part import MODEL, TOOL, ModelFacts, Part


class Joined(NamedTuple):
    """The runs with the spans of theirs from other traces, and the model calls and tool spans that nothing links."""

    groups: list[Group]
    models: list[Part]
    tools: list[Part]


def join_traces(found: Delimited) -> Joined:
    """Give the spans that belong to runs of other traces to these runs."""
    models = [model for model in found.bare_models if not _join_model(model, found.groups)]
    tools = [tool for tool in found.orphan_tools if not _join_tool(tool, found.groups)]
    return Joined(found.groups, models, tools)


def _join_model(model: Part, groups: list[Group]) -> bool:
    """Whether a bare model span doubles a model call of a run: then it belongs to that run."""
    facts = model.reader.model(model)
    for group in groups:
        for known in group.parts:
            if known.kind is not MODEL or known.start > model.end or model.start > known.end:
                continue
            same_id = model.call_id is not None and model.call_id == known.call_id
            if same_id or (known.scope != model.scope and _same(known, facts)):
                group.parts.append(model)
                return True
    return False


def _same(known: Part, facts: ModelFacts) -> bool:
    other = known.reader.model(known)
    return same_answer(other, facts) or same_question(other, facts)


def _join_tool(tool: Part, groups: list[Group]) -> bool:
    """Give a tool span without a run to the run that asked for it: by call id, or, for MCP, by the call it serves."""
    for group in groups:
        if _serves(tool, group) or _was_asked(tool, group):
            group.parts.append(tool)
            return True
    return False


def _serves(tool: Part, group: Group) -> bool:
    return tool.mcp and any(
        p.kind is TOOL and p.short_name == tool.short_name and p.start <= tool.start and tool.end <= p.end
        for p in group.parts
    )


def _was_asked(tool: Part, group: Group) -> bool:
    wanted = tool.call_id or tool.reader.tool(tool).call_id
    if wanted is None:
        return False
    for part in group.parts:
        if part.kind is MODEL:
            told = part.reader.model(part).output or ()
            if any(request.id == wanted for message in told for request in message.requests):
                return True
    return False
