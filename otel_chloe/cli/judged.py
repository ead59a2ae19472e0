"""Recorded runs with their outcomes, those of judges and of users' scorers too, some runs ahead of what is printed."""

from __future__ import annotations

import importlib
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from ..config import Rules
from ..errors import ConfigError
from ..health import Health
from ..mark import JudgeCall, Outcome, Unscored
from ..run import Run
from ..scorers import JUDGE_OFF, due, outcomes
from .rules import working_directory_first

if TYPE_CHECKING:
    from ..judge.ask import Complete
    from ..pipeline.answered import Answered, AnyDue
    from ..pipeline.judgements import Judgements
    from ..pipeline.own import OwnScorers
    from ..scorers.own import Own

Found = tuple[str, Run]
_Key = tuple[int, str]
"""A run or sub-run, and the name of a scorer that is asked about it."""
Scored = tuple[str, Run, list[tuple[Run, Outcome]]]

_AHEAD: Final = 2
"""Runs that are under way for each call that the judge may have at one time."""
_LOOK_S: Final = 0.5
"""Ctrl-C is looked at so often."""


def scored_runs(runs: Iterable[Found], rules: Rules, *, judge: bool, complete: Complete | None) -> Iterator[Scored]:
    """Each run with all of its outcomes, in the order of the runs. Without ``judge``, no model is asked."""
    # A span may bring lines of its own, for a model that the rules name.
    asks = judge and (rules.judged or rules.judge.model is not None or bool(rules.own_judges))
    if asks or rules.scorers:
        return _Scoring(rules, complete, judge=asks).scored(runs)
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


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A run that is being scored: the outcomes that were there at once, and who else is asked."""

    file: str
    run: Run
    at_once: list[tuple[Run, Outcome]]
    own: list[Own]
    awaited: frozenset[_Key]


class _Scoring:
    """Keeps a few runs under way, and gives the first of them once all of its outcomes are there."""

    def __init__(self, rules: Rules, complete: Complete | None, *, judge: bool) -> None:
        self._rules = rules
        self._answers: dict[_Key, list[Outcome]] = {}
        self._changed = threading.Condition()
        self._judgements: Judgements | None = None
        self._own: OwnScorers | None = None
        if judge:
            from ..pipeline.judgements import Judgements  # with asyncio: only for who has something to judge

            self._judgements = Judgements(rules, complete, self._answered)
        if rules.scorers:
            from ..pipeline.own import OwnScorers  # with the kit: only for who has scorers

            self._own = OwnScorers(rules, Health(monotonic), self._answered)

    def scored(self, runs: Iterable[Found]) -> Iterator[Scored]:
        under_way: deque[_UnderWay] = deque()
        for file, run in runs:
            under_way.append(self._begun(file, run))
            if len(under_way) > _AHEAD * self._rules.judge.concurrency:
                yield self._whole(under_way.popleft())
        while under_way:
            yield self._whole(under_way.popleft())

    def _begun(self, file: str, run: Run) -> _UnderWay:
        at_once = outcomes(run, self._rules)
        own = self._own.due(run, self._rules) if self._own is not None else []
        asked: list[AnyDue] = []
        if self._judgements is not None:
            asked += [*due(run, self._rules), *(each for each in own if each.model)]
            refused, _ = self._judgements.begin(run, self._rules, None, at_once, own)
            self._answers.update(((id(of), outcome.name), [outcome]) for of, outcome in refused)
        for each in own:
            if not each.model:
                asked.append(each)
                self._call(each)
            elif self._judgements is None:
                off = Unscored("judge off", name=each.name, error=JUDGE_OFF)
                self._answers[_key(each)] = [each.stamped(off)]
        return _UnderWay(file, run, at_once, own, frozenset(map(_key, asked)))

    def _call(self, each: Own) -> None:
        if self._own is not None:
            there, _ = self._own.begin(each.run, [each], None)
            if there:
                self._answers[_key(each)] = [outcome for _, outcome in there]

    def _whole(self, one: _UnderWay) -> Scored:
        """The run, once all is there: a judgement in the place where it was missing, the user's own scorers last."""
        with self._changed:
            while not one.awaited <= self._answers.keys():
                self._changed.wait(_LOOK_S)
                if self._own is not None:
                    self._own.threads.overdue(monotonic())
        found = [(of, self._in_place(of, outcome)) for of, outcome in one.at_once]
        return one.file, one.run, found + [(o.run, said) for o in one.own for said in self._answers.pop(_key(o))]

    def _in_place(self, of: Run, outcome: Outcome) -> Outcome:
        missing = getattr(outcome, "error", None) == JUDGE_OFF
        return self._answers.pop((id(of), outcome.name), [outcome])[0] if missing else outcome

    def _answered(self, item: Answered | JudgeCall) -> None:
        if isinstance(item, JudgeCall):
            return
        with self._changed:
            self._answers[_key(item.due)] = item.outcomes
            self._changed.notify_all()


def _key(due: AnyDue) -> _Key:
    return id(due.run), due.name
