"""Scoring without a line of code: what ``opentelemetry-instrument`` loads in every program that it starts.

It does nothing unless it is configured, for it is loaded wherever otel_chloe is installed. It never raises: one error
here would end the instrumentation of the whole program.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

if TYPE_CHECKING:
    from .attaching import Attachment

DISABLED_VARIABLE: Final = "OTEL_CHLOE_DISABLED"
"""``true`` switches off what is attached without code."""
OTLP_VARIABLE: Final = "OTEL_CHLOE_OTLP"
"""``attach(otlp=)`` for what is attached without code."""

_OPTIONS: Final = ("rules", "otlp", "settings", "disabled")
"""What may stand below ``instrumentation/development: python: chloe:`` in the SDK's own configuration file."""

_logger = logging.getLogger("otel_chloe.attachment")


class ChloeInstrumentor:
    """Attaches scoring to the global TracerProvider, if rules are named.

    It has the shape of ``opentelemetry.instrumentation.instrumentor.BaseInstrumentor``, without the package.
    """

    attachment: ClassVar[Attachment | None] = None
    """What is attached. Of the class, as one process has one global provider."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """Nothing: agents are known by their spans, whatever made them."""
        return ()

    @property
    def is_instrumented_by_opentelemetry(self) -> bool:
        """Whether scoring is attached."""
        return ChloeInstrumentor.attachment is not None

    def instrument(self, **options: Any) -> Any:
        """Attach, by the options, else by the variables; nothing where neither names rules. It never raises.

        ``rules`` is a path or a mapping, ``otlp`` an address, ``settings`` a mapping, ``disabled`` true or false.
        """
        options.pop("skip_dep_check", None)
        options.pop("raise_exception_on_conflict", None)
        try:
            self._attach(options)
        except Exception as error:  # noqa: BLE001 - a guard: every other instrumentation would go with this one
            _logger.error("otel_chloe scores nothing: %s", error)  # noqa: TRY400 - a mistake in a file, told in full

    def uninstrument(self, **_: Any) -> Any:
        """Detach what :meth:`instrument` attached. It never raises."""
        attachment, ChloeInstrumentor.attachment = ChloeInstrumentor.attachment, None
        try:
            if attachment is not None:
                attachment.detach()
        except Exception:  # see instrument
            _logger.exception("otel_chloe could not be detached")

    def _attach(self, options: Mapping[str, Any]) -> None:
        from otel_chloe.config import RULES_VARIABLE

        if ChloeInstrumentor.attachment is not None or _is_on(options.get("disabled")) or disabled():
            return
        rules = options.get("rules") or os.environ.get(RULES_VARIABLE)
        if not rules:
            _tell_why_none(options)
            return
        unknown = _unknown(options)
        if unknown:
            _logger.error("otel_chloe scores nothing: chloe: %s", unknown)
            return
        from .attaching import attach

        otlp = options.get("otlp") or os.environ.get(OTLP_VARIABLE) or None
        settings = cast("Mapping[str, object] | None", options.get("settings"))
        ChloeInstrumentor.attachment = attach(rules, otlp=otlp, settings=settings)


def disabled() -> bool:
    """Whether the variable switches off what is attached without code. Another word than true or false is told."""
    said = os.environ.get(DISABLED_VARIABLE, "").strip()
    if said.lower() not in {"", "true", "false"}:
        _logger.warning("%s: %r is neither true nor false, so nothing is switched off.", DISABLED_VARIABLE, said)
    return _is_on(said)


def _tell_why_none(options: Mapping[str, object]) -> None:
    """Why no rules are named, where they seem to be meant. Most programs mean none, and import nothing more for it."""
    if options:
        _logger.error("otel_chloe scores nothing: chloe: names no rules. Write rules: and the file's path.")
    if any(name.startswith("OTEL_CHLOE_") for name in os.environ):
        from otel_chloe.config.table import warn_of_unknown

        warn_of_unknown(os.environ)


def _is_on(value: object) -> bool:
    return str(value).strip().lower() == "true"


def _unknown(options: Mapping[str, object]) -> str | None:
    from otel_chloe.expected import unknown_key

    return next((unknown_key(key, _OPTIONS) for key in options if key not in _OPTIONS), None)
