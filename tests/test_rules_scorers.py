"""`scorers:` in the rules: how they are found, what they are given, and what is said where that is wrong."""

from __future__ import annotations

import logging
import sys
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from otel_chloe import Rules, Run, Scorer, ToolCall, score
from otel_chloe.config import load_rules
from otel_chloe.errors import ConfigError

READY = "otel_chloe.scorers"
NUMBERS = count()

SCORERS = """
from otel_chloe import Scorer

def polite(output):
    return "please" in (output or "")

@Scorer.code(threshold=0.5)
def length(ctx, words=10):
    return len((ctx.output or "").split()) / words

class Groups:
    @staticmethod
    def short(output, limit):
        return len(output) <= limit

    def grouped(self, output):
        return True

class Raises:
    def __getattr__(self, name):
        raise RuntimeError(name)

raises = Raises()

def judge_of(question, model="m"):
    return Scorer.llm_judge(name="judged", model=model, rubric=question, complete=lambda model, messages: "1")

is_kind = Scorer.llm_judge(name="is_kind", model="claude-haiku-4-5", rubric="Is it kind?", threshold=0.5)
tone = Scorer.llm_judge(name="tone", model="m", rubric="Which?", value_type="categorical", threshold=1)
sure = Scorer.code(lambda output: True, name="sure", value_type="boolean", threshold=0.5)
number = 3
_hidden = 1
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module of scorers beside the rules file. Modules are imported once, so each has its own."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    name = f"own_scorers_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(SCORERS)
    return name


def loaded(tmp_path: Path, scorers: str) -> Rules:
    path = tmp_path / "rules.yaml"
    path.write_text(f"agents:\n  a:\n    scorers:\n{scorers}\n")
    return load_rules(path)


def mistake(tmp_path: Path, scorers: str) -> str:
    with pytest.raises(ConfigError) as raised:
        loaded(tmp_path, scorers)
    return str(raised.value).removeprefix(f"{tmp_path / 'rules.yaml'}:")


def of(rules: Rules, agent: str = "a") -> list[Any]:
    found = rules.for_run(agent)
    assert found is not None
    return [rule.scorer for rule in found.scorers]


class TestFinding:
    def test_beside_the_rules_file(self, tmp_path, module):
        polite, length = of(loaded(tmp_path, f"      - {module}:polite\n      - use: {module}:length"))

        assert [mark.score for mark in score(Run(output="Yes, please."), [polite, length])] == [1.0, 0.2]
        assert length.threshold == 0.5

    def test_what_a_function_imports_later_is_found_beside_it(self, tmp_path, module):
        before = [*sys.path]
        (tmp_path / f"{module}_helper.py").write_text("def said(output): return output")
        with (tmp_path / f"{module}.py").open("a") as file:
            file.write(f"\ndef later(output):\n    from {module}_helper import said\n    return said(output)\n")

        (later,) = of(loaded(tmp_path, f"      - {module}:later"))

        assert [mark.value for mark in score(Run(output="o"), [later])] == ["o"]
        assert sys.path == [*before, str(tmp_path)]

    def test_a_directory_in_which_nothing_was_found_leaves_no_trace(self, tmp_path):
        before = [*sys.path]

        loaded(tmp_path, f"      - {READY}:no_loops")

        assert sys.path == before

    def test_in_the_working_directory(self, tmp_path, module, monkeypatch):
        monkeypatch.chdir(tmp_path)

        (polite,) = of(load_rules({"agents": {"a": {"scorers": [f"{module}:polite"]}}}))

        assert polite.name == "polite"

    def test_below_a_name(self, tmp_path, module):
        (short,) = of(loaded(tmp_path, f"      - {{use: '{module}:Groups.short', with: {{limit: 3}}}}"))

        assert [mark.passed for mark in score(Run(output="Hi!"), [short])] == [True]

    def test_what_is_installed_is_not_hidden_by_a_file_of_the_same_name(self, tmp_path):
        (tmp_path / "pytest.py").write_text("def polite(output): return True")

        assert "pytest has no polite." in mistake(tmp_path, "      - pytest:polite")

    def test_by_an_entry_point(self, monkeypatch):
        point = metadata.EntryPoint("error_rate", f"{READY}:tool_error_rate", "otel_chloe.scorers")
        monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == "otel_chloe.scorers" else [])

        (found,) = of(load_rules({"agents": {"a": {"scorers": ["error_rate"]}}}))
        with pytest.raises(ConfigError, match=r"names a scorer 'eror_rate'\. Did you mean error_rate\?"):
            load_rules({"agents": {"a": {"scorers": ["eror_rate"]}}})

        assert found.name == "tool_error_rate"

    def test_a_mapping_may_hold_the_functions_themselves(self):
        def polite(output: str) -> bool:
            return bool(output)

        one, other = of(load_rules({"agents": {"a": {"scorers": [polite, {"use": Scorer.code(polite, name="p2")}]}}}))

        assert (one.name, other.name) == ("polite", "p2")


class TestWhatTheyAreGiven:
    def test_arguments_threshold_name_sample_and_severity(self):
        entry = {
            "use": f"{READY}:max_calls", "with": {"limit": 1}, "name": "few", "threshold": 1, "sample": 0.25,
            "severity": "page",
        }  # fmt: skip
        rules = load_rules({"agents": {"a": {"scorers": [entry]}}})

        (rule,) = rules.named("a").scorers
        (mark,) = score(Run(tool_calls=[ToolCall("x"), ToolCall("x")]), [rule.scorer])

        assert (rule.sample, rule.severity, rule.scorer.threshold) == (0.25, "page", 1.0)
        assert (mark.name, mark.key, mark.passed) == ("few", "few", False)
        assert rules.scorers == (rule,)

    def test_a_function_that_makes_a_scorer_of_its_arguments(self, tmp_path, module):
        (judge,) = of(loaded(tmp_path, f"      - {{use: '{module}:judge_of', with: {{question: 'Is it kind?'}}}}"))

        assert [mark.score for mark in score(Run(output="o"), [judge])] == [1.0]

    def test_a_judges_threshold_and_name(self, tmp_path, module):
        (judge,) = of(loaded(tmp_path, f"      - {{use: '{module}:is_kind', threshold: 0.9, name: kind}}"))

        assert (judge.name, judge.key, judge.threshold) == ("kind", "kind", 0.9)

    def test_other_arguments_are_another_version(self):
        def version(limit: int) -> str:
            entry = {"use": f"{READY}:max_calls", "with": {"limit": limit}}
            return load_rules({"agents": {"a": {"scorers": [entry]}}}).digest

        assert version(1) == version(1) != version(2)


SPEECHLESS = """\
class Speechless(Exception):
    def __str__(self):
        raise ValueError

raise Speechless
"""


@pytest.mark.parametrize(
    ("scorers", "said"),
    [
        ("- MOD:polit", "4:9: agents.a.scorers[0]: MOD has no polit. Did you mean polite?"),
        ("- {use: 'MOD:Groups.long'}", "4:15: agents.a.scorers[0].use: MOD.Groups has no long."),
        ("- own_scorer:x", "4:9: agents.a.scorers[0]: there is no module own_scorer. Did you mean MOD? Looked on"),
        ("- broken:x", "importing broken raised ZeroDivisionError: division by zero (DIR/broken.py:2)"),
        ("- wants:x", "importing wants raised ModuleNotFoundError: No module named 'no_such_package' (DIR/wants.py:1)"),
        ("- unwritten:x", "importing unwritten raised SyntaxError: "),
        ("- speechless:x", "importing speechless raised Speechless (DIR/speechless.py:5)"),
        ("- MOD:raises", "4:9: agents.a.scorers[0]: looking at MOD:raises raised RuntimeError: func (DIR/"),
        ("- MOD:raises.x", "4:9: agents.a.scorers[0]: looking at MOD:raises.x raised RuntimeError: x (DIR/"),
        ("- MOD:Groups.grouped", "grouped is a method of a class. Name an object's: my_object.grouped."),
        ("- MOD:number", "4:9: agents.a.scorers[0]: 3 is no scorer."),
        ("- MOD:Groups", "4:9: agents.a.scorers[0]: Groups is a class, not a scorer."),
        ("- ':x'", "4:9: agents.a.scorers[0]: ':x' is no module:name."),
        ("- polite", "no installed package names a scorer 'polite'. Write module:name, such as my_scorers:polite."),
        ("- 3", """4:9: agents.a.scorers[0]: 3 is a number, not a text. Write it in quotes: "3"."""),
        ("-", "4:8: agents.a.scorers[0]: None is nothing, not a text. Write a text."),
        ("- {threshold: 1}", "4:9: agents.a.scorers[0].use: use is missing. Write it, such as"),
        ("- {use: 'MOD:polite', wth: {}}", "agents.a.scorers[0].wth: unknown key 'wth'. Did you mean with?"),
        ("- {use: 'MOD:polite', threshold: .nan}", "scorers[0].threshold: nan cannot stand here. Write a number"),
        ("- {use: 'MOD:polite', threshold: high}", "scorers[0].threshold: 'high' cannot stand here. Write a number"),
        ("- {use: 'MOD:polite', sample: 2}", "scorers[0].sample: 2 cannot stand here. Write a number from 0 to 1."),
        ("- {use: 'MOD:polite', with: [1]}", "scorers[0].with: [1] is not a mapping. Write the arguments by name"),
        ("- {use: 'MOD:polite', with: {x: 1}}", "scorers[0].with: polite has no argument x. It takes none."),
        ("- {use: 'MOD:length', with: {word: 1}}", "length has no argument word. Did you mean words? It takes words."),
        ("- {use: 'MOD:is_kind', with: {x: 1}}", "scorers[0].with: is_kind is a judge, which takes no arguments."),
        ("- {use: 'MOD:judge_of', with: {question: ' '}}", "scorers[0].with: scorer judged: rubric: an empty text"),
        ("- otel_chloe.scorers:max_calls", "scorers[0]: max_calls needs limit. Write with: {limit: …}."),
        ("- {use: 'otel_chloe.scorers:max_calls', with: {limit: x}}", "scorers[0].with: max_calls: limit: 'x' is no"),
        ("- {use: 'otel_chloe.scorers:max_calls', with: {tool: x}}", "scorers[0].with: max_calls needs limit."),
        ("- otel_chloe.scorers:calls", "calls is a rule of its own. Write calls: {mustCall: […]} beside scorers:."),
        ("- {use: 'MOD:polite', name: calls}", "scorer calls: the rules themselves give a score of this name."),
        ("- MOD:polite\n      - MOD:polite", "5:9: agents.a.scorers[1]: a second scorer polite. Write name: and"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, module, scorers, said):
    (tmp_path / "broken.py").write_text("x = 1\nx / 0\n")
    (tmp_path / "wants.py").write_text("import no_such_package\n")
    (tmp_path / "unwritten.py").write_text("def\n")
    (tmp_path / "speechless.py").write_text(SPEECHLESS)

    found = mistake(tmp_path, f"      {scorers.replace('MOD', module)}")

    assert said.replace("MOD", module).replace("DIR", str(tmp_path)) in found


class TestJoining:
    def test_a_run_has_those_of_everyone_and_its_own_each_once_by_its_name(self):
        rules = load_rules({
            "agents": {
                "*": {"scorers": [f"{READY}:tool_error_rate", f"{READY}:output_json"]},
                "a": {"scorers": [f"{READY}:no_loops", {"use": f"{READY}:tool_error_rate", "threshold": 0.1}]},
            }
        })  # fmt: skip

        assert [(each.name, each.threshold) for each in of(rules)] == [
            ("tool_error_rate", 0.1),
            ("output_json", None),
            ("no_loops", None),
        ]
        assert [each.name for each in of(rules, "b")] == ["tool_error_rate", "output_json"]
        assert [rule.scorer.name for rule in rules.named("a").scorers] == ["no_loops", "tool_error_rate"]

    def test_a_file_of_other_scorers_has_another_digest(self):
        def digest(*names: str) -> str:
            return load_rules({"agents": {"a": {"scorers": [f"{READY}:{name}" for name in names]}}}).digest

        assert len({digest(), digest("no_loops"), digest("no_loops", "output_json")}) == 3


def test_a_threshold_that_is_for_no_score_is_warned_about(tmp_path, module, caplog):
    with caplog.at_level(logging.WARNING, "otel_chloe.config"):
        loaded(tmp_path, f"      - {module}:polite\n      - {module}:tone\n      - {module}:sure")

    assert [record.getMessage() for record in caplog.records] == [
        (
            f"{tmp_path / 'rules.yaml'}:5:9: agents.a.scorers[1]: the threshold of tone is for nothing: "
            "its direction is none, so nothing passes or fails"
        ),
        (
            f"{tmp_path / 'rules.yaml'}:6:9: agents.a.scorers[2]: the threshold of sure is for nothing: "
            "its values are true or false, which pass or fail by themselves"
        ),
    ]
