"""How a user's function is called: with the whole context, or with the parts of it that its parameters name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any, Final

from otel_chloe.errors import ConfigError
from otel_chloe.kit.context import ScorerContext

CONTEXT: Final = "ctx"
PARTS: Final = ("input", "output", "expected", "metadata", "run")
"""The parameters that a scorer may have, by name."""

_KNOWN: Final = frozenset({CONTEXT, *PARTS})
_VARIADIC: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_HELP: Final = f"Take ctx, or any of {', '.join(PARTS)}; give every other parameter a default, or functools.partial."


@dataclass(frozen=True, slots=True)
class Binding:
    """Which parts go where."""

    by_position: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()

    def call(self, function: Callable[..., Any], context: ScorerContext) -> Any:
        """What the function returns for this context."""
        return function(
            *[_part(name, context) for name in self.by_position],
            **{name: _part(name, context) for name in self.by_name},
        )


WHOLE: Final = Binding((CONTEXT,))


def binding_of(function: Callable[..., Any], name: str) -> Binding:
    """How this function is called. ``name`` is the scorer's.

    Raises :class:`~otel_chloe.errors.ConfigError` where it cannot be called with what there is.
    """
    try:
        parameters = list(signature_of(function).parameters.values())
    except (TypeError, ValueError) as error:
        if isinstance(function, functools.partial) and _has_signature(function.func):
            raise ConfigError(f"scorer {name}: it does not take its arguments: {error}.") from None
        return WHOLE  # some functions written in C have none
    bound = function.keywords if isinstance(function, functools.partial) else {}
    free = [each for each in parameters if each.name not in bound]
    if any(each.name in _KNOWN and each.kind not in _VARIADIC for each in free):
        return _by_name(free, name)
    return _whole(free, name)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """What a function takes; of a decorator's wrapper that passes everything on, what the function within takes.

    Raises TypeError or ValueError where that cannot be told.
    """
    followed = inspect.signature(function)
    if not hasattr(function, "__wrapped__"):
        return followed
    try:
        outer = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # a wrapper that is written in C
        return followed
    kinds = {each.kind for each in outer.parameters.values()}
    return followed if kinds == set(_VARIADIC) else outer


def is_method(function: Callable[..., Any]) -> bool:
    """Whether it stands in the body of a class, where it takes an object first."""
    if not inspect.isfunction(function) or function.__code__.co_argcount == 0:
        return False
    above, dot, _ = function.__qualname__.rpartition(".")
    return bool(dot) and not above.endswith("<locals>") and function.__code__.co_varnames[0] in {"self", "cls"}


def _has_signature(function: Callable[..., Any]) -> bool:
    try:
        signature_of(function)
    except (TypeError, ValueError):
        return False
    return True


def _part(name: str, context: ScorerContext) -> Any:
    return context if name == CONTEXT else getattr(context, name)


def _by_name(free: Sequence[Parameter], name: str) -> Binding:
    known = [each for each in free if each.name in _KNOWN and each.kind not in _VARIADIC]
    _refuse([each.name for each in free if each.name not in _KNOWN and _required(each)], name)
    names = [each.name for each in known if each.kind is not Parameter.POSITIONAL_ONLY]
    if any(each.kind is Parameter.VAR_KEYWORD for each in free) and all(each.name != CONTEXT for each in known):
        names += [part for part in PARTS if all(each.name != part for each in known)]
    return Binding(tuple(each.name for each in known if each.kind is Parameter.POSITIONAL_ONLY), tuple(names))


def _whole(free: Sequence[Parameter], name: str) -> Binding:
    """A function that names none of the parts gets the context as its first argument."""
    positional = [each for each in free if each.kind in {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}]
    _refuse([each.name for each in free if _required(each) and each is not next(iter(positional), None)], name)
    if positional or any(each.kind is Parameter.VAR_POSITIONAL for each in free):
        return WHOLE
    if any(each.kind is Parameter.VAR_KEYWORD for each in free):
        return Binding(by_name=PARTS)
    raise ConfigError(f"scorer {name}: it takes nothing of the run. {_HELP}")


def _refuse(unknown: Sequence[str], name: str) -> None:
    if unknown:
        what = "parameters" if len(unknown) > 1 else "a parameter"
        raise ConfigError(f"scorer {name}: {', '.join(unknown)}: {what} that nothing is known for. {_HELP}")


def _required(parameter: Parameter) -> bool:
    return parameter.default is Parameter.empty and parameter.kind not in _VARIADIC
