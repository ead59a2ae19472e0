"""The codes of the gaps that a run can carry, and which of them may hide a call."""

from __future__ import annotations

from typing import Final

NO_TOOL_DATA: Final = "no_tool_data"
"""The spans of this instrumentation say nothing about tools."""
CALL_ONLY_IN_MESSAGE: Final = "call_only_in_message"
"""A call was seen in the model's messages, and no tool span tells what came of it."""
TRUNCATED: Final = "truncated"
"""A value was cut, so that what it held can only be read in part."""
REDACTED: Final = "redacted"
"""A value was taken out, and a mark such as ``[REDACTED]`` put in its place."""
ATTRIBUTES_DROPPED: Final = "attributes_dropped"
"""A span had more attributes than the SDK keeps; the oldest are gone."""
CONTENT_OFF: Final = "content_off"
"""No span of the run carries prompts, answers, arguments or results: their capture is off, or they are sent as log
records alone."""
CONTENT_IN_LOGS: Final = "content_in_logs"
"""What the model was asked and answered was sent as log records, which were not seen."""
NO_PROMPT: Final = "no_prompt"
NO_OUTPUT: Final = "no_output"
ROOT_MISSING: Final = "root_missing"
"""The span that the run hangs on never ended or was never seen."""
CUT_SHORT: Final = "cut_short"
"""The run was closed before every started span of it had ended."""
BARE_MODEL_CALL: Final = "bare_model_call"
"""A model call with nothing above it and without messages: the rest of its run is in other traces."""
HISTORY_UNSEEN: Final = "history_unseen"
"""Model calls with nothing above them: their messages tell of earlier calls of this run that were not seen."""
HANDOFF_UNCLEAR: Final = "handoff_unclear"
"""Sibling agents under one workflow: the spans do not tell a handoff from separate runs, or whose work is whose."""
EXPECTED_UNREADABLE: Final = "expected_unreadable"
"""The span says in `chloe.expected` what is expected of the run, and that cannot be read."""

MAY_HIDE_CALLS: Final = frozenset(
    {NO_TOOL_DATA, ROOT_MISSING, CUT_SHORT, BARE_MODEL_CALL, HISTORY_UNSEEN, HANDOFF_UNCLEAR}
)
"""With one of these, a call that is not seen may still have been made."""

HIDES_OUTPUT: Final = frozenset({NO_OUTPUT, CONTENT_OFF, CONTENT_IN_LOGS, ROOT_MISSING, CUT_SHORT})
HIDES_INPUT: Final = frozenset({NO_PROMPT, CONTENT_OFF, CONTENT_IN_LOGS, ROOT_MISSING})
"""With one of these, what the run said or was asked is not known because it was not seen."""
