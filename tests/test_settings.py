"""`Settings`: defaults, changes, mistakes, and that the rules file takes the same."""

from __future__ import annotations

from typing import Any

import pytest

from otel_chloe.config import Settings, load_rules
from otel_chloe.config.schema import SettingsEntry
from otel_chloe.config.settings import SETTING_KEYS
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
        shutdown_s=10,
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
