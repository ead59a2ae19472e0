"""What a convention is: how one vocabulary names the kind of a span, who it is about, and its content.

Adding one is a module with these functions, a row in :mod:`otel_chloe.conventions.table`, and recorded spans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from otel_chloe.part import AgentFacts, Kind, ModelFacts, Part, ToolFacts


def no_kind(attributes: Mapping[str, Any], span_name: str, scope: str) -> None:
    """Of a convention that only adds content to spans whose kind another one tells."""
    del attributes, span_name, scope


def no_name(attributes: Mapping[str, Any], span_name: str, kind: Kind) -> None:
    """See :func:`no_kind`."""
    del attributes, span_name, kind


def nothing(part: Part) -> None:
    """Of a convention that says nothing of such parts in words of its own."""
    del part


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Convention:
    """One vocabulary. Every function is tolerant: None means "this span does not say it in my words".

    ``kind(attributes, span_name, scope)`` tells what the span is; ``name(attributes, span_name, kind)`` the tool or
    agent it is about. ``tool``, ``model`` and ``agent`` read content, lazily, from a part of that kind. ``source``
    says where the names come from.
    """

    title: str
    source: str
    kind: Callable[[Mapping[str, Any], str, str], Kind | None] = no_kind
    name: Callable[[Mapping[str, Any], str, Kind], str | None] = no_name
    tool: Callable[[Part], ToolFacts | None] = nothing
    model: Callable[[Part], ModelFacts | None] = nothing
    agent: Callable[[Part], AgentFacts | None] = nothing
