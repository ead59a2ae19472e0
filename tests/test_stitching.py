"""Model calls with nothing above them: conversations are made first, cut into calls, mixed, and found again as runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from small_recordings import span, written

from otel_chloe import Run, load_runs

OPENINGS = ("Mend the shop.", "Is it up?")
TOOLS = ("check_site", "restart_site")
Message = dict[str, Any]


def said(role: str, text: str) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def asks(call_id: str, tool: str) -> Message:
    part = {"type": "tool_call", "id": call_id, "name": tool, "arguments": {"site": "shop"}}
    return {"role": "assistant", "parts": [part]}


def result(call_id: str) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": "up"}]}


@dataclass(frozen=True)
class Turn:
    """What the user says, and the tools that the model asks for before it answers."""

    prompt: str
    tools: tuple[str, ...]


turns = st.builds(Turn, st.sampled_from(OPENINGS), st.lists(st.sampled_from(TOOLS), max_size=3).map(tuple))
conversations = st.lists(st.lists(turns, min_size=1, max_size=3), min_size=1, max_size=4)


def calls_of(number: int, conversation: list[Turn]) -> list[tuple[list[Message], Message]]:
    """The input and the answer of each model call. Ids and answers are the conversation's own, openings are not."""
    history: list[Message] = [said("system", "You mend sites.")]
    calls: list[tuple[list[Message], Message]] = []
    for at, turn in enumerate(conversation):
        history = [*history, said("user", turn.prompt)]
        for step, tool in enumerate(turn.tools):
            call_id = f"call_{number}_{at}_{step}"
            answer = asks(call_id, tool)
            calls.append((history, answer))
            history = [*history, answer, result(call_id)]
        answer = said("assistant", f"Answer {number}.{at}.")
        calls.append((history, answer))
        history = [*history, answer]
    return calls


def line(number: int, at: float, asked: list[Message], answered: Message) -> str:
    return span(
        "chat gpt",
        number,
        number,
        at=at,
        lasts=0.5,
        gen_ai__operation__name="chat",
        gen_ai__input__messages=json.dumps(asked),
        gen_ai__output__messages=json.dumps([{**answered, "finish_reason": "stop"}]),
    )


def told(runs: list[Run]) -> list[tuple[str | None, str | None, tuple[str, ...]]]:
    return sorted((run.prompt or "", run.output or "", tuple(c.name for c in run.tool_calls)) for run in runs)


def runs_in(*lines: str) -> list[Run]:
    with TemporaryDirectory() as folder:
        return list(load_runs(written(Path(folder) / "spans.jsonl", *lines)))


@given(conversations, st.data())
def test_mixed_conversations_are_found_again_turn_by_turn(made: list[list[Turn]], data: st.DataObject):
    queues = [calls_of(number, conversation) for number, conversation in enumerate(made)]
    lines: list[str] = []
    while any(queues):  # each conversation goes on in its own order, between those of the others
        queue = data.draw(st.sampled_from([queue for queue in queues if queue]))
        asked, answered = queue.pop(0)
        lines.append(line(len(lines) + 1, float(len(lines)), asked, answered))

    found = runs_in(*data.draw(st.permutations(lines)))

    assert told(found) == sorted(
        (turn.prompt, f"Answer {number}.{at}.", turn.tools)
        for number, conversation in enumerate(made)
        for at, turn in enumerate(conversation)
    )
    assert [gap.code for run in found for gap in run.gaps if gap.code != "call_only_in_message"] == []


@given(st.lists(st.sampled_from(TOOLS), min_size=2, max_size=4), st.data())
def test_a_call_that_was_not_seen_is_a_gap_and_never_another_run_s(tools: list[str], data: st.DataObject):
    calls = calls_of(1, [Turn("Mend the shop.", tuple(tools))])
    lost = data.draw(st.integers(0, len(calls) - 2))

    found = runs_in(*(line(n + 1, float(n), *call) for n, call in enumerate(calls) if n != lost))

    assert all(name in TOOLS for run in found for name in (c.name for c in run.tool_calls))
    assert any(gap.code == "history_unseen" for run in found for gap in run.gaps)


def test_a_retry_of_a_call_that_failed_is_the_same_run():
    asked, answered = calls_of(1, [Turn("Mend the shop.", ())])[0]
    failed = span(
        "chat gpt", 1, 1, at=0, status=2, gen_ai__operation__name="chat", gen_ai__input__messages=json.dumps(asked)
    )

    found = runs_in(failed, line(2, 2.0, asked, answered))

    assert told(found) == [("Mend the shop.", "Answer 1.0.", ())]


def test_services_are_not_put_together():
    calls = calls_of(1, [Turn("Mend the shop.", ("check_site",))])
    lines = [line(n + 1, float(n), *call) for n, call in enumerate(calls)]

    found = runs_in(lines[0], lines[1].replace('"stringValue": "shop"', '"stringValue": "till"', 1))

    assert len(found) == 2
    assert "history_unseen" in {gap.code for run in found for gap in run.gaps}
