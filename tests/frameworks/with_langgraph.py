"""An agent of LangChain, which is a graph of LangGraph, with OpenInference. Another agent is asked inside a tool."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from stage import AGENT, HELPER, PROMPT, PURPOSE, Stage, play


@wrap_tool_call
def tell_the_model(request, handler):
    """A tool that fails: the model is told, and goes on."""
    try:
        return handler(request)
    except ValueError as error:
        return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")


def program(stage: Stage) -> str:
    def model(name: str) -> ChatOpenAI:
        return ChatOpenAI(model=name, base_url=stage.url, api_key="scripted", streaming=stage.stream)

    helper = create_agent(model(stage.helper), [tool(stage.ledger.tool("restart_site"))], name=HELPER)

    @tool
    def ask_restarter(task: str) -> str:
        """Have the restarter do it."""
        return helper.invoke({"messages": [("user", task)]})["messages"][-1].content

    agent = create_agent(
        model(stage.model),
        [*map(tool, stage.tools()), *([ask_restarter] if stage.hands_on else [])],
        system_prompt=PURPOSE,
        middleware=[tell_the_model],
        name=AGENT,
    )
    asked = {"messages": [("user", PROMPT)]}
    if stage.stream:
        *_, last = agent.stream(asked, stream_mode="values")
        return last["messages"][-1].content
    return agent.invoke(asked)["messages"][-1].content


if __name__ == "__main__":
    play(
        program,
        delegation=("ask_restarter", {"task": "Restart shop.example."}),
        instrument=lambda provider: LangChainInstrumentor().instrument(tracer_provider=provider),
    )
