"""Agents that run elsewhere: a request to one leaves a span here, and its own spans are of another process."""

from __future__ import annotations

from collections.abc import Sequence

from otel_chloe.assembly.forest import Forest
from otel_chloe.part import AGENT, HANDOFF, MODEL, TOOL, Part

_WORK = (AGENT, MODEL, TOOL, HANDOFF)
_HERE = ("autogen",)
"""Scopes of instrumentations that write the agents of their own process as requests to one."""


def told_above(forest: Forest, agent: Part) -> bool:
    """Whether a span above tells of the same invocation: the request to an agent, seen where it was made."""
    for above in forest.above(agent):
        if above.kind is AGENT:
            return above.name == agent.name
        if above.kind is TOOL:
            return False
    return False


def ran_elsewhere(forest: Forest, parts: Sequence[Part], models: Sequence[Part]) -> Part | None:
    """The first agent among some parts of whose work nothing is seen since it was done elsewhere; None mostly.

    The span of a request to an agent says so. So does one with nothing below it but requests of another trade (HTTP,
    messaging), where model calls beside it are seen: one that ran here would show its own.
    """
    for part in parts:
        if part.kind is not AGENT or not (part.client or models) or part.scope.startswith(_HERE):
            continue
        away = part.client
        for each in forest.below(part):
            if each.kind in _WORK:
                break
            away = away or each.foreign
        else:
            if away:
                return part
    return None
