"""Scorers of one's own: functions, judges, several scores at once, and one that waits for a person.

    python examples/my_scorers.py

scores one run by all of them. Without a key the judges are answered by ``stub``; with ANTHROPIC_API_KEY, by the model.
"""

from __future__ import annotations

import os
import re
from typing import Any

from otel_chloe import (
    DeferredScore,
    Mark,
    Run,
    Score,
    Scorer,
    ScorerContext,
    ToolCall,
    calls,
    expectations,
    score,
)

MODEL = "claude-haiku-4-5"


def stub(_model: str, messages: list[dict[str, str]]) -> str:
    """Answer for a model: 1.0 where the prompt shows a temperature, else 0.0."""
    return "1.0" if re.search(r"\d C\b", messages[-1]["content"]) else "0.0"


COMPLETE = None if os.environ.get("ANTHROPIC_API_KEY") else stub


# Any function is a scorer. Its score has the function's name.
def reports_temp(input: Any, output: Any, expected: Any = None, metadata: Any = None) -> bool:
    """Whether the answer has the expected temperature in it."""
    return expected is not None and expected in (output or "")


# A threshold says from which number on it passes.
@Scorer.code(key="covers_cities", value_type="numeric", direction="higher_is_better", threshold=1.0)
def covers_cities(ctx: ScorerContext) -> float:
    """The share of the cities asked for that the answer names."""
    cities = ctx.input["cities"]
    output = (ctx.output or "").lower()
    return sum(city.lower() in output for city in cities) / len(cities)


# A model and a prompt are a scorer, too.
is_grounded = Scorer.llm_judge(
    name="is_grounded",
    model=MODEL,
    messages=[
        {"role": "system", "content": "Reply 1.0 if the answer states concrete values, else 0.0."},
        {"role": "user", "content": "ANSWER:\n{{output}}"},
    ],
    value_type="numeric",
    threshold=1.0,
    complete=COMPLETE,
)

# A rubric is enough where there is one instruction.
is_brief = Scorer.llm_judge(
    name="is_brief",
    model=MODEL,
    rubric="Reply 1.0 if the answer is two sentences at most, else 0.0.",
    threshold=1.0,
    complete=COMPLETE,
)


# A function fills placeholders of the prompt's own.
@Scorer.llm_judge(
    name="comparison_present",
    model=MODEL,
    messages=[{"role": "user", "content": "Does {{answer}} compare {{cities}}? Reply 1.0 or 0.0."}],
    value_type="numeric",
    threshold=1.0,
    complete=COMPLETE,
)
def comparison_present(ctx: ScorerContext) -> dict[str, str]:
    """What the prompt asks about."""
    return {"answer": ctx.output, "cities": " and ".join(ctx.input["cities"])}


# A scorer may give several scores at once.
def wording(output: str) -> list[Score]:
    """How long the answer is, and whether it is polite."""
    words = (output or "").split()
    return [
        Score("words", len(words), comment=f"{len(words)} words"),
        Score("polite", "sorry" not in words, metadata={"looked_for": "sorry"}),
    ]


def by_city(ctx: ScorerContext) -> dict[str, bool]:
    """Whether each city is there."""
    return {f"has_{city.lower()}": city in (ctx.output or "") for city in ctx.input["cities"]}


# Or leave it to a person: pending, and never a zero.
def is_helpful(ctx: ScorerContext) -> DeferredScore:
    """What no program can say."""
    return DeferredScore("is_helpful", reason="a person reads it on Friday", metadata={"queue": "weather"})


# The rules of otel_chloe as one scorer among others.
def looked_it_up(run: Run) -> Any:
    """Whether it asked for the weather, and sent nothing."""
    return calls(run, {"mustCall": ["get_weather"], "mustNotCall": ["send_email"], "atMostOnce": ["get_forecast"]})


async def says_where(run: Run) -> Any:
    """Lines that a model judges one by one."""
    return await expectations(
        run.prompt or "",
        run,
        {"should": ["says which city is warmer"]},
        MODEL,
        complete=None if COMPLETE is None else lambda _model, _messages: '{"checks": [{"met": true, "why": "Rome"}]}',
    )


ALL = [
    reports_temp,
    covers_cities,
    is_grounded,
    is_brief,
    comparison_present,
    wording,
    by_city,
    is_helpful,
    looked_it_up,
    says_where,
]

RUN = Run(
    agent="weather",
    prompt="Is it warmer in Rome or in Oslo?",
    input={"cities": ["Rome", "Oslo"]},
    output="It is 22 C in Rome and 4 C in Oslo: Rome is warmer.",
    tool_calls=[
        ToolCall("get_weather", {"city": "Rome"}, "22 C", ok=True),
        ToolCall("get_weather", {"city": "Oslo"}, "4 C", ok=True),
    ],
)


def main() -> None:
    """Print the outcome of every scorer."""
    for outcome in score(RUN, ALL, expected="22 C"):
        said = f"{outcome.score} passed={outcome.passed}" if isinstance(outcome, Mark) else ""
        print(f"{outcome.name:20} {outcome.state:9} {said:22} {outcome.reason}")


if __name__ == "__main__":
    main()
