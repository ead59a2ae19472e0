"""The metrics of the judge's calls: how many, how long, how many tokens, at what cost."""

from __future__ import annotations

from opentelemetry.metrics import MeterProvider

from otel_chloe import semconv
from otel_chloe.mark import JudgeCall

from .metrics import Words
from .providers import package_version


class JudgeMetrics:
    """The instruments, made from one meter provider. Used by the worker alone."""

    def __init__(self, provider: MeterProvider, words: Words) -> None:
        meter = provider.get_meter(semconv.SCOPE, package_version())
        self._words = words
        self._calls = meter.create_counter(
            semconv.CHLOE_JUDGE_CALLS, unit="{call}", description="Calls of judges' models."
        )
        self._duration = meter.create_histogram(
            semconv.CHLOE_JUDGE_DURATION, unit="s", description="How long calls of judges' models took."
        )
        self._tokens = meter.create_counter(
            semconv.CHLOE_JUDGE_TOKENS, unit="{token}", description="Tokens of judges' models."
        )
        self._cost = meter.create_counter(
            semconv.CHLOE_JUDGE_COST, unit="USD", description="What calls of judges' models cost."
        )
        self._queue = meter.create_up_down_counter(
            semconv.CHLOE_JUDGE_QUEUE_SIZE, unit="{run}", description="Runs that wait for their judgement."
        )
        self._queued = 0

    def called(self, call: JudgeCall) -> None:
        """Records one call."""
        labels = {semconv.GEN_AI_REQUEST_MODEL: self._words.models.of(call.model)}
        for kind, tokens in (("input", call.input_tokens), ("output", call.output_tokens)):
            if tokens:
                self._tokens.add(tokens, {**labels, semconv.GEN_AI_TOKEN_TYPE: kind})
        if call.cost_usd:
            self._cost.add(call.cost_usd, labels)
        if call.error is not None:
            labels = {**labels, semconv.ERROR_TYPE: self._words.errors.of(call.error)}
        self._calls.add(1, labels)
        self._duration.record(call.duration_s, labels)

    def queued(self, n: int) -> None:
        """Says how many runs wait for their judgement, or are being judged."""
        if n != self._queued:
            self._queue.add(n - self._queued)
            self._queued = n
