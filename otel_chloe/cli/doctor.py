"""``otel-chloe doctor``: what can be told from outside the program, and what to fix first."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Iterator
from importlib import metadata
from typing import Final

from ..attachment.checks import judge_found, models_asked, rules_found, sampling_found, seen_found
from ..attachment.content import content_found
from ..attachment.findings import Finding, diagnosis
from ..attachment.instrumentor import DISABLED_VARIABLE, disabled
from ..attachment.reach import End, protocol_of, reach_found, without_login
from ..config import RULES_VARIABLE, Rules
from ..config.table import chosen
from ..errors import ConfigError
from ..pipeline.glance import glance
from .console import BAD_INPUT, NOT_PASSED, OK, complain, printable, write
from .reading import Recordings
from .rules import rules_of

_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def run(args: Namespace) -> int:
    """Print all that was found."""
    path = args.rules or os.environ.get(RULES_VARIABLE)
    rules = rules_of(path) if path else Rules()
    if rules is None:
        return BAD_INPUT
    try:
        chosen(rules.settings)
    except ConfigError as error:
        complain(error)
        return BAD_INPUT
    recordings = Recordings(args.files)
    found = diagnosis(
        [
            *_environment(),
            *rules_found(rules),
            *judge_found(rules),
            *(_asked(rules) if args.judge else ()),
            *content_found(),
            *(seen_found(rules, (glance(each) for _, each in recordings.runs())) if args.files else ()),
        ]
    )
    for line in found.lines():
        write(printable(line))
    if recordings.bad:
        return BAD_INPUT
    return OK if found.first is None else NOT_PASSED


def _environment() -> Iterator[Finding]:
    yield Finding("ok", "SDK", f"opentelemetry-sdk {metadata.version('opentelemetry-sdk')}")
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield Finding("wrong", "SDK", "OTEL_SDK_DISABLED=true: there are no spans", "Leave it out.")
    if disabled():
        yield Finding("warn", "no code", f"{DISABLED_VARIABLE}=true: nothing is attached without code", "Leave it out.")
    said = {name: os.environ[name] for name in _ENDPOINTS if os.environ.get(name)}
    told = ", ".join(f"{name}={without_login(url)}" for name, url in said.items())
    yield Finding("ok" if said else "note", "endpoint", told or "no OTEL_EXPORTER_OTLP_ENDPOINT is set here")
    yield from reach_found(End(url, protocol_of(os.environ.get(_PROTOCOL, ""))) for url in said.values())
    sampler = os.environ.get("OTEL_TRACES_SAMPLER", "").strip()
    if sampler:
        yield sampling_found(f"OTEL_TRACES_SAMPLER={sampler}", _share(sampler))


def _share(sampler: str) -> float | None:
    """The share of traces that a sampler of the SDK's keeps, by its name and argument."""
    if "always_off" in sampler:
        return 0.0
    if "traceidratio" not in sampler:
        return None
    try:
        return float(os.environ.get("OTEL_TRACES_SAMPLER_ARG", "") or 1.0)
    except ValueError:
        return 1.0  # as the SDK takes it, with a warning


def _asked(rules: Rules) -> Iterator[Finding]:
    """One call of each model that judges, with a run that is made up."""
    from ..alone import expectations

    for model in models_asked(rules):
        result: dict[str, object] = {"text": "The shop is up.", "calls": []}
        outcome = asyncio.run(expectations("Is the shop up?", result, {"should": ["says that the shop is up"]}, model))
        if outcome.state == "scored":
            yield Finding("ok", "judge", f"{model} answers")
        else:
            yield Finding(
                "wrong", "judge", f"{model}: {outcome.reason}", "See docs/expectations.md, and the provider's own page."
            )
