"""pydantic-ai, which makes its own spans."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from stage import AGENT, PROMPT, PURPOSE, Stage, play


def program(stage: Stage, url: str) -> Any:
    stage.ledger.error = ModelRetry
    Agent.instrument_all()
    model = OpenAIChatModel(stage.model, provider=OpenAIProvider(base_url=url, api_key="scripted"))
    agent = Agent(model, name=AGENT, instructions=PURPOSE, tools=stage.ledger.tools())
    return asyncio.run(streamed(agent) if stage.stream else whole(agent))


async def whole(agent: Agent) -> str:
    return (await agent.run(PROMPT)).output


async def streamed(agent: Agent) -> str:
    async with agent.run_stream(PROMPT) as result:
        return await result.get_output()


if __name__ == "__main__":
    play(program)
