"""What makes a scorer slow: its own time, and not that of a process that stands still."""

from __future__ import annotations

from own_scorers import Scored


def stand_still() -> None:
    """Holds the interpreter for longer than a scorer may take, as a garbage collection does: nothing else runs."""
    sum(range(500_000))


def test_a_process_that_stands_still_once_makes_no_scorer_slow():
    calls: list[str] = []

    def is_up(output: str) -> bool:
        calls.append(output)
        if len(calls) == 1:
            stand_still()
        return True

    with Scored(is_up) as app:
        for _ in range(2):
            app.run("check_site")

        assert [(span.attributes or {}).get("chloe.is_up.score") for span in app.ended()] == [1.0, 1.0]
        assert app.processor.slow_scorers == []


def test_a_scorer_that_holds_the_process_each_time_is_slow():
    def is_up(output: str) -> bool:
        stand_still()
        return True

    with Scored(is_up) as app:
        for _ in range(3):
            app.run("check_site")

        assert app.processor.slow_scorers == ["is_up"]
