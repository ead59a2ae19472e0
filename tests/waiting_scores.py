"""Scores that wait for a person, as recordings tell of them."""

from __future__ import annotations

import json

from small_recordings import SECOND, START

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
RUN = {"trace_id": TRACE, "span_id": SPAN, "name": "helpful"}
ONE = ["resolve", "--trace-id", TRACE, "--span-id", SPAN, "--name", "helpful"]


def evaluation(name, trace, parent, *, number=9, at=0.0, state="pending", **attributes):
    """One request with an evaluation span as ours are."""
    told = {"gen_ai.evaluation.name": name, "chloe.state": state, "gen_ai.agent.name": "doctor", **attributes}
    pairs = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in told.items()
    ]
    nanos = str(START + int(at * SECOND))
    span = {
        "traceId": trace, "spanId": f"{number:016x}", "parentSpanId": parent, "name": f"evaluation {name}", "kind": 1,
        "startTimeUnixNano": nanos, "endTimeUnixNano": nanos, "attributes": pairs,
    }  # fmt: skip
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "otel_chloe"}, "spans": [span]}]}]})


PENDING = {
    "chloe.mark.id": "1" * 32, "chloe.mark.revision": 0, "chloe.scorer.key": "is_helpful",
    "chloe.scorer.version": "abc", "gen_ai.evaluation.explanation": "a person reads it on Friday",
}  # fmt: skip
