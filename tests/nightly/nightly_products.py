"""`attach()` to products that set OpenTelemetry up, the real ones from PyPI: nothing of theirs is replaced.

They are many and heavy, and so in an environment of their own in the user's cache. What their own exporters send is
looked at, on a receiver on loopback.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

import pytest
from agent_script import run_script
from otlp_receiver import Receiver, said
from packages import python_with

PACKAGES = ("langfuse==5.0.4", "langsmith[otel]==0.15.1", "traceloop-sdk==0.62.4", "pyyaml")

PRODUCTS = {
    "langfuse": """
        from langfuse import Langfuse
        Langfuse(public_key="pk-lf-1", secret_key="sk-lf-1", base_url=URL)
    """,
    "langsmith": """
        from langsmith.integrations.otel import configure
        os.environ["LANGSMITH_ENDPOINT"] = URL
        configure(api_key="k", project_name="shop")
    """,
    "traceloop": """
        from traceloop.sdk import Traceloop
        Traceloop.init(app_name="shop", api_endpoint=URL, api_key="k", disable_batch=True, telemetry_enabled=False)
    """,
}
USED = """
    from otel_chloe import attach
    provider = trace.get_tracer_provider()
    processors = lambda: provider._active_span_processor._span_processors
    before = processors()
    attachment = attach(RULES)
    say(len(before) > 0, processors() == (*before, attachment.processor), attach(RULES) is attachment)
    tracer = trace.get_tracer("app")
    with tracer.start_as_current_span("invoke_agent site_doctor", attributes=agent_attributes("site_doctor")):
        with tracer.start_as_current_span("execute_tool", attributes=tool_attributes("check_site")):
            pass
    say(attachment.flush(), provider.force_flush())
    attachment.detach()
    say(processors() == before)
    os._exit(0)  # without what their exit handlers wait for
"""


@pytest.fixture(scope="module")
def python() -> str:
    """The Python that has the products."""
    return python_with("products", PACKAGES)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.mark.parametrize("product", list(PRODUCTS))
def test_marks_are_on_what_a_product_exports_and_it_stays_as_it_was(product: str, python: str, receiver: Receiver):
    lines = run_script(f"URL = {receiver.url!r}\n{dedent(PRODUCTS[product])}{dedent(USED)}", python=python)

    assert lines[-3:] == ["True True True", "True True", "True"]  # before them stands what a product says of itself
    marked = {span.name: said(span.attributes).get("chloe.passed") for span in receiver.spans}
    assert marked["invoke_agent site_doctor"] is True
    assert marked["execute_tool"] is None
