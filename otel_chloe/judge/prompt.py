"""What the judge's model is told and asked about a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from otel_chloe.expected import ExpectedOutcome
from otel_chloe.gaps import (
    ATTRIBUTES_DROPPED,
    BARE_MODEL_CALL,
    CALL_ONLY_IN_MESSAGE,
    CONTENT_IN_LOGS,
    CONTENT_OFF,
    CUT_SHORT,
    EXPECTED_UNREADABLE,
    HANDOFF_UNCLEAR,
    HISTORY_UNSEEN,
    MAY_HIDE_CALLS,
    NO_OUTPUT,
    NO_PROMPT,
    NO_TOOL_DATA,
    REDACTED,
    ROOT_MISSING,
    TRUNCATED,
)
from otel_chloe.judge.ask import Message
from otel_chloe.judge.fence import Fence
from otel_chloe.judge.shown import Shown
from otel_chloe.run import Run

NOT_ASKED: Final = "(what it was asked was not recorded)"
NOT_WRITTEN: Final = "Not written down."
SAID_NOTHING: Final = "(it said nothing)"
NOT_HEARD: Final = "(what it said was not recorded)"

_RULES: Final = """\
You judge one run of an AI agent. You are given what it was asked, what was true at the time, what it said, what it did,
and a numbered list of lines. You say of every line whether it was met. Nobody has judged this run before you.

How to judge
- Judge each line by itself, and by nothing but what it says. Bring no standards of your own. Good work that no line
  asks for earns nothing, and nothing excuses a line that was not met.
- A line about what the agent says is met if its reply says it, in whatever words.
- A line about what the agent does is met if its tool calls show it. That the reply claims it is not enough. A call
  with an error was tried and did not succeed.
- "It should" is met if it was done. "It should not" is met if it was NOT done: there met is false if it was.
- If you are not sure, the line is not met: say in why what you would have had to see.
- The one exception: a section says that a part of this run is missing from the record, and the line hangs on that part.
  Then met is null.

How to answer
With one JSON object and nothing else, in this form:
{"checks": [{"id": 1, "expectation": "the line", "why": "one short sentence", "evidence": {"call": 2}, "met": true}]}
- Exactly one check for every line, in the order of the lines; id is the line's number.
- why comes before met: find the reason first, then decide.
- evidence is {"call": the number of the tool call} or {"quote": "words copied exactly from what you were shown"} that
  proves it; null where there is nothing to point to.
- met is true, false or null."""

_MISSING: Final[Mapping[str, str]] = {
    NO_TOOL_DATA: "Nothing was recorded about tools: the agent may have called some.",
    CALL_ONLY_IN_MESSAGE: "Of some calls it is not known what came of them.",
    REDACTED: "Some texts were taken out when they were recorded.",
    TRUNCATED: "Some texts were cut when they were recorded.",
    ATTRIBUTES_DROPPED: "Some details were lost when they were recorded.",
    CONTENT_OFF: "Prompts, replies, arguments and results were not recorded, or not all of them.",
    CONTENT_IN_LOGS: "Prompts, replies, arguments and results were kept elsewhere, or some of them.",
    NO_PROMPT: "What the agent was asked was not recorded.",
    NO_OUTPUT: "What the agent said was not recorded.",
    ROOT_MISSING: "The start of the run was not recorded, and there may be more calls than these.",
    CUT_SHORT: "The record ends before the run did: there may be more calls, and another reply.",
    BARE_MODEL_CALL: "This is one step of a run: there may be more calls than these.",
    EXPECTED_UNREADABLE: "What else was expected of the run could not be read.",
    HANDOFF_UNCLEAR: "Other agents may have worked on the same task, which is not shown.",
    HISTORY_UNSEEN: "The run goes on from earlier steps that are not shown: there may be more calls.",
}
_SOMETHING: Final = "A part of the run was not recorded."
_QUOTED: Final = 2_000
"""Characters of an answer that cannot be used, from its start and from its end, that are shown to the model again."""
_UNHEARD: Final = frozenset({NO_OUTPUT, CONTENT_OFF, CONTENT_IN_LOGS, CUT_SHORT})

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "checks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "expectation": {"type": "string"},
                    "why": {"type": "string"},
                    "evidence": {
                        "anyOf": [
                            {
                                "type": "object",
                                "properties": {key: {"type": kind}},
                                "required": [key],
                                "additionalProperties": False,
                            }
                            for key, kind in (("call", "integer"), ("quote", "string"))
                        ]
                        + [{"type": "null"}]
                    },
                    "met": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
                },
                "required": ["id", "expectation", "why", "evidence", "met"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["checks"],
    "additionalProperties": False,
}
"""The answer's shape as a JSON schema, of the part that providers take: no references, nothing optional."""


def lines_of(outcome: ExpectedOutcome) -> tuple[str, ...]:
    """The lines in the order of their numbers: what it should, then what it should not."""
    return (*outcome.should, *outcome.should_not)


def missing_from(run: Run, shown: Shown) -> tuple[str, ...]:
    """What the model does not see of the run, in our own words; nothing of a whole run that fits.

    Only where this says something may a line be one that cannot be decided.
    """
    codes = dict.fromkeys(gap.code for gap in run.gaps)
    if not run.complete and not codes.keys() & MAY_HIDE_CALLS:
        codes[CUT_SHORT] = None
    lost = dict.fromkeys(_MISSING.get(code, _SOMETHING) for code in codes)
    return (*lost, *(f"Left out here: {cut}." for cut in shown.cut))


def first_messages(
    run: Run,
    shown: Shown,
    outcome: ExpectedOutcome,
    *,
    purpose: str | None,
    fence: Fence,
    redact: Callable[[str], str],
) -> tuple[Message, Message]:
    """What the model is asked at first.

    What the run holds is fenced. What the rules' writer wrote is not, for it is true; but it is redacted as the run
    was, so that a line which names an address is met by a run that uses it.
    """
    unheard = not run.complete or any(gap.code in _UNHEARD for gap in run.gaps)

    def fenced(label: str, text: str | None, without: str = "") -> str:
        return fence.around(label, text) if text and text.strip() else without

    sections = (
        ("Its own purpose (its instructions, not yours)", redact(purpose) if purpose and purpose.strip() else ""),
        ("Its name", fenced("name", shown.agent)),
        ("What it was asked", fenced("prompt", shown.prompt, NOT_ASKED)),
        ("What was true", redact(outcome.situation) if outcome.situation else NOT_WRITTEN),
        ("What it said", fenced("reply", shown.said, NOT_HEARD if unheard else SAID_NOTHING)),
        ("What it failed with", fenced("error", shown.error)),
        ("What it did (its tool calls, in order)", fenced("calls", shown.did, "[]")),
        ("What agents below it were asked and said", fenced("agents", shown.others)),
        ("What is missing from this record", "\n".join(f"- {text}" for text in missing_from(run, shown))),
        ("The lines", "\n".join(redact(line) for line in _numbered(outcome))),
    )
    return (
        {"role": "system", "content": f"{_RULES}\n\n{fence.rule}"},
        {"role": "user", "content": "\n\n".join(f"# {title}\n{text}" for title, text in sections if text)},
    )


def second_messages(first: Sequence[Message], answer: str, problem: str, lines: int) -> tuple[Message, ...]:
    """The same with the answer that cannot be used, and why it cannot. ``problem`` completes "It cannot be used: …"."""
    checks = "one check, of the one line" if lines == 1 else f"{lines} checks, one for each line"
    again = (
        f"This answer cannot be used: {problem}. Answer again with the JSON object alone, nothing before or after it: "
        f"{checks}, every why one short sentence."
    )
    answered = _middle_cut(answer) if answer.strip() else "(an empty answer)"  # providers refuse an empty message
    return (*first, {"role": "assistant", "content": answered}, {"role": "user", "content": again})


def _numbered(outcome: ExpectedOutcome) -> Iterator[str]:
    wanted = [f"It should: {line}" for line in outcome.should]
    unwanted = [f"It should not: {line}" for line in outcome.should_not]
    for number, line in enumerate([*wanted, *unwanted], 1):
        yield f"{number}. {line}"


def _middle_cut(answer: str) -> str:
    """The start and the end of an answer that went on and on."""
    if len(answer) <= 2 * _QUOTED:
        return answer
    return f"{answer[:_QUOTED]}\n[…]\n{answer[-_QUOTED:]}"
