"""The settings: how long runs wait, how much is held, what is written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from otel_chloe.errors import ConfigError
from otel_chloe.expected import snake_keys

MIB: Final = 1024 * 1024
_ADDRESS: Final = re.compile(r"https?://[^/\s?#]+[^\s?#]*\Z")
_API: Final = re.compile(r"/v1(/.*)?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and switches, with their defaults. Times are seconds, sizes bytes.

    - ``settle_s``: how long a run whose root has ended waits for late spans (0 or more).
    - ``idle_s``: how long after its last span a run without an end is closed (more than 0).
    - ``max_spans``, ``max_bytes``: the spans and the text that one run may hold before it is closed early (1 or more).
    - ``max_open_runs``, ``max_open_bytes``: the same for all open runs together.
    - ``remembered_runs``: how many finished runs are remembered, to know their late spans (0 or more).
    - ``reasons``: whether a mark's reason is written to telemetry.
    - ``evaluation_spans``: whether each mark has a span of its own.
    - ``baggage``: whether runs are also scored by what their callers expect, in W3C baggage.
    - ``reload_s``: how often it is looked whether the rules file has changed (0 or more; 0: never).
    - ``shutdown_s``: how long shutdown may take to hand over the marks that are due (0 or more).
    - ``phoenix``: the address of a Phoenix that marks are posted to as annotations; nothing: none.

    Raises :class:`~otel_chloe.errors.ConfigError` where a value is out of its range or of another type.
    """

    settle_s: float = 2.0
    idle_s: float = 900.0
    max_spans: int = 20_000
    max_bytes: int = 8 * MIB
    max_open_runs: int = 20_000
    max_open_bytes: int = 256 * MIB
    remembered_runs: int = 10_000
    reasons: bool = True
    evaluation_spans: bool = True
    baggage: bool = False
    reload_s: float = 10.0
    shutdown_s: float = 10.0
    phoenix: str = ""

    def __post_init__(self) -> None:
        for key in SETTING_KEYS:
            CHECKS[key](getattr(self, key), key)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object], *, base: Settings | None = None) -> Settings:
        """The settings of ``base`` (the defaults, if not given) with those of the mapping in their place.

        Keys may be in snake_case or camelCase; an unknown one is an error that names the nearest.
        """
        return replace(base or cls(), **snake_keys(mapping, SETTING_KEYS, "settings"))


SETTING_KEYS: Final = tuple(field.name for field in fields(Settings))


def seconds(value: object, key: str = "") -> float:
    """The value, if it is a time of 0 or more."""
    return _number(value, key, "a number of seconds, 0 or more")


def positive_seconds(value: object, key: str = "") -> float:
    """The value, if it is a time of more than 0."""
    what = "a number of seconds, more than 0"
    if value == 0:
        raise ConfigError(_wrong(value, key, what))
    return _number(value, key, what)


def share(value: object, key: str = "") -> float:
    """The value, if it is from 0 to 1."""
    return _number(value, key, "a number from 0 to 1", high=1)


def number(value: object, key: str = "") -> float:
    """The value, if it is a finite number."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise ConfigError(_wrong(value, key, "a number, such as 0.8"))


def dollars(value: object, key: str = "") -> float:
    """The value, if it is an amount of 0 or more."""
    return _number(value, key, "an amount in US dollars, 0 or more")


def amount(value: object, key: str = "") -> int:
    """The value, if it is a whole number of 1 or more."""
    return _whole(value, key, low=1)


def amount_or_none(value: object, key: str = "") -> int:
    """The value, if it is a whole number of 0 or more."""
    return _whole(value, key, low=0)


def switch(value: object, key: str = "") -> bool:
    """The value, if it is true or false."""
    if isinstance(value, bool):
        return value
    raise ConfigError(_wrong(value, key, "true or false"))


def address(value: object, key: str = "") -> str:
    """The value, if it is the address of a server over HTTP, or the empty text."""
    if not isinstance(value, str) or (value and not _ADDRESS.match(value)):
        raise ConfigError(_wrong(value, key, "the address of its server, such as http://localhost:6006"))
    if _API.search(value):
        raise ConfigError(_wrong(value, key, f"it without the path of the API: {_API.sub('', value)}"))
    return value


def _number(value: object, key: str, what: str, *, high: float = math.inf) -> float:
    """The value, if it is a finite number from 0 to ``high``."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= high and value < math.inf:
        return value
    raise ConfigError(_wrong(value, key, what))


def _whole(value: object, key: str, *, low: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= low:
        return value
    raise ConfigError(_wrong(value, key, f"a whole number, {low} or more"))


def _wrong(value: object, key: str, what: str) -> str:
    where = f"{key}: " if key else ""
    return f"{where}{value!r} cannot stand here. Write {what}."


CHECKS: Final[Mapping[str, Callable[[object, str], object]]] = {
    "settle_s": seconds,
    "idle_s": positive_seconds,
    "max_spans": amount,
    "max_bytes": amount,
    "max_open_runs": amount,
    "max_open_bytes": amount,
    "remembered_runs": amount_or_none,
    "reasons": switch,
    "evaluation_spans": switch,
    "baggage": switch,
    "reload_s": seconds,
    "shutdown_s": seconds,
    "phoenix": address,
}
"""What each setting must be; the rules file asks the same."""
