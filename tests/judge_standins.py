"""HTTP servers on loopback that speak as providers of models do, and say what a test wants to hear."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
SECRET = "stand-in-key"


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: Body


@dataclass(frozen=True)
class Answer:
    body: Body | bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class StandIn:
    """One server for all providers: each has its own model ids and path. ``answer`` makes what it says."""

    def __init__(self) -> None:
        self.answer: Callable[[Request], Answer | None] = lambda request: Answer({}, 404)
        self.requests: list[Request] = []
        self.done = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def says(self, *answers: Answer | None) -> None:
        """What it answers, in this order; the last again and again; None: it hangs."""
        left = list(answers)
        self.requests.clear()
        self.answer = lambda request: left.pop(0) if len(left) > 1 else left[0]

    def close(self) -> None:
        self.done.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(standin) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(length) or b"{}")
                request = Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                standin.requests.append(request)
                answer = standin.answer(request)
                if answer is None:
                    standin.done.wait(60)
                    self.close_connection = True
                    return
                self._send(answer)

            def _send(self, answer: Answer) -> None:
                data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                pass

        return Handler


# --- what each provider's API answers --------------------------------------------------------------------------------


def openai(text: str | None, stop: str = "stop", **more: Any) -> Body:
    message = {"role": "assistant", "content": text, **more}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "the-model",
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def anthropic(text: str | None, stop: str = "end_turn") -> Body:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "the-model",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def gemini(text: str | None, stop: str = "STOP") -> Body:
    content = {"content": {"role": "model", "parts": [{"text": text}]}} if text else {}
    return {
        "candidates": [{**content, "finishReason": stop, "index": 0}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
        "modelVersion": "the-model",
    }


def bedrock(text: str | None, stop: str = "end_turn") -> Body:
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": text}] if text else []}},
        "stopReason": stop,
        "usage": {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18},
        "metrics": {"latencyMs": 1},
    }


def ollama(text: str | None, stop: str = "stop") -> Body:
    return {
        "model": "the-model",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text or ""},
        "done": True,
        "done_reason": stop,
        "prompt_eval_count": 11,
        "eval_count": 7,
    }


@dataclass(frozen=True)
class Provider:
    """A provider: a model id of it, its answer's shape, what it says for a refusal and for an error."""

    model: str
    path: str
    shape: Callable[..., Body]
    refusal: str
    length: str
    plain: str
    """A model of it that takes no schema."""


PROVIDERS = {
    "openai": Provider("gpt-4o-mini", "/openai/chat/completions", openai, "content_filter", "length", "gpt-4.1-mini"),
    "anthropic": Provider(
        "anthropic/claude-haiku-4.5", "/anthropic/v1/messages", anthropic, "refusal", "max_tokens", "claude-sonnet-4-5"
    ),
    "gemini": Provider(
        "gemini/gemini-2.5-flash",
        "/gemini/models/gemini-2.5-flash:generateContent",
        gemini,
        "SAFETY",
        "MAX_TOKENS",
        "gemini/gemini-2.5-pro",
    ),
    "bedrock": Provider(
        "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0",
        "/bedrock/model/anthropic.claude-haiku-4-5-20251001-v1%3A0/converse",
        bedrock,
        "content_filtered",
        "max_tokens",
        "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
    "azure": Provider(
        "azure/my-deployment",
        "/azure/openai/deployments/my-deployment/chat/completions",
        openai,
        "content_filter",
        "length",
        "azure/other-deployment",
    ),
    "ollama": Provider("ollama_chat/llama3", "/ollama/api/chat", ollama, "", "length", "ollama_chat/mistral"),
    "gateway": Provider(
        "hosted_vllm/some-model",
        "/gateway/v1/chat/completions",
        openai,
        "content_filter",
        "length",
        "hosted_vllm/other",
    ),
}


def settings(url: str) -> dict[str, str]:
    """The variables with which users lead litellm to another address."""
    return {
        "OPENAI_API_BASE": f"{url}/openai",
        "OPENAI_API_KEY": SECRET,
        "ANTHROPIC_API_BASE": f"{url}/anthropic",
        "ANTHROPIC_API_KEY": SECRET,
        "GEMINI_API_BASE": f"{url}/gemini",
        "GEMINI_API_KEY": SECRET,
        "AWS_BEDROCK_RUNTIME_ENDPOINT": f"{url}/bedrock",
        "AWS_ACCESS_KEY_ID": "stand-in",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "eu-central-1",
        "AZURE_API_BASE": f"{url}/azure",
        "AZURE_API_KEY": SECRET,
        "AZURE_API_VERSION": "2024-10-21",
        "OLLAMA_API_BASE": f"{url}/ollama",
        "HOSTED_VLLM_API_BASE": f"{url}/gateway/v1",
        "HOSTED_VLLM_API_KEY": SECRET,
        "GROQ_API_BASE": f"{url}/groq",
        "DEEPSEEK_API_BASE": f"{url}/deepseek",
        "COHERE_API_BASE": f"{url}/cohere",
    }
