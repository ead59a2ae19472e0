"""`outcomes`: which rules hold for which run, and what each outcome carries."""

from __future__ import annotations

from typing import Any

from otel_chloe.config import Rules, load_rules
from otel_chloe.mark import Mark, Unscored
from otel_chloe.run import Run, ToolCall
from otel_chloe.scorers import outcomes

LINES = {"should": ["says so"]}


def run(agent: str | None, *tools: str, span_id: str | None = "00000000000000aa", sub_runs: Any = ()) -> Run:
    """A run in one trace."""
    return Run(
        agent=agent,
        tool_calls=tuple(ToolCall(tool) for tool in tools),
        sub_runs=sub_runs,
        trace_id="0" * 31 + "1",
        span_id=span_id,
    )


def rules(**agents: Any) -> Rules:
    """Rules for these agents; `everyone` stands for `*`."""
    named = {"*" if name == "everyone" else name: entry for name, entry in agents.items()}
    return load_rules({"judge": {"model": "m"}, "agents": named})


def told(of: Run, by: Rules) -> list[tuple[str | None, str, str | None]]:
    """Each outcome as agent, scorer and reason."""
    return [(scored.agent, outcome.name, outcome.reason) for scored, outcome in outcomes(of, by)]


def test_without_rules_there_are_no_outcomes() -> None:
    """Runs are counted only."""
    assert outcomes(run("a", "x"), Rules()) == []
    assert outcomes(run("b", "x"), rules(a={"calls": {}})) == []


def test_a_top_level_run_has_the_rules_for_everyone_and_its_own() -> None:
    """They are one set of rules and give one mark."""
    both = rules(everyone={"calls": {"mustNotCall": ["x"]}}, a={"calls": {"mustCall": ["y"]}})

    assert told(run("a", "x"), both) == [
        ("a", "calls", "never called y; called x, which it must not. Used: x."),
    ]
    assert told(run("b", "x"), both) == [("b", "calls", "called x, which it must not. Used: x.")]
    assert told(run(None, "x"), both) == [(None, "calls", "called x, which it must not. Used: x.")]


def test_named_sub_runs_are_scored_by_their_own_rules_alone() -> None:
    """At any depth, by their own calls; the others are part of the run above them."""
    deep = run("c", "x", span_id="00000000000000cc")
    middle = run("b", "x", "y", span_id="00000000000000bb", sub_runs=(deep,))
    top = run("a", "x", "y", "z", sub_runs=(middle,))
    by = rules(everyone={"calls": {"mustNotCall": ["x"]}}, c={"calls": {"mustCall": ["y"]}})

    assert told(top, by) == [
        ("a", "calls", "called x, which it must not. Used: x, y, z."),
        ("c", "calls", "never called y. Used: x."),
    ]


def test_an_agent_that_calls_itself_is_scored_at_both_places() -> None:
    """By the joined rules above, by its own below."""
    inner = run("a", "y", span_id="00000000000000bb")
    by = rules(everyone={"calls": {"mustNotCall": ["y"]}}, a={"calls": {"mustCall": ["y"]}})

    marks = [outcome for _, outcome in outcomes(run("a", "y", sub_runs=(inner,)), by)]
    assert [outcome.score for outcome in marks if isinstance(outcome, Mark)] == [0, 1]
    assert len({outcome.id for outcome in marks}) == 2


def test_the_judge_is_off() -> None:
    """Lines are loaded, and say in each outcome that nothing judges them."""
    ((_, outcome),) = outcomes(run("a"), rules(a={"expectations": LINES, "severity": "ticket"}))

    assert isinstance(outcome, Unscored)
    assert (outcome.name, outcome.reason, outcome.error) == ("expectations", "judge off", "judge_off")
    assert outcome.severity == "ticket"
    assert outcome.id


def test_no_lines_need_no_judge() -> None:
    """Nothing was expected, and that was met."""
    ((_, outcome),) = outcomes(run("a"), rules(a={"expectations": {"situation": "s"}}))

    assert isinstance(outcome, Mark)
    assert (outcome.name, outcome.score, outcome.passed) == ("expectations", 1, True)


def test_an_outcome_carries_what_identifies_it() -> None:
    """Name, version, id, revision and severity, the same each time."""
    by = rules(a={"calls": {"mustCall": ["x"]}, "expectations": LINES, "severity": "page"})
    first, second = (outcome for _, outcome in outcomes(run("a", "x"), by))

    assert (first.name, first.revision, first.severity) == ("calls", 0, "page")
    assert first.version is not None
    assert (len(first.version), len(str(first.id))) == (8, 32)
    assert int(first.version, 16) >= 0
    assert int(str(first.id), 16) >= 0
    assert first.id != second.id
    assert [outcome for _, outcome in outcomes(run("a", "x"), by)] == [first, second]


def test_ids_are_the_same_in_every_process() -> None:
    """They are written down here: a change of them is a change that users see."""
    ((_, outcome),) = outcomes(run("a", "x"), rules(a={"calls": {"mustCall": ["x"]}}))

    assert (outcome.version, outcome.id) == ("8e96c3a9", "cfd31bd4796433821afb14f7d2fe5bc2")


def test_what_changes_an_id() -> None:
    """Another span, other rules; not the order of names, nor what the run did, nor the severity."""

    def id_of(of: Run, **entry: Any) -> str | None:
        ((_, outcome),) = outcomes(of, rules(a=entry))
        return outcome.id

    first = id_of(run("a", "x"), calls={"mustCall": ["x", "y"]})

    assert id_of(run("a"), calls={"must_call": ["y", "x"]}, severity="page") == first
    assert id_of(run("a", "x", span_id="00000000000000bb"), calls={"mustCall": ["x", "y"]}) != first
    assert id_of(run("a", "x"), calls={"mustCall": ["x"]}) != first


def test_a_run_without_ids_has_outcomes_without_ids() -> None:
    """Two runs made by hand are not taken for one."""
    by = rules(a={"calls": {}})

    assert [outcome.id for _, outcome in outcomes(Run(agent="a"), by)] == [None]
    assert [outcome.id for _, outcome in outcomes(run("a", span_id=None), by)] == [None]


def test_a_sub_run_belongs_to_the_trace_above_it() -> None:
    """Where it does not say so itself."""
    sub = Run(agent="b", span_id="00000000000000bb")
    by = rules(b={"calls": {}})
    ((scored, outcome),) = outcomes(run("a", sub_runs=(sub,)), by)

    assert scored is sub
    assert outcome.id is not None
