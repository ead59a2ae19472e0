"""What a scorer's return value means: outcomes with names, verdicts, keys and versions.

One wrong score spoils no other: it alone becomes a Failed.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Final, TypeAlias, cast

from otel_chloe.kit.definition import Definition
from otel_chloe.kit.verdict import passed, reason
from otel_chloe.mark import DeferredScore, Failed, Mark, Outcome, Pending, Score, Unscored

NOT_SCORED: Final = "not_scored"
"""The word for a scorer that chose to say nothing of the run."""

_log = logging.getLogger(__name__)
_Part: TypeAlias = Score | DeferredScore | Outcome
_UNNAMED: Final = frozenset({"", "calls"})
"""The names that outcomes have which were made without one: in a list they take the scorer's."""
_RETURN: Final = (
    "Return a bool, a number, a text, a Score, a DeferredScore, a list of them, a mapping of names to values, or None."
)
_OF_ONE: Final = frozenset({"name", "value", "comment", "metadata"})


def outcomes_of(scorer: Definition, said: object, *, alone: bool = False) -> list[Outcome]:
    """The outcomes of what a scorer returned, in its order; one at least, each with a name of its own.

    Args:
        scorer: Who said it. Its threshold is for the score of its own name.
        said: The return value.
        alone: Whether no other scorer scores this run. Then the threshold is for its only score, whatever its name.
    """
    parts = _once([_with_name(part, scorer.name) for part in _parts(scorer, said)])
    named = _owned(scorer, parts, alone=alone)
    return [_stamped(_outcome(part, scorer if part.name in named else None), scorer) for part in parts]


def failure(error: BaseException) -> Failed:
    """What becomes of a scorer that raises."""
    kind, text = type(error).__name__, str(error)
    return Failed(f"{kind}: {text}" if text else kind, error=kind)


def _parts(scorer: Definition, said: object) -> list[_Part]:
    name = scorer.name
    if said is None:
        return [Unscored("It returned None.", name=name, error=NOT_SCORED)]
    if isinstance(said, (Score, DeferredScore)):
        return [said]
    if isinstance(said, (Mark, Unscored, Pending, Failed)):
        return [replace(said, name=name)]  # a Mark of calls, or of a ready-made scorer: it is this scorer's now
    if isinstance(said, Mapping):
        return _of_mapping(name, cast("Mapping[object, object]", said))
    if isinstance(said, (list, tuple)):
        items = [_of_list(name, item) for item in cast("Iterable[object]", said)]
        return items or [Unscored("It returned no scores.", name=name, error=NOT_SCORED)]
    return [Score(name, said)]


def _of_list(name: str, item: object) -> _Part:
    if isinstance(item, (Score, DeferredScore)):
        return item
    if isinstance(item, (Mark, Unscored, Pending, Failed)):
        return _named(item, name)
    return _wrong(name, f"a list of scores holds {_kind(item)}, which has no name. Write Score(name, value).")


def _of_mapping(name: str, said: Mapping[object, object]) -> list[_Part]:
    if not said:
        return [Unscored("It returned no scores.", name=name, error=NOT_SCORED)]
    if "name" in said or "value" in said:
        return [_of_one(name, said)]
    parts: list[_Part] = []
    for metric, value in said.items():
        if isinstance(value, (Score, DeferredScore)):
            parts.append(replace(value, name=cast("str", metric)))
        else:
            parts.append(Score(cast("str", metric), value))
    return parts


def _of_one(name: str, said: Mapping[object, object]) -> _Part:
    """A mapping that is one score: it has a name and a value."""
    missing = [key for key in ("name", "value") if key not in said]
    unknown = [str(key) for key in said if key not in _OF_ONE]
    if missing or unknown:
        wrong = f"no {missing[0]}" if missing else f"the key {unknown[0]}"
        text = f"a mapping with name or value is one score, and this has {wrong}. Return Score(name, value, comment)."
        return Failed(f"ValueError: {text}", name=name, error="ValueError")
    return Score(**{str(key): value for key, value in said.items()})  # type: ignore[arg-type] # checked as any score


def _once(parts: Sequence[_Part]) -> list[_Part]:
    """The parts, where two of one name are one that failed."""
    found: dict[str, list[_Part]] = {}
    for part in parts:
        found.setdefault(part.name, []).append(part)
    return [same[0] if len(same) == 1 else _twice(same) for same in found.values()]


def _twice(same: Sequence[_Part]) -> Failed:
    failed = [part.reason for part in same if isinstance(part, Failed)]
    said = " ".join(failed) if failed else f"ValueError: {len(same)} scores have this name. Give each one of its own."
    return Failed(said, name=same[0].name, error="TypeError" if failed else "ValueError")


def _owned(scorer: Definition, parts: Sequence[_Part], *, alone: bool) -> frozenset[str]:
    """The names of the scores that the scorer's threshold is for."""
    names = [part.name for part in parts]
    if scorer.name in names:
        return frozenset({scorer.name})
    numbers = [part for part in parts if isinstance(part, (Score, Mark)) and _is_number(part.value)]
    if scorer.threshold is None or scorer.direction == "none" or not numbers:
        return frozenset()
    if alone and len(parts) == 1:
        _tell(
            scorer,
            "scorer %s: its threshold is taken for %s, its only score. Beside another scorer it would be for none: "
            "give the scorer that name.",
            scorer.name,
            names[0],
        )
        return frozenset(names)
    _tell(
        scorer,
        "scorer %s: its threshold is for no score, since none is named so; its scores are %s. "
        "Give the scorer the name of the one that the threshold is for.",
        scorer.name,
        ", ".join(map(str, names)),
    )
    return frozenset()


def _tell(scorer: Definition, text: str, *args: object) -> None:
    """Warn, once for this scorer."""
    if text not in scorer.told:
        scorer.told.add(text)
        _log.warning(text, *args)


def _outcome(part: _Part, owner: Definition | None) -> Outcome:
    if isinstance(part, DeferredScore):
        return Pending(None if part.reason is None else str(part.reason), name=part.name, metadata=part.metadata)
    if isinstance(part, Mark):
        return _of_mark(part, owner)
    return _of_score(part, owner) if isinstance(part, Score) else part


def _of_score(score: Score, owner: Definition | None) -> Outcome:
    value = plain_value(score.value)
    said = reason(value, owner) if score.comment is None else str(score.comment)
    if isinstance(value, str) and value.strip():
        return Mark(None, said, name=score.name, value=value, label=value, metadata=score.metadata)
    number = _number(value)
    if isinstance(number, Failed):
        return replace(number, name=score.name)
    kept = value if isinstance(value, (bool, int)) else number
    verdict = passed(kept, owner)
    return Mark(number, said, name=score.name, value=kept, passed=verdict, metadata=score.metadata)


def _of_mark(mark: Mark, owner: Definition | None) -> Outcome:
    """A mark of the scorer's own: its own verdict, where it has one."""
    if mark.score is None:
        return mark
    number = _number(plain_value(mark.score))
    if isinstance(number, Failed):
        return replace(number, name=mark.name)
    value = number if mark.value is None else mark.value
    verdict = passed(number, owner) if mark.passed is None else mark.passed
    return replace(mark, score=number, value=value, passed=verdict)


def plain_value(value: Any) -> Any:
    """A scalar of numpy's as Python's own; anything else as it is."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    return value


def _number(value: object) -> float | Failed:
    """A bool or number as a float that can be counted with."""
    if value is None or not isinstance(value, Real):
        text = "an empty text" if isinstance(value, str) else _kind(value)
        return _wrong("", f"{text} is no value of a score. {_RETURN}")
    try:
        number = float(value)
    except (OverflowError, ValueError, TypeError) as error:
        return failure(error)
    if math.isfinite(number):
        return number
    return Failed(f"ValueError: {number} is no score. Return None where there is nothing to score.", error="ValueError")


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real)


def _with_name(part: _Part, name: str) -> _Part:
    """The part, if it has a name that can be one."""
    given = cast("object", part.name)
    if isinstance(given, str) and (given.strip() or not isinstance(part, (Score, DeferredScore))):
        return part
    return _wrong(name, f"{given!r} is no name of a score. Write a text, as in Score(name, value).")


def _named(outcome: Outcome, name: str) -> Outcome:
    return replace(outcome, name=name) if outcome.name in _UNNAMED else outcome


def _wrong(name: str, text: str) -> Failed:
    return Failed(f"TypeError: {text}", name=name, error="TypeError")


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _stamped(outcome: Outcome, scorer: Definition) -> Outcome:
    """The outcome with what is the scorer's."""
    metadata = outcome.metadata
    if metadata is None:
        metadata = scorer.metadata
    elif scorer.metadata is not None and isinstance(metadata, Mapping):
        metadata = {**scorer.metadata, **cast("Mapping[str, Any]", metadata)}
    return replace(outcome, name=outcome.name or scorer.name, key=scorer.key, version=scorer.version, metadata=metadata)
