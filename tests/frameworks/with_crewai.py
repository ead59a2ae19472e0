"""CrewAI with OpenInference, for the crew and for the model's client. Another agent is a co-worker."""

from __future__ import annotations

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from scripted_model import SITE
from stage import AGENT, HELPER, PROMPT, PURPOSE, Stage, play


def instrument(provider: TracerProvider) -> None:
    CrewAIInstrumentor().instrument(tracer_provider=provider)
    OpenAIInstrumentor().instrument(tracer_provider=provider)


def program(stage: Stage) -> str:
    def agent(role: str, model: str, tools: list, *, delegates: bool = False) -> Agent:
        llm = LLM(model=f"openai/{model}", base_url=stage.url, api_key="scripted", stream=stage.stream)
        return Agent(
            role=role, goal="Sites are up.", backstory=PURPOSE, llm=llm, tools=tools, allow_delegation=delegates
        )

    doctor = agent(AGENT, stage.model, [tool(one) for one in stage.tools()], delegates=stage.hands_on)
    agents = [doctor]
    if stage.hands_on:
        agents.append(agent(HELPER, stage.helper, [tool(stage.ledger.tool("restart_site"))]))
    task = Task(description=PROMPT, expected_output="What was done.", agent=doctor)
    return str(Crew(agents=agents, tasks=[task]).kickoff().raw)


if __name__ == "__main__":
    asked = {"task": "Restart it.", "context": SITE["site"], "coworker": HELPER}
    play(program, delegation=("delegate_work_to_coworker", asked), instrument=instrument)
