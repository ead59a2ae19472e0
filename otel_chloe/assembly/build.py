"""A group of spans as a run: its calls, prompt, output, sub-runs, and the gaps that the spans leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from otel_chloe import gaps
from otel_chloe.assembly.belonging import Belonging
from otel_chloe.assembly.far import ran_elsewhere
from otel_chloe.assembly.forest import Forest
from otel_chloe.assembly.known import known
from otel_chloe.assembly.match import match_asked
from otel_chloe.assembly.modelcalls import (
    Asked,
    ModelCall,
    asked_calls,
    asked_in,
    asked_unseen,
    final_answer,
    first_prompt,
    is_cut,
    model_calls,
)
from otel_chloe.assembly.runs import Group
from otel_chloe.assembly.subs import sub_agents
from otel_chloe.assembly.toolcalls import message_call, models_of, seen_calls, tool_call
from otel_chloe.assembly.twins import Seen
from otel_chloe.inside import Inside
from otel_chloe.names import short_name
from otel_chloe.part import AGENT, ERROR, HANDOFF, MODEL, OTHER, TOOL, AgentFacts, Part
from otel_chloe.record import NAMED
from otel_chloe.run import End, Gap, Run, ToolCall, Usage
from otel_chloe.semconv import CHLOE_EXPECTED

NO_TOOL_SPANS = ("opentelemetry.instrumentation.crewai", "genai.smolagents")
"""Scopes of instrumentations that make agent spans and neither tool nor model spans."""
_WORK = (AGENT, MODEL, TOOL, HANDOFF)
_ANSWERING = frozenset({"final_answer"})
"""Frameworks' own ways to finish (pseudo tools) that are given the answer. Others only say that it is over."""
MOST_LEVELS = 1_000
"""Agents above an agent that has a sub-run of its own."""


class Builder:
    """Builds the run of one group."""

    def __init__(self, forest: Forest, group: Group, end: End, *, complete: bool) -> None:
        self.forest = forest
        self.group = group
        self.end: End = end
        self.complete = complete and group.root is not None
        self.belonging = Belonging(forest)
        self.agent_of = self.belonging.agent_of
        self.models = models_of(group.parts)
        self.tools = [p for p in group.parts if p.kind is TOOL]
        self.calls = model_calls(self.models)
        self.seen = seen_calls(forest, self.tools, self.models)
        self.found: dict[str, Gap] = {}
        self.made_at: dict[int, Part] = {}

    def gap(self, code: str, detail: str | None = None) -> None:
        self.found.setdefault(code, Gap(code, detail))

    def run(self) -> Run:
        """The whole run."""
        agents = self.group.agents
        first, last = (agents[0], agents[-1]) if agents else (None, None)
        facts = _facts(first)
        name = self.name_of(first, facts)
        asked = self._asked(facts)
        tool_calls = self._tool_calls(asked, name)
        own = self._own_calls(first)
        prompt = facts.prompt or first_prompt(own or self.calls)
        output = self._output(last, self._own_calls(last) or own)
        self._gaps(facts, prompt, output, tool_calls)
        parts = self.group.parts
        head = first or parts[0]
        inside = self._inside(head)
        sub_runs = tuple(self._sub_runs(tool_calls))
        found = Run(
            agent=name,
            prompt=prompt,
            output=output,
            tool_calls=tuple(tool_calls),
            sub_runs=sub_runs,
            gaps=tuple(self.found.values()),
            end=self.end,
            complete=self.complete,
            trace_id=f"{head.trace_id:032x}",
            span_id=f"{head.span_id if first is not None else head.parent_id or 0:016x}",
            mark_span_id=f"{last.span_id:016x}" if last is not None else None,
            mark_trace_id=f"{last.trace_id:032x}" if last is not None else None,
            parent_span_id=f"{head.parent_id:016x}" if head.parent_id is not None else None,
            conversation=next((p.conversation for p in (head, *parts) if p.conversation), None),
            input=facts.input,
            error=_error(last if first is not None and first.kind is MODEL else first),
            start_ns=head.start,
            end_ns=last.end if last is not None else max(p.end for p in parts),
            resource=head.resource,
            attributes=_named(head),
            sampled=head.sampled,
            usage=_usage(self.calls),
            inside=inside,
        )
        return known(found)

    def _inside(self, head: Part) -> Inside | None:
        """What the program expects of this run: as the run's own span says, else the nearest above it that does."""
        for part in chain((head,), self.forest.above(head)):
            said = part.raw.get(CHLOE_EXPECTED)
            if said is not None:
                inside = Inside.from_json(said)
                if inside is None:
                    self.gap(gaps.EXPECTED_UNREADABLE)
                return inside
        return None

    def named_run(self) -> Run:
        """The run as its identity alone: agent and ids."""
        first = self.group.agents[0] if self.group.agents else None
        head = first or self.group.parts[0]
        name = self.name_of(first, _facts(first))
        return Run(agent=name, trace_id=f"{head.trace_id:032x}", span_id=f"{head.span_id:016x}", sampled=head.sampled)

    def named_run_of(self, part: Part) -> Run:
        """The run or sub-run of the agent that made a call, as its identity alone."""
        for above in self.forest.above(part):
            if above.kind is AGENT and above.name:
                return Run(agent=above.name, trace_id=f"{above.trace_id:032x}", span_id=f"{above.span_id:016x}")
        return self.named_run()

    def may_go_on(self, agent: Part) -> bool:
        """Whether spans below an agent are open that may turn out to be calls, or to ask for some."""
        below = self.forest.below(agent)
        return any(not part.ended and not part.foreign and part.kind in (OTHER, MODEL) for part in below)

    def wanted(self) -> set[str]:
        """The ids of calls that were asked for and that no span and no answer tells of."""
        left = match_asked([Seen(seen.part, seen.folded) for seen in self.seen], asked_calls(self.calls))
        return {request.request.id for request in left if request.request.id and not request.answered}

    def name_of(self, part: Part | None, facts: AgentFacts) -> str | None:
        if part is None:
            return next((p.agent for p in self.group.parts if p.agent), None) or _service(self.group.parts)
        name = part.name or facts.name or part.agent
        if name is None and part.kind not in (AGENT, MODEL):
            name = part.span_name.removesuffix(".workflow").removesuffix(".task")
        return name or _service(self.group.parts)

    def _asked(self, facts: AgentFacts) -> list[Asked]:
        asked = asked_calls(self.calls)
        head = self.group.root or self.group.parts[0]
        if not asked and facts.messages:
            asked = asked_in(facts.messages, head.start)
        pseudo = {p.pseudo for p in self.group.parts if p.pseudo}
        return [a for a in asked if a.request.name not in pseudo]

    def _tool_calls(self, asked: list[Asked], name: str | None) -> list[ToolCall]:
        left = match_asked(self.seen, asked)
        calls: list[ToolCall] = []
        for seen in self.seen:
            calls.append(self._seen_call(seen, name))
            self.made_at[id(calls[-1])] = seen.part
        for request in left:
            started = self._started_agent(request)
            if request.answered or started is not None:
                calls.append(self._asked_call(request, name, started))
                self.gap(gaps.CALL_ONLY_IN_MESSAGE, request.request.name)
                if request.by is not None:
                    self.made_at[id(calls[-1])] = request.by
        calls.sort(key=lambda c: c.start_ns or 0)
        return calls

    def _seen_call(self, seen: Seen, name: str | None) -> ToolCall:
        """A call that spans tell of."""
        return tool_call(seen, self.agent_of(seen.part, name))

    def _asked_call(self, request: Asked, name: str | None, started: Part | None) -> ToolCall:
        """A call that left no span, of the agent whose model asked for it."""
        default = request.agent or name
        agent = self.agent_of(request.by, default) if request.by is not None else default
        return message_call(request, agent, started, self.seen)

    def _started_agent(self, request: Asked) -> Part | None:
        """The agent span that a request without a tool span started: an agent that is called like a tool."""
        wanted = short_name(request.request.name)
        found = (p for p in self.group.parts if p.kind is AGENT and p.name == wanted and p.start >= request.at)
        return min(found, key=lambda p: p.start, default=None)

    def _own_calls(self, agent: Part | None) -> list[ModelCall]:
        """The model calls of an agent itself, not of the agents below it."""
        if agent is None or agent.kind is MODEL:
            return self.calls
        return [c for c in self.calls if self._is_own(c.parts[0], agent)]

    def _is_own(self, part: Part, agent: Part) -> bool:
        own = self.belonging.is_own(part, agent)
        return own if own is not None else self._is_elsewhere(part)

    def _is_elsewhere(self, part: Part) -> bool:
        return self.group.root is not None and part.trace_id != self.group.root.trace_id

    def _output(self, last: Part | None, own: Sequence[ModelCall]) -> str | None:
        if last is not None and last.kind is AGENT and last.status == ERROR:
            return None
        facts = _facts(last)
        if facts.output is not None:
            return facts.output
        answer = final_answer(own[-1]) if own else None
        return answer if answer is not None else self._finished(last)

    def _finished(self, agent: Part | None) -> str | None:
        """What a framework's own way to finish was given as the answer."""
        last = None
        for part in self.forest.below(agent) if agent is not None else ():
            if part.pseudo in _ANSWERING and (last is None or part.start > last.start):
                last = part
        told = last.reader.tool(last).result if last is not None else None
        return told if isinstance(told, str) else None

    def _sub_runs(self, tool_calls: Sequence[ToolCall]) -> Iterable[Run]:
        """The agents below the run's own, in the order they started, each with the calls made under it."""
        names = {a.name or _facts(a).name for a in self.group.agents}
        for part, name in sub_agents(self.forest, self.group, names):
            if self.belonging.levels(part) > MOST_LEVELS:
                self.gap(gaps.TRUNCATED, "agents in each other, too many for sub-runs of all")
            else:
                yield self._sub_run(part, name, tool_calls)

    def _sub_run(self, agent: Part, name: str | None, tool_calls: Sequence[ToolCall]) -> Run:
        inside = list(self.forest.below(agent))
        below = {id(p) for p in inside}
        facts = agent.reader.agent(agent)
        made = [c for c in self.calls if id(c.parts[0]) in below or self._is_elsewhere(c.parts[0])]
        own = [c for c in made if self._is_own(c.parts[0], agent)]
        found = dict(self.found)
        if self.models and not facts.messages and not any(p.kind in _WORK for p in inside):
            found.setdefault(gaps.NO_TOOL_DATA, Gap(gaps.NO_TOOL_DATA, f"nothing is below the span of {name}"))
        sub_run = Run(
            agent=name,
            prompt=facts.prompt or first_prompt(own),
            output=self._output(agent, own),
            tool_calls=tuple(c for c in tool_calls if id(self.made_at.get(id(c))) in below),
            gaps=tuple(found.values()),
            end=self.end,
            complete=self.complete,
            trace_id=f"{agent.trace_id:032x}",
            span_id=f"{agent.span_id:016x}",
            parent_span_id=f"{agent.parent_id:016x}" if agent.parent_id is not None else None,
            conversation=agent.conversation,
            error=_error(agent),
            start_ns=agent.start,
            end_ns=agent.end,
            resource=agent.resource,
            attributes=_named(agent),
            sampled=agent.sampled,
            usage=_usage([call for call in self.calls if id(call.parts[0]) in below]),
        )
        return known(sub_run)

    def _gaps(self, facts: AgentFacts, prompt: str | None, output: str | None, calls: Sequence[ToolCall]) -> None:
        self._gaps_read(facts)
        if not self.complete:
            self.gap(gaps.ROOT_MISSING if self.group.root is None else gaps.CUT_SHORT)
        if self._hides_calls(calls):
            self.gap(gaps.NO_TOOL_DATA)
        far = ran_elsewhere(self.forest, self.group.parts, self.models)
        if far is not None:
            self.gap(gaps.NO_TOOL_DATA, f"{far.name or far.span_name} ran elsewhere, and nothing is below its span")
        if self.group.bare:
            self.gap(gaps.BARE_MODEL_CALL)
        if self.group.unseen:
            self.gap(gaps.HISTORY_UNSEEN)
        if self.group.unclear is not None:
            self.gap(gaps.HANDOFF_UNCLEAR, self.group.unclear)
        if any(p.dropped for p in self.group.parts):
            self.gap(gaps.ATTRIBUTES_DROPPED)
        self._gaps_of_content(facts, prompt, output)

    def _gaps_of_content(self, facts: AgentFacts, prompt: str | None, output: str | None) -> None:
        if self.calls and all(call.facts.input for call in self.calls):
            self.found.pop(gaps.CONTENT_IN_LOGS, None)  # the logs were there
        if (self.models or self.tools) and gaps.CONTENT_IN_LOGS not in self.found and not self._shows_content(facts):
            self.gap(gaps.CONTENT_OFF)
        if prompt is None:
            self.gap(gaps.NO_PROMPT)
        if output is None:
            self.gap(gaps.NO_OUTPUT)

    def _gaps_read(self, facts: AgentFacts) -> None:
        """The gaps that the readers found in what the spans say."""
        codes = [*facts.gaps, *(code for call in self.calls for code in call.facts.gaps)]
        codes.extend(code for seen in self.seen for code in seen.part.reader.tool(seen.part).gaps)
        for code in codes:
            self.gap(code)

    def _shows_content(self, facts: AgentFacts) -> bool:
        """Whether any span of the run carries content, be it one message, argument or result."""
        if any(told is not None for told in (facts.prompt, facts.output, facts.messages, facts.input)):
            return True
        messages = (m for call in self.calls for told in (call.facts.input, call.facts.output) for m in told or ())
        if any(m.text or m.requests or m.responses for m in messages):
            return True
        told_of = (part.reader.tool(part) for part in self.tools)
        return any(tool.arguments is not None or tool.result is not None for tool in told_of)

    def _hides_calls(self, calls: Sequence[ToolCall]) -> bool:
        """Whether the spans of this run could not have told of a tool call, or of one behind the cut of an answer."""
        if not self.tools and any(is_cut(call.facts.output) for call in self.calls):
            return True
        if calls:
            return False
        if any(any(scope in p.scope for scope in NO_TOOL_SPANS) for p in self.group.agents):
            return not self.models
        return bool(self.models) and any(asked_unseen(call) for call in self.calls)


def _facts(part: Part | None) -> AgentFacts:
    """What the span that a run hangs on says of the run. A model call says nothing of it: its messages do."""
    return part.reader.agent(part) if part is not None and part.kind is not MODEL else AgentFacts()


def _error(agent: Part | None) -> str | None:
    if agent is None or agent.status != ERROR:
        return None
    return agent.message or _text(agent.raw.get("error.type")) or "error"


def _named(part: Part) -> dict[str, Any] | None:
    """The attributes of a span that rules name."""
    return ({key: part.raw[key] for key in NAMED.copy() if key in part.raw} if NAMED else None) or None


def _usage(calls: Sequence[ModelCall]) -> Usage | None:
    """How many model calls there were. Without any span of one, nobody knows."""
    return Usage(model_calls=len(calls)) if calls else None


def _service(parts: Sequence[Part]) -> str | None:
    resource: Any = parts[0].resource
    attributes = getattr(resource, "attributes", None)
    return _text(attributes.get("service.name")) if attributes else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
