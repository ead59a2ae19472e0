"""Runs that are known before their spans are: what an agent truly did, and the spans that tell of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hypothesis import strategies as st
from span_builders import OTHER_SCOPE, Asking, Spans, assistant, response, user

from otel_chloe.recording.span import RecordedSpan
from otel_chloe.run import Run, ToolCall

How = Literal["plain", "fails", "long_name", "agent", "mcp", "nested_double", "double_beside", "no_span"]
HOWS: tuple[How, ...] = ("plain", "fails", "long_name", "agent", "mcp", "nested_double", "double_beside", "no_span")
TOOLS = ("check_site", "restart_site", "read_logs")
Event: TypeAlias = "tuple[Literal['start', 'end'], RecordedSpan]"


@dataclass
class TrueCall:
    """A call that an agent made."""

    name: str
    id: str
    agent: str
    ok: bool | None

    @staticmethod
    def of(call: ToolCall) -> TrueCall:
        return TrueCall(call.name, call.call_id or "", call.agent or "", call.ok)


@dataclass
class TrueRun:
    """A run as it truly was, and its spans' starts and ends in the order in which they happened."""

    agent: str = ""
    prompt: str = ""
    output: str | None = None
    root: RecordedSpan | None = None
    last: RecordedSpan | None = None
    calls: list[TrueCall] = field(default_factory=list)
    sub_runs: dict[str, list[TrueCall]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)


@dataclass
class Script:
    """What an agent will do: turns of calls (each a tool and how its spans tell of it), and how it ends."""

    turns: list[list[tuple[str, How]]]
    parallel: bool
    content: bool
    waits: bool
    doubled_models: bool
    earlier: bool
    finish: str | None = ""
    helper: Script | None = None


def scripts(depth: int = 2) -> st.SearchStrategy[Script]:
    """Draw what an agent does. Helpers are agents that are called like tools."""
    hows = HOWS if depth else tuple(how for how in HOWS if how != "agent")
    turns = st.lists(
        st.lists(st.tuples(st.sampled_from(TOOLS), st.sampled_from(hows)), min_size=1, max_size=3), max_size=3
    )
    helper = st.none() if not depth else st.none() | st.deferred(lambda: scripts(depth - 1))
    flag = st.booleans()
    says = st.sampled_from(["", "stop", None])
    return st.builds(Script, turns, flag, flag, flag, flag, flag, says, helper)


class Scribe:
    """Writes down a true run: its spans, and what an observer should make of them."""

    def __init__(self, spans: Spans, tag: str, above: RecordedSpan | None = None) -> None:
        self.spans = spans
        self.run = TrueRun()
        self._above = above.context.span_id if above is not None else None
        self._tag = tag
        self._number = 0
        self._within: list[str] = []

    def _called(self, name: str, call_id: str, agent: str, *, ok: bool | None) -> None:
        """A call counts for the run, and for each sub-agent that it is made in."""
        call = TrueCall(name, call_id, agent, ok)
        self.run.calls.append(call)
        for helper in self._within:
            self.run.sub_runs[helper].append(call)

    def _next(self, what: str) -> str:
        self._number += 1
        return f"{what}-{self._tag}-{self._number}"

    @contextmanager
    def during(self, span: RecordedSpan) -> Iterator[RecordedSpan]:
        self.run.events.append(("start", span))
        yield span
        self.run.events.append(("end", span))

    def agent(self, script: Script, name: str, under: RecordedSpan | None, hands_to: str | None = None) -> TrueRun:
        """Tell of an agent; the outermost one is the run's own."""
        prompt, answer = self._next("prompt"), None if script.waits or hands_to else self._next("answer")
        talk = [user("before"), assistant("said before")] if script.earlier else []
        talk.append(user(prompt))
        said = {"asked": list(talk), "told": [assistant(answer)] if answer else []} if script.content else {}
        span = self.spans.agent(name, under=under, **said)
        self._head(span, name, prompt, answer, own=under is None or under.context.span_id == self._above)
        with self.during(span):
            for turn in script.turns:
                self._turn(script, turn, talk, name, span)
            if hands_to:
                self._model(script, talk, span, None, [])
                with self.during(self.spans.handoff(hands_to, under=span)):
                    pass
            else:
                asks = [("restart_site", self._next("waiting"))] if script.waits else []
                self._model(script, talk, span, answer, asks)
        return self.run

    def _head(self, span: RecordedSpan, name: str, prompt: str, answer: str | None, *, own: bool) -> None:
        """The first agent's name and prompt, the last one's answer."""
        run = self.run
        if run.root is None:
            run.root, run.agent, run.prompt = span, name, prompt
        if own:
            run.last, run.output = span, answer

    def _model(
        self, script: Script, talk: list[Any], under: RecordedSpan, text: str | None, asks: list[Asking]
    ) -> None:
        given, answer_id = list(talk), self._next("response")
        with self.during(
            self.spans.model(text, asks, asked=given, response_id=answer_id, finish=script.finish, under=under)
        ) as outer:
            if script.doubled_models:
                double = self.spans.model(
                    text, asks, asked=given, response_id=answer_id, under=outer, scope=OTHER_SCOPE
                )
                with self.during(double):
                    pass
        talk.append(assistant(text, asks))

    def _turn(
        self, script: Script, turn: list[tuple[str, How]], talk: list[Any], name: str, under: RecordedSpan
    ) -> None:
        made: list[tuple[str, str, How]] = []
        for tool, how in turn:
            plain: How = "plain" if how == "agent" and script.helper is None else how
            raw = {"agent": "ask_helper", "no_span": "wipe_disk", "long_name": f"mcp__sites__{tool}"}.get(plain, tool)
            made.append((raw, self._next("call"), plain))
        self._model(script, talk, under, None, [(raw, call_id) for raw, call_id, _ in made])
        for raw, call_id, how in made:
            if how == "no_span":
                self._called(raw, call_id, name, ok=None)
        self._execute(script, [each for each in made if each[2] != "no_span"], name, under)
        talk.extend(response(call_id) for _, call_id, _ in made)

    def _execute(self, script: Script, made: list[tuple[str, str, How]], name: str, under: RecordedSpan) -> None:
        open_spans = []
        for raw, call_id, how in made:
            short = raw.removeprefix("mcp__sites__")
            self._called(short, call_id, name, ok=how != "fails")
            span = self.spans.tool(raw, call_id, under=under, error="no such site" if how == "fails" else None)
            self.run.events.append(("start", span))
            if script.parallel and how != "agent":
                open_spans.append((span, short, call_id, how))
                continue
            self._inside(script, span, short, call_id, how)
            self.run.events.append(("end", span))
        for span, short, call_id, how in open_spans:
            self._inside(script, span, short, call_id, how)
            self.run.events.append(("end", span))

    def _inside(self, script: Script, span: RecordedSpan, short: str, call_id: str, how: How) -> None:
        """What a tool span holds: an agent, or a second telling of the same call."""
        if how == "agent" and script.helper is not None:
            helper = f"{self.run.agent}_{len(self.run.sub_runs)}"
            self.run.sub_runs[helper] = []
            self._within.append(helper)
            self.agent(script.helper, helper, span)
            self._within.pop()
            return
        doubles = {
            "mcp": lambda: self.spans.mcp(short, under=span),
            "nested_double": lambda: self.spans.tool(short, under=span, scope=OTHER_SCOPE),
            "double_beside": lambda: self.spans.tool(
                short,
                call_id,
                under=span.parent.span_id if span.parent else None,
                scope=OTHER_SCOPE,
                trace_id=span.context.trace_id,
            ),
        }
        if how in doubles:
            with self.during(doubles[how]()):
                pass


def timed(events: Sequence[Event]) -> list[RecordedSpan]:
    """The spans of some events, with times in the events' order."""
    for at, (what, span) in enumerate(events, start=1):
        if what == "start":
            span.start_time = at * 1000
        else:
            span.end_time = at * 1000
    return [span for what, span in events if what == "end"]


SHAPES = ("alone", "workflow", "handoff")
Shape = Literal["alone", "workflow", "handoff"]


def tell(spans: Spans, tag: str, script: Script, shape: Shape = "alone", under: RecordedSpan | None = None) -> TrueRun:
    """Tell of one run: an agent alone, one under a workflow, or one that hands over to another there."""
    if shape == "alone":
        return Scribe(spans, tag, under).agent(script, f"ops_{tag}", under)
    flow = spans.workflow(under=under)
    scribe = Scribe(spans, tag, flow)
    with scribe.during(flow):
        scribe.agent(script, f"ops_{tag}", flow, hands_to="restarter" if shape == "handoff" else None)
        if shape == "handoff":
            scribe.agent(script, "restarter", flow)
    return scribe.run


def differences(true: TrueRun, run: Run) -> list[str]:
    """What a run says that is not true."""
    told = (
        ("agent", true.agent, run.agent),
        ("prompt", true.prompt, run.prompt),
        ("output", true.output, run.output),
        ("calls", true.calls, calls_of(run)),
        ("sub-runs", true.sub_runs, {sub.agent: calls_of(sub) for sub in run.sub_runs}),
    )
    return [f"{what}: {said!r} should be {is_so!r}" for what, is_so, said in told if said != is_so]


def calls_of(run: Run) -> list[TrueCall]:
    return [TrueCall.of(call) for call in run.tool_calls]
