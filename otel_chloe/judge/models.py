"""Model ids as the seed systems write them, and what litellm calls the same model."""

from __future__ import annotations

import re
from typing import Final

# Dotted versions are how gateways write Anthropic's models; Anthropic itself, and litellm's prices, have dashes.
_DOTTED_CLAUDE: Final = re.compile(r"(?:anthropic/)?claude-[a-z0-9-]*\d\.\d[a-z0-9.-]*")


def litellm_model(model: str) -> str:
    """The id for litellm: ``anthropic/claude-haiku-4.5`` is ``anthropic/claude-haiku-4-5``; others pass as they are.

    An id of another provider that has a dot (``openrouter/anthropic/claude-haiku-4.5``) is that provider's own.
    """
    return re.sub(r"(?<=\d)\.(?=\d)", "-", model) if _DOTTED_CLAUDE.fullmatch(model) else model
