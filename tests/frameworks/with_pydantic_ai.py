"""pydantic-ai, which makes its own spans. Another agent is asked inside a tool."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from stage import AGENT, HELPER, PROMPT, PURPOSE, Stage, play


def program(stage: Stage) -> str:
    provider = OpenAIProvider(base_url=stage.url, api_key="scripted")
    agent = Agent(
        OpenAIChatModel(stage.model, provider=provider), name=AGENT, instructions=PURPOSE, tools=stage.tools()
    )
    helper = Agent(
        OpenAIChatModel(stage.helper, provider=provider), name=HELPER, tools=[stage.ledger.tool("restart_site")]
    )

    if stage.hands_on:

        @agent.tool_plain
        async def ask_restarter(task: str) -> str:
            """Have the restarter do it."""
            return (await helper.run(task)).output

    return asyncio.run(streamed(agent) if stage.stream else whole(agent))


async def whole(agent: Agent) -> str:
    return (await agent.run(PROMPT)).output


async def streamed(agent: Agent) -> str:
    async with agent.run_stream(PROMPT) as result:
        return await result.get_output()


if __name__ == "__main__":
    play(
        program,
        delegation=("ask_restarter", {"task": "Restart shop.example."}),
        instrument=lambda _: Agent.instrument_all(),
        error=ModelRetry,
    )
