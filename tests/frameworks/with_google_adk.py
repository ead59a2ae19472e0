"""google-adk, which makes its own spans. Another agent is handed the conversation."""

from __future__ import annotations

import asyncio

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types
from stage import AGENT, HELPER, PROMPT, PURPOSE, Stage, play


def tell_the_model(error: Exception, **_: object) -> dict[str, str]:
    """A tool that fails: the model is told, and goes on."""
    return {"error": str(error)}


def program(stage: Stage) -> str:
    def model(name: str) -> LiteLlm:
        return LiteLlm(model=f"openai/{name}", api_base=stage.url, api_key="scripted")

    helper = LlmAgent(
        name=HELPER,
        description="Restarts sites.",
        model=model(stage.helper),
        instruction="Restart it.",
        tools=[stage.ledger.tool("restart_site")],
    )
    agent = LlmAgent(
        name=AGENT,
        model=model(stage.model),
        instruction=PURPOSE,
        tools=stage.tools(),
        on_tool_error_callback=tell_the_model,
        sub_agents=[helper] if stage.hands_on else [],
    )
    return asyncio.run(run(agent, StreamingMode.SSE if stage.stream else StreamingMode.NONE))


async def run(agent: LlmAgent, mode: StreamingMode) -> str:
    runner = InMemoryRunner(agent=agent, app_name="frameworks")
    session = await runner.session_service.create_session(app_name="frameworks", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text=PROMPT)])
    said = ""
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=message, run_config=RunConfig(streaming_mode=mode)
    ):
        if event.is_final_response() and event.content and event.content.parts:
            said = "".join(part.text or "" for part in event.content.parts)
    return said


if __name__ == "__main__":
    play(program, delegation=("transfer_to_agent", {"agent_name": HELPER}))
