"""What every framework's program has: OpenTelemetry, otel_chloe attached, tools with a ledger, a scripted model.

A program plays several scenarios, one after another, and writes a line of JSON for each: what the tools did, the runs
that otel_chloe saw, and the spans with its marks.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

# None of them is to reach out from here.
os.environ.update(
    OPENAI_API_KEY="scripted",
    OTEL_SDK_DISABLED="false",
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    LANGSMITH_TRACING="false",
    ADK_DISABLE_TELEMETRY="true",
    NO_PROXY="127.0.0.1,localhost",
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="SPAN_ONLY",
)

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from scripted_model import SCRIPTS, ScriptedModel

import otel_chloe
from otel_chloe.cli.json_lines import run_object

AGENT = "site_doctor"
HELPER = "restarter"
PROMPT = "shop.example does not answer. Mend it."
PURPOSE = "You keep sites up. Check first, then mend."
RULES = {
    "agents": {
        AGENT: {
            "calls": {
                "mustCall": ["restart_site"],
                "mustNotCall": ["delete_site"],
                "atMostOnce": ["restart_site"],
            }
        },
        HELPER: {"calls": {"mustCall": ["restart_site"]}},
    }
}


class Ledger:
    """What the tools really did, written down by themselves."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def _did(self, name: str, site: str, *, ok: bool = True) -> None:
        self.calls.append({"name": name, "arguments": {"site": site}, "ok": ok})

    def tools(self) -> list[Callable[[str], str]]:
        """The tools, as functions of a site."""

        def check_site(site: str) -> str:
            """Whether a site answers."""
            self._did("check_site", site)
            return "it answers with 502"

        def restart_site(site: str) -> str:
            """Restart a site."""
            self._did("restart_site", site)
            return "restarted"

        def delete_site(site: str) -> str:
            """Delete a site for good."""
            self._did("delete_site", site)
            return "deleted"

        def flaky_check(site: str) -> str:
            """Whether a site answers; the first time it fails."""
            first = not any(call["name"] == "flaky_check" for call in self.calls)
            self._did("flaky_check", site, ok=not first)
            if first:
                raise self.error("the network is down")
            return "it answers with 502"

        return [check_site, restart_site, delete_site, flaky_check]

    def tool(self, name: str) -> Callable[[str], str]:
        """One of them."""
        return next(tool for tool in self.tools() if tool.__name__ == name)

    error: type[Exception] = ValueError
    """What a tool raises so that the framework tells the model of it."""


class Stage:
    """Where a program plays one scenario: ``name`` is its script; with ``stream`` the model's words come in pieces."""

    def __init__(self, scenario: str, url: str, delegation: str, error: type[Exception] | None) -> None:
        self.scenario, self.url, self.delegation = scenario, url, delegation
        self.name, _, how = scenario.partition(" ")
        self.stream = how == "stream"
        self.model = f"gpt-scripted-{self.name}"
        self.helper = f"gpt-scripted-{HELPER}"
        self.ledger = Ledger()
        if error is not None:
            self.ledger.error = error

    @property
    def hands_on(self) -> bool:
        """Whether the agent has another one to do the work."""
        return self.name == "handoff"

    def tools(self) -> list[Callable[[str], str]]:
        """What the agent itself has."""
        return [self.ledger.tool("check_site")] if self.hands_on else self.ledger.tools()


class Theatre:
    """The process: a provider, otel_chloe attached to it, and what came of each scenario."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(resource=Resource.create({"service.name": "frameworks"}))
        self.marks: list[tuple[Any, Any]] = []
        trace.set_tracer_provider(self.provider)
        self.attachment = otel_chloe.attach(RULES, on_mark=lambda run, outcome: self.marks.append((run, outcome)))
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def play(self, program: Callable[[Stage], Any], stage: Stage) -> dict[str, Any]:
        """What a scenario came to."""
        output = raised = None
        try:
            output = program(stage)
        except Exception:  # noqa: BLE001 - the test shows it, beside the spans
            raised = traceback.format_exc()
        self.attachment.flush(30)
        stats = self.attachment.stats()
        told = {
            "scenario": stage.scenario,
            "output": output,
            "raised": raised,
            "delegation": stage.delegation,
            "ledger": stage.ledger.calls,
            "runs": self._runs(),
            "errors": {name: count for name, count in stats.items() if name.startswith("errors.") and count},
            "spans": [_span(span) for span in self.exporter.get_finished_spans()],
        }
        self.marks.clear()
        self.exporter.clear()
        return told

    def _runs(self) -> list[dict[str, Any]]:
        """The runs, each with its marks; those of agents below another's count as runs of their own here."""
        found: dict[Any, tuple[Any, list[Any]]] = {}
        for run, outcome in self.marks:
            found.setdefault((run.trace_id, run.span_id, run.agent), (run, []))[1].append((run, outcome))
        return [run_object("live", run, outcomes, explain=False) for run, outcomes in found.values()]


def _span(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "scope": span.instrumentation_scope.name,
        "id": f"{span.context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent is not None else None,
        "attributes": dict(span.attributes or {}),
    }


def play(
    program: Callable[[Stage], Any],
    *,
    delegation: tuple[str, dict[str, Any]],
    instrument: Callable[[TracerProvider], object] = lambda _: None,
    error: type[Exception] | None = None,
) -> None:
    """Play the scenarios that the command line names, after the file to write to.

    ``delegation`` is the call by which a model has the other agent do something.
    """
    SCRIPTS["handoff"].insert(1, [delegation])
    path, *scenarios = sys.argv[1:]
    theatre = Theatre()
    instrument(theatre.provider)
    with ScriptedModel() as model, open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - a path as it was given
        for scenario in scenarios:
            told = theatre.play(program, Stage(scenario, model.url, delegation[0], error))
            print(json.dumps(told, default=str), file=file, flush=True)
    theatre.attachment.detach()
    sys.stdout.flush()
    os._exit(0)  # some leave threads that never end
