"""Recorded runs with their outcomes, those of the judge too: some runs ahead are judged while one is waited for."""

from __future__ import annotations

import importlib
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from ..config import Rules
from ..errors import ConfigError
from ..mark import JudgeCall, Outcome
from ..run import Run
from ..scorers import JUDGE_OFF, outcomes
from .rules import working_directory_first

if TYPE_CHECKING:
    from ..judge.ask import Complete
    from ..pipeline.answered import Answered

Found = tuple[str, Run]
Scored = tuple[str, Run, list[tuple[Run, Outcome]]]

_AHEAD: Final = 2
"""Runs that are under way for each call that the judge may have at one time."""
_LOOK_S: Final = 0.5
"""Ctrl-C is looked at so often."""


def scored_runs(runs: Iterable[Found], rules: Rules, *, judge: bool, complete: Complete | None) -> Iterator[Scored]:
    """Each run with all of its outcomes, in the order of the runs. Without ``judge``, no model is asked."""
    if judge and (rules.judged or rules.judge.model is not None):  # a span may bring lines of its own
        return _Judging(rules, complete).scored(runs)
    return ((file, run, outcomes(run, rules)) for file, run in runs)


def complete_of(name: str) -> Complete:
    """The function that ``--complete MODULE:FUNCTION`` names; modules of the working directory come first.

    Raises :class:`~otel_chloe.errors.ConfigError` where there is none.
    """
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise ConfigError(f"--complete {name}: write MODULE:FUNCTION, such as my_gateway:complete.")
    try:
        with working_directory_first():
            found: Any = importlib.import_module(module_name)
    except Exception as error:  # noqa: BLE001 - a user's module may raise anything
        raise ConfigError(
            f"--complete {name}: importing {module_name} raised {type(error).__name__}: {error}"
        ) from None
    for part in path.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ConfigError(f"--complete {name}: {module_name} has no function {path}.")
    return cast("Complete", found)


class _Judging:
    """Keeps a few runs under way, and gives the first of them once all of its outcomes are there."""

    def __init__(self, rules: Rules, complete: Complete | None) -> None:
        from ..pipeline.judgements import Judgements  # with asyncio: only for who has lines to judge

        self._rules = rules
        self._judgements = Judgements(rules, complete, self._answered)
        self._answers: dict[int, Outcome] = {}
        self._changed = threading.Condition()

    def scored(self, runs: Iterable[Found]) -> Iterator[Scored]:
        under_way: deque[tuple[str, Run, list[tuple[Run, Outcome]], set[int]]] = deque()
        for file, run in runs:
            scored = outcomes(run, self._rules)
            refused, begun = self._judgements.begin(run, None, scored)
            self._answers.update((id(of), outcome) for of, outcome in refused)
            under_way.append((file, run, scored, {id(of) for of in begun}))
            if len(under_way) > _AHEAD * self._rules.judge.concurrency:
                yield self._whole(*under_way.popleft())
        while under_way:
            yield self._whole(*under_way.popleft())

    def _whole(self, file: str, run: Run, scored: list[tuple[Run, Outcome]], awaited: set[int]) -> Scored:
        """The run, once its judgements are there, each in the place where it was missing."""
        with self._changed:
            while not awaited <= self._answers.keys():
                self._changed.wait(_LOOK_S)
        return file, run, [(of, self._in_place(of, outcome)) for of, outcome in scored]

    def _in_place(self, of: Run, outcome: Outcome) -> Outcome:
        missing = getattr(outcome, "error", None) == JUDGE_OFF
        return self._answers.pop(id(of), outcome) if missing else outcome

    def _answered(self, item: Answered | JudgeCall) -> None:
        if isinstance(item, JudgeCall):
            return
        with self._changed:
            self._answers[id(item.run)] = item.outcomes[0]
            self._changed.notify_all()
