"""Conventions: what a span says, in any vocabulary that instrumentations use. Span in, part out."""

from __future__ import annotations

from otel_chloe.conventions.expand import expand
from otel_chloe.conventions.genai import AGENT_NAME, OPERATION, PLACEHOLDER_NAMES
from otel_chloe.conventions.keep import FINISH, USUAL_KEYS, USUAL_READER, is_usual, plain, usual, usual_kind
from otel_chloe.conventions.read import READ_OF_USUAL, hinted_kind, identify_usual, kept, read, read_open, slim
from otel_chloe.conventions.table import FOREIGN_KEYS, is_named, is_silent, kind_of

__all__ = [
    "AGENT_NAME",
    "FINISH",
    "FOREIGN_KEYS",
    "OPERATION",
    "PLACEHOLDER_NAMES",
    "READ_OF_USUAL",
    "USUAL_KEYS",
    "USUAL_READER",
    "expand",
    "hinted_kind",
    "identify_usual",
    "is_named",
    "is_silent",
    "is_usual",
    "kept",
    "kind_of",
    "plain",
    "read",
    "read_open",
    "slim",
    "usual",
    "usual_kind",
]
