"""The SDK's hooks: what a TracerProvider calls, on the application's threads."""

from __future__ import annotations

from otel_chloe.processor.hooks import ScoringSpanProcessor

__all__ = ["ScoringSpanProcessor"]
