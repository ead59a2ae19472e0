"""A recording that was made here is one that the tests read: the same spans, played in the same order."""

from __future__ import annotations

import pytest
from agent_app import App
from doors import assembled, play, said_of
from record_spans import recorded
from replay import events_of

from otel_chloe.config import load_rules
from otel_chloe.recording import read_spans


def test_what_is_recorded_gives_the_run_that_was_made(tmp_path):
    case = tmp_path / "spans" / "case"
    with App({}) as app:
        with recorded(case, app.provider):
            app.run("check_site", "restart_site")
        (made,) = app.exporter.get_finished_spans()[-1:]
    recording = case.with_name("case.otlp.jsonl")
    (run,) = assembled(recording)
    (again,) = play(recording, load_rules({})).emitted

    assert [call.name for call in run.tool_calls] == ["check_site", "restart_site"]
    assert run.span_id == f"{made.context.span_id:016x}"
    assert said_of(again.run) == said_of(run)


def test_starts_and_ends_are_in_their_order(tmp_path):
    case = tmp_path / "case"
    with App({}) as app, recorded(case, app.provider), app.agent(), app.tool("check_site"):
        pass
    recording = case.with_name("case.otlp.jsonl")
    names = {f"{span.context.span_id:016x}": span.name.split()[0] for span in read_spans(recording)}
    steps = list(events_of(recording, ()))

    assert [(what, names[span_id]) for what, span_id, _ in steps] == [
        ("start", "invoke_agent"),
        ("start", "execute_tool"),
        ("end", "execute_tool"),
        ("end", "invoke_agent"),
    ]
    assert steps[0][2]["attributes"]["gen_ai.agent.name"] == "site_doctor"


def test_a_program_that_fails_leaves_what_was_recorded(tmp_path):
    case = tmp_path / "case"
    with App({}) as app, pytest.raises(ValueError), recorded(case, app.provider):  # noqa: PT012
        app.run("check_site")
        raise ValueError
    app.tracer.start_span("after").end()

    assert len(list(read_spans(case.with_name("case.otlp.jsonl")))) == 2
