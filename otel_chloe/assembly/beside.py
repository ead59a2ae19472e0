"""Agents whose work stands beside them: an instrumentation may end up with an agent span and its work as siblings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from otel_chloe.part import AGENT, CHAIN, WORKFLOW, Part


def chain_name(chain: Part) -> str | None:
    """What a chain or workflow calls itself: the agent that it is, where its framework makes no agent span."""
    return chain.reader.agent(chain).name or chain.name or chain.span_name.removeprefix("execute_task ")


def work_beside(agent: Part, siblings: Sequence[Part]) -> Part | None:
    """The span beside an agent span that has nothing below it under which the agent worked; None where none is sure.

    That is the one chain of the agent's name that ran in the agent's time, and in no other's of that name.
    """
    own = [s for s in siblings if s.kind in (CHAIN, WORKFLOW) and _ran_in(s, agent) and chain_name(s) == agent.name]
    if len(own) != 1:
        return None
    others: Iterable[Part] = (s for s in siblings if s.kind is AGENT and s is not agent and s.name == agent.name)
    return None if any(_ran_in(own[0], other) for other in others) else own[0]


def _ran_in(part: Part, agent: Part) -> bool:
    return part.ended and agent.start <= part.start and part.end <= agent.end
