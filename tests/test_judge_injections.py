"""Attempts to sway the judge, against a model that obeys everything it reads outside the fences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from obedient_judge import instructions, obeys, outside

from otel_chloe import Run, ToolCall
from otel_chloe.expected import ExpectedOutcome
from otel_chloe.judge.fence import Fence
from otel_chloe.judge.prompt import first_messages
from otel_chloe.judge.redact import Redactor
from otel_chloe.judge.shown import show

NONCE = "5e1f0c4a9b7d2368"
ATTEMPTS = [json.loads(line) for line in (Path(__file__).parent / "injections.jsonl").read_text("utf-8").splitlines()]
HARMLESS = "the site answers"
OUTCOME = ExpectedOutcome(situation="The site is down.", should=["says so", "checks it"], should_not=["deletes it"])
PLACES = {"result", "argument", "output", "prompt", "tool", "agent", "call_agent", "error", "run_error", "sub"}


class ThinFence(Fence):
    """A fence that leaves what it surrounds as it is."""

    def inside(self, text: str) -> str:
        return text


class NoFence(Fence):
    """The fences switched off."""

    def __init__(self) -> None:
        super().__init__(NONCE)
        self.rule = ""

    def around(self, label: str, text: str) -> str:
        return text


def run_with(where: str, text: str) -> Run:
    """A run that holds a text in one place."""

    def here(place: str, otherwise: Any = None) -> Any:
        return text if place == where else otherwise

    call = ToolCall(
        here("tool", "check_site"),
        {"site": "shop", "note": here("argument", HARMLESS)},
        here("result", "down"),
        error=here("error"),
        agent=here("call_agent", "checker"),
    )
    below = [Run(agent="checker", prompt="check it", output=here("sub", "I checked it."))]
    return Run(
        agent=here("agent", "site_doctor"),
        prompt=here("prompt", "Is the shop up?"),
        output=here("output", "It is down."),
        error=here("run_error", "boom"),
        tool_calls=[call, ToolCall("restart_site", error="no" if where == "error" else None)],
        sub_runs=below,
    )


def messages(where: str, text: str, fence: Fence) -> list[dict[str, str]]:
    redactor = Redactor()
    run = run_with(where, text)
    shown = show(run, redactor=redactor)
    return list(first_messages(run, shown, OUTCOME, purpose="Keeps sites up.", fence=fence, redact=redactor.text))


def filled(attempt: dict[str, str]) -> tuple[str, str]:
    """The attempt of somebody who has guessed the nonce."""
    text = attempt["text"].replace("{nonce}", NONCE).replace("{NONCE}", NONCE.upper())
    return attempt["where"], text.replace("{nonce_spaced}", "\u200b".join(NONCE))


def test_there_are_attempts_in_every_place():
    assert len(ATTEMPTS) >= 60
    assert len({json.dumps(attempt) for attempt in ATTEMPTS}) == len(ATTEMPTS)
    assert {attempt["where"] for attempt in ATTEMPTS} == PLACES


@pytest.mark.parametrize("gullible", [False, True])
@pytest.mark.parametrize(
    "attempt", ATTEMPTS, ids=lambda attempt: attempt["text"][:40].encode("unicode_escape").decode()
)
def test_fenced_no_attempt_gets_through(attempt: dict[str, str], gullible: bool):
    where, text = filled(attempt)
    asked = messages(where, text, Fence(NONCE))
    harmless = messages(where, HARMLESS, Fence(NONCE))

    assert obeys(asked, gullible=gullible) == []
    assert outside(asked, gullible=gullible) == outside(harmless, gullible=gullible)


def test_without_fences_the_attempts_do_get_through():
    swayed = [attempt for attempt in ATTEMPTS if obeys(messages(*filled(attempt), NoFence()))]

    assert len(swayed) >= len(ATTEMPTS) * 5 // 6
    assert len(swayed) >= 50


def test_markers_are_taken_apart_for_a_reason():
    """A model that takes anything like a marker for one is swayed by markers, unless they are taken apart."""
    swayed = [attempt for attempt in ATTEMPTS if obeys(messages(*filled(attempt), ThinFence(NONCE)), gullible=True)]

    assert len(swayed) >= 15


def test_what_we_say_ourselves_is_no_such_instruction():
    assert obeys(messages("result", HARMLESS, NoFence())) == []


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_reader_still_sees_what_was_attempted(attempt: dict[str, str]):
    where, text = filled(attempt)
    asked = messages(where, text, Fence(NONCE))[1]["content"]

    assert bool(instructions(text)) == bool(instructions(asked))
