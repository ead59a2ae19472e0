"""An application with a provider of its own, which tests attach to."""

from __future__ import annotations

from agent_app import agent_attributes, marks_of, tool_attributes
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Setup:
    """An application's own set-up: a provider and an exporter."""

    def __init__(self, provider=None) -> None:
        self.exporter = InMemorySpanExporter()
        self.exporting = SimpleSpanProcessor(self.exporter)
        self.provider = TracerProvider(shutdown_on_exit=False) if provider is None else provider
        self.provider.add_span_processor(self.exporting)

    def run(self, *tools, agent="site_doctor"):
        tracer = self.provider.get_tracer("app")
        with tracer.start_as_current_span(f"invoke_agent {agent}", attributes=agent_attributes(agent)):
            for tool in tools:
                with tracer.start_as_current_span(f"execute_tool {tool}", attributes=tool_attributes(tool)):
                    pass

    def marks(self):
        return [marks_of(each) for each in self.exporter.get_finished_spans() if each.name.startswith("invoke_agent")]

    def processors(self):
        return self.provider._active_span_processor._span_processors
