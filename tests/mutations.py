"""Breaks recordings as telemetry gets broken: each mutation knows what it may have cost."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from broken_cases import Case, Raw, texts_of


@dataclass
class Effect:
    """What a mutation did.

    ``same``: the runs must be just what they were. ``whole``: every span still says what it is, so that no call is
    lost. ``lies``: spans stand where they never stood, so that one call may look like two.
    ``said``: values that the spans say now, and that facts may therefore have; ANYTHING stands for any result.
    ``prefixes``: values of which the spans now have only the beginning.
    """

    kind: str
    same: bool = False
    whole: bool = True
    lies: bool = False
    said: list[Any] = field(default_factory=list[Any])
    prefixes: list[str] = field(default_factory=list[str])


# --- values ----------------------------------------------------------------------------------------------------------

MARKS: Final = ("[REDACTED]", "***", "<redacted>", "__REDACTED__", "[Filtered]", "[Scrubbed due to 'password']")
IDENTITY: Final = (
    "openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind", "langsmith.span.kind",
    "langfuse.observation.type", "gen_ai.tool.name", "tool.name", "gen_ai.agent.name", "agent.name", "mcp.method.name",
    "gen_ai.tool.call.id", "gen_ai.response.id", "traceloop.entity.name", "haystack.tool.name",
    "gen_ai.handoff.to_agent", "tool.id", "tool_call.id", "llm.request.type", "gen_ai.system", "graph.node.id",
    "gen_ai.tool.type", "tool.description",
)  # fmt: skip
"""Attributes that say what a span is: without them, a call may be lost."""


def chosen(rng: random.Random, case: Case, *, structured: bool = False, content: bool = True) -> Raw | None:
    """Any attribute that is a text; ``structured``: of JSON; ``content``: of those that say what happened."""
    spans = case.raw()
    for _ in range(20):
        texts = texts_of(rng.choice(spans))
        if structured:
            texts = [pair for pair in texts if is_structure(pair["value"]["stringValue"])]
        if content:
            texts = [pair for pair in texts if not says_what(pair["key"])]
        if texts:
            return rng.choice(texts)
    return None


def says_what(key: str) -> bool:
    return key in IDENTITY or key.endswith((".role", ".name", ".id", ".tool_call_id", "finish_reason"))


def is_words(key: str) -> bool:
    """Whether an attribute is what somebody said, whatever it looks like. ``final_result`` is Pydantic AI's answer."""
    return key.endswith((".content", ".text")) or key == "final_result"


def _said_by(pair: Raw | None) -> list[str]:
    return [pair["value"]["stringValue"]] if pair is not None and is_words(pair["key"]) else []


def is_structure(value: str) -> bool:
    if value[:1] not in "{[" or not value:
        return False
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return False
    return True


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where the texts of a structure stand: what holds each, and under which key."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        for key, inner in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(inner, str) and key not in ("role", "type", "name", "id", "tool_call_id", "finish_reason"):
                yield holder, key
            elif isinstance(inner, (dict, list)):
                waiting.append(inner)


# --- mutations -------------------------------------------------------------------------------------------------------


def cut(rng: random.Random, case: Case) -> Effect:
    """The length limit cuts a value, be it JSON or not."""
    effect = Effect("cut")
    for _ in range(rng.choice((1, 1, 2, 8))):
        pair = chosen(rng, case, structured=rng.random() < 0.8)
        if pair is not None and pair["value"]["stringValue"]:
            text = pair["value"]["stringValue"]
            pair["value"]["stringValue"] = text[: rng.randrange(len(text))]
            effect.prefixes.append(text)
    return effect


def limited(rng: random.Random, case: Case) -> Effect:
    """The length limit is the same for all values."""
    limit = rng.choice((60, 128, 200, 256, 1000))
    effect = Effect("limited", whole=limit > 60)
    for span in case.raw():
        for pair in texts_of(span):
            effect.prefixes.append(pair["value"]["stringValue"])
            pair["value"]["stringValue"] = pair["value"]["stringValue"][:limit]
    return effect


def evicted(rng: random.Random, case: Case) -> Effect:
    """The count limit evicts the oldest attributes. A tool whose name was one of them has its span's."""
    names = [span["name"] for span in case.raw()]
    for span in rng.sample(case.raw(), rng.randint(1, len(case.spans))):
        pairs = span.get("attributes", [])
        gone = rng.randint(0, len(pairs))
        span["attributes"] = pairs[gone:]
        span["droppedAttributesCount"] = gone
    return Effect("evicted", whole=False, said=names)


def as_repr(rng: random.Random, case: Case) -> Effect:
    """A structure is written as Python prints it."""
    pair = chosen(rng, case, structured=True)
    if pair is not None:
        pair["value"]["stringValue"] = repr(json.loads(pair["value"]["stringValue"]))
    return Effect("repr", said=[ANYTHING, *_said_by(pair)])


def encoded_twice(rng: random.Random, case: Case) -> Effect:
    """A structure is JSON in JSON."""
    pair = chosen(rng, case, structured=True)
    if pair is not None:
        pair["value"]["stringValue"] = json.dumps(pair["value"]["stringValue"])
    return Effect("encoded twice", said=[ANYTHING, *_said_by(pair)])


def redacted(rng: random.Random, case: Case) -> Effect:
    """A value is replaced by a mark."""
    pair = chosen(rng, case)
    if pair is not None:
        pair["value"]["stringValue"] = rng.choice(MARKS)
    return Effect("redacted")


def redacted_inside(rng: random.Random, case: Case) -> Effect:
    """A text in a structure is replaced by a mark."""
    pair = chosen(rng, case, structured=True)
    if pair is not None:
        value = json.loads(pair["value"]["stringValue"])
        found = list(leaves(value))
        if found:
            holder, key = rng.choice(found)
            holder[key] = rng.choice(MARKS)
            pair["value"]["stringValue"] = json.dumps(value)
    return Effect("redacted inside", said=_said_by(pair))  # an answer may be JSON itself: a mark is a part of it then


ODD: Final[tuple[Any, ...]] = (
    {"intValue": "5"}, {"boolValue": True}, {"doubleValue": 0.5}, {"doubleValue": "NaN"}, {"bytesValue": "AAEC"}, {},
    None, {"arrayValue": {"values": [{"stringValue": "odd"}, {"intValue": "1"}]}}, {"arrayValue": {}},
    {"stringValue": ""},
    {"kvlistValue": {"values": [{"key": "odd", "value": {"stringValue": "odd"}}]}}, {"stringValue": None},
    {"kvlistValue": 5}, {"intValue": "9" * 30}, {"stringValue": "{}"}, {"stringValue": "[]"}, {"stringValue": "null"},
    {"stringValue": "[[[["},     {"stringValue": '[{"role": 5, "parts": 7}]'},
    {"stringValue": '[{"role": {}, "parts": [{"type": []}, 3, null]}]'},
    {"stringValue": '{"messages": {"messages": 1}}'}, {"stringValue": '{"kwargs": [], "args": {}}'},
)  # fmt: skip


def of_another_type(rng: random.Random, case: Case) -> Effect:
    """A value is of another type, or of another shape."""
    texts = [odd["stringValue"] for odd in ODD if odd and odd.get("stringValue")]
    content = rng.random() < 0.7
    pair = chosen(rng, case, content=content)
    if pair is not None:
        pair["value"] = rng.choice(ODD)
    return Effect("another type", whole=content, said=[ANYTHING, "9" * 30, "odd", *texts])


def of_another_type_inside(rng: random.Random, case: Case) -> Effect:
    """A part of a structure is of another type."""
    effect = Effect("another type inside", whole=False)
    pair = chosen(rng, case, structured=True)
    if pair is None:
        return effect
    value = json.loads(pair["value"]["stringValue"])
    places = [(h, k) for h, k in _places(value)]
    if places:
        holder, key = rng.choice(places)
        odd = rng.choice((5, None, True, [], {}, [[]], [5], {"odd": 1}, 0.5))
        effect.said += [odd, str(odd), json.dumps(odd)]
        holder[key] = odd
        effect.said += [value, json.dumps(value)] if is_words(pair["key"]) else [value]
        pair["value"]["stringValue"] = json.dumps(value)
    return effect


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        for key, inner in holder.items() if isinstance(holder, dict) else enumerate(holder):
            yield holder, key
            if isinstance(inner, (dict, list)):
                waiting.append(inner)


def deep(rng: random.Random, case: Case) -> Effect:
    """A value is nested deeper than any stack."""
    depth = rng.choice((50, 500, 5_000))
    text = rng.choice(("[" * depth, "[" * depth + "]" * depth, '{"a":' * depth, '{"a":' * depth + "1" + "}" * depth))
    pair = chosen(rng, case)
    if pair is not None:
        held = rng.choice(
            (text, f'[{{"role": "user", "parts": {text}}}]', f'{{"messages": {text}}}', f'{{"kwargs": {text}}}')
        )
        pair["value"]["stringValue"] = held
    return Effect("deep", said=[ANYTHING, *_said_by(pair)])


ANYTHING: Final = object()
"""Stands for what a tool may have said: nobody knows."""


def same_span_twice(rng: random.Random, case: Case) -> Effect:
    """Some spans are exported twice."""
    for each in rng.sample(case.spans, rng.randint(1, len(case.spans))):
        case.spans.insert(rng.randint(0, len(case.spans)), copy.deepcopy(each))
    return Effect("twice", same=True)


def shuffled(rng: random.Random, case: Case) -> Effect:
    """Batches come in any order."""
    rng.shuffle(case.spans)
    return Effect("shuffled", same=True)


def same_id(rng: random.Random, case: Case) -> Effect:
    """Two spans have one id."""
    one, other = rng.choice(case.raw()), rng.choice(case.raw())
    one["spanId"] = other["spanId"]
    return Effect("same id", whole=False, lies=True)


def skewed(rng: random.Random, case: Case) -> Effect:
    """The clock of another process is wrong: all that happened below some span."""
    shift = rng.choice((1, -1)) * rng.choice((1_000_000, 10**9, 3600 * 10**9))
    top = rng.choice(case.raw())
    below = {top["spanId"]}
    for _ in range(len(case.spans)):
        below |= {span["spanId"] for span in case.raw() if span.get("parentSpanId") in below}
    for span in case.raw():
        if span["spanId"] in below:
            for key in ("startTimeUnixNano", "endTimeUnixNano"):
                span[key] = str(int(span[key]) + shift)
    top["flags"] = 0x301
    return Effect("skewed", whole=False, lies=True)


def odd_times(rng: random.Random, case: Case) -> Effect:
    """Times are missing, reversed, or of another age."""
    for span in rng.sample(case.raw(), rng.randint(1, len(case.spans))):
        start, end = span["startTimeUnixNano"], span["endTimeUnixNano"]
        span["startTimeUnixNano"], span["endTimeUnixNano"] = rng.choice(
            (
                (end, start),
                ("0", end),
                (start, "0"),
                ("0", "0"),
                (start, start),
                ("1", str(2**64 - 1)),
                (start, str(-5)),
            )
        )
    return Effect("odd times", whole=False, lies=True)


def odd_parents(rng: random.Random, case: Case) -> Effect:
    """A span names itself, a span below it, or one that nobody saw, as its parent."""
    for _ in range(rng.choice((1, 1, 3))):
        one, other = rng.choice(case.raw()), rng.choice(case.raw())
        one["parentSpanId"] = rng.choice((one["spanId"], other["spanId"], "00000000000000ff", "", None, 7, "x"))
    return Effect("odd parents", whole=False, lies=True)


def remote(rng: random.Random, case: Case) -> Effect:
    """Parents are in another process."""
    for span in rng.sample(case.raw(), rng.randint(1, len(case.spans))):
        span["flags"] = rng.choice((0x301, 0x101, 0, 0x300))
    return Effect("remote", whole=False)


def lengthened(rng: random.Random, case: Case) -> Effect:
    """Spans of nobody's stand between a span and its parent.

    A span that was alone in its trace is of no run where it is a tool's; below another span it is.
    """
    span = rng.choice(case.raw())
    resource, _, _ = case.spans[0]
    above = span.get("parentSpanId") or ""
    alone = sum(each["traceId"] == span["traceId"] for each in case.raw()) == 1
    for number in range(rng.choice((1, 30, 300))):
        step = {
            **{key: span[key] for key in ("traceId", "startTimeUnixNano", "endTimeUnixNano")},
            "spanId": f"{0xFFFF000000000000 + number:016x}",
            "parentSpanId": above,
            "name": "step",
        }
        case.spans.append((resource, {"name": "wrapper"}, step))
        above = step["spanId"]
    span["parentSpanId"] = above
    return Effect("lengthened", whole=False, lies=alone)


def renamed(rng: random.Random, case: Case) -> Effect:
    """Scopes, names, kinds and statuses are of another type."""
    resource, scope, span = case.spans[at := rng.randrange(len(case.spans))]
    odd = rng.choice((None, 5, [], {}, "", "x" * 5_000, "\ud800", True))
    where = rng.choice(("scope", "resource", "name", "kind", "status", "events", "links", "attributes", "flags"))
    if where == "scope":
        scope = rng.choice((odd, {**scope, "name": odd}))
    elif where == "resource":
        resource = rng.choice((odd, {"attributes": odd}))
    else:
        span[where] = odd
    case.spans[at] = resource, scope, span
    return Effect("renamed", whole=False, said=[ANYTHING, "", "x" * 5_000, "\ufffd", "\ud800"])


Mutation: TypeAlias = "Callable[[random.Random, Case], Effect]"
MUTATIONS: Final[tuple[Mutation, ...]] = (
    cut, limited, evicted, as_repr, encoded_twice, redacted, redacted_inside, of_another_type, of_another_type_inside,
    deep, same_span_twice, shuffled, same_id, skewed, odd_times, odd_parents, remote, lengthened, renamed,
)  # fmt: skip
