"""What one span says, once a convention has told its kind: the step between a span and a run.

A part keeps references, not parsed content: the reader parses messages and arguments only when a run asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

Kind = Literal["agent", "workflow", "chain", "tool", "model", "handoff", "other"]

AGENT: Final = "agent"
WORKFLOW: Final = "workflow"
CHAIN: Final = "chain"
TOOL: Final = "tool"
MODEL: Final = "model"
HANDOFF: Final = "handoff"
OTHER: Final = "other"

ASKS: Final = frozenset({"tool_call", "tool_calls", "tool_use", "function_call"})
"""Reasons of a model to stop that mean: call these tools, then go on."""

UNSET, OK, ERROR = 0, 1, 2
"""Span status codes, as OTLP numbers them."""


WITHHELD: Final = object()
"""Arguments that a span gives and that are known not to be the call's own: worse than none."""


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A tool call that a model asked for in its output."""

    name: str
    arguments: Any = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class CallResponse:
    """What a later message tells the model about a call's result."""

    result: Any = None
    id: str | None = None
    name: str | None = None
    ok: bool | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation with a model: its text, the calls it asks for, the results it brings.

    ``finish`` is why the model stopped, where the message says; an empty text marks a piece of a streamed message.
    """

    role: str
    text: str | None = None
    requests: tuple[CallRequest, ...] = ()
    responses: tuple[CallResponse, ...] = ()
    finish: str | None = None


UNSEEN: Final = "unseen"
"""The role of what stands in a conversation where messages were cut off, or could not be read."""


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A log record with content of a model call, as it was emitted: nothing of it is read before a run asks for it."""

    name: str
    timestamp: int
    body: Any
    attributes: Any


@dataclass(slots=True, kw_only=True)
class ToolFacts:
    """What a tool span says of its call. None: the span does not say.

    Not frozen, since there is one for every call, and a frozen one takes three times as long to make.
    """

    arguments: Any = None
    result: Any = None
    ok: bool | None = None
    error: str | None = None
    ran: bool | None = None
    call_id: str | None = None
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What a model span says. ``input`` is None where content is missing, and usually repeats the whole history.

    ``source`` is "event" or "log" where the output was read from one, None where it stands on the span.
    """

    input: tuple[Message, ...] | None = None
    output: tuple[Message, ...] | None = None
    source: Literal["event", "log"] | None = None
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """What an agent, workflow or chain span says of its run.

    ``messages`` are this run's own, where the span lists them; ``input`` is the structured input.
    """

    name: str | None = None
    prompt: str | None = None
    output: str | None = None
    input: Any = None
    messages: tuple[Message, ...] | None = None
    gaps: tuple[str, ...] = ()


class Reader(Protocol):
    """Reads the content that a part refers to. Unknown shapes give None, never an exception."""

    def tool(self, part: Part) -> ToolFacts: ...
    def model(self, part: Part) -> ModelFacts: ...
    def agent(self, part: Part) -> AgentFacts: ...


@dataclass(slots=True, eq=False)
class Part:
    """One ended span, as the conventions understand it. Ids are integers, times nanoseconds since the epoch.

    ``name`` is the tool's name as the model wrote it, or the agent's name; ``short_name`` the tool's name without
    what a layer adds. ``call_id`` is the id of a tool call, or the response id of a model call. ``pseudo`` names a
    tool that is none (a framework's way to finish); ``vocabulary`` is False for a span that no convention knows,
    ``named`` True where the name is an attribute and not guessed from the span's name, ``foreign`` True for a span of
    another trade (HTTP, messaging, a database), which never delimits a run. ``usual``: a span with nothing but today's
    OTel GenAI attributes. ``facts`` is what the reader has read of it already.
    ``ended`` is False for a span that is still open: what came of it is not known. ``client``: the span of a request to
    an agent that may run elsewhere.
    """

    kind: Kind
    trace_id: int
    span_id: int
    parent_id: int | None
    start: int
    end: int
    status: int
    span_name: str
    scope: str
    reader: Reader
    raw: Mapping[str, Any]
    name: str | None = None
    short_name: str | None = None
    call_id: str | None = None
    agent: str | None = None
    conversation: str | None = None
    message: str | None = None
    events: Sequence[Any] = ()
    resource: Any = None
    mcp: bool = False
    remote_parent: bool = False
    dropped: int = 0
    sampled: bool = True
    pseudo: str | None = None
    vocabulary: bool = True
    named: bool = False
    foreign: bool = False
    size: int = 0
    facts: Any = None
    usual: bool = False
    ended: bool = True
    links: tuple[int, ...] = ()
    client: bool = False


def tell(part: Part, logs: Sequence[LogEvent]) -> None:
    """Give a model call what its log records say, all that there are: in the order in which they were emitted."""
    if part.kind is not MODEL:
        return
    own = [event for event in part.events if not isinstance(event, LogEvent)]
    if len(part.events) - len(own) != len(logs):
        part.events = (*own, *sorted(logs, key=lambda log: log.timestamp))
        part.facts = None
