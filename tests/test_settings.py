"""`Settings`: defaults, changes, mistakes, and that the rules file takes the same."""

from __future__ import annotations

from typing import Any

import pytest

from otel_chloe.config import Settings, load_rules
from otel_chloe.config.schema import SettingsEntry
from otel_chloe.config.settings import SETTING_KEYS
from otel_chloe.config.table import chosen
from otel_chloe.errors import ConfigError


def test_the_defaults() -> None:
    """As documented."""
    assert Settings() == Settings(
        settle_s=2,
        idle_s=900,
        max_spans=20_000,
        max_bytes=8_388_608,
        max_open_runs=20_000,
        max_open_bytes=268_435_456,
        remembered_runs=10_000,
        reasons=True,
        evaluation_spans=True,
        baggage=False,
        reload_s=10,
        shutdown_s=10,
        phoenix="",
    )


def test_a_mapping_changes_some() -> None:
    """Those of the rules file stay where it says nothing."""
    base = Settings(settle_s=1, max_spans=5)

    assert Settings.from_mapping({"maxSpans": 6, "idle_s": 3}, base=base) == Settings(settle_s=1, max_spans=6, idle_s=3)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"max_span": 1}, "settings: unknown key 'max_span'. Did you mean max_spans?"),
        ({"idle_s": 0}, "idle_s: 0 cannot stand here. Write a number of seconds, more than 0."),
        ({"settle_s": True}, "settle_s: True cannot stand here. Write a number of seconds, 0 or more."),
        ({"remembered_runs": -1}, "remembered_runs: -1 cannot stand here. Write a whole number, 0 or more."),
        (5, "settings: 5 is a number. Write a mapping with the keys settle_s,"),
    ],
)
def test_wrong_settings(mapping: Any, message: str) -> None:
    """The message says what to write."""
    with pytest.raises(ConfigError) as error:
        Settings.from_mapping(mapping)

    assert str(error.value).startswith(message)


def test_the_file_takes_the_same_keys() -> None:
    """None is forgotten on either side."""
    assert tuple(SettingsEntry.model_fields) == SETTING_KEYS


@pytest.mark.parametrize("key", SETTING_KEYS)
@pytest.mark.parametrize("value", [-1, 0, 1, 1.5, float("inf"), True, "1", None])
def test_the_file_takes_the_same_values(key: str, value: object) -> None:
    """One check, two doors."""

    def taken(load: Any) -> bool:
        try:
            load()
        except ConfigError:
            return False
        return True

    in_python = taken(lambda: Settings.from_mapping({key: value}))
    assert taken(lambda: load_rules({"settings": {key: value}})) is in_python


class TestWhatHolds:
    """Code, else the variable, else the file, else the default."""

    def test_one_after_the_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        file = load_rules({"settings": {"settle_s": 3}}).settings
        assert chosen(Settings()).settle_s == 2
        assert chosen(file).settle_s == 3
        monkeypatch.setenv("OTEL_CHLOE_SETTLE_S", "4")
        assert chosen(file).settle_s == 4
        assert chosen(file, {"max_spans": 7}) == Settings(settle_s=4, max_spans=7)
        assert chosen(file, {"settleS": 5}).settle_s == 5

    @pytest.mark.parametrize(
        ("name", "text", "key", "value"),
        [
            ("OTEL_CHLOE_REASONS", "False", "reasons", False),
            ("OTEL_CHLOE_REASONS", " true ", "reasons", True),
            ("OTEL_CHLOE_IDLE_S", "0.5", "idle_s", 0.5),
            ("OTEL_CHLOE_MAX_BYTES", "1000", "max_bytes", 1_000),
            ("OTEL_CHLOE_MAX_BYTES", "", "max_bytes", Settings().max_bytes),
        ],
    )
    def test_a_variable(self, name: str, text: str, key: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(name, text)

        assert getattr(chosen(Settings()), key) == value

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            (
                "OTEL_CHLOE_IDLE_S",
                "0",
                "OTEL_CHLOE_IDLE_S: 0 cannot stand here. Write a number of seconds, more than 0.",
            ),
            (
                "OTEL_CHLOE_IDLE_S",
                "nan",
                "OTEL_CHLOE_IDLE_S: nan cannot stand here. Write a number of seconds, more than 0.",
            ),
            ("OTEL_CHLOE_REASONS", "no", "OTEL_CHLOE_REASONS: 'no' cannot stand here. Write true or false."),
            (
                "OTEL_CHLOE_MAX_SPANS",
                "1.5",
                "OTEL_CHLOE_MAX_SPANS: 1.5 cannot stand here. Write a whole number, 1 or more.",
            ),
        ],
    )
    def test_a_wrong_variable(self, name: str, text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(name, text)
        with pytest.raises(ConfigError) as error:
            chosen(Settings())

        assert str(error.value) == message

    def test_an_unknown_variable(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        monkeypatch.setenv("OTEL_CHLOE_SETTLES", "1")
        monkeypatch.setenv("OTEL_CHLOE_RULE", "rules.yaml")
        chosen(Settings())

        assert sorted(record.getMessage() for record in caplog.records) == [
            "there is no variable OTEL_CHLOE_RULE, so it says nothing. Did you mean OTEL_CHLOE_RULES?",
            "there is no variable OTEL_CHLOE_SETTLES, so it says nothing. Did you mean OTEL_CHLOE_SETTLE_S?",
        ]

    def test_it_is_what_a_processor_goes_by(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from otel_chloe import ScoringSpanProcessor

        monkeypatch.setenv("OTEL_CHLOE_SHUTDOWN_S", "-1")
        with pytest.raises(ConfigError, match=r"^OTEL_CHLOE_SHUTDOWN_S: -1 cannot stand here"):
            ScoringSpanProcessor(None)
