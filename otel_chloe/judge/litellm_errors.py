"""What litellm raises, in our words and with a sentence that says what to do. Runs in the child process."""

from __future__ import annotations

import email.utils
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
_TEXTS: Final = (
    ("no_package", re.compile(r"No module named|pip install|Missing boto3", re.IGNORECASE)),
    ("no_provider", re.compile(r"LLM Provider NOT provided|Unmapped LLM provider", re.IGNORECASE)),
    ("no_credit", re.compile(r"insufficient_quota|credit balance is too low|exceeded your current quota.{0,40}bill")),
    ("no_key", re.compile(r"missing credentials|missing [\w ]*api[ _]key|unable to locate credentials", re.IGNORECASE)),
)
_RETRY: Final = frozenset({"rate_limit", "timeout", "server", "connection"})
_LASTING: Final = frozenset({"authentication", "unknown_model", "no_package", "no_provider", "no_credit", "no_key"})
_AS: Final = {
    "no_package": "bad_request",
    "no_provider": "unknown_model",
    "no_credit": "rate_limit",
    "no_key": "authentication",
}
_ADVICE: Final[Mapping[str, str]] = {
    "context_length": "The run is longer than the model reads: use a model that reads more.",
    "refused": "The provider's filter stopped it.",
    "unknown_model": "Check the model's id and the base URL, or pass complete=.",
    "no_provider": "Write the provider before the model, as in anthropic/claude-haiku-4.5, or pass complete=.",
    "no_package": "Install what it names where the application runs, or pass complete=.",
    "no_credit": "The provider's account has no credit left: add some, or pass complete=.",
    "connection": "Check the network and the base URL.",
}
_MAX_TEXT: Final = 300
_MAX_RETRY_AFTER_S: Final = 3600.0


def told(litellm: Any, error: Exception, model: str) -> dict[str, Any]:
    """The fields of a JudgeError for what was raised."""
    text = _text(error)
    kind = _kind(litellm, error, text)
    advice = _ADVICE.get(kind, "")
    if kind in {"authentication", "no_key"}:
        advice = _key_advice(litellm, model)
    said = "no API key is set." if kind == "no_key" else text
    return {
        "message": f"{model}: {said} {advice}".strip(),
        "error": _AS.get(kind, kind),
        "retry": kind in _RETRY,
        "retry_after_s": _retry_after(error, text, time.time) if kind in _RETRY else None,
        "lasting": kind in _LASTING,
    }


def is_refused_parameter(litellm: Any, error: Exception) -> bool:
    """Whether the same call may be taken without a schema for its answer."""
    return _kind(litellm, error, _text(error)) == "bad_request"


def _kind(litellm: Any, error: Exception, text: str) -> str:
    """Our word for it, or a finer one that `_AS` maps to ours."""
    word = next((word for name, word in _WORDS if isinstance(error, getattr(litellm, name, ()))), "server")
    if word in {"context_length", "refused", "timeout"}:
        return word
    return next((said for said, pattern in _TEXTS if pattern.search(text)), word)


def _text(error: Exception) -> str:
    """What was said, without litellm's own names in front, the traceback behind, and its line breaks."""
    text = str(error).partition("\nTraceback")[0]
    text = re.sub(r"^(?:litellm\.)?(?:\w+(?:Error|Exception|Timeout): )+(?:\w+Exception - )?", "", text)
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
