"""A run without what only looks like content: redaction marks in place of values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from otel_chloe import gaps
from otel_chloe.redacted import is_redacted
from otel_chloe.run import Gap, Run, ToolCall


def known(run: Run) -> Run:
    """The run as far as it is known: a value that was redacted is None, and a gap says so."""
    prompt, output = is_redacted(run.prompt), is_redacted(run.output)
    calls = _calls(run.tool_calls)
    if calls is None and not prompt and not output:
        return run
    codes = {gap.code: gap for gap in run.gaps}
    for code in _missing(prompt=prompt, output=output):
        codes.setdefault(code, Gap(code))
    return replace(
        run,
        prompt=None if prompt else run.prompt,
        output=None if output else run.output,
        tool_calls=run.tool_calls if calls is None else calls,
        gaps=tuple(codes.values()),
    )


def _missing(*, prompt: bool, output: bool) -> Iterator[str]:
    yield gaps.REDACTED
    if prompt:
        yield gaps.NO_PROMPT
    if output:
        yield gaps.NO_OUTPUT


def _calls(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...] | None:
    """The calls without redaction marks; None where they have none."""
    if not any(is_redacted(call.arguments) or is_redacted(call.result) for call in calls):
        return None
    return tuple(
        replace(
            call,
            arguments=None if is_redacted(call.arguments) else call.arguments,
            result=None if is_redacted(call.result) else call.result,
        )
        for call in calls
    )
