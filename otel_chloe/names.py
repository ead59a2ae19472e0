"""Names of tools: as the model wrote them, and without what a layer adds."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_MCP: Final = re.compile(r"^mcp__[^_].*?__(.+)$")


@lru_cache(maxsize=4096)
def short_name(raw_name: str) -> str:
    """The tool's own name: ``mcp__sites__restart`` is ``restart``. Anything else is as it is."""
    found = _MCP.match(raw_name)
    return found.group(1) if found else raw_name
