"""A wrong rules file: each mistake with its file, line and column, and what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from otel_chloe.config import load_rules
from otel_chloe.errors import ConfigError

KEYS = "purpose, calls, expectations, severity, scorers, where"

# Each mistake stands alone in its file, at the line and column given.
MISTAKES = [
    pytest.param("agnts: {}", "1:1: agnts: unknown key 'agnts'. Did you mean agents?", id="unknown key at the top"),
    pytest.param(
        "agents:\n  a:\n    calls: {mustcal: [x]}",
        "3:13: agents.a.calls.mustcal: unknown key 'mustcal'. Did you mean mustCall?",
        id="unknown key in calls",
    ),
    pytest.param(
        "agents:\n  a:\n    call: {mustCall: [x]}",
        "3:5: agents.a.call: unknown key 'call'. Did you mean calls?",
        id="unknown key of an agent",
    ),
    pytest.param(
        "agents: {a: {tools: []}}",
        f"1:14: agents.a.tools: unknown key 'tools'. The keys here are {KEYS}.",
        id="unknown key with none near",
    ),
    pytest.param(
        "support:\n  calls: {mustCall: [x]}",
        "1:1: support: unknown key 'support'. It is an agent's: write it below agents.",
        id="an agent at the top",
    ),
    pytest.param(
        "calls: {mustCall: [x]}",
        "1:1: calls: unknown key 'calls'. It belongs below an agent's name.",
        id="rules of no agent",
    ),
    pytest.param(
        "agents: {a: {mustCall: [x]}}",
        "1:14: agents.a.mustCall: unknown key 'mustCall'. It belongs in an agent's calls.",
        id="tools of an agent without calls",
    ),
    pytest.param(
        "agents: {a: {calls: {severity: page}}}",
        "1:22: agents.a.calls.severity: unknown key 'severity'. It belongs below an agent's name.",
        id="a key one level too deep",
    ),
    pytest.param(
        "agents: {a: {model: m}}",
        "1:14: agents.a.model: unknown key 'model'. It belongs in judge or in an agent's expectations.",
        id="a key that belongs in two places",
    ),
    pytest.param(
        "settings: {settle: 1}",
        "1:12: settings.settle: unknown key 'settle'. Did you mean settle_s?",
        id="a setting in one word",
    ),
    pytest.param(
        "settings: {max_span: 1}",
        "1:12: settings.max_span: unknown key 'max_span'. Did you mean max_spans?",
        id="unknown setting",
    ),
    pytest.param(
        "judge: {modle: x}", "1:9: judge.modle: unknown key 'modle'. Did you mean model?", id="unknown key of the judge"
    ),
    pytest.param(
        "agents:\n  a:\n    calls:\n      mustCall: check_site",
        """4:17: agents.a.calls.mustCall: 'check_site' is one text, not a list. Write a list: ["check_site"].""",
        id="a text for a list",
    ),
    pytest.param(
        "agents:\n  a:\n    calls:\n      must_call:\n        - x\n        - 1",
        """6:11: agents.a.calls.must_call[1]: 1 is a number, not a text. Write it in quotes: "1".""",
        id="a number for a name",
    ),
    pytest.param(
        "agents: {a: {calls: {mustCall: [yes]}}}",
        "1:33: agents.a.calls.mustCall[0]: True is true or false, not a text. Write it in quotes.",
        id="yes for a name",
    ),
    pytest.param(
        'agents: {a: {calls: {mustCall: ["x", ""]}}}',
        "1:38: agents.a.calls.mustCall[1]: an empty text stands here. Write a text, or leave it out.",
        id="an empty name",
    ),
    pytest.param(
        "agents:\n  a:\n    calls:\n      mustCall:\n",
        "4:7: agents.a.calls.mustCall: nothing stands here. Write a value, or leave the key out.",
        id="nothing for a list",
    ),
    pytest.param(
        "agents:\n  a:\n",
        f"2:3: agents.a: nothing stands here. Write a mapping with the keys {KEYS}.",
        id="nothing for an agent",
    ),
    pytest.param(
        "agents:\n  a: [x]",
        f"2:6: agents.a: ['x'] is not a mapping. Write a mapping with the keys {KEYS}.",
        id="a list for an agent",
    ),
    pytest.param(
        "agents: [a]",
        "1:9: agents: ['a'] is not a mapping. Write a mapping with a key for each agent.",
        id="a list of agents",
    ),
    pytest.param(
        "- a",
        "1:1: ['a'] is not a mapping. Write a mapping with the keys judge, agents, settings.",
        id="a list at the top",
    ),
    pytest.param(
        "agents:\n  1: {}",
        """2:3: agents: 1 is a number, not a text. Write it in quotes: "1".""",
        id="a number for an agent",
    ),
    pytest.param(
        "agents: {on: {}}",
        "1:10: agents: True is true or false, not a text. Write it in quotes.",
        id="on for an agent",
    ),
    pytest.param("1: {}", "1:1: the key 1 is not a text. Write it in quotes.", id="a number for a key"),
    pytest.param(
        "agents: {a: {calls: {count: success}}}",
        "1:29: agents.a.calls.count: 'success' is not one of the words here. Did you mean succeeded? "
        "Write one of: attempted, executed, succeeded.",
        id="another word for count",
    ),
    pytest.param(
        "agents: {a: {calls: {per: call}}}",
        "1:27: agents.a.calls.per: 'call' is not one of the words here. Write one of: name, arguments.",
        id="another word for per",
    ),
    pytest.param(
        "agents: {a: {severity: pager}}",
        "1:24: agents.a.severity: 'pager' is not one of the words here. Did you mean page? "
        "Write one of: page, ticket, none.",
        id="another word for severity",
    ),
    pytest.param(
        "agents: {a: {expectations: {threshold: 80}}}",
        "1:40: agents.a.expectations.threshold: 80 cannot stand here. Write a number from 0 to 1.",
        id="a threshold in percent",
    ),
    pytest.param(
        "judge: {timeout_s: 0}",
        "1:20: judge.timeout_s: 0 cannot stand here. Write a number of seconds, more than 0.",
        id="no time at all",
    ),
    pytest.param(
        "judge: {usdPerDay: ten}",
        "1:20: judge.usdPerDay: 'ten' cannot stand here. Write an amount in US dollars, 0 or more.",
        id="a word for an amount",
    ),
    pytest.param(
        "settings: {maxSpans: 1.5}",
        "1:22: settings.maxSpans: 1.5 cannot stand here. Write a whole number, 1 or more.",
        id="half a span",
    ),
    pytest.param(
        "settings: {reasons: 1}", "1:21: settings.reasons: 1 cannot stand here. Write true or false.", id="1 for true"
    ),
    pytest.param(
        "settings: {settle_s: .nan}",
        "1:22: settings.settle_s: nan cannot stand here. Write a number of seconds, 0 or more.",
        id="not a number",
    ),
    pytest.param(
        "agents: {a: {calls: {mustCall: [x], must_call: [y]}}}",
        "1:37: agents.a.calls.must_call: mustCall is given twice, in both spellings. Write it once.",
        id="both spellings",
    ),
    pytest.param(
        "agents:\n  a: {}\n  b: {}\n  a: {}",
        "4:3: the key 'a' is here for the second time. Write it once.",
        id="a key twice",
    ),
    pytest.param(
        "agents:\n  a:\n    expectations: {should: [x]}",
        "3:5: agents.a.expectations: lines need a model to judge them. "
        "Write judge: {model: …}, or model: beside the lines.",
        id="lines without a model",
    ),
    pytest.param("agents: {a: [}", "1:14: not YAML: expected the node content, but found '}'.", id="not YAML"),
    pytest.param("agents:\n\ta: {}", "2:1: not YAML: found character '\\t' that cannot start any token.", id="a tab"),
    pytest.param(
        "agents:\n  *: {}",
        """2:4: not YAML: expected alphabetic or numeric character, but found ':'. Write "*" in quotes.""",
        id="a bare star",
    ),
    pytest.param("a: 1\n---\nb: 2", "2:1: not YAML: but found another document.", id="two documents"),
    pytest.param(
        "a: !!python/object:os.system {}",
        "1:4: not YAML: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object:os.system'.",
        id="a tag that makes objects",
    ),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_in_yaml(rules_file: Any, text: str, message: str) -> None:
    """The file, the line, the column, the key, what is wrong, what to write."""
    path = rules_file(text)
    with pytest.raises(ConfigError) as error:
        load_rules(path)

    assert str(error.value) == f"{path}:{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n\t"agents": {\n\t\t"a": {"calls": {"mustCall": "x"}}}}', "3:31: agents.a.calls.mustCall: 'x' is one text"),
        ('{"agents": {"a": {}, "a": {}}}', "1:22: the key 'a' is here for the second time."),
        ('{"agents": ', "1:12: not JSON: Expecting value."),
        ('{"agnts": {}}', "1:2: agnts: unknown key 'agnts'. Did you mean agents?"),
    ],
)
def test_a_mistake_in_json(rules_file: Any, text: str, message: str) -> None:
    """JSON has places too."""
    path = rules_file(text, "rules.json")
    with pytest.raises(ConfigError) as error:
        load_rules(path)

    assert str(error.value).startswith(f"{path}:{message}")


def test_a_mistake_in_a_mapping() -> None:
    """It has no lines: the keys say where."""
    with pytest.raises(ConfigError, match=r"^rules: agents\.a\.calls\.mustCall: 'x' is one text"):
        load_rules({"agents": {"a": {"calls": {"mustCall": "x"}}}})


def test_all_mistakes_are_told_in_the_order_of_the_file(rules_file: Any) -> None:
    """One line each."""
    path = rules_file("settings: {x: 1}\nagents:\n  a: {calls: {count: all}}\njudge: {concurrency: 0}\n")
    with pytest.raises(ConfigError) as error:
        load_rules(path)

    places = [line.removeprefix(f"{path}:").split(": ")[0] for line in str(error.value).splitlines()]
    assert places == ["1:12", "3:22", "4:22"]


class TestUnreadable:
    """A file that is no rules file at all."""

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("missing.yaml", None, "there is no such file in "),
            ("empty.yaml", b" \n", "the file is empty. Write agents:, and the rules of each below it."),
            ("comments.yaml", b"# agents:\n", "there is nothing but comments. Write agents:,"),
            ("zero.yaml", b"a: \0", "not YAML: unacceptable character #x0000"),
            ("latin.yaml", b"agents: {caf\xe9: {}}", "not UTF-8 (invalid continuation byte). Save the rules file"),
            ("deep.json", b'{"a":' + b"[" * 100_000, "nested too deeply for a rules file."),
            ("deep.yaml", b"[" * 5_000, "nested too deeply for a rules file."),
            (
                "date.yaml",
                b"agents: 2026-13-45",
                "a value cannot be read (month must be in 1..12). Write texts in quotes.",
            ),
        ],
    )
    def test_what_is_wrong_with_it(self, tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
        """And what to write instead."""
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ConfigError) as error:
            load_rules(path)

        assert str(error.value).startswith(f"{path}: {message}")

    def test_a_file_that_is_named_almost_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A path is told with the folder in which it was looked for, and a file of that folder that may be meant."""
        (tmp_path / "rules.yaml").write_text("agents: {}\n")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ConfigError) as error:
            load_rules("rules.yml")

        assert str(error.value) == f"rules.yml: there is no such file in {tmp_path}. Did you mean rules.yaml?"

    def test_a_file_in_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        """The folder is what to mend."""
        with pytest.raises(ConfigError) as error:
            load_rules(tmp_path / "confg" / "rules.yaml")

        assert str(error.value) == (
            f"{tmp_path / 'confg' / 'rules.yaml'}: there is no folder {tmp_path / 'confg'}. "
            "Write the path of a rules file in YAML or JSON."
        )

    def test_a_directory(self, tmp_path: Path) -> None:
        """It is there, but it is no file."""
        with pytest.raises(ConfigError, match=r"cannot be read \(.*\)\. Write the path of a rules file"):
            load_rules(tmp_path)

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            (
                "agents:\n  a: {}\n",
                "rules: this is a text of several lines, not a path. Write a path, or give a mapping.",
            ),
            (["rules.yaml"], "rules: ['rules.yaml'] is a list. Write the path of a rules file, or give a mapping."),
        ],
    )
    def test_no_path_and_no_mapping(self, source: Any, message: str) -> None:
        """The text of a file is not its path."""
        with pytest.raises(ConfigError) as error:
            load_rules(source)

        assert str(error.value) == message

    def test_a_file_that_contains_itself(self, rules_file: Any) -> None:
        """An anchor inside of what it stands for."""
        with pytest.raises(ConfigError):
            load_rules(rules_file("agents: &a {x: *a}"))
