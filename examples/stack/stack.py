"""The whole way on this machine, until Ctrl-C: an agent, the Collector, Jaeger, Prometheus, Alertmanager.

``make stack`` starts it. The agent goes well, badly and very badly in turn. All listen on loopback, on ports that are
free; the Collector and Jaeger are built from their Go modules the first time, Prometheus and Alertmanager are Debian's
packages.
"""

from __future__ import annotations

import shutil
import signal
import sys
import threading
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from backends import LOOPBACK, alertmanager, collector, jaeger, prometheus, webhook  # noqa: E402
from stack_agent import Agent  # noqa: E402

PAUSE_S = 2.0
"""Between two runs."""
PROGRAMS = {"go": "Go 1.25 or newer", "prometheus": "prometheus", "prometheus-alertmanager": "prometheus-alertmanager"}


def main() -> int:
    """Starts all, runs the agent until it is told to stop, and ends all."""
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    if missing:
        print(f"make stack needs: {', '.join(missing)}. Install it (Debian: apt-get install …).", file=sys.stderr)
        return 1
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    print("Building the Collector and Jaeger, where they are not there yet, and starting all …", flush=True)
    with TemporaryDirectory(prefix="otel_chloe") as name, ExitStack() as programs:
        _started(programs, Path(name), stop)
        print("\nStopping …", flush=True)
    print("Stopped.", flush=True)
    return 0


def _started(programs: ExitStack, folder: Path, stop: threading.Event) -> None:
    alerting = ROOT / "examples" / "alerting"
    hook, posted = programs.enter_context(webhook())
    alerts = programs.enter_context(alertmanager(folder / "alertmanager", "prometheus-alertmanager", hook))
    traces = programs.enter_context(jaeger(folder / "jaeger"))
    gate = programs.enter_context(collector(folder / "collector", traces=traces.url("http"), KEPT_PERCENT="100"))
    scores = programs.enter_context(
        prometheus(
            folder / "prometheus",
            "prometheus",
            scrape=[f"{LOOPBACK}:{gate.ports['prometheus']}"],
            rules=alerting / "rules.yml",
            alerts=alerts,
        )
    )
    agent = programs.enter_context(Agent(gate.url("http")))
    print(
        f"""
  Traces   {traces.url("query")}/search?service=shop&tags=%7B%22chloe.passed%22%3A%22false%22%7D   the runs that failed
  Scores   {scores.url("query")}/classic/graph?g0.expr=chloe_marks_total&g0.tab=0   marks by state and verdict
  Alerts   {scores.url("query")}/classic/alerts   AgentCalledForbiddenTool fires within seconds
  Send     OTEL_EXPORTER_OTLP_ENDPOINT={gate.url("http")}   your own agent's telemetry

Every {PAUSE_S:g} s a run of site_doctor: well, badly (restarts twice), very badly (deletes the site). Ctrl-C ends it.
""",
        flush=True,
    )
    for kind in cycle(("good", "bad", "very bad")):
        if stop.is_set():
            return
        print(f"{kind:9} trace {agent.run(kind)}", flush=True)
        while not posted.empty():
            path, page = posted.get()
            for alert in page["alerts"]:
                print(f"{path[1:]:9} {alert['status']}: {alert['annotations']['summary']}", flush=True)
        stop.wait(PAUSE_S)


if __name__ == "__main__":
    sys.exit(main())
