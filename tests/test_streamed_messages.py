"""Output messages of a streamed answer: pieces with an empty finish reason, and what comes after them."""

from __future__ import annotations

import json

import pytest
from span_builders import Spans


def message(finish, text=None, call=None, arguments=None):
    parts = [{"type": "text", "content": text}] if text else []
    if call:
        parts.append({"type": "tool_call", "id": call, "name": "check_site", "arguments": arguments})
    return {"role": "assistant", "parts": parts, "finish_reason": finish}


def run_of(*told):
    spans = Spans()
    model = spans.model(under=spans.agent("ops"))
    model.attributes["gen_ai.output.messages"] = json.dumps(told)
    return spans.run()


@pytest.mark.parametrize(
    "told",
    [
        [message("", "It "), message("", "is "), message("stop", "up.")],
        [message("", "It "), message("", "is "), message("", "up.")],
        [message("", "It "), message("", "is "), message("", "up."), message("stop")],
        [message("", "It "), message("", "is "), message("", "up."), message("stop", "It is up.")],
        [message("stop", "It is up.")],
    ],
    ids=["rest", "cut", "end alone", "whole again", "not streamed"],
)
def test_the_output_is_said_once(told):
    assert run_of(*told).output == "It is up."


def test_a_call_that_comes_in_pieces_is_one_call_with_its_arguments():
    """ADK over LiteLLM shows the call while its arguments are not there yet, and then whole."""
    spans = Spans()
    agent = spans.agent("ops")
    told = [message("", call="1"), message("", call="1"), message("stop", call="1", arguments={"site": "a"})]
    spans.model(under=agent).attributes["gen_ai.output.messages"] = json.dumps(told)
    spans.model("Fine.", asked=[{"role": "tool", "parts": [{"type": "tool_call_response", "id": "1"}]}], under=agent)
    run = spans.run()

    assert [(call.name, call.arguments) for call in run.tool_calls] == [("check_site", {"site": "a"})]
