#!/usr/bin/env python3
"""Rate and memory of a command over one large recording, against json.loads alone over the same lines.

    python benchmarks/big_file.py 2G
    python benchmarks/big_file.py 200M --command 'otel-chloe runs {file} --format json'

Writes a recording of SIZE in the temporary directory (OTLP/JSON, a span a line, small agent runs), runs the command on
it in a child process with its output thrown away, prints the figures, and deletes the recording. Held to: peak memory
of 200 MiB at most for 2G, and within 10 % of that for 200M; 0.45 of json.loads' rate.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SECOND = 10**9
EPOCH = 1_796_000_000 * SECOND
AGENTS = ("site_doctor", "travel_planner", "librarian")
TOOLS = ("check_site", "restart_site", "find_book", "book_flight", "delete_site")
RULES = {
    "agents": {agent: {"calls": {"mustCall": ["check_site"], "atMostOnce": ["restart_site"]}} for agent in AGENTS}
    | {"*": {"calls": {"mustNotCall": ["delete_site"]}}}
}
WORDS = [
    "the",
    "site",
    "is",
    "down",
    "since",
    "noon",
    "and",
    "pages",
    "answer",
    "with",
    "an",
    "error",
    "so",
    "please",
    "look",
]

LOADS = """
import json, sys, time
spent = size = 0
with open(sys.argv[1], "rb") as file:
    while lines := file.readlines(1 << 24):
        began = time.perf_counter()
        for line in lines:
            json.loads(line)
        spent += time.perf_counter() - began
        size += sum(map(len, lines))
print(size / spent)
"""


class Run:
    """One agent run: model calls and tool calls in turn under an agent span, each span with the history up to it."""

    def __init__(self, chance: random.Random, start: int) -> None:
        self._chance = chance
        self._trace = f"{chance.getrandbits(128) | 1:032x}"
        self._root = self._id()
        self._agent = chance.choice(AGENTS)
        self._history = [{"role": "user", "parts": [{"type": "text", "content": self._text(40)}]}]
        self._start = self._now = start

    def lines(self) -> Iterator[bytes]:
        """Give the run's spans in the order in which they end."""
        for _ in range(self._chance.randint(1, 5)):
            yield from self._turn()
        answer = self._said([{"type": "text", "content": self._text(60)}])
        yield self._chat(answer)
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": self._agent,
            "gen_ai.input.messages": json.dumps(self._history[:1]),
            "gen_ai.output.messages": json.dumps([answer]),
        }
        yield self._line(f"invoke_agent {self._agent}", self._root, None, self._start, 1, attributes)

    def _turn(self) -> Iterator[bytes]:
        tool = self._chance.choices(TOOLS, (8, 3, 3, 3, 1))[0]
        call = {"type": "tool_call", "id": f"call_{self._id()}", "name": tool, "arguments": {"site": self._text(3)}}
        request = self._said([call])
        yield self._chat(request)
        result = self._text(50)
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": call["id"],
            "gen_ai.tool.call.arguments": json.dumps(call["arguments"]),
            "gen_ai.tool.call.result": result,
        }
        yield self._line(f"execute_tool {tool}", self._id(), self._root, self._now, 1, attributes)
        response = {"type": "tool_call_response", "id": call["id"], "response": result}
        self._history += [request, {"role": "tool", "parts": [response]}]

    def _chat(self, output: dict[str, object]) -> bytes:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4o-mini",
            "gen_ai.response.id": f"chatcmpl-{self._id()}",
            "gen_ai.usage.input_tokens": self._chance.randint(100, 4000),
            "gen_ai.usage.output_tokens": self._chance.randint(10, 400),
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.system_instructions": json.dumps([{"type": "text", "content": self._text(120)}]),
            "gen_ai.input.messages": json.dumps(self._history),
            "gen_ai.output.messages": json.dumps([output]),
        }
        return self._line("chat gpt-4o-mini", self._id(), self._root, self._now, 3, attributes)

    def _said(self, parts: list[dict[str, object]]) -> dict[str, object]:
        return {"role": "assistant", "parts": parts, "finish_reason": "stop"}

    def _line(
        self, name: str, span: str, parent: str | None, start: int, kind: int, attributes: dict[str, object]
    ) -> bytes:
        self._now += self._chance.randint(SECOND // 100, SECOND)
        fields = {
            "traceId": self._trace,
            "spanId": span,
            **({"parentSpanId": parent} if parent else {}),
            "flags": 256,
            "name": name,
            "kind": kind,
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(self._now),
            "attributes": _pairs(attributes),
            "status": {},
        }
        scope = {"scope": {"name": "opentelemetry.instrumentation.openai"}, "spans": [fields]}
        return json.dumps({"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [scope]}]}).encode() + b"\n"

    def _id(self) -> str:
        return f"{self._chance.getrandbits(64) | 1:016x}"

    def _text(self, words: int) -> str:
        return " ".join(self._chance.choices(WORDS, k=words))


def _pairs(attributes: dict[str, object]) -> list[dict[str, object]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: object) -> dict[str, object]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(element) for element in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


RESOURCE = {
    "attributes": _pairs(
        {
            "telemetry.sdk.language": "python",
            "telemetry.sdk.name": "opentelemetry",
            "telemetry.sdk.version": "1.45.2",
            "service.instance.id": "068c80f8-96d8-4a40-aac1-c4e4d00c20ff",
            "service.name": "big-file",
        }
    )
}


def write(path: Path, size: int, seed: int) -> tuple[int, int, int]:
    """Write whole runs until the size is reached. Returns bytes, spans and runs."""
    chance = random.Random(seed)
    written = spans = runs = 0
    with path.open("wb", 1 << 20) as file:
        while written < size:
            runs += 1
            for line in Run(chance, EPOCH + runs * SECOND // 10).lines():
                written += file.write(line)
                spans += 1
    return written, spans, runs


def run(command: list[str]) -> tuple[float, float]:
    """Run a command. Returns its seconds and its peak memory in MiB.

    The kernel counts this process's own memory at the fork into the child's peak: it stays under 30 MiB.
    """
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    spent = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in {0, 1}:  # 1: some marks did not pass, as they should not
        sys.exit(f"{shlex.join(command)} ended with {child.returncode}")
    return spent, usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)  # macOS counts bytes, Linux KiB


def loads_rate(path: Path) -> float:
    """Give the bytes a second that json.loads alone takes in, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", LOADS, path], capture_output=True, check=True, text=True)
    return float(done.stdout)


def size_of(text: str) -> int:
    """Read a size such as 2G, 200M or 512k."""
    units = {"k": 10, "m": 20, "g": 30}
    unit = text[-1:].lower()
    return int(float(text[:-1]) * (1 << units[unit])) if unit in units else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", type=size_of, help="2G, 200M, ...")
    parser.add_argument("--command", default="", help="with {file} and {rules}; default: otel-chloe score")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", help="where the recording is written (default: the temporary directory)")
    given = parser.parse_args()
    program = shlex.quote(str(Path(sys.executable).with_name("otel-chloe")))
    command = given.command or f"{program} score {{file}} --rules {{rules}} --no-judge"
    with tempfile.TemporaryDirectory(dir=given.dir) as folder:
        file, rules = Path(folder, "big.otlp.jsonl"), Path(folder, "rules.json")
        rules.write_text(json.dumps(RULES))
        written, spans, runs = write(file, given.size, given.seed)
        print(f"{written / 1e6:,.0f} MB, {spans:,} spans of {written / spans:,.0f} bytes, {runs:,} runs")
        before = loads_rate(file)
        spent, peak = run([part.format(file=file, rules=rules) for part in shlex.split(command)])
        loads = (before + loads_rate(file)) / 2
    rate = written / spent
    print(f"command     {rate / 1e6:8,.1f} MB/s  {spans / spent:10,.0f} spans/s  {spent:8.1f} s  peak {peak:,.0f} MiB")
    print(f"json.loads  {loads / 1e6:8,.1f} MB/s")
    print(f"ratio       {rate / loads:8.2f}")


if __name__ == "__main__":
    main()
