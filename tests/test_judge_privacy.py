"""What reaches the judge, through every door: nothing that was redacted, and what a user's own function leaves."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agent_app import App
from judge_script import JUDGED, Judge, checks

from otel_chloe import Run, ToolCall, expectations

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"
RUN = Run(
    agent="site_doctor",
    output=f"I told bob@example.com about {SECRET}, and Ada agreed.",
    tool_calls=[ToolCall("check_site", {"password": "hunter2", "who": "Ada"}, "up since bob@example.com called")],
)


def asked(**more: Any) -> tuple[str, Any]:
    judge = Judge(checks(True))
    outcome = asyncio.run(
        expectations("Ask Ada.", RUN, {"should": ["tells bob@example.com"]}, "m", complete=judge, **more)
    )
    [(_, messages)] = judge.asked
    return json.dumps(messages, ensure_ascii=False), outcome


def test_nothing_secret_reaches_a_judge():
    told, _ = asked()

    assert not any(secret in told for secret in (SECRET, "bob@example.com", "hunter2"))
    assert told.count("<email-1>") == 3


def test_a_function_of_the_users_own_sees_each_text_after_that():
    seen: list[str] = []

    def no_names(text: str) -> str:
        seen.append(text)
        return text.replace("Ada", "<name>")

    told, _ = asked(redact=no_names)

    assert "Ada" not in told
    assert "<name> agreed" in told
    assert "Ask Ada." in seen
    assert not any("hunter2" in text or SECRET in text for text in seen)


def test_where_it_raises_the_text_is_withheld_and_a_line_may_be_undecided():
    def picky(text: str) -> str:
        if "agreed" in text:
            raise RuntimeError
        return text

    told, _ = asked(redact=picky)

    assert "agreed" not in told
    assert "<withheld>" in told
    assert "texts on which the function for redaction failed" in told


@pytest.mark.parametrize("redact", [None, lambda text: text.replace("shop", "<site>")])
def test_so_it_is_on_live_runs(redact: Any):
    judge = Judge(checks(True))
    with App(JUDGED, complete=judge, redact=redact) as app:
        app.run("check_site")
        assert app.processor.force_flush(10_000)

    [(_, messages)] = judge.asked
    assert "shop" not in json.dumps(messages) or redact is None
