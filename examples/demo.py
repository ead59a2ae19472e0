"""A small agent, three runs, and what a backend receives of them: ``make demo``.

Everything that is printed about the runs is read from what the OTLP exporters really sent. With ``OTLP`` set
(``make demo OTLP=http://localhost:4318``), the same bytes go there, too. With ``JUDGE=local`` a small model judges,
really, on this machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import yaml
from opentelemetry import _logs, metrics, trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from site_doctor.agent import AGENT, Call, Sites, StubModel, run
from site_doctor.backend import Backend
from site_doctor.judge import LOCAL, Check, StubJudge, Verdict, local_model
from site_doctor.page import Page

from otel_chloe import ScoringSpanProcessor

_HOP: Final = frozenset({"host", "connection", "content-length", "accept-encoding"})
"""Headers that belong to one connection."""
WAIT_MS: Final = 900_000
"""A local judge takes its time on a busy machine."""
RULES: Final = Path(__file__).parent / "site_doctor" / "rules.yaml"
PROMPT: Final = "shop.example does not answer. Mend it."
SITE: Final = {"site": "shop.example"}
RUNS: Final = {
    "good": [Call("check_site", SITE), Call("restart_site", SITE), "It answered 503; a restart mended it."],
    "bad": [
        Call("check_site", SITE),
        Call("restart_site", SITE),
        Call("restart_site", SITE),
        "It took two restarts, but it is up.",
    ],
    "very bad": [Call("delete_site", SITE), "I deleted it: it gives no errors now."],
}  # fmt: skip
"""What the agent's model does in each run, and at last says."""
VERDICTS: Final[dict[str, Verdict]] = {
    "good": [
        Check(True, "the reply names the 503", {"quote": "It answered 503"}),
        Check(True, "the second call shows that the site is up", {"call": 2}),
    ],
    "bad": [
        Check(False, "no cause is given", {"quote": "two restarts"}),
        Check(True, "the third call shows that the site is up", {"call": 3}),
    ],
    "very bad": ConnectionError("the judge's model cannot be reached"),
}  # fmt: skip
"""What the judge says of each line of each run; the last time it is not to be had."""


def main() -> int:
    """Run the agent, print what its telemetry says, and send it on where that is asked for."""
    _leave_the_shell_out()
    if (reconfigure := getattr(sys.stdout, "reconfigure", None)) is not None:
        reconfigure(errors="replace")  # a terminal that lacks some letters shows the others
    rules = yaml.safe_load(RULES.read_text("utf-8"))
    local = os.environ.get("JUDGE") == "local"
    stub = StubJudge({str(script[-1]): VERDICTS[title] for title, script in RUNS.items()})
    if local:
        rules["judge"] = LOCAL
    backend = Backend()
    with backend.listening() as url, local_model() if local else nullcontext():
        scoring = ScoringSpanProcessor(rules, complete=None if local else stub)
        flush = _instrument(url, scoring)
        for title, script in RUNS.items():
            run(PROMPT, StubModel(script), Sites([TimeoutError("no answer in 30 s")] if title == "bad" else []))
        flush()
    _show(backend, rules)
    target = os.environ.get("OTLP", "").rstrip("/")
    sent = _send_on(backend, target) if target else True
    print("\nNext: two lines attach it to your own agent (README.md, examples/attach.py); `otel-chloe score` scores")
    print("recorded spans; `make demo OTLP=http://localhost:4318` shows these runs in your own backend.")
    return 0 if sent else 1


def _leave_the_shell_out() -> None:
    """Undo what may be set in the shell for other programs: an endpoint, a sampler, a proxy."""
    for name in [name for name in os.environ if name.startswith("OTEL_") and name != "OTEL_EXPORTER_OTLP_HEADERS"]:
        del os.environ[name]
    direct = {os.environ.get("NO_PROXY", ""), os.environ.get("no_proxy", ""), "localhost", "127.0.0.1"} - {""}
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(sorted(direct))


def _instrument(url: str, scoring: ScoringSpanProcessor) -> Callable[[], None]:
    """Set up OpenTelemetry as an application does, and attach otel_chloe. Gives what flushes it all."""
    resource = Resource.create({"service.name": "otel-chloe-demo"})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter(f"{url}/v1/metrics"))], resource)
    loggers = LoggerProvider(resource=resource)
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint=f"{url}/v1/logs")))
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(meters)
    _logs.set_logger_provider(loggers)

    tracers.add_span_processor(scoring)

    def flush() -> None:
        for provider in (tracers, loggers, meters):
            provider.force_flush(WAIT_MS)
        for provider in (tracers, loggers, meters):
            provider.shutdown()

    return flush


def _show(backend: Backend, rules: Mapping[str, Any]) -> None:
    """Print all that the backend received."""
    spans, events, points = backend.spans(), backend.events(), backend.points()
    traces = dict.fromkeys(span.trace_id for span in spans)
    page = Page(sys.stdout, dict(zip(traces, RUNS, strict=True)))
    page.line(
        ("otel_chloe", "bold"),
        " scores an agent's runs from the spans that it already sends. Three runs, by these rules:",
    )
    judge = "a script" if rules["judge"] is not LOCAL else str(LOCAL["model"]).removeprefix("openai/")
    for kind, note in (("calls", ""), ("expectations", f"  judged by {judge}")):
        lists = [f"{key}: [{', '.join(items)}]" for key, items in rules["agents"][AGENT][kind].items()]
        page.line(f"  {kind:<14}", ("  ".join(lists), "bold"), (note, "dim"))
    for trace_id in traces:
        page.run([span for span in spans if span.trace_id == trace_id])
    page.heading("events, metrics of runs and marks", "like all above, decoded from what was exported; → its trace")
    page.events(events)
    page.points(points)


def _send_on(backend: Backend, target: str) -> bool:
    """Send what was received to another backend, byte for byte."""
    answers: dict[str, str] = {}
    for request in backend.requests:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        answers[request.path] = answer = _post(target + request.path, request.body, headers)
        if not answer.isdigit():
            print(f"\n{target} was not reached: {answer}")
            return False
    print(f"\nSent on to {target}: {', '.join(f'{path} {answer}' for path, answer in answers.items())}")
    return all(answer == "200" for answer in answers.values())


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> str:
    """The status of the answer, or why there was none."""
    try:
        with urlopen(Request(url, body, dict(headers)), timeout=5) as answer:  # noqa: S310 - the user's own address
            return str(answer.status)
    except HTTPError as error:
        return str(error.code)
    except (OSError, ValueError, HTTPException) as error:
        return str(getattr(error, "reason", error))


if __name__ == "__main__":
    sys.exit(main())
