"""What litellm raises, in our words and with a sentence that says what to do. Runs in the child process."""

from __future__ import annotations

import email.utils
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from .models import litellm_model

# In this order: many are kinds of others.
_WORDS: Final = (
    ("ContextWindowExceededError", "context_length"),
    ("ContentPolicyViolationError", "refused"),
    ("RejectedRequestError", "refused"),
    ("AuthenticationError", "authentication"),
    ("PermissionDeniedError", "authentication"),
    ("NotFoundError", "unknown_model"),
    ("RateLimitError", "rate_limit"),
    ("Timeout", "timeout"),
    ("PaymentRequiredError", "no_credit"),
    ("BadRequestError", "bad_request"),
    ("UnprocessableEntityError", "bad_request"),
    ("ServiceUnavailableError", "server"),
    ("BadGatewayError", "server"),
    ("InternalServerError", "server"),
    ("APIConnectionError", "connection"),
)
# litellm says some things by text only: a missing key comes as an error of the server, or of the connection.
_TEXTS: Final = tuple(
    (kind, re.compile("|".join(texts), re.IGNORECASE))
    for kind, *texts in (
        ("unreadable", "Error converting to valid response", "Unable to get json response", "Expecting value: line"),
        ("unreadable", "Unterminated string", "Invalid response object", "Empty or invalid response"),
        ("unreadable", "Unexpected response from Azure", "list ind(?:ices|ex)", "object has no attribute"),
        ("context_length", "maximum context length", "context_length_exceeded", "request_too_large"),
        ("context_length", "(?:prompt|input) is too long"),
        ("unreachable", "Cannot connect to host", "Connection error", "Server disconnected", "Connection reset"),
        ("no_package", "No module named", "pip install", "Missing boto3"),
        ("no_provider", "LLM Provider NOT provided", "Unmapped LLM provider"),
        ("no_credit", "insufficient_quota", "credit balance is too low"),
        ("no_key", "missing credentials", r"missing [\w ]*api[ _]key", "unable to locate credentials"),
        ("unreadable", r"Traceback \(most recent"),  # litellm's own, on the way through the answer
    )
)
# Where its class says little.
_STATUSES: Final = {
    401: "authentication",
    402: "no_credit",
    403: "authentication",
    404: "unknown_model",
    413: "context_length",
    429: "rate_limit",
}
_RETRY: Final = frozenset({"rate_limit", "timeout", "server", "connection", "unreadable", "unreachable"})
_LASTING: Final = frozenset({"authentication", "unknown_model", "no_package", "no_provider", "no_credit", "no_key"})
_AS: Final = {
    "unreadable": "server",
    "unreachable": "connection",
    "no_package": "bad_request",
    "no_provider": "unknown_model",
    "no_credit": "rate_limit",
    "no_key": "authentication",
}
# In place of what litellm says: it quotes the model's answer, which is no reason for anybody to read.
_SAID: Final[Mapping[str, str]] = {
    "unreadable": "what answers there does not speak this provider's API, or was cut short.",
    "no_key": "no API key is set.",
}
_ADVICE: Final[Mapping[str, str]] = {
    "unreadable": "If it stays so, check the base URL.",
    "context_length": "The run is longer than the model reads: use a model that reads more.",
    "refused": "The provider's filter stopped it.",
    "unknown_model": "Check the model's id and the base URL, or pass complete=.",
    "no_provider": "Write the provider before the model, as in anthropic/claude-haiku-4.5, or pass complete=.",
    "no_package": "Install what it names where the application runs, or pass complete=.",
    "no_credit": "The provider's account has no credit left: add some, or pass complete=.",
    "connection": "Check the network and the base URL.",
    "unreachable": "Check the network and the base URL.",
}
_SURE: Final = frozenset({"context_length", "refused", "timeout", "unknown_model"})
_VAGUE: Final = frozenset({"bad_request", "server", "connection"})
_ONLY_VAGUE: Final = frozenset({"unreadable", "unreachable", "context_length"})
_MAX_TEXT: Final = 300
_MAX_LOOK: Final = 2_000
_MAX_RETRY_AFTER_S: Final = 3600.0


def told(litellm: Any, error: Exception, model: str) -> dict[str, Any]:
    """The fields of a JudgeError for what was raised."""
    text = _text(error)
    kind = _kind(litellm, error)
    advice = _ADVICE.get(kind, "")
    if kind in {"authentication", "no_key"}:
        advice = _key_advice(litellm, model)
    return {
        "message": f"{model}: {_SAID.get(kind, text)} {advice}".strip(),
        "error": _AS.get(kind, kind),
        "retry": kind in _RETRY,
        "retry_after_s": _retry_after(error, text, time.time) if kind in _RETRY else None,
        "lasting": kind in _LASTING,
    }


def is_refused_parameter(litellm: Any, error: Exception) -> bool:
    """Whether the same call may be taken without a schema for its answer."""
    return _kind(litellm, error) == "bad_request"


def _kind(litellm: Any, error: Exception) -> str:
    """Our word for it, or a finer one that `_AS` maps to ours."""
    word = next((word for name, word in _WORDS if isinstance(error, getattr(litellm, name, ()))), "server")
    if word in _VAGUE:
        word = _STATUSES.get(_status(error), word)
    if word in _SURE:
        return word
    # The provider's own code for it is in the body only.
    body: str = getattr(getattr(error, "response", None), "text", None) or ""
    text = f"{str(error)[:_MAX_LOOK]}\n{body[:_MAX_LOOK]}"
    return next((kind for kind, pattern in _TEXTS if pattern.search(text) and _may_be(kind, word)), word)


def _status(error: Exception) -> int:
    own: int = getattr(error, "status_code", 0)
    return getattr(getattr(error, "response", None), "status_code", own)


def _may_be(kind: str, word: str) -> bool:
    return word in _VAGUE or kind not in _ONLY_VAGUE


def _text(error: Exception) -> str:
    """What the provider said, without litellm's own names in front, the traceback behind, and its line breaks."""
    text = str(error).partition("\nTraceback")[0]
    text = re.sub(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?: (?=\w+Error)|:\s| - ))+", "", text)
    if quoted := re.search(r'"(?:message|error|detail)": ?("(?:[^"\\]|\\.)*")', text):
        text = json.loads(quoted[1], strict=False)
    text = " ".join(text.split()) or type(error).__name__
    text = text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
    return text if text.endswith((".", "!", "…")) else f"{text}."


def _key_advice(litellm: Any, model: str) -> str:
    try:
        missing: list[str] = litellm.validate_environment(litellm_model(model))["missing_keys"]
    except Exception:  # noqa: BLE001  # it knows the keys of some providers only
        missing = []
    names = [name for name in missing if not os.environ.get(name)]
    if "GEMINI_API_KEY" in names:  # either will do
        names = ["GEMINI_API_KEY"]
    if not names:
        return "The provider refuses the key that is set: check it, or pass complete=."
    return f"Set {', '.join(names)}, or pass complete=."


def _retry_after(error: Exception, text: str, now: Callable[[], float]) -> float | None:
    seconds = _from_headers(_headers(error), now)
    if seconds is None and (found := re.search(r'"retryDelay": ?"(\d+(?:\.\d+)?)s"', str(error))):  # Google's way
        seconds = float(found[1])
    if seconds is None and (found := re.search(r"try again in (\d+(?:\.\d+)?) ?s(?:ec|\b)", text)):
        seconds = float(found[1])
    return None if seconds is None else max(0.0, min(seconds, _MAX_RETRY_AFTER_S))


def _headers(error: Exception) -> dict[str, str]:
    found: dict[str, str] = {}
    for holder, name in (
        (getattr(error, "response", None), "headers"),
        (error, "litellm_response_headers"),
        (error, "headers"),
    ):
        headers: Mapping[object, object] = getattr(holder, name, None) or {}
        found |= {str(key).lower(): str(value) for key, value in headers.items()}
    return found


def _from_headers(headers: Mapping[str, str], now: Callable[[], float]) -> float | None:
    try:
        if "retry-after-ms" in headers:
            return float(headers["retry-after-ms"]) / 1000
        return float(headers["retry-after"])
    except KeyError:
        return None
    except ValueError:
        pass
    try:
        return email.utils.parsedate_to_datetime(headers["retry-after"]).timestamp() - now()
    except ValueError:
        return None
