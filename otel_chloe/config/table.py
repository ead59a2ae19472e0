"""The one table of settings: of each its variable, what it is, and why its default is what it is.

A setting is said in four places. Code (``settings=``) wins over the variable, the variable over ``settings:`` in the
rules file, and that over the default.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from otel_chloe.config.settings import CHECKS, SETTING_KEYS, Settings, switch
from otel_chloe.errors import ConfigError
from otel_chloe.expected import nearest

PREFIX: Final = "OTEL_CHLOE_"

_logger = logging.getLogger("otel_chloe.config")


class Meaning(NamedTuple):
    """What a setting is, and why its default is what it is."""

    what: str
    why: str


MEANINGS: Final[Mapping[str, Meaning]] = {
    "settle_s": Meaning(
        "seconds that a run whose root has ended waits for late spans",
        "children that end after their parent mostly do so at once",
    ),
    "idle_s": Meaning(
        "seconds after its last span until a run without an end is closed",
        "agents wait for people and slow tools; a run has no usual length",
    ),
    "max_spans": Meaning(
        "spans that one run may hold before it is closed early",
        "far over any run that was recorded",
    ),
    "max_bytes": Meaning(
        "bytes of text (prompts, arguments, results) that one run may hold before it is closed early",
        "far over any run that was recorded",
    ),
    "max_open_runs": Meaning(
        "open runs, before the one idle the longest is closed early",
        "a server with thousands of runs at once still fits",
    ),
    "max_open_bytes": Meaning(
        "bytes of text that all open runs may hold, before the one idle the longest is closed early",
        "memory that a server has to spare",
    ),
    "remembered_runs": Meaning(
        "finished runs that are remembered, to know their late spans and to emit no mark twice",
        "late spans come within seconds; that is hours of most servers",
    ),
    "reasons": Meaning(
        "whether a mark's reason goes out",
        "a score without its reason is a riddle; it names tools, and no content",
    ),
    "evaluation_spans": Meaning(
        "whether each mark has a span of its own",
        "where scores are looked at as spans",
    ),
    "baggage": Meaning(
        "whether runs are also scored by what their callers expect, in the baggage entry `chloe.expected`",
        "anybody who can call a program may have written its baggage",
    ),
    "reload_s": Meaning(
        "seconds between two looks at whether the rules file has changed; 0 for never",
        "a rule that is mended counts within half a minute; a look costs microseconds, on the worker",
    ),
    "shutdown_s": Meaning(
        "seconds that a shutdown may take to hand over the marks that are due",
        "less than what orchestrators wait before they kill",
    ),
    "phoenix": Meaning(
        "the address of a Phoenix that marks are posted to as annotations; nothing for none",
        "who has another backend has no use for it",
    ),
}

OTHER_VARIABLES: Final[Mapping[str, str]] = {
    "OTEL_CHLOE_RULES": "the path of the rules file, where the code gives none",
    "OTEL_CHLOE_OTLP": "the `otlp=` of what is attached without code",
    "OTEL_CHLOE_DISABLED": "`true` switches off what is attached without code",
    "PHOENIX_API_KEY": "the key that the Phoenix of the setting `phoenix` asks for, where it asks for one",
    "OTEL_CHLOE_JUDGE_PYTHON": "the Python that runs the judge's own process, where the program's own is none",
}
"""Variables that are no settings."""
_OURS: Final = "OTEL_CHLOE_RAISE"
"""Of our own tests."""


def variable(key: str) -> str:
    """The variable of a setting: ``OTEL_CHLOE_SETTLE_S`` is that of ``settle_s``."""
    return PREFIX + key.upper()


def chosen(base: Settings, given: Mapping[str, object] | None = None) -> Settings:
    """The settings that hold: those of code, else of variables, else of ``base``, which are the rules file's.

    Raises :class:`~otel_chloe.errors.ConfigError` where a value is wrong; it names the variable or the key.
    """
    held = replace(base, **_from_environment(os.environ))
    return Settings.from_mapping(given, base=held) if given else held


def warn_of_unknown(environ: Mapping[str, str]) -> None:
    """Warn about each variable that begins like ours and is none, with the name that it most likely stands for."""
    known = {*map(variable, SETTING_KEYS), *OTHER_VARIABLES}
    for name in sorted(_said(environ).keys() - known - {_OURS}):
        close = nearest(name.removeprefix(PREFIX), sorted(key.removeprefix(PREFIX) for key in known))
        meant = f" Did you mean {PREFIX}{close}?" if close else ""
        _logger.warning("there is no variable %s, so it says nothing.%s", name, meant)


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings that variables say."""
    warn_of_unknown(environ)
    said = _said(environ)
    known = {variable(key): key for key in SETTING_KEYS}
    return {key: _value(key, name, said[name].strip()) for name, key in known.items() if name in said}


def _said(environ: Mapping[str, str]) -> dict[str, str]:
    """Our variables. An empty one says nothing, as everywhere in OpenTelemetry."""
    return {name: text for name, text in environ.items() if name.startswith(PREFIX) and text.strip()}


def _value(key: str, name: str, text: str) -> object:
    value: object = text
    if CHECKS[key] is switch:
        value = {"true": True, "false": False}.get(text.lower(), text)
    else:
        for number in (int, float):
            try:
                value = number(text)
            except ValueError:
                continue
            break
    try:
        return CHECKS[key](value, "")
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
