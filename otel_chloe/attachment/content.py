"""Whether the instrumentations that are installed write prompts, arguments and results: each by its own variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from typing import Final, NamedTuple

from .findings import Finding

_CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_OPT_IN: Final = "OTEL_SEMCONV_STABILITY_OPT_IN"
_LATEST: Final = "gen_ai_latest_experimental"
_HIDES: Final = tuple(
    f"OPENINFERENCE_HIDE_{what}"
    for what in ("INPUTS", "OUTPUTS", "INPUT_MESSAGES", "OUTPUT_MESSAGES", "INPUT_TEXT", "OUTPUT_TEXT")
)
_YES: Final = ("true", "1", "yes", "on")


class Told(NamedTuple):
    """What variables make of content: whether it is written, what they say, and what to do about it."""

    written: bool
    by: str
    fix: str = ""


def _said(environ: Mapping[str, str], *names: str) -> str:
    """What variables say, as one reads it."""
    return ", ".join(f"{name}={environ[name].strip()}" if environ.get(name) else f"{name} is not set" for name in names)


def _genai(environ: Mapping[str, str]) -> Told:
    """What is made with opentelemetry-util-genai: it takes no ``true``, and warns of one."""
    said = environ.get(_CAPTURE, "").strip().lower()
    by = _said(environ, _CAPTURE)
    if said == "event_only":
        return Told(True, f"{by}: as log records, which attach() reads where the LoggerProvider is set before")
    return Told(said in ("span_only", "span_and_event"), by, f"Set {_CAPTURE}=SPAN_ONLY.")


def _openai_v2(environ: Mapping[str, str]) -> Told:
    """The older OpenAI one: ``true`` sends log records; with the opt-in it takes the newer words."""
    if _LATEST in environ.get(_OPT_IN, ""):
        return _genai(environ)
    written = environ.get(_CAPTURE, "").strip().lower() == "true"
    return Told(written, _said(environ, _CAPTURE), f"Set {_CAPTURE}=true, or {_OPT_IN}={_LATEST} and SPAN_ONLY.")


def _openinference(environ: Mapping[str, str]) -> Told:
    hidden = [name for name in _HIDES if environ.get(name, "").strip().lower() in _YES]
    return Told(not hidden, _said(environ, *(hidden or _HIDES[:2])), f"Leave {' and '.join(hidden)} out.")


def _openllmetry(environ: Mapping[str, str]) -> Told:
    name = "TRACELOOP_TRACE_CONTENT"
    written = environ.get(name, "true").strip().lower() in ("", *_YES)
    return Told(written, _said(environ, name), f"Leave {name} out.")


FAMILIES: Final[Mapping[str, tuple[str, Callable[[Mapping[str, str]], Told]]]] = {
    "opentelemetry-util-genai": ("OpenTelemetry GenAI", _genai),
    "opentelemetry-instrumentation-openai-v2": ("opentelemetry-instrumentation-openai-v2", _openai_v2),
    "openinference-instrumentation": ("OpenInference", _openinference),
    "opentelemetry-semantic-conventions-ai": ("OpenLLMetry", _openllmetry),
}
"""Families of instrumentations, by the package that all of one need."""


def installed(package: str) -> bool:
    """Whether a package is there."""
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def content_found(
    environ: Mapping[str, str] | None = None, is_installed: Callable[[str], bool] = installed
) -> Iterator[Finding]:
    """What each family that is installed does with content."""
    held = os.environ if environ is None else environ
    for package, (family, told_by) in FAMILIES.items():
        if not is_installed(package):
            continue
        told = told_by(held)
        if told.written:
            yield Finding("ok", "content", f"{family} writes content ({told.by})")
        else:
            hidden = "calls are scored, prompts and results are not seen, or not all"
            yield Finding("note", "content", f"{family} hides content ({told.by}): {hidden}", told.fix)
