"""strands, which makes its own spans. Another agent is a tool."""

from __future__ import annotations

import asyncio

from stage import AGENT, HELPER, PROMPT, PURPOSE, Stage, play
from strands import Agent, tool
from strands.models.openai import OpenAIModel


def program(stage: Stage) -> str:
    def model(name: str) -> OpenAIModel:
        return OpenAIModel(client_args={"base_url": stage.url, "api_key": "scripted"}, model_id=name)

    def agent(name: str, model_id: str, tools: list) -> Agent:
        return Agent(model=model(model_id), name=name, system_prompt=PURPOSE, tools=tools, callback_handler=None)

    tools = [tool(one) for one in stage.tools()]
    if stage.hands_on:
        helper = agent(HELPER, stage.helper, [tool(stage.ledger.tool("restart_site"))])
        tools.append(helper.as_tool(name="ask_restarter", description="Have the restarter do it."))
    doctor = agent(AGENT, stage.model, tools)
    return asyncio.run(streamed(doctor)) if stage.stream else str(doctor(PROMPT))


async def streamed(agent: Agent) -> str:
    last = None
    async for event in agent.stream_async(PROMPT):
        last = event.get("result", last)
    return str(last)


if __name__ == "__main__":
    play(program, delegation=("ask_restarter", {"input": "Restart shop.example."}))
