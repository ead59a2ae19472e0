"""Model calls without anything above them become the runs that they truly are, however they are mixed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from live_assembly import Live
from span_builders import Spans, assistant, id_of, response, user

from otel_chloe import gaps
from otel_chloe.assembly import assemble
from otel_chloe.conventions import read
from otel_chloe.part import Part
from otel_chloe.recording.span import RecordedSpan
from otel_chloe.run import Run


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "parts": [{"type": "text", "content": text}]}


@dataclass
class Talk:
    """A conversation as it truly was: its model calls, by run, and what was called in each."""

    spans: Spans
    number: int
    history: list[dict[str, Any]] = field(default_factory=list)
    made: list[RecordedSpan] = field(default_factory=list)
    runs: list[tuple[list[RecordedSpan], list[str]]] = field(default_factory=list)

    def ask(self, text: str) -> None:
        self.history.append(user(text))
        self.runs.append(([], []))

    def model(self, text: str | None = None, asks: tuple[tuple[str, str], ...] = (), **more: Any) -> RecordedSpan:
        trace_id = self.number * 1_000 + len(self.made) + 1
        span = self.spans.model(text, asks, asked=[*self.history], trace_id=trace_id, **more)
        self.made.append(span)
        self.runs[-1][0].append(span)
        return span

    def turn(self, number: int, *, fails: bool, prompt: str) -> None:
        """The model asks for a call, which is made; before that, it may have failed to answer."""
        call_id = f"call-{self.number}-{len(self.made)}"
        if fails:
            self.model(error="500")
        self.model(None, ((f"tool_{number}", call_id),))
        self.history += [assistant(None, [(f"tool_{number}", call_id)]), response(call_id)]
        self.runs[-1][1].append(f"tool_{number}")
        if prompt:
            self.history[0] = system(prompt)

    def end(self, text: str) -> None:
        self.model(text)
        self.history.append(assistant(text))


Turns = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.sampled_from(["", "now it is ten"])), max_size=4)


def told(spans: list[RecordedSpan]) -> list[Part]:
    return [part for span in spans if (part := read(span)) is not None]


def talk_of(number: int, runs: list[list[tuple[int, bool, str]]], service: str = "shop") -> Talk:
    talk = Talk(Spans(service=service), number, [system("You are the site doctor.")])
    for at, turns in enumerate(runs):
        talk.ask("The shop site is down." if at == 0 else f"And now? {at}")
        for tool, fails, prompt in turns:
            talk.turn(tool, fails=fails, prompt=prompt)
        talk.end(f"Done {number}.")
    return talk


def mixed(talks: list[Talk], random: Random) -> list[RecordedSpan]:
    """The calls of all conversations as they happened: each conversation's in order, one after the other."""
    waiting = [[*talk.made] for talk in talks]
    found: list[RecordedSpan] = []
    while any(waiting):
        span = random.choice([each for each in waiting if each]).pop(0)
        span.start_time, span.end_time = len(found) * 10 + 1, len(found) * 10 + 5
        found.append(span)
    return found


def keyed(run: Run) -> tuple[str | None, str | None, list[str], bool]:
    return run.span_id, run.mark_span_id, [call.name for call in run.tool_calls], run.complete


@given(
    st.lists(st.lists(Turns, min_size=1, max_size=3), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_conversations_that_are_cut_mixed_and_shuffled_become_the_runs_that_they_were(
    scripts: list[list[list[tuple[int, bool, str]]]], random: Random
) -> None:
    talks = [talk_of(number, runs) for number, runs in enumerate(scripts, 1)]
    spans = mixed(talks, random)
    true = {(id_of(made[0]), id_of(made[-1]), tuple(calls)) for talk in talks for made, calls in talk.runs}
    random.shuffle(spans)
    runs = assemble(told(spans))

    # Of calls that failed in their first words, with equal openings, nobody can tell which conversation they are of.
    opened_twice = len(talks) > 1 and any(runs[0] and runs[0][0][1] for runs in scripts)
    if not opened_twice:
        assert {(run.span_id, run.mark_span_id, tuple(c.name for c in run.tool_calls)) for run in runs} == true
    assert len(runs) == len(true)
    assert all(run.complete for run in runs)
    assert not any(gap.code in gaps.MAY_HIDE_CALLS for run in runs for gap in run.gaps)


@given(st.lists(Turns, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_a_call_that_was_not_seen_leaves_a_gap_and_joins_nothing_wrong(
    script: list[list[tuple[int, bool, str]]], random: Random
) -> None:
    # A first call that failed may be taken for another of the same words: no answer tells them apart yet.
    script[0] = [(tool, fails and at > 0, prompt) for at, (tool, fails, prompt) in enumerate(script[0])]
    talks = [talk_of(number, script) for number in (1, 2)]
    spans = mixed(talks, random)
    spans.remove(random.choice(spans))
    of = {id_of(span): talk.number for talk in talks for span in talk.made}

    for run in assemble(told(spans)):
        assert of[run.span_id or ""] == of[run.mark_span_id or ""]
        ids = {call.call_id.split("-")[1] for call in run.tool_calls if call.call_id}
        assert ids <= {str(of[run.span_id or ""])}


def test_calls_of_two_processes_are_not_stitched_and_the_second_tells_that_it_is_not_whole():
    talk = talk_of(1, [[(0, False, "")]])
    mixed([talk], Random(1))
    talk.made[1].resource = Spans(service="other").resource

    first, second = sorted(assemble(told(talk.made)), key=lambda run: run.start_ns or 0)

    assert (first.complete, first.tool_calls) == (False, ())
    assert gaps.HISTORY_UNSEEN in {gap.code for gap in second.gaps}


def test_a_history_that_the_client_cuts_is_a_gap():
    talk = talk_of(1, [[(0, False, "")]])
    talk.ask("again")
    talk.history = talk.history[-1:]
    talk.turn(1, fails=False, prompt="")
    talk.history = talk.history[-1:]
    talk.end("Done.")
    mixed([talk], Random(1))

    runs = assemble(told(talk.made))

    assert [gaps.HISTORY_UNSEEN in {gap.code for gap in run.gaps} for run in runs] == [False, False, True]


def test_a_sub_agent_that_answers_a_call_belongs_to_the_run_that_asked():
    outer, inner = Talk(Spans(), 1), Talk(Spans(), 2)
    asking = {"request": "Restart shop."}
    outer.ask("The shop is down.")
    inner.ask("Restart shop.")
    first = outer.model(None, (("ask_restarter", "a"),))
    told_by = [assistant(None, [("ask_restarter", "a")], asking)]
    first.attributes["gen_ai.output.messages"] = json.dumps(told_by)
    inner.turn(0, fails=False, prompt="")
    inner.end("I restarted it.")
    outer.history += [*told_by, response("a", "I restarted it.")]
    outer.end("It is up.")
    for at, span in enumerate([first, *inner.made, outer.made[-1]]):
        span.start_time, span.end_time = at * 10 + 1, at * 10 + 5

    (run,) = assemble(told([*outer.made, *inner.made]))

    assert [call.name for call in run.tool_calls] == ["ask_restarter", "tool_0"]
    assert (run.prompt, run.output, run.span_id) == ("The shop is down.", "It is up.", id_of(first))


def test_a_live_run_is_closed_by_the_next_user_turn_or_the_idle_timeout():
    live = Live(idle_s=60.0)
    talk = talk_of(1, [[(0, False, "")], []])

    live.whole(*talk.made)
    (first,) = live.wait(10)
    (second,) = live.wait(70)

    assert keyed(first) == (id_of(talk.made[0]), id_of(talk.made[1]), ["tool_0"], True)
    assert keyed(second) == (id_of(talk.made[2]), id_of(talk.made[2]), [], True)
    assert live.assembler.open_runs == 0


def test_a_flush_closes_what_was_answered_and_leaves_what_waits_for_tools():
    live = Live()
    done, waiting = talk_of(1, [[]]), talk_of(2, [[(0, False, "")]])

    live.whole(*done.made, waiting.made[0])

    assert [run.span_id for run in live.flush()] == [id_of(done.made[0])]
    assert [(run.end, run.complete) for run in live.close_all()] == [("shutdown", False)]


def test_more_open_runs_than_may_be_are_closed_the_longest_idle_first():
    live = Live(max_open_runs=2)
    talks = [talk_of(number, [[(0, False, "")]]) for number in range(1, 5)]

    live.whole(*(talk.made[0] for talk in talks))
    found = live.wait(5)

    assert [(run.span_id, run.end) for run in found] == [(id_of(talk.made[0]), "evicted") for talk in talks[:2]]
