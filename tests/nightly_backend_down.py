"""A backend that is down, or takes connections and never answers: the agent goes on, and its memory stays flat."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic

import pytest
from backends import LOOPBACK, free_port
from stack_agent import Agent

FILLING_RUNS = 2_100
"""The queues of the SDK, of 2,048 spans and as many events, are full and drop before memory is looked at."""
AT_ONCE = 500
"""Runs before the worker is waited for. An agent that never rests starts more runs than are scored meanwhile: those
that wait are not closed yet, and are no leak. Their limits are `max_open_runs` and `max_open_bytes`."""
GROWTH_MIB = 8.0
BLOCKED_S = 5.0
"""Half of what the exporters wait for an answer: a run that waits for one of them takes longer."""


@contextmanager
def down() -> Iterator[str]:
    yield f"http://{LOOPBACK}:{free_port()}"


@contextmanager
def deaf() -> Iterator[str]:
    # The kernel takes connections and what is sent on them; nobody reads or answers.
    with socket.create_server((LOOPBACK, 0), backlog=128) as server:
        yield f"http://{LOOPBACK}:{server.getsockname()[1]}"


@contextmanager
def well() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{LOOPBACK}:{server.server_address[1]}"
        finally:
            server.shutdown()


def slowest_s(agent: Agent, runs: int) -> float:
    slowest = 0.0
    for _ in range(runs):
        start = monotonic()
        agent.run("very bad")
        slowest = max(slowest, monotonic() - start)
    return slowest


def holds_out(backend: str, runs: int) -> tuple[float, float]:
    """The slowest run, and by how many MiB memory grew once the queues were full."""
    with {"down": down, "deaf": deaf, "well": well}[backend]() as endpoint, Agent(endpoint) as agent:
        try:
            agent.run("very bad")  # the first waits for the program to start
            slowest = slowest_s(agent, FILLING_RUNS)
            agent.rest()
            full = agent.resident_mib
            for _ in range(runs // AT_ONCE):
                slowest = max(slowest, slowest_s(agent, AT_ONCE))
                agent.rest()
            return slowest, agent.resident_mib - full
        finally:
            agent.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("backend", ["down", "deaf"])
def test_a_backend_that_takes_nothing_costs_the_agent_neither_time_nor_memory(backend: str):
    slowest, grown = holds_out(backend, 8_000)

    assert slowest < BLOCKED_S
    assert grown < GROWTH_MIB
