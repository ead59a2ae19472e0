"""pydantic-ai: the agent span's whole conversation, its final result, and tools whose arguments were refused.

Source: pydantic-ai, docs/logfire.md and ``InstrumentationSettings`` versions 1 to 6.
"""

from __future__ import annotations

from typing import Any, Final

from otel_chloe import gaps
from otel_chloe.conventions.convention import Convention
from otel_chloe.conventions.messages import last_user_text, messages
from otel_chloe.conventions.values import CUT, mapping, parsed, sequence
from otel_chloe.part import AgentFacts, Part

ALL_MESSAGES: Final = "pydantic_ai.all_messages"
NEW_INDEX: Final = "pydantic_ai.new_message_index"


def agent(part: Part) -> AgentFacts | None:
    raw = part.raw
    final = raw.get("final_result")
    told = raw.get(ALL_MESSAGES, raw.get("all_messages_events"))
    if final is None and told is None:
        return None
    data = parsed(told)
    items = sequence(data) or ()
    index = raw.get(NEW_INDEX)
    own = messages(list(items[index:] if isinstance(index, int) else items))
    return AgentFacts(
        prompt=last_user_text(own),
        output=final if isinstance(final, str) else None,
        messages=own if any(m.requests for m in own or ()) else None,
        input=_input(items),
        gaps=(gaps.TRUNCATED,) if data is CUT else (),
    )


def _input(items: Any) -> Any:
    first = mapping(items[0]) if items else None
    return first.get("content") if first and isinstance(first.get("content"), (dict, list)) else None


PYDANTIC_AI: Final = Convention(title="pydantic-ai", source="https://ai.pydantic.dev/logfire/", agent=agent)
