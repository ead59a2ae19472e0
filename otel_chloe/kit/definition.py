"""What a scorer is, once it is defined: a function or a judge, with its name, its pass mark and its version."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from otel_chloe.errors import ConfigError
from otel_chloe.expected import checked_choice, checked_items, checked_text
from otel_chloe.kit.binding import Binding, binding_of, is_method
from otel_chloe.kit.version import checked_version, hash_of

ValueType: TypeAlias = Literal["numeric", "boolean", "categorical"]
Direction: TypeAlias = Literal["higher_is_better", "lower_is_better", "none"]
Message: TypeAlias = dict[str, str]

VALUE_TYPES: Final[tuple[ValueType, ...]] = get_args(ValueType)
DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)
INPUTS: Final = ("input", "output", "expected", "metadata", "run", "trace")
"""What a scorer may require. ``trace`` is another word for the run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Definition:
    """What code scorers and judges have in common. It is checked when it is made.

    ``name`` is the name of its score, ``key`` (by default the name) identifies the scorer wherever it runs.
    ``threshold`` and ``direction`` decide whether a number of that name passes, inclusively. A scorer whose
    ``required_inputs`` are not all known leaves the run unscored.

    Raises :class:`~otel_chloe.errors.ConfigError` where a value is wrong; the message says what to write.
    """

    name: str
    key: str = ""
    version: str = ""
    value_type: ValueType | None = None
    direction: Direction = "higher_is_better"
    threshold: float | None = None
    description: str | None = None
    metadata: Mapping[str, Any] | None = None
    required_inputs: tuple[str, ...] = ()
    told: set[str] = field(default_factory=set[str], repr=False)
    """What was warned about already."""

    def __post_init__(self) -> None:
        checked_text(self.name, "scorer: name")
        where = f"scorer {self.name}: "
        if not self.key:
            object.__setattr__(self, "key", self.name)
        checked_text(self.key, f"{where}key")
        if self.value_type is not None:
            checked_choice(self.value_type, VALUE_TYPES, f"{where}value_type")
        checked_choice(self.direction, DIRECTIONS, f"{where}direction")
        object.__setattr__(self, "threshold", _threshold(self.threshold, where))
        if self.description is not None:
            checked_text(self.description, f"{where}description")
        if self.metadata is not None and not isinstance(cast("object", self.metadata), Mapping):
            raise ConfigError(f"{where}metadata: {self.metadata!r} is no mapping. Write one, or leave it out.")
        inputs = checked_items(self.required_inputs, f"{where}required_inputs")
        chosen = [checked_choice(each, INPUTS, f"{where}required_inputs") for each in inputs]
        object.__setattr__(self, "required_inputs", tuple("run" if each == "trace" else each for each in chosen))
        object.__setattr__(self, "version", checked_version(self.version or None, self.name) or "")

    def weighed(self) -> tuple[Any, ...]:
        """What of this changes a mark."""
        return (self.name, self.value_type, self.direction, self.threshold, self.required_inputs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeScorer(Definition):
    """A function that scores. It can still be called as the function that it is."""

    function: Callable[..., Any]
    declared: str | None = field(default=None, repr=False)
    """The version, where one was declared."""
    binding: Binding = field(init=False, repr=False)

    def __post_init__(self) -> None:
        Definition.__post_init__(self)
        # A method in the body of its class takes an object first: it is looked at again once it has one.
        binding = Binding() if is_method(self.function) else binding_of(self.function, self.name)
        object.__setattr__(self, "binding", binding)
        object.__setattr__(self, "declared", checked_version(self.declared, self.name))
        object.__setattr__(self, "version", self.declared or hash_of(*self.weighed(), self.function))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> CodeScorer:
        """The scorer of an object, where a method is one."""
        if instance is None:
            return self
        return replace(self, function=self.function.__get__(instance, owner), told=self.told)

    @property
    def __name__(self) -> str:
        return function_name(self.function)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.function


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeScorer(Definition):
    """A model that scores: the model's name and the messages are the scorer.

    Used as a decorator of a function it takes the values of its placeholders from that function.
    """

    model: str
    messages: tuple[Message, ...]
    labels: tuple[str, ...] = ()
    complete: Callable[..., Any] | None = None
    variables: Callable[..., Any] | None = None
    declared: str | None = field(default=None, repr=False)
    binding: Binding = field(init=False, repr=False)

    def __post_init__(self) -> None:
        Definition.__post_init__(self)
        checked_text(self.model, f"scorer {self.name}: model")
        object.__setattr__(self, "labels", self._labels())
        if self.complete is not None and not callable(self.complete):
            raise ConfigError(
                f"scorer {self.name}: complete: {self.complete!r} is no function. "
                "Pass one that takes the model and the messages and returns the answer's text."
            )
        binding = Binding() if self.variables is None else binding_of(self.variables, self.name)
        object.__setattr__(self, "binding", binding)
        object.__setattr__(self, "declared", checked_version(self.declared, self.name))
        defines = (*self.weighed(), self.model, self.messages, self.labels, self.variables)
        object.__setattr__(self, "version", self.declared or hash_of(*defines))

    def __call__(self, function: object) -> JudgeScorer:
        """The same judge, with the values of its placeholders from ``function``."""
        if not callable(function) or isinstance(function, Definition):
            raise ConfigError(
                f"scorer {self.name}: a judge is no function of a run. Pass it to score() or ascore(); "
                "called, it takes a function that returns the values of its placeholders."
            )
        return replace(self, variables=function, told=set())

    def _labels(self) -> tuple[str, ...]:
        where = f"scorer {self.name}: labels"
        given = [checked_text(each, where).strip() for each in checked_items(self.labels, where)]
        if given and self.value_type != "categorical":
            raise ConfigError(f'{where}: only a categorical judge has labels. Write value_type="categorical".')
        if len({each.casefold() for each in given}) < len(given):
            raise ConfigError(f"{where}: a label is there twice. Write each once; case does not tell them apart.")
        return tuple(given)


AnyScorer: TypeAlias = CodeScorer | JudgeScorer


def as_scorer(given: object) -> AnyScorer:
    """The scorer that a user passed: one that is defined, or a function, which is named after itself.

    Raises :class:`~otel_chloe.errors.ConfigError` where it is neither.
    """
    if isinstance(given, CodeScorer):
        if is_method(given.function):
            binding_of(given.function, given.name)
        return given
    if isinstance(given, JudgeScorer):
        return given
    inner = getattr(given, "func", None)
    if isinstance(inner, CodeScorer):
        bound = cast("functools.partial[Any]", given)
        return replace(inner, function=functools.partial(inner.function, *bound.args, **bound.keywords), told=set())
    if isinstance(given, type):
        raise ConfigError(f"{given.__name__} is a class, not a scorer. Pass an object of it: {given.__name__}(...).")
    if not callable(given):
        raise ConfigError(
            f"{given!r} is no scorer. Pass a function of the run, Scorer.code(...) or Scorer.llm_judge(...); "
            "rules for calls are scored by a function of yours: lambda run: calls(run, rules)."
        )
    return CodeScorer(name=function_name(given), function=given)


def as_scorers(given: object) -> list[AnyScorer]:
    """The scorers that a user passed together; no two have one name."""
    if not isinstance(given, Iterable) or isinstance(given, (str, Mapping)):
        raise ConfigError(f"scorers: {given!r} is no list of scorers. Write a list: [my_scorer].")
    found = [as_scorer(each) for each in cast("Iterable[object]", given)]
    names: Sequence[str] = [each.name for each in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"scorers: {', '.join(twice)}: two scorers have this name. Give each one of its own: "
            'Scorer.code(function, name="...").'
        )
    return found


def function_name(function: object) -> str:
    """The name that a scorer has from its function, or from its class."""
    if isinstance(function, Definition):
        return function.name
    inner: object = getattr(function, "func", None)
    if inner is not None and isinstance(function, functools.partial):
        return function_name(inner)
    return getattr(function, "__name__", None) or type(function).__name__


def _threshold(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{where}threshold: {value!r} is no number. Write a number, such as 0.8.")
    if not math.isfinite(value):
        raise ConfigError(f"{where}threshold: nothing can be compared with {value!r}. Write a number, such as 0.8.")
    return float(value)
