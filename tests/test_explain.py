"""What a call was made of: its spans and messages, and why they tell of one call. Explaining changes no run."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from doors import SPANS, said_of
from span_builders import OTHER_SCOPE, TICK, Spans, assistant, id_of, response, user

from otel_chloe.assembly.explained import ExplainedCall, Piece
from otel_chloe.cli import main
from otel_chloe.recording.held import HeldTraces
from otel_chloe.recording.runs import find_runs
from otel_chloe.recording.span import RecordedResource
from otel_chloe.run import Run

RECORDINGS = sorted(SPANS.glob("**/*.otlp.jsonl"))


@pytest.fixture
def spans() -> Spans:
    return Spans()


def explained(spans: Spans) -> list[ExplainedCall]:
    """The calls of the one run that these spans are."""
    held = HeldTraces(explain=True)
    for part in spans.parts():
        held.add(part)
    (run,) = held.rest()
    assert all(isinstance(call, ExplainedCall) for call in run.tool_calls)
    return list(run.tool_calls)  # type: ignore[arg-type]


def made_of(spans: Spans) -> list[Piece]:
    (call,) = explained(spans)
    return list(call.made_of)


def why_folded(spans: Spans) -> list[str | None]:
    return [piece.why for piece in made_of(spans) if piece.role == "folded"]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name.split('.')[0]}")
def test_a_run_is_the_same_when_it_is_explained(recording: Path):
    def runs(*, explain: bool) -> list[Run]:
        return [found.run for found in find_runs([(str(recording), recording)], explain=explain)]

    told = runs(explain=True)

    assert [said_of(run) for run in told] == [said_of(run) for run in runs(explain=False)]
    for run in told:
        for call in run.tool_calls:
            assert isinstance(call, ExplainedCall)
            assert call.made_of
            roles = [piece.role for piece in call.made_of]
            assert (roles[0] == "span") is (call.source == "span" and call.span_id is not None)


def test_the_span_the_request_and_the_result(spans: Spans):
    agent = spans.agent()
    asked = spans.model("I look.", [("check_site", "c1")], asked="Up?", under=agent)
    tool = spans.tool("check_site", "c1", under=agent)
    talk = [user("Up?"), assistant("I look.", [("check_site", "c1")]), response("c1")]
    answered = spans.model("Yes.", asked=talk, under=agent)

    assert made_of(spans) == [
        Piece("span", id_of(tool), "execute_tool check_site", "agents.test"),
        Piece("asked", id_of(asked), "chat m", "agents.test", 0, "call id c1"),
        Piece("answered", id_of(answered), "chat m", "agents.test", 2, "call id c1"),
    ]


def test_a_call_that_no_span_tells_of(spans: Spans):
    agent = spans.agent()
    asked = spans.model(None, [("check_site", "c1")], asked="Up?", under=agent)
    answered = spans.model("Yes.", asked=[response("c1")], under=agent)

    assert [(piece.role, piece.span_id, piece.message, piece.why) for piece in made_of(spans)] == [
        ("asked", id_of(asked), 0, "no span tells of it"),
        ("answered", id_of(answered), 0, "call id c1"),
    ]


def test_an_agent_that_a_call_without_a_span_set_off(spans: Spans):
    agent = spans.agent()
    spans.model(None, [("restarter", "c1")], under=agent)
    helper = spans.agent("restarter", under=agent)

    assert next((piece.role, piece.span_id) for piece in made_of(spans)) == ("agent", id_of(helper))


def test_a_call_known_by_the_agents_own_messages(spans: Spans):
    talk = [user("Up?"), assistant(None, [("check_site", "c1")]), response("c1"), assistant("Yes.")]
    agent = spans.add(
        "invoke_agent ops",
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "ops",
            "pydantic_ai.all_messages": json.dumps(talk),
        },
        scope="pydantic-ai",
    )

    assert [(piece.role, piece.span_id, piece.message) for piece in made_of(spans)] == [
        ("asked", id_of(agent), 1),
        ("answered", id_of(agent), 2),
    ]


@pytest.mark.parametrize(
    ("call_id", "arguments", "why"),
    [
        (None, {"of": None}, "the same tool and arguments"),
        (None, {"site": "x"}, "the same tool, in this order"),
        ("c1", {"site": "x"}, "call id c1"),
    ],
)
def test_why_a_request_is_the_calls(spans: Spans, call_id: str | None, arguments: Any, why: str):
    agent = spans.agent()
    asking = [assistant(None, [("check_site", "c1")], arguments)]
    spans.operation("chat", "m", {"gen_ai.output.messages": json.dumps(asking)}, under=agent)
    spans.tool("check_site", call_id, under=agent)

    assert [piece.why for piece in made_of(spans) if piece.role == "asked"] == [why]


# --- why a span tells of the same call -------------------------------------------------------------------------------


def test_a_wrapper(spans: Spans):
    spans.tool("check_site", under=spans.tool("check_site", under=spans.agent()))

    assert why_folded(spans) == ["a wrapper: the same tool, inside the other span"]


def test_a_second_instrumentation_inside(spans: Spans):
    spans.tool("check_site", under=spans.tool("check_site", under=spans.agent()), scope=OTHER_SCOPE)

    assert why_folded(spans) == ["a second instrumentation, inside the first one's span"]


def test_a_second_instrumentation_beside(spans: Spans):
    agent = spans.agent()
    first = spans.tool("check_site", "c1", under=agent, end=9 * TICK)
    spans.tool("check_site", "c1", under=agent, scope=OTHER_SCOPE, start=first.start_time)

    assert why_folded(spans) == ["a second instrumentation: the same call id"]


def test_a_second_instrumentation_that_knows_no_id(spans: Spans):
    agent = spans.agent()
    spans.add(
        "check_site", {"openinference.span.kind": "TOOL", "tool.name": "check_site"}, under=agent, start=5, end=9 * TICK
    )
    spans.tool("check_site", "c1", under=agent, scope=OTHER_SCOPE)

    assert why_folded(spans) == ["a second instrumentation: the same tool at the same time, and no other arguments"]


def test_a_call_that_was_tried_again(spans: Spans):
    agent = spans.agent()
    spans.model(None, [("check_site", "c1")], under=agent)
    spans.tool("check_site", "c1", under=agent, error="timeout")
    spans.tool("check_site", "c1", under=agent)

    assert why_folded(spans) == ["tried again: the same call id, and the model was not asked in between"]


def test_mcp_client_and_server(spans: Spans):
    tool = spans.tool("check_site", under=spans.agent())
    client = spans.mcp("check_site", under=tool)
    server = spans.mcp("check_site", under=client, scope="fastmcp")
    server.resource = RecordedResource({"service.name": "sites"})

    assert why_folded(spans) == [
        "the MCP request of this call",
        "the MCP request of this call in another process",
    ]


def test_pieces_are_in_the_json(recording: str, capsys: pytest.CaptureFixture[str]):
    main(["runs", recording, "--explain", "--format", "json"])
    (line,) = capsys.readouterr().out.splitlines()
    call = json.loads(line)["tool_calls"][0]

    assert [list(piece) for piece in call["made_of"]] == [[each.name for each in fields(Piece)]]
    assert call["made_of"][0]["role"] == "span"
