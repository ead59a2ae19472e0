"""What every framework's program has: OpenTelemetry, otel_chloe attached, tools with a ledger, a scripted model.

A program ends with one line of JSON: what the tools did, the runs that otel_chloe saw, and the spans with its marks.
"""

from __future__ import annotations

import json
import os
import sys
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
from scripted_model import ScriptedModel

import otel_chloe
from otel_chloe.cli.json_lines import run_object

AGENT = "site_doctor"
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
        }
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

    error: type[Exception] = ValueError
    """What a tool raises so that the framework tells the model of it."""


class Stage:
    """Where one program plays: ``scenario`` names the script, ``stream`` whether the model's words come in pieces."""

    def __init__(self, scenario: str, *, stream: bool) -> None:
        self.scenario, self.stream = scenario, stream
        self.model = f"gpt-scripted-{scenario}"
        self.ledger = Ledger()
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(resource=Resource.create({"service.name": "frameworks"}))
        self.runs: dict[tuple[Any, Any], Any] = {}
        trace.set_tracer_provider(self.provider)
        self.attachment = otel_chloe.attach(RULES, on_mark=self._marked)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def _marked(self, run: Any, outcome: Any) -> None:
        self.runs.setdefault((run.trace_id, run.span_id), (run, []))[1].append((run, outcome))

    def tell(self, output: Any) -> None:
        """Print what happened, for who started the program."""
        self.attachment.flush(30)
        stats = self.attachment.stats()
        told = {
            "output": output,
            "ledger": self.ledger.calls,
            "runs": [run_object("live", run, outcomes, explain=False) for run, outcomes in self.runs.values()],
            "counted": stats.get("runs", 0),
            "errors": {name: count for name, count in stats.items() if name.startswith("errors.")},
            "spans": [_span(span) for span in self.exporter.get_finished_spans()],
        }
        print(json.dumps(told, default=str), flush=True)
        self.attachment.detach()
        sys.stdout.flush()
        os._exit(0)  # some leave threads that never end


def _span(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "scope": span.instrumentation_scope.name,
        "id": f"{span.context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent is not None else None,
        "attributes": dict(span.attributes or {}),
    }


def play(program: Callable[[Stage, str], Any]) -> None:
    """Run a program with the scenario that the command line names: ``program(stage, url) -> output``."""
    with ScriptedModel() as model:
        stage = Stage(sys.argv[1], stream=sys.argv[2:] == ["stream"])
        stage.tell(program(stage, model.url))
