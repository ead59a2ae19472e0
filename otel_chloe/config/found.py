"""The scorers that rules name: found in modules and entry points, and given their arguments."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import metadata
from inspect import Parameter
from pathlib import Path
from typing import Any, Final, Protocol

from otel_chloe.config.rules import ScorerRule, Severity
from otel_chloe.errors import ConfigError
from otel_chloe.expected import nearest
from otel_chloe.kit import AnyScorer, CodeScorer, JudgeScorer, Scorer, as_scorer, failure
from otel_chloe.kit.binding import CONTEXT, PARTS, is_method, signature_of
from otel_chloe.kit.definition import function_name

GROUP: Final = "otel_chloe.scorers"
"""The entry points that packages name their scorers by."""
_CALLS: Final = "otel_chloe.scorers.calls"

_PARTS: Final = frozenset({CONTEXT, *PARTS})
_NAMED: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_VARIADIC: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class WrongScorerError(ConfigError):
    """What is wrong with a scorer in the rules, and under which of its keys."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key


class Asked(Protocol):
    """A scorer as the rules ask for it."""

    @property
    def use(self) -> Any: ...
    @property
    def arguments(self) -> dict[str, Any] | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def threshold(self) -> float | None: ...
    @property
    def sample(self) -> float | None: ...
    @property
    def severity(self) -> Severity | None: ...


def scorer_rule(asked: Asked, places: Sequence[str] = ()) -> ScorerRule:
    """The scorer that the rules ask for, with its arguments and its threshold.

    ``places`` are directories in which modules are looked for that are found nowhere else.

    Raises :class:`WrongScorerError` where there is none, or where it cannot be used so.
    """
    try:
        return _scorer_rule(asked, places)
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001 - a user's object may raise anything when it is looked at
        raise _broken(f"looking at {asked.use}" if isinstance(asked.use, str) else "looking at it", error) from None


def _scorer_rule(asked: Asked, places: Sequence[str]) -> ScorerRule:
    found = _found(asked.use, places) if isinstance(asked.use, str) else asked.use
    if getattr(found, "__module__", None) == _CALLS and getattr(found, "__name__", None) == "calls":
        raise WrongScorerError("use", "calls is a rule of its own. Write calls: {mustCall: […]} beside scorers:.")
    if asked.arguments is not None:
        found = _applied(found, asked.arguments)
    else:
        _needs(found)
    scorer = _ruled(found, asked)
    sample = 1.0 if asked.sample is None else asked.sample
    try:
        return ScorerRule(scorer=scorer, sample=sample, severity=asked.severity)
    except ConfigError as error:
        raise WrongScorerError("use", f"{error} Write name: beside use:.") from None


# --- finding it ------------------------------------------------------------------------------------------------------


def _found(use: str, places: Sequence[str]) -> object:
    module_name, colon, path = use.partition(":")
    if not colon:
        return _entry_point(use, places)
    if not all(module_name.split(".")) or not all(path.split(".")):
        raise WrongScorerError("use", f"{use!r} is no module:name. Write one, such as my_scorers:covers_cities.")
    found: object = _module(module_name, places)
    owner = module_name
    for part in path.split("."):
        if not hasattr(found, part):
            raise WrongScorerError("use", f"{owner} has no {part}.{_close(part, _public(found))}")
        found, owner = getattr(found, part), f"{owner}.{part}"
    return found


def _module(name: str, places: Sequence[str]) -> object:
    with _searched(places):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                beside = [path.stem for place in places for path in Path(place).glob("*.py")]
                raise WrongScorerError(
                    "use", f"there is no module {error.name}.{_close(error.name, beside)}{_looked(places)}"
                ) from None
            raise _broken(f"importing {name}", error) from None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's module may raise anything
            raise _broken(f"importing {name}", error) from None


def _entry_point(use: str, places: Sequence[str]) -> object:
    points = {point.name: point for point in metadata.entry_points(group=GROUP)}
    if use not in points:
        close = nearest(use, points)
        meant = f" Did you mean {close}?" if close else ""
        raise WrongScorerError(
            "use",
            f"no installed package names a scorer {use!r}.{meant} "
            f"Write module:name, such as my_scorers:{use if use.isidentifier() else 'covers_cities'}.",
        )
    with _searched(places):
        try:
            return points[use].load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            raise _broken(f"importing {points[use].value}", error) from None


@contextmanager
def _searched(places: Sequence[str]) -> Generator[None]:
    """Modules are looked for in these directories, too: last, so that they hide nothing that is installed.

    One that a module was found in stays: its functions may import what stands beside it when they are called.
    """
    added = [place for place in dict.fromkeys(places) if place not in sys.path]
    known = set(sys.modules)
    sys.path.extend(added)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        new = [str(getattr(sys.modules.get(name), "__file__", None) or "") for name in set(sys.modules) - known]
        for place in added:
            if not any(Path(file).is_relative_to(place) for file in new):
                with suppress(ValueError):
                    sys.path.remove(place)


def _broken(doing: str, error: BaseException) -> WrongScorerError:
    """What to say of code that raises: the last place of the user's own that it came from."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(("<", _OWN, _LIB))
    ]
    at = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames and not isinstance(error, SyntaxError) else ""
    return WrongScorerError("use", f"{doing} raised {failure(error).reason}{at}")


_OWN: Final = str(Path(__file__))
_LIB: Final = str(Path(importlib.__file__).parent)


def _public(found: object) -> list[str]:
    return [name for name in dir(found) if not name.startswith("_") and callable(getattr(found, name, None))]


def _close(name: str, names: Iterable[str]) -> str:
    close = nearest(name, names)
    return f" Did you mean {close}?" if close else ""


def _looked(places: Sequence[str]) -> str:
    return f" Looked on Python's path{''.join(f', in {place}' for place in dict.fromkeys(places))}."


# --- what it is given ------------------------------------------------------------------------------------------------


def _applied(found: object, given: Mapping[str, Any]) -> object:
    """The scorer with its arguments; or what a function makes of them that takes nothing of a run."""
    if isinstance(found, JudgeScorer):
        raise WrongScorerError(
            "with", f"{found.name} is a judge, which takes no arguments. Leave with: out, or name a function that "
            "takes them and returns the judge."
        )  # fmt: skip
    parameters = _parameters(found)
    if parameters is None:
        return _partial(found, given)
    names = [each.name for each in parameters if each.kind in _NAMED]
    if all(each.kind is not Parameter.VAR_KEYWORD for each in parameters):
        for key in given:
            if key not in names:
                raise WrongScorerError("with", _unknown(key, names, function_name(found)))
    left = [each for each in parameters if each.name not in given and each.kind not in _VARIADIC]
    if any(each.name in _PARTS or each.default is Parameter.empty for each in left):
        _needs(found, given)
        return _partial(found, given)
    return _made(found, given)


def _partial(found: Any, given: Mapping[str, Any]) -> object:
    import functools

    return functools.partial(found, **given) if callable(found) else found


def _made(make: Any, given: Mapping[str, Any]) -> object:
    try:
        return make(**given)
    except ConfigError as error:
        raise WrongScorerError("with", str(error)) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        raise WrongScorerError("with", str(_broken(f"calling {function_name(make)}", error))) from None


def _unknown(key: str, names: Sequence[str], function: str) -> str:
    free = [name for name in names if name not in _PARTS]
    takes = f"It takes {', '.join(free)}." if free else "It takes none."
    return f"{function} has no argument {key}.{_close(key, free)} {takes}"


def _needs(found: object, given: Mapping[str, Any] | None = None) -> None:
    """Refuse a function that lacks arguments which only the rules can give."""
    if isinstance(found, JudgeScorer):
        return
    if callable(found) and is_method(found):
        raise WrongScorerError(
            "use", f"{function_name(found)} is a method of a class. Name an object's: my_object.{function_name(found)}."
        )
    required = [
        each
        for each in _parameters(found) or ()
        if each.default is Parameter.empty and each.kind in _NAMED and each.name not in (given or {})
    ]
    known = [each for each in required if each.name in _PARTS]
    first = required[:1] if not known and required and required[0].kind is not Parameter.KEYWORD_ONLY else []
    lacking = [each.name for each in required if each not in known and each not in first]
    if lacking and not isinstance(found, type):
        example = ", ".join(f"{name}: …" for name in lacking)
        raise WrongScorerError(
            "use" if given is None else "with",
            f"{function_name(found)} needs {', '.join(lacking)}. Write with: {{{example}}}.",
        )


def _parameters(found: Any) -> list[Parameter] | None:
    function: Callable[..., Any] = found.function if isinstance(found, CodeScorer) else found
    try:
        return list(signature_of(function).parameters.values())
    except (TypeError, ValueError):  # nothing that can be called, or written in C
        return None


# --- as the rules want it --------------------------------------------------------------------------------------------


def _ruled(found: object, asked: Asked) -> AnyScorer:
    try:
        scorer = as_scorer(found)
    except ConfigError as error:
        raise WrongScorerError("use" if asked.arguments is None else "with", str(error)) from None
    except Exception as error:  # noqa: BLE001 - a ready-made one is called once, to meet wrong arguments here
        raise WrongScorerError("with", str(_broken(f"calling {function_name(found)}", error))) from None
    if asked.name is None and asked.threshold is None:
        return scorer
    try:
        if isinstance(scorer, CodeScorer):
            return Scorer.code(scorer, name=asked.name, threshold=asked.threshold)
        return _judge(scorer, asked)
    except ConfigError as error:
        raise WrongScorerError("use", str(error)) from None


def _judge(scorer: JudgeScorer, asked: Asked) -> JudgeScorer:
    name = asked.name or scorer.name
    key = name if scorer.key == scorer.name else scorer.key
    threshold = scorer.threshold if asked.threshold is None else asked.threshold
    return replace(scorer, name=name, key=key, threshold=threshold, told=set())
