"""Redaction marks: what stands in telemetry where a value was taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

_MARK: Final = re.compile(
    r"\s*(?:\*{3,}"
    r"|[\[<({_*]*\s*(?:redacted|masked|filtered|scrubbed|removed|hidden)\s*[\])>}_*]+"
    r"|[\[<({_*]+\s*(?:redacted|masked|filtered|scrubbed)\b[^\[\]<>(){}]*[\])>}_*]+"
    r"|REDACTED)\s*",
    re.IGNORECASE,
)
_LONGEST: Final = 80


def is_redacted(value: object) -> bool:
    """Whether a text is nothing but a redaction mark: ``[REDACTED]``, ``***``, ``[Scrubbed due to 'password']``."""
    return isinstance(value, str) and 3 <= len(value) <= _LONGEST and _MARK.fullmatch(value) is not None


def has_redacted(value: object) -> bool:
    """Whether a value is a redaction mark, or holds one at any depth."""
    waiting: list[Any] = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if is_redacted(value):
                return True
        elif isinstance(value, Mapping):
            waiting.extend(cast("Mapping[object, object]", value).values())
        elif isinstance(value, (list, tuple)):
            waiting.extend(cast("list[object]", value))
    return False
