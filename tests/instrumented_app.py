"""An agent that knows nothing of otel_chloe: a script, and an application for a WSGI or ASGI server."""

from __future__ import annotations

import os
import sys

from opentelemetry import trace

tracer = trace.get_tracer("my_agent")


def call(tool: str) -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    with tracer.start_as_current_span(f"execute_tool {tool}", attributes=attributes):
        pass


def run(*tools: str, agent: str = "site_doctor") -> None:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
    with tracer.start_as_current_span(f"invoke_agent {agent}", attributes=attributes):
        for tool in tools:
            call(tool)


def wsgi(environ, start_response):
    """For gunicorn: a run for each request, and the worker that made it."""
    run("delete_site")
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]


async def asgi(scope, receive, send):
    """For uvicorn: the same."""
    if scope["type"] != "http":
        return
    run("delete_site")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})


def work(tool: str) -> int:
    """For a pool of processes."""
    run(tool)
    provider = trace.get_tracer_provider()
    provider.force_flush()  # a worker of a pool is ended without exit handlers
    return os.getpid()


if __name__ == "__main__":
    if sys.argv[1:2] == ["pool"]:
        import multiprocessing

        with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
            pool.map(work, ["delete_site", "delete_site"])
    else:
        run("check_site", "delete_site")
    print("the program goes on")
