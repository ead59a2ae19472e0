"""openai-agents with OpenInference, over the Responses API. Another agent is handed the conversation."""

from __future__ import annotations

import asyncio

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_trace_processors
from openai import AsyncOpenAI
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from stage import AGENT, HELPER, PROMPT, PURPOSE, Stage, play


def instrument(provider: TracerProvider) -> None:
    set_trace_processors([])  # the SDK's own one sends to its maker
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


def program(stage: Stage) -> str:
    client = AsyncOpenAI(base_url=stage.url, api_key="scripted")
    helper = Agent(
        name=HELPER,
        model=OpenAIResponsesModel(stage.helper, client),
        tools=[function_tool(stage.ledger.tool("restart_site"))],
    )
    agent = Agent(
        name=AGENT,
        instructions=PURPOSE,
        model=OpenAIResponsesModel(stage.model, client),
        tools=[function_tool(tool) for tool in stage.tools()],
        handoffs=[helper] if stage.hands_on else [],
    )
    return asyncio.run(streamed(agent) if stage.stream else whole(agent))


async def whole(agent: Agent) -> str:
    return str((await Runner.run(agent, PROMPT)).final_output)


async def streamed(agent: Agent) -> str:
    result = Runner.run_streamed(agent, PROMPT)
    async for _ in result.stream_events():
        pass
    return str(result.final_output)


if __name__ == "__main__":
    play(program, delegation=("transfer_to_restarter", {}), instrument=instrument)
