"""Where marks go: the providers that are given, set globally, or missing."""

from __future__ import annotations

import subprocess
import sys
import time

from opentelemetry import _logs, metrics
from sink_backend import a_run

from otel_chloe.health import Health
from otel_chloe.mark import Mark
from otel_chloe.sinks import Sinks
from otel_chloe.sinks.providers import Providers, is_real


def test_the_apis_own_proxies_are_no_providers(backend):
    assert not is_real(metrics.NoOpMeterProvider())
    assert not is_real(_logs.NoOpLoggerProvider())
    assert not is_real(metrics._internal._ProxyMeterProvider())
    assert not is_real(_logs._internal.ProxyLoggerProvider())
    assert is_real(backend.meters)
    assert is_real(backend.loggers)


def test_without_providers_one_warning_says_what_to_add(caplog):
    health = Health(time.monotonic)
    sinks = Sinks(health)
    for _ in range(3):
        sinks.emit(a_run(), [(a_run(), Mark(1.0, ""))])
    sinks.publish(open_runs=1)
    health.write_log()

    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "no MeterProvider and no LoggerProvider" in record.getMessage()
    assert "metrics.set_meter_provider(" in record.getMessage()
    assert "_logs.set_logger_provider(" in record.getMessage()


def test_the_warning_names_only_what_is_missing(backend):
    only_logs = Providers(None, backend.loggers).missing()

    assert "no MeterProvider is set, so score metrics" in only_logs
    assert "LoggerProvider" not in only_logs
    assert Providers(backend.meters, backend.loggers).missing() is None


def test_the_lines_that_the_warning_gives_run():
    """They set global providers, so they run in an interpreter of their own."""
    lines = [line.strip() for line in Providers().missing().splitlines()[1:]]
    # Left without the exit handlers, which would export to a collector that is not there.
    lines += ["print(metrics.get_meter_provider(), _logs.get_logger_provider(), flush=True)", "import os; os._exit(0)"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=30, check=False
    )

    assert "opentelemetry.sdk.metrics" in done.stdout, done.stderr
    assert "sdk._logs" in done.stdout


PROVIDERS_SET_LATER = """
import sys, time
from opentelemetry import _logs, metrics
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs import export
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from otel_chloe.health import Health
from otel_chloe.mark import Mark
from otel_chloe.run import Run
from otel_chloe.sinks import Sinks

found = []
sinks = Sinks(Health(time.monotonic), on_provider=lambda: found.append(1))
run = Run(agent="a", trace_id="1" * 32, span_id="2" * 16, end_ns=1)
sinks.emit(run, [(run, Mark(1.0, ""))])
assert not found
reader, loggers = InMemoryMetricReader(), LoggerProvider()
logs = (getattr(export, "InMemoryLogRecordExporter", None) or export.InMemoryLogExporter)()
metrics.set_meter_provider(MeterProvider([reader]))
sinks.publish(open_runs=4)
assert found == [1]
loggers.add_log_record_processor(export.SimpleLogRecordProcessor(logs))
_logs.set_logger_provider(loggers)
sinks.emit(run, [(run, Mark(1.0, ""))])
sinks.emit(run, [(run, Mark(1.0, ""))])
assert found == [1, 1]
assert len(logs.get_finished_logs()) == 2
values = {
    metric.name: sum(getattr(point, "value", 0) for point in metric.data.data_points)
    for metric in reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
}
assert (values["chloe.runs"], values["chloe.runs.open"]) == (2, 4), values
"""


def test_providers_that_are_set_after_the_first_run_are_used_from_then_on():
    done = subprocess.run(
        [sys.executable, "-c", PROVIDERS_SET_LATER], capture_output=True, text=True, timeout=30, check=False
    )

    assert done.returncode == 0, done.stderr
