"""What the end of a run's own span costs the agent's thread: no message is read where tool spans tell all."""

from __future__ import annotations

import json
import sys
from types import FrameType
from typing import Any

import pytest
from agent_app import App, marks_of, messages

from otel_chloe.conventions import genai
from otel_chloe.conventions import messages as reader


def _asking(call_id: str, tool: str) -> str:
    part = {"type": "tool_call", "id": call_id, "name": tool, "arguments": {"site": "shop"}}
    return json.dumps([{"role": "assistant", "parts": [part], "finish_reason": "tool_call"}])


def _turn(app: App, tool: str, call_id: str) -> None:
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": messages("user", "Is the shop up?"),
        "gen_ai.output.messages": _asking(call_id, tool),
    }
    with app.tracer.start_as_current_span("chat gpt", attributes=said):
        pass
    with app.tool(tool, call_id):
        pass


@pytest.mark.parametrize(
    ("tools", "passed"),
    [
        (["check_site"], True),
        (["delete_site"], False),
        (["check_site", "restart_site", "restart_site"], False),
    ],
)
def test_no_message_is_read(tools: list[str], passed: bool):
    read: list[str] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename == reader.__file__:
            read.append(frame.f_code.co_name)

    with App() as app:
        with app.agent():
            for number, tool in enumerate(tools):
                _turn(app, tool, f"call_{number}")
            sys.setprofile(profile)
        sys.setprofile(None)

        agent = next(span for span in app.exporter.get_finished_spans() if span.name == "invoke_agent site_doctor")
        assert marks_of(agent)["chloe.passed"] is passed
        assert read == []


def test_arguments_are_read_only_of_repeats_that_are_told_apart_by_them_and_equal_texts_once():
    read: list[str] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is genai.tool.__code__:
            read.append(frame.f_code.co_name)

    with App() as app:
        with app.agent():
            for number in range(20):
                _turn(app, "delete_site", f"delete_{number}")
                _turn(app, "restart_site", f"restart_{number}")
            sys.setprofile(profile)
        sys.setprofile(None)

        agent = next(span for span in app.exporter.get_finished_spans() if span.name == "invoke_agent site_doctor")
        assert "restart_site 20 times: the same arguments" in str((agent.attributes or {})["chloe.calls.reason"])
        assert len(read) == 1
