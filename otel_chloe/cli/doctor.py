"""``otel-chloe doctor``: what can be told from outside the program, and what to fix first."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Iterator
from importlib import metadata
from typing import Final

from ..attachment.checks import content_found, judge_found, rules_found, seen_found
from ..attachment.findings import Finding, diagnosis
from ..attachment.instrumentor import DISABLED_VARIABLE, disabled
from ..config import RULES_VARIABLE, Rules
from ..config.table import chosen
from ..errors import ConfigError
from ..pipeline.glance import glance
from .console import BAD_INPUT, NOT_PASSED, OK, complain, printable, write
from .reading import Recordings
from .rules import rules_of

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
            *(
                seen_found(rules, (glance(each) for _, each in recordings.runs()), where="recorded")
                if args.files
                else ()
            ),
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
    said = [f"{name}={os.environ[name]}" for name in _ENDPOINTS if os.environ.get(name)]
    yield Finding("ok" if said else "note", "endpoint", ", ".join(said) or "no OTEL_EXPORTER_OTLP_ENDPOINT is set here")
    sampler = os.environ.get("OTEL_TRACES_SAMPLER", "")
    if "ratio" in sampler or "always_off" in sampler:
        argument = os.environ.get("OTEL_TRACES_SAMPLER_ARG", "")
        fix = "Sample in the collector instead (tail sampling), which sees the marks."
        yield Finding(
            "warn", "sampling", f"OTEL_TRACES_SAMPLER={sampler} {argument}: hides runs".replace(" :", ":"), fix
        )


def _asked(rules: Rules) -> Iterator[Finding]:
    """One call of each model that judges, with a run that is made up."""
    from ..alone import expectations

    models = {each.model for each in rules.expectations if each.model} | {rules.judge.model or ""} - {""}
    for model in sorted(models):
        result: dict[str, object] = {"text": "The shop is up.", "calls": []}
        outcome = asyncio.run(expectations("Is the shop up?", result, {"should": ["says that the shop is up"]}, model))
        if outcome.state == "scored":
            yield Finding("ok", "judge", f"{model} answers")
        else:
            yield Finding(
                "wrong", "judge", f"{model}: {outcome.reason}", "See docs/expectations.md, and the provider's own page."
            )
