"""Small recordings, made span by span: OTLP/JSON requests in the words of OpenTelemetry's GenAI conventions."""

from __future__ import annotations

import json

SECOND = 1_000_000_000
START = 1_796_000_000 * SECOND


def span(name, trace, number, parent=None, *, at=0.0, lasts=1.0, status=0, **attributes):
    """One request with one span. ``at`` and ``lasts`` are seconds; attribute names have __ for dots."""
    fields = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(START + int(at * SECOND)),
        "endTimeUnixNano": str(START + int((at + lasts) * SECOND)),
        "attributes": [
            {"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()
        ],
        "status": {"code": status} if status else {},
    }
    if parent is not None:
        fields["parentSpanId"] = f"{parent:016x}"
    scope = {"scope": {"name": "test"}, "spans": [fields]}
    service = {"key": "service.name", "value": {"stringValue": "shop"}}
    return json.dumps({"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [scope]}]})


def text(role, content):
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": content}]}])


def _talk(operation, name, trace, number, parent, prompt, output, **given):
    """A span that says what was asked and answered."""
    return span(
        f"{operation} {name}",
        trace,
        number,
        parent,
        gen_ai__operation__name=operation,
        gen_ai__input__messages=text("user", prompt),
        gen_ai__output__messages=text("assistant", output),
        **given,
    )


def agent(trace, number, parent=None, *, name="doctor", prompt="Fix it.", output="Done.", **given):
    given = {"gen_ai__agent__name": name, **given}
    return _talk("invoke_agent", name, trace, number, parent, prompt, output, **given)


def tool(trace, number, parent=None, *, name="check_site", arguments='{"site": "a"}', result="up", **given):
    return span(
        f"execute_tool {name}",
        trace,
        number,
        parent,
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name=name,
        gen_ai__tool__call__id=f"call_{number}",
        gen_ai__tool__call__arguments=arguments,
        gen_ai__tool__call__result=result,
        **given,
    )


def model(trace, number, parent=None, *, prompt="Fix it.", output="Done.", response="r", **given):
    return _talk("chat", "m", trace, number, parent, prompt, output, gen_ai__response__id=response, **given)


def silent(trace, number, parent=None, **given):
    """A model call whose messages are not captured."""
    return span("chat m", trace, number, parent, gen_ai__operation__name="chat", **given)


def asking(trace, number, parent=None, *, tool_id, name="check_site", **given):
    """A model call that asks for a tool."""
    parts = [{"type": "tool_call", "id": tool_id, "name": name, "arguments": {}}]
    return span(
        "chat m",
        trace,
        number,
        parent,
        gen_ai__operation__name="chat",
        gen_ai__input__messages=text("user", "Fix it."),
        gen_ai__output__messages=json.dumps([{"role": "assistant", "parts": parts}]),
        **given,
    )


def simple_run(trace, *, tools=("check_site",), at=0.0, name="doctor", **given):
    """A whole run: its tool spans, then the agent's, as they end."""
    lines = [tool(trace, 2 + i, 1, name=each, at=at + 1 + i, lasts=0.5) for i, each in enumerate(tools)]
    return [*lines, agent(trace, 1, name=name, at=at, lasts=2.0 + len(tools), **given)]


def written(path, *lines):
    """Write lines to a file, and give its path as a text."""
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return str(path)


def bad(path, content):
    """Write bytes to a file that is no recording, and give its path as a text."""
    path.write_bytes(content)
    return str(path)
