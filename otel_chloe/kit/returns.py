"""What a scorer's return value means: outcomes with names, verdicts, keys and versions.

One wrong score spoils no other: it alone becomes a Failed.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from numbers import Real
from typing import Any, Final, TypeAlias, cast

from otel_chloe.kit.definition import Definition
from otel_chloe.kit.verdict import passed, reason
from otel_chloe.mark import DeferredScore, Failed, Mark, Outcome, Pending, Score, Unscored

NOT_SCORED: Final = "not_scored"
"""The word for a scorer that chose to say nothing of the run."""

MOST_SCORES: Final = 1_000
"""Scores that one scorer may give of one run: each is a span and an event."""
LONGEST_NAME: Final = 200
LONGEST_LABEL: Final = 1_024
"""Characters of a label; the mark's value has the whole text."""

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
    try:
        return _outcomes(scorer, said, alone=alone)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's object may raise anything when it is looked at
        return [_stamped(replace(failure(error), name=scorer.name), scorer)]


def _outcomes(scorer: Definition, said: object, *, alone: bool) -> list[Outcome]:
    parts = _once([_with_name(part, scorer.name) for part in _parts(scorer, said)])
    named = _owned(scorer, parts, alone=alone)
    return [_stamped(_one(part, scorer if part.name in named else None), scorer) for part in parts]


def failure(error: BaseException) -> Failed:
    """What becomes of a scorer that raises."""
    kind = type(error).__name__
    try:
        text = words(str(error))
    except BaseException:  # noqa: BLE001 - an exception that cannot say what it is must not end a thread
        text = ""
    return Failed(f"{kind}: {text}" if text else kind, error=kind)


def words(value: str) -> str:
    """A text as nothing but a text, which can be sent: half a surrogate pair cannot."""
    plain = str.__str__(value)
    return plain if plain.isascii() else plain.encode("utf-8", "replace").decode("utf-8")


def _one(part: _Part, owner: Definition | None) -> Outcome:
    try:
        return _outcome(part, owner)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above: the scorer's other scores stay
        return replace(failure(error), name=part.name)


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
        items = [_of_list(name, item) for item in islice(cast("Iterable[object]", said), MOST_SCORES + 1)]
        return _not_too_many(items, name) or [Unscored("It returned no scores.", name=name, error=NOT_SCORED)]
    return [Score(name, said)]


def _of_list(name: str, item: object) -> _Part:
    if isinstance(item, (Score, DeferredScore)):
        return item
    if isinstance(item, (Mark, Unscored, Pending, Failed)):
        return _named(item, name)
    return _wrong(name, f"a list of scores holds {kind_of(item)}, which has no name. Write Score(name, value).")


def _of_mapping(name: str, said: Mapping[object, object]) -> list[_Part]:
    if not said:
        return [Unscored("It returned no scores.", name=name, error=NOT_SCORED)]
    if "name" in said or "value" in said:
        return [_of_one(name, said)]
    parts: list[_Part] = []
    for metric, value in islice(said.items(), MOST_SCORES + 1):
        if isinstance(value, (Score, DeferredScore)):
            parts.append(replace(value, name=cast("str", metric)))
        else:
            parts.append(Score(cast("str", metric), value))
    return _not_too_many(parts, name)


def _not_too_many(parts: list[_Part], name: str) -> list[_Part]:
    if len(parts) <= MOST_SCORES:
        return parts
    text = f"ValueError: it gave more than {MOST_SCORES:,} scores of one run. Those after the first are left out."
    return [*parts[: MOST_SCORES - 1], Failed(text, name=name, error="ValueError")]


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
    if isinstance(part, Score):
        return _of_score(part, owner)
    if isinstance(part, DeferredScore):
        return Pending(_said(part.reason), name=part.name, metadata=part.metadata)
    outcome = _checked(part)
    return _of_mark(outcome, owner) if isinstance(outcome, Mark) else outcome


def _of_score(score: Score, owner: Definition | None) -> Outcome:
    value = plain_value(score.value)
    comment = _said(score.comment)
    if isinstance(value, str) and value.strip():
        said = reason(value, owner) if comment is None else comment
        return Mark(None, said, name=score.name, value=value, label=value[:LONGEST_LABEL], metadata=score.metadata)
    number = _number(value)
    if isinstance(number, Failed):
        return replace(number, name=score.name)
    kept = value if isinstance(value, (bool, int)) else number
    said = reason(value, owner) if comment is None else comment
    return Mark(number, said, name=score.name, value=kept, passed=passed(kept, owner), metadata=score.metadata)


def _said(comment: object) -> str | None:
    """A comment as text; None where there is none."""
    return None if comment is None else words(str(comment))


def _checked(outcome: Outcome) -> Outcome:
    """An outcome that a scorer made, with its words as they can be sent. Raises TypeError where a field is wrong."""
    said: object = outcome.reason
    if not isinstance(said, str) and not (said is None and isinstance(outcome, Pending)):
        raise TypeError(f"the reason of its {type(outcome).__name__} is {kind_of(said)}. Write a text.")
    error: object = getattr(outcome, "error", "")
    if not isinstance(error, str):
        raise TypeError(f"the error of its {type(outcome).__name__} is {kind_of(error)}. Write one word.")
    return outcome if said is None else replace(outcome, reason=words(said))


def _of_mark(mark: Mark, owner: Definition | None) -> Outcome:
    """A mark of the scorer's own: its own verdict, where it has one."""
    if mark.passed not in {None, True, False}:
        raise TypeError(f"passed of its Mark is {kind_of(mark.passed)}. Write True, False or None.")
    if mark.score is None:
        return _of_label(mark)
    number = _number(plain_value(mark.score))
    if isinstance(number, Failed):
        return replace(number, name=mark.name)
    value = number if mark.value is None else mark.value
    verdict = passed(number, owner) if mark.passed is None else mark.passed
    return replace(mark, score=number, value=value, passed=verdict)


def _of_label(mark: Mark) -> Outcome:
    label: object = mark.value if mark.label is None else mark.label
    if not isinstance(label, str) or not label.strip():
        raise TypeError("its Mark has neither a score nor a label. Write one, as in Mark(0.5, reason).")
    label = words(label)
    return replace(mark, value=label if mark.value is None else mark.value, label=label[:LONGEST_LABEL])


def kind_of(value: object) -> str:
    """What to call a value that is wrong."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def plain_value(value: Any) -> Any:
    """A scalar of numpy's as Python's own, and a text as nothing but a text; anything else as it is."""
    if isinstance(value, str):
        return words(value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    return value


def _number(value: object) -> float | Failed:
    """A bool or number as a float that can be counted with."""
    if value is None or not isinstance(value, Real):
        text = "an empty text" if isinstance(value, str) else kind_of(value)
        return _wrong("", f"{text} is no value of a score. {_RETURN}")
    try:
        number = float(value)
    except (ArithmeticError, ValueError, TypeError) as error:
        return failure(error)
    if math.isfinite(number):
        return number
    return Failed(f"ValueError: {number} is no score. Return None where there is nothing to score.", error="ValueError")


def _is_number(value: object) -> bool:
    kind = type(value)  # what an object says of its own class may raise
    return kind is not bool and issubclass(kind, Real)


def _with_name(part: _Part, name: str) -> _Part:
    """The part, if it has a name that can be one."""
    given = cast("object", part.name)
    if not isinstance(given, str):
        return _wrong(name, f"{kind_of(given)} is no name of a score. Write a text, as in Score(name, value).")
    plain = words(given)
    if not plain.strip() and isinstance(part, (Score, DeferredScore)):
        return _wrong(name, f"{plain!r} is no name of a score. Write a text, as in Score(name, value).")
    if len(plain) > LONGEST_NAME:
        return _wrong(name, f"a score's name has {len(plain):,} characters. {LONGEST_NAME} are the most.")
    return part if plain is given else replace(part, name=plain)


def _named(outcome: Outcome, name: str) -> Outcome:
    return replace(outcome, name=name) if outcome.name in _UNNAMED else outcome


def _wrong(name: str, text: str) -> Failed:
    return Failed(f"TypeError: {text}", name=name, error="TypeError")


def _stamped(outcome: Outcome, scorer: Definition) -> Outcome:
    """The outcome with what is the scorer's."""
    metadata = outcome.metadata
    if metadata is None:
        metadata = scorer.metadata
    elif scorer.metadata is not None and isinstance(metadata, Mapping):
        metadata = {**scorer.metadata, **cast("Mapping[str, Any]", metadata)}
    return replace(outcome, name=outcome.name or scorer.name, key=scorer.key, version=scorer.version, metadata=metadata)
