"""What a caller in another process expects of a run: it comes over HTTP, in the header that W3C baggage has."""

from __future__ import annotations

import json

import pytest
from agent_app import FAILED, PASSED, App
from opentelemetry import baggage, context
from opentelemetry.propagate import extract, inject
from opentelemetry.trace import SpanKind

from otel_chloe import expecting
from otel_chloe.processor import block

KEY = "chloe.expected"
MORE = json.dumps({"calls": {"mustCall": ["restart_site"]}})
ON = {"baggage": True}


@pytest.fixture(autouse=True)
def _as_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch is the process's: it is put back after each test."""
    monkeypatch.setattr(block, "used", False)
    monkeypatch.setattr(block, "_reads_baggage", False)


def headers(text: str) -> dict[str, str]:
    """The headers of a request whose caller expects this."""
    carrier: dict[str, str] = {}
    inject(carrier, baggage.set_baggage(KEY, text))
    return carrier


def serve(app: App, carrier: dict[str, str], *tools: str) -> None:
    """A request that has the agent run."""
    token = context.attach(extract(carrier))
    try:
        with app.tracer.start_as_current_span("POST /mend", kind=SpanKind.SERVER), app.agent():
            app.call(*tools)
    finally:
        context.detach(token)


def verdict(app: App) -> dict[str, object]:
    return {key: value for key, value in app.marks().items() if key != KEY}


def test_it_adds_to_the_rules_where_the_setting_is_on():
    with App(settings=ON) as app:
        serve(app, headers(MORE), "check_site")

        assert verdict(app) == FAILED


def test_it_is_kept_where_the_run_does_what_is_expected():
    with App(settings=ON) as app:
        serve(app, headers(MORE), "check_site", "restart_site")

        assert verdict(app) == PASSED


def test_it_says_nothing_where_the_setting_is_off():
    with App() as app:
        serve(app, headers(MORE), "check_site")

        assert app.marks() == PASSED


def test_it_never_relaxes_the_rules():
    with App(settings=ON) as app:
        serve(app, headers(json.dumps({"calls": {"mustCall": ["check_site"]}})), "check_site", "delete_site")

        assert verdict(app) == FAILED


def test_a_block_of_the_program_is_added():
    with App(settings=ON) as app:
        with expecting(calls={"mustNotCall": ["check_site"]}):
            serve(app, headers(MORE), "check_site", "restart_site")

        assert verdict(app) == FAILED


@pytest.mark.parametrize("text", ["{", "x" * 4_000, json.dumps({"metadata": {"note": "x" * 5_000}})])
def test_what_cannot_be_read_or_is_too_long_lets_no_run_pass(text: str):
    with App(settings=ON) as app:
        token = context.attach(baggage.set_baggage(KEY, text))
        try:
            with app.agent():
                app.call("check_site")
        finally:
            context.detach(token)

        assert app.marks()["chloe.calls.state"] == "unscored"
        assert len(str(app.marks()[KEY])) <= 4_096


def test_other_baggage_is_left_alone():
    with App(settings=ON) as app:
        token = context.attach(baggage.set_baggage("user.id", "7"))
        try:
            with app.agent():
                app.call("check_site")
        finally:
            context.detach(token)

        assert app.marks() == PASSED
