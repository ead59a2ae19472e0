"""Conventions: what a span says, in any vocabulary that instrumentations use. Span in, part out."""

from __future__ import annotations

from otel_chloe.conventions.genai import AGENT_NAME, PLACEHOLDER_NAMES
from otel_chloe.conventions.keep import USUAL_KEYS, expand, is_usual, plain, usual
from otel_chloe.conventions.read import hinted_kind, read, read_open, slim
from otel_chloe.conventions.table import FOREIGN_KEYS, is_named, is_silent, kind_of

__all__ = [
    "AGENT_NAME",
    "FOREIGN_KEYS",
    "PLACEHOLDER_NAMES",
    "USUAL_KEYS",
    "expand",
    "hinted_kind",
    "is_named",
    "is_silent",
    "is_usual",
    "kind_of",
    "plain",
    "read",
    "read_open",
    "slim",
    "usual",
]
