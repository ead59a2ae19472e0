"""What the spans do not tell becomes a gap: content that is off or in logs, and agents side by side."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from span_builders import Spans, names

from otel_chloe import ExpectedCalls, Mark, gaps
from otel_chloe.recording.runs import load_runs
from otel_chloe.recording.span import RecordedSpan
from otel_chloe.run import Run
from otel_chloe.scorers import calls

RECORDED = Path(__file__).parent / "spans"


def codes(run: Run) -> set[str]:
    return {gap.code for gap in run.gaps}


def without_logs(recording: Path, elsewhere: Path) -> Path:
    """The recording where no log records stand beside it."""
    return Path(shutil.copy(recording, elsewhere))


def score(run: Run, **rules: list[str]) -> float | None:
    """The score of ``calls``; None where it is Unscored."""
    told = calls(run, ExpectedCalls(**rules))
    return told.score if isinstance(told, Mark) else None


# --- content ---------------------------------------------------------------------------------------------------------


def test_a_recorded_run_without_any_content_says_so_and_its_calls_are_scored(tmp_path: Path) -> None:
    (run,) = load_runs(without_logs(RECORDED / "openai_sdk-otel_genai_eventonly" / "S1.otlp.jsonl", tmp_path))

    assert codes(run) == {gaps.CONTENT_OFF, gaps.NO_PROMPT, gaps.NO_OUTPUT}
    assert names(run) == ["check_site", "restart_site"]
    assert score(run, must_call=["check_site"], must_not_call=["delete_site"], at_most_once=["restart_site"]) == 1.0
    assert score(run, must_call=["delete_site"]) == 0.0


def test_a_recorded_run_whose_prompt_went_to_logs_says_so_and_its_calls_are_scored(tmp_path: Path) -> None:
    (run,) = load_runs(without_logs(RECORDED / "semantic-kernel" / "S7.otlp.jsonl", tmp_path))

    assert gaps.CONTENT_IN_LOGS in codes(run)
    assert gaps.CONTENT_OFF not in codes(run)
    assert score(run, must_call=["restart_site"]) == 1.0
    assert score(run, must_call=["delete_site"]) == 0.0


@pytest.mark.parametrize(
    "content",
    [
        {"gen_ai.tool.call.arguments": "{}"},
        {"gen_ai.tool.call.result": "up"},
        {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Up."}]}]'},
        {"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Up?"}]}]'},
    ],
)
@pytest.mark.parametrize("place", ["agent", "model", "tool"])
def test_content_anywhere_in_the_run_is_content(place: str, content: dict[str, str]) -> None:
    spans = Spans()
    made = {"agent": (agent := spans.agent()), "model": spans.model(under=agent)}
    made["tool"] = spans.operation("execute_tool", "check_site", {"gen_ai.tool.name": "check_site"}, under=agent)
    assert gaps.CONTENT_OFF in codes(spans.run())
    made[place].attributes.update(content)
    told = ("tool" in next(iter(content))) == (place == "tool")

    assert (gaps.CONTENT_OFF in codes(spans.run())) is not told


def test_an_agent_span_alone_does_not_say_that_content_is_off() -> None:
    spans = Spans()
    spans.agent()

    assert gaps.CONTENT_OFF not in codes(spans.run())


# --- agents side by side ---------------------------------------------------------------------------------------------


def test_a_recorded_handoff_without_content_is_unclear() -> None:
    """The model asked for a tool, nothing says which, and then another agent ran: a transfer, or two runs."""
    first, second = load_runs(RECORDED / "openai-agents-otelgenai-off" / "S7.otlp.jsonl")
    unclear = [gap.detail for gap in first.gaps if gap.code == gaps.HANDOFF_UNCLEAR]

    assert unclear == ["supervisor may have handed over to restarter"]
    assert score(first, must_call=["restart_site"]) is None
    assert gaps.HANDOFF_UNCLEAR not in codes(second)
    assert score(second, must_call=["restart_site"], must_not_call=["delete_site"]) == 1.0


@pytest.fixture
def spans() -> Spans:
    return Spans()


def one_then_another(spans: Spans, flow: RecordedSpan, *, tool_before: bool = True, **last: object) -> list[Run]:
    one = spans.agent("one", under=flow)
    spans.model(finish="tool_calls", under=one)
    if tool_before:
        spans.tool("check_site", under=one)
    spans.model(under=one, **last)
    spans.tool("restart_site", under=spans.agent("two", under=flow))
    return spans.runs()


def test_calls_that_an_agent_made_before_do_not_make_a_handoff_clear(spans: Spans) -> None:
    first, _ = one_then_another(spans, spans.workflow(), finish="tool_calls")

    assert gaps.HANDOFF_UNCLEAR in codes(first)
    assert score(first, must_call=["check_site"]) == 1.0
    assert score(first, must_call=["restart_site"]) is None
    assert score(first, must_not_call=["restart_site"]) is None


@pytest.mark.parametrize("last", [{"finish": "stop"}, {"finish": None}, {"asks": [("log", "1")]}])
def test_an_agent_that_did_not_end_by_asking_for_something_unknown_handed_nothing_over(
    spans: Spans, last: dict[str, object]
) -> None:
    first, _ = one_then_another(spans, spans.workflow(), **last)

    assert gaps.HANDOFF_UNCLEAR not in codes(first)
    assert score(first, must_call=["restart_site"]) == 0.0


def test_agents_of_two_requests_are_separate_for_sure(spans: Spans) -> None:
    first, _ = one_then_another(spans, spans.http(), finish="tool_calls")

    assert gaps.HANDOFF_UNCLEAR not in codes(first)


def test_work_under_a_workflow_of_several_agents_that_show_none_may_be_theirs(spans: Spans) -> None:
    flow = spans.workflow("rescue")
    spans.agent("checker", under=flow)
    spans.agent("restarter", under=flow)
    step = spans.chain("step", under=flow)
    spans.model(None, [("restart_site", "1")], under=step)
    spans.tool("restart_site", "1", under=step)
    agents = [run for run in spans.runs() if run.agent in ("checker", "restarter")]

    assert [score(run, must_call=["restart_site"]) for run in agents] == [None, None]
    assert [[gap.detail for gap in run.gaps if gap.code == gaps.HANDOFF_UNCLEAR] for run in agents] == [
        ["the work under rescue may be that of checker"],
        ["the work under rescue may be that of restarter"],
    ]
