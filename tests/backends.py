"""Real programs that tests send telemetry to: the Collector, Jaeger, Prometheus, Alertmanager. On loopback alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from time import monotonic, sleep
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

ROOT = Path(__file__).parent.parent
ALERTING = ROOT / "examples" / "alerting"
LOOPBACK = "127.0.0.1"
LOOK_S = 0.1


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        port: int = found.getsockname()[1]
        return port


def until(look: Callable[[], T | None], what: str, *, within_s: float = 60.0) -> T:
    """What ``look`` gives as soon as it gives something: another process has nothing to wait on."""
    by = monotonic() + within_s
    while monotonic() < by:
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError, KeyError, IndexError):
            found = look()
            if found:
                return found
        sleep(LOOK_S)
    raise AssertionError(f"{what}: not within {within_s:g} s")


def text(url: str) -> str:
    """The text at this address."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        found: str = answer.read().decode()
        return found


def get(url: str) -> Any:
    """The JSON at this address."""
    return json.loads(text(url))


def answers(url: str) -> bool:
    """Whether there is a server at this address that is well."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return bool(answer.status == 200)


class Program:
    """A program that runs, with what it logs in a file."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path, ports: Mapping[str, int]) -> None:
        self.name = name
        self.process = process
        self.log = log
        self.ports = ports

    def url(self, port: str) -> str:
        return f"http://{LOOPBACK}:{self.ports[port]}"

    def lines(self, *words: str) -> list[str]:
        """The lines of its log with one of these words."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if any(w in line for w in words)]

    def end(self, within_s: float = 20.0) -> int:
        self.process.terminate()
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait(within_s)


@contextmanager
def running(
    name: str,
    argv: list[str],
    folder: Path,
    ports: Mapping[str, int],
    well: str,
    *,
    within_s: float = 60.0,
    **variables: str,
) -> Iterator[Program]:
    """A program from when ``well`` answers until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            argv,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **variables},
            start_new_session=True,  # Ctrl-C is for who started it, and ends it in order
        )
    program = Program(name, process, log, ports)

    def is_well() -> bool:
        assert process.poll() is None, f"{name} ended with {process.returncode}:\n{log.read_text()[-4_000:]}"
        return answers(well)

    try:
        until(is_well, f"{name} is up", within_s=within_s)
        yield program
    finally:
        program.end()


def built(folder: str, package: str = ".") -> str:
    """A Go program of the tests, built if it is not there yet; ``make collector`` does the same."""
    made = subprocess.run(
        ["sh", ".ci/go.sh", f"tests/{folder}", package], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.fail(f"building {folder}: {made.stderr[-2_000:]}")
    return made.stdout.strip()


def collector_variables(
    folder: Path, ports: Mapping[str, int], traces: str | None = None, events: str | None = None
) -> dict[str, str]:
    """What collector-config.yaml takes from the environment; without a backend, ``nop`` takes what is for it."""
    return {
        **_sent_to("TRACES", traces),
        **_sent_to("EVENTS", events),
        "COLLECTOR_HOST": LOOPBACK,
        "GRPC_PORT": str(ports["grpc"]),
        "HTTP_PORT": str(ports["http"]),
        "HEALTH_PORT": str(ports["health"]),
        "PROMETHEUS_PORT": str(ports["prometheus"]),
        "TELEMETRY_PORT": str(ports["telemetry"]),
        "COLLECTOR_STORAGE": str(folder / "storage"),
        "DECISION_WAIT": "2s",
    }


def _sent_to(what: str, url: str | None) -> dict[str, str]:
    return {f"{what}_EXPORTER": "nop"} if url is None else {f"{what}_OTLP_ENDPOINT": url}


@contextmanager
def collector(folder: Path, *, traces: str | None = None, events: str | None = None, **more: str) -> Iterator[Program]:
    """The Collector with collector-config.yaml as it is. Ports: grpc, http, health, prometheus, telemetry."""
    ports = {name: free_port() for name in ("grpc", "http", "health", "prometheus", "telemetry")}
    variables = {**collector_variables(folder, ports, traces, events), **more}
    argv = [built("collector"), "--config", str(ROOT / "collector-config.yaml")]
    with running("collector", argv, folder, ports, f"http://{LOOPBACK}:{ports['health']}", **variables) as program:
        yield program


@contextmanager
def jaeger(folder: Path) -> Iterator[Program]:
    """Jaeger, everything in memory. Ports: http (OTLP), query, admin."""
    ports = {name: free_port() for name in ("http", "grpc", "query", "query_grpc", "admin", "thrift", "proto")}
    argv = [
        built("jaeger", "github.com/jaegertracing/jaeger/cmd/all-in-one"),
        f"--collector.otlp.http.host-port={LOOPBACK}:{ports['http']}",
        f"--collector.otlp.grpc.host-port={LOOPBACK}:{ports['grpc']}",
        f"--collector.http-server.host-port={LOOPBACK}:{ports['thrift']}",
        f"--collector.grpc-server.host-port={LOOPBACK}:{ports['proto']}",
        f"--query.http-server.host-port={LOOPBACK}:{ports['query']}",
        f"--query.grpc-server.host-port={LOOPBACK}:{ports['query_grpc']}",
        f"--admin.http.host-port={LOOPBACK}:{ports['admin']}",
    ]
    with running("jaeger", argv, folder, ports, f"http://{LOOPBACK}:{ports['admin']}/") as program:
        yield program


@contextmanager
def prometheus(
    folder: Path, program: str, *, scrape: list[str], rules: Path | None = None, alerts: str = ""
) -> Iterator[Program]:
    """Prometheus, which scrapes these addresses each second. Port: query."""
    ports = {"query": free_port()}
    folder.mkdir(parents=True, exist_ok=True)
    config: dict[str, Any] = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [{"job_name": "agents", "honor_labels": True, "static_configs": [{"targets": scrape}]}],
        "rule_files": [str(rules)] if rules else [],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alerts]}]}] if alerts else []},
    }
    path = folder / "prometheus.json.yaml"
    path.write_text(json.dumps(config))
    argv = [
        program,
        f"--config.file={path}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={LOOPBACK}:{ports['query']}",
        "--enable-feature=exemplar-storage",
    ]
    with running("prometheus", argv, folder, ports, f"http://{LOOPBACK}:{ports['query']}/-/ready") as running_one:
        yield running_one


def is_scraped(program: Program) -> bool:
    """Whether Prometheus has found what it scrapes."""
    found = get(f"{program.url('query')}/api/v1/query?query=up")["data"]["result"]
    return bool(found) and all(each["value"][1] == "1" for each in found)


@contextmanager
def webhook() -> Iterator[tuple[str, Queue[tuple[str, dict[str, Any]]]]]:
    """A server that keeps what is posted to it: the path and the JSON."""
    posted: Queue[tuple[str, dict[str, Any]]] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.put((self.path, json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}", posted
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def alertmanager(folder: Path, program: str, hook: str) -> Iterator[str]:
    """Alertmanager with the example's config, whose webhooks are this one. Its address."""
    folder.mkdir(parents=True)
    config = folder / "alertmanager.yml"
    config.write_text((ALERTING / "alertmanager.yml").read_text().replace("http://localhost:9099", hook))
    address = f"{LOOPBACK}:{free_port()}"
    argv = [
        program,
        f"--config.file={config}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]
    with running("alertmanager", argv, folder, {}, f"http://{address}/-/ready"):
        yield address
