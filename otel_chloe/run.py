"""What an agent did: a run, its tool calls, its gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

End = Literal["root_ended", "settled", "idle_timeout", "span_limit", "byte_limit", "evicted", "shutdown"]
"""Why a run was closed. Only ``root_ended`` is a run that was seen to its end."""

Source = Literal["span", "message", "event", "log"]
"""Where a tool call was seen."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a run should hold and the spans do not.

    ``code`` is one of the codes in :mod:`otel_chloe.gaps`; ``detail`` names the span or the part that is missing.
    """

    code: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call that the model requested and the agent's loop reached.

    ``None`` means "not known" in every field. ``ok`` is False for a call that failed, was refused or was never
    possible; ``ran`` tells whether the tool was executed. ``arguments`` is a mapping where it could be parsed,
    else the text. ``raw_name`` is the name as the model wrote it, ``name`` the name without what a layer adds
    (``mcp__server__x`` is ``x``).
    """

    name: str
    arguments: Any = None
    result: Any = None
    ok: bool | None = field(default=None, kw_only=True)
    error: str | None = field(default=None, kw_only=True)
    ran: bool | None = field(default=None, kw_only=True)
    agent: str | None = field(default=None, kw_only=True)
    raw_name: str | None = field(default=None, kw_only=True)
    source: Source = field(default="span", kw_only=True)
    call_id: str | None = field(default=None, kw_only=True)
    span_id: str | None = field(default=None, kw_only=True)
    start_ns: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.raw_name is None:
            object.__setattr__(self, "raw_name", self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run's model calls took: how many there were, tokens, US dollars. None where the spans do not say."""

    model_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One invocation of an agent, from prompt to output, its sub-agents included.

    ``tool_calls`` holds the calls of sub-agents too, in the order they started. ``trace_id`` and ``span_id``
    are lower-case hex (32 and 16 digits) of the agent span that the run is keyed by; ``mark_span_id`` is the
    span that its marks stand on, which differs after a handoff, and ``mark_trace_id`` that span's trace, which differs
    for a run that was stitched of model calls. Times are nanoseconds since the epoch. ``resource`` has the
    ``attributes`` of what the run ran in; ``attributes`` are those of the run's own span that rules name, and no
    others. ``inside`` is what the program expects of this run alone: an :class:`~otel_chloe.inside.Inside`, or None.
    """

    agent: str | None = None
    prompt: str | None = None
    output: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    sub_runs: tuple[Run, ...] = ()
    gaps: tuple[Gap, ...] = ()
    end: End = "root_ended"
    complete: bool = True
    trace_id: str | None = None
    span_id: str | None = None
    mark_span_id: str | None = None
    mark_trace_id: str | None = None
    parent_span_id: str | None = None
    conversation: str | None = None
    input: Any = None
    error: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    resource: Any = None
    attributes: Any = None
    sampled: bool = True
    usage: Usage | None = None
    inside: Any = None

    def __post_init__(self) -> None:
        for name in ("tool_calls", "sub_runs", "gaps"):
            value = getattr(self, name)
            if not isinstance(value, tuple):
                object.__setattr__(self, name, tuple(value))
        if self.mark_span_id is None:
            object.__setattr__(self, "mark_span_id", self.span_id)
        if self.mark_trace_id is None:
            object.__setattr__(self, "mark_trace_id", self.trace_id)
