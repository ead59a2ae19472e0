"""Spans of one run in other traces: a model call's second span, tools in bare threads, MCP servers."""

from __future__ import annotations

from otel_chloe.assembly.modelcalls import model_calls, same_answer, same_question
from otel_chloe.assembly.runs import Delimited, Group
from otel_chloe.part import MODEL, TOOL, ModelFacts, Part


def join_traces(found: Delimited, *, alone: bool = True) -> list[Group]:
    """The groups, with the spans that belong to them from other traces.

    With ``alone``, bare model calls that are left are runs of their own; else they are left out.
    """
    left = [model for model in found.bare_models if not _join_model(model, found.groups)]
    for tool in found.orphan_tools:
        _join_tool(tool, found.groups)
    if not alone:
        return found.groups
    bare = [_bare(call.parts) for call in model_calls(left)]
    return [*found.groups, *bare]


def _bare(parts: list[Part]) -> Group:
    """A model call with nothing above it, as a run of its own."""
    return Group(parts[0], [parts[0]], parts, bare=True, roots=[parts[0]])


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


def _join_tool(tool: Part, groups: list[Group]) -> None:
    """Give a tool span without a run to the run that asked for it: by call id, or, for MCP, by the call it serves."""
    for group in groups:
        if _serves(tool, group) or _was_asked(tool, group):
            group.parts.append(tool)
            return


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
