"""A model that follows a script: an OpenAI-compatible server on loopback, for chat completions and for responses.

The script is named by the model's id. Which of its calls were made stands in each request, so the server remembers
nothing, and an agent that is handed another's conversation begins at the beginning of its own script.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Turn = list[tuple[str, dict[str, Any]]] | str
"""What the model answers once: calls that it asks for, by tool and arguments, or a text."""

SITE = {"site": "shop.example"}
SCRIPTS: dict[str, list[Turn]] = {
    "good": [[("check_site", SITE)], [("restart_site", SITE)], "shop.example is up again."],
    "bad": [[("check_site", SITE)], [("delete_site", SITE)], "I deleted it: no more errors."],
    "retry": [[("flaky_check", SITE)], [("flaky_check", SITE)], [("restart_site", SITE)], "Up at the second try."],
    "both": [[("check_site", SITE), ("check_site", {"site": "blog.example"})], "Both were checked."],
    "none": ["All is well with shop.example."],
    # site_doctor has the other agent do it; how it asks for that is the framework's: its program adds the call.
    "handoff": [[("check_site", SITE)], "The restarter has restarted it."],
    "restarter": [[("restart_site", SITE)], "shop.example is restarted."],
}


def script_of(model: str) -> list[Turn]:
    """The script that a model's id names; what a framework writes before it is left out."""
    return SCRIPTS[model.rsplit("/", 1)[-1].rsplit(":", 1)[-1].removeprefix("gpt-scripted-")]


class ScriptedModel:
    """The server. Use it as a context manager; ``url`` is the base that clients of OpenAI want."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> ScriptedModel:  # noqa: PYI034 - nobody makes another of it
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(model) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - self is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.asked.append(body)
                if self.path.endswith("/responses"):
                    events = list(responses(body))
                    whole = events[-1][1]["response"]
                else:
                    events = list(completions(body))
                    whole = completion(body)
                self._send(events if body.get("stream") else whole)

            def _send(self, said: Any) -> None:
                if isinstance(said, list):
                    kind = "text/event-stream"
                    lines = "".join(f"{event}data: {json.dumps(data)}\n\n" for event, data in said)
                    data = (lines + ("" if said[0][0] else "data: [DONE]\n\n")).encode()
                else:
                    kind, data = "application/json", json.dumps(said).encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def turn_of(body: dict[str, Any], made: list[str]) -> Turn:
    """The first turn of the script of which not all calls were made."""
    left = Counter(made)
    for turn in script_of(body["model"]):
        asked = Counter(name for name, _ in turn) if isinstance(turn, list) else Counter()
        if isinstance(turn, str) or asked - left:
            return turn
        left -= asked
    raise AssertionError("a script ends with a text")


USAGE = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}


# --- chat completions ------------------------------------------------------------------------------------------------


def answer(body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The message that comes next, and why it ends."""
    made = [call["function"]["name"] for message in body["messages"] for call in message.get("tool_calls") or ()]
    turn, number = turn_of(body, made), f"{body['model']}_{len(made)}"
    if isinstance(turn, str):
        return {"role": "assistant", "content": turn}, "stop"
    asked = [
        {"id": f"call_{number}_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for i, (name, arguments) in enumerate(turn)
    ]
    return {"role": "assistant", "content": None, "tool_calls": asked}, "tool_calls"


def completion(body: dict[str, Any]) -> dict[str, Any]:
    message, why = answer(body)
    choice = {"index": 0, "message": message, "finish_reason": why}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": USAGE}


def completions(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same in pieces: the text by words, arguments by halves."""
    message, why = answer(body)
    for delta in _deltas(message):
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        yield "", {**_head(body, "chat.completion.chunk"), "choices": [choice]}
    last = {"index": 0, "delta": {}, "finish_reason": why}
    yield "", {**_head(body, "chat.completion.chunk"), "choices": [last]}
    yield "", {**_head(body, "chat.completion.chunk"), "choices": [], "usage": USAGE}


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for word in (message["content"] or "").split(" ") if message["content"] else ():
        yield {"content": word if word == message["content"].split(" ")[0] else f" {word}"}
    for i, call in enumerate(message.get("tool_calls", ())):
        text = call["function"]["arguments"]
        first = {"name": call["function"]["name"], "arguments": text[:4]}
        yield {"tool_calls": [{"index": i, "id": call["id"], "type": "function", "function": first}]}
        yield {"tool_calls": [{"index": i, "function": {"arguments": text[4:]}}]}


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    number = len(body["messages"])
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_790_000_000, "model": body["model"]}


# --- responses -------------------------------------------------------------------------------------------------------


def responses(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a response; the last one holds it whole."""
    items = [item for item in body["input"] if isinstance(item, dict)] if isinstance(body["input"], list) else []
    made = [item["name"] for item in items if item.get("type") == "function_call"]
    number = f"{body['model']}_{len(made)}"
    output = _output(turn_of(body, made), number)
    whole = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools", []),
        "usage": {
            "input_tokens": 20,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 25,
        },
    }
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}
    ]
    for index, item in enumerate(output):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            text = item["content"][0]["text"]
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            events.append({"type": "response.output_text.delta", **place, "delta": text, "logprobs": []})
            events.append({"type": "response.output_text.done", **place, "text": text, "logprobs": []})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": whole})
    for sequence, event in enumerate(events):
        yield f"event: {event['type']}\n", {**event, "sequence_number": sequence}


def _output(turn: Turn, number: str) -> list[dict[str, Any]]:
    if isinstance(turn, str):
        content = [{"type": "output_text", "text": turn, "annotations": [], "logprobs": []}]
        said = {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
        return [said]
    return [
        {
            "type": "function_call",
            "id": f"fc_{number}_{i}",
            "call_id": f"call_{number}_{i}",
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for i, (name, arguments) in enumerate(turn)
    ]
