"""``Scorer.code`` and ``Scorer.llm_judge``: how users define scorers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, cast, overload

from otel_chloe.errors import ConfigError
from otel_chloe.expected import checked_choice, checked_text
from otel_chloe.kit.definition import (
    CodeScorer,
    Direction,
    JudgeScorer,
    Message,
    ValueType,
    as_scorer,
    function_name,
)

ROLES: Final = ("system", "user", "assistant")
OUTPUT_TYPES: Final = ("score", "classification")
_RUBRIC_SHOWS: Final = "{{output}}"

OutputType = Literal["score", "classification"]


class Scorer:
    """Defines scorers: functions with a pass mark, and models that judge.

    Wrong definitions raise :class:`~otel_chloe.errors.ConfigError`, which says what to write instead.
    """

    @overload
    @staticmethod
    def code(
        fn: Callable[..., Any],
        *,
        key: str | None = ...,
        name: str | None = ...,
        version: str | None = ...,
        value_type: ValueType | None = ...,
        direction: Direction | None = ...,
        threshold: float | None = ...,
        output_type: OutputType | None = ...,
        description: str | None = ...,
        metadata: Mapping[str, Any] | None = ...,
        required_inputs: Sequence[str] | None = ...,
    ) -> CodeScorer: ...
    @overload
    @staticmethod
    def code(
        fn: None = None,
        *,
        key: str | None = ...,
        name: str | None = ...,
        version: str | None = ...,
        value_type: ValueType | None = ...,
        direction: Direction | None = ...,
        threshold: float | None = ...,
        output_type: OutputType | None = ...,
        description: str | None = ...,
        metadata: Mapping[str, Any] | None = ...,
        required_inputs: Sequence[str] | None = ...,
    ) -> Callable[[Callable[..., Any]], CodeScorer]: ...
    @staticmethod
    def code(
        fn: Callable[..., Any] | None = None,
        *,
        key: str | None = None,
        name: str | None = None,
        version: str | None = None,
        value_type: ValueType | None = None,
        direction: Direction | None = None,
        threshold: float | None = None,
        output_type: OutputType | None = None,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        required_inputs: Sequence[str] | None = None,
    ) -> CodeScorer | Callable[[Callable[..., Any]], CodeScorer]:
        """Make a function a scorer: bare, ``@Scorer.code(threshold=0.8)``, or ``Scorer.code(function, threshold=0.8)``.

        The function itself is left as it is, and the scorer can be called in its place.

        Args:
            fn: Takes ``ctx`` (a :class:`~otel_chloe.ScorerContext`) or any of ``input``, ``output``, ``expected``,
                ``metadata``, ``run`` by name; sync or async. May be a scorer already: what is given here replaces.
            key: Identifies the scorer. Its name by default.
            name: Of its score, which the threshold is for. The function's name by default.
            version: A hash of what defines it by default.
            value_type: ``numeric``, ``boolean`` or ``categorical``.
            direction: ``higher_is_better`` (the default), ``lower_is_better`` or ``none`` (the default of categorical
                scores): then nothing passes or fails.
            threshold: The number that passes, inclusive.
            output_type: ``classification`` is another word for a ``value_type`` of ``categorical``.
            description: For people.
            metadata: Stands on every mark of this scorer.
            required_inputs: Of ``input``, ``output``, ``expected``, ``metadata``, ``run``: where one is not known,
                the scorer is not called and the run is unscored.
        """
        kind = _value_type(value_type, output_type, "Scorer.code" if name is None else name)
        given = {
            "key": key,
            "name": name,
            "declared": version,
            "value_type": kind,
            "direction": direction or ("none" if kind == "categorical" else None),
            "threshold": threshold,
            "description": description,
            "metadata": metadata,
            "required_inputs": required_inputs,
        }
        if fn is None:
            _decorated(
                _unnamed, {**given, "name": "Scorer.code" if name is None else name}
            )  # a wrong value is met where it stands, before there is a function
            return partial(_decorated, given=given)
        return _decorated(fn, given)

    @staticmethod
    def llm_judge(
        *,
        name: str,
        model: str,
        key: str | None = None,
        messages: Sequence[Mapping[str, str]] | None = None,
        rubric: str | None = None,
        value_type: ValueType | None = None,
        labels: Sequence[str] | None = None,
        direction: Direction | None = None,
        threshold: float | None = None,
        version: str | None = None,
        output_type: OutputType | None = None,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        required_inputs: Sequence[str] | None = None,
        complete: Callable[..., Any] | None = None,
    ) -> JudgeScorer:
        """Make a model a scorer: it answers with a number, a yes or no, or a label, and nothing else.

        Used as a decorator, it takes a function of ``ctx`` (or of its parts) that returns the values of placeholders.

        Args:
            name: Of its score.
            model: As litellm or its maker knows it, such as ``claude-haiku-4-5``.
            key: Identifies the scorer. Its name by default.
            messages: Each with a ``role`` and a ``content``, in which ``{{input}}``, ``{{output}}``, ``{{expected}}``,
                ``{{metadata}}``, ``{{tools}}`` and ``{{transcript}}`` stand for the run's. Others stay as they are.
            rubric: In place of messages, where one instruction is enough: the model is shown the output.
            value_type: How the answer is read: ``numeric`` (the default), ``boolean`` or ``categorical``.
            labels: The answers that a categorical judge may give; any text where there are none.
            direction: As for ``Scorer.code``.
            threshold: The number that passes, inclusive.
            version: A hash of what defines it by default.
            output_type: ``classification`` is another word for a ``value_type`` of ``categorical``.
            description: For people.
            metadata: Stands on every mark of this scorer.
            required_inputs: As for ``Scorer.code``.
            complete: Your own way to the model, ``complete(model, messages) -> text``, sync or async.
        """
        checked_text(name, "Scorer.llm_judge: name")
        kind = _value_type(value_type, output_type, name)
        return JudgeScorer(
            name=name,
            key=_key(key, name),
            model=model,
            messages=_messages(messages, rubric, f"scorer {name}: "),
            value_type=kind,
            labels=cast("tuple[str, ...]", () if labels is None else labels),
            direction=direction or ("none" if kind == "categorical" else "higher_is_better"),
            threshold=threshold,
            declared=version,
            description=description,
            metadata=metadata,
            required_inputs=cast("tuple[str, ...]", () if required_inputs is None else required_inputs),
            complete=complete,
        )


def _unnamed(ctx: object) -> None:
    """Stands for a function that is not there yet."""


def _decorated(fn: Callable[..., Any], given: Mapping[str, Any]) -> CodeScorer:
    """The function, or the scorer that it is already, with all that is given and not None."""
    from dataclasses import replace

    if isinstance(fn, JudgeScorer):
        raise ConfigError(f"scorer {fn.name}: a judge is no function. Give Scorer.llm_judge its own threshold.")
    if not callable(fn):
        raise ConfigError(f"Scorer.code: {fn!r} is no function. Write @Scorer.code(...), or Scorer.code(function).")
    known = {key: value for key, value in given.items() if value is not None}
    name = known.setdefault("name", function_name(fn))
    if "key" in known:
        _key(known["key"], name)
    if not isinstance(fn, CodeScorer) and not isinstance(getattr(fn, "func", None), CodeScorer):
        return CodeScorer(function=fn, **known)
    scorer = cast("CodeScorer", as_scorer(fn))
    if known["name"] != scorer.name and scorer.key == scorer.name:
        known.setdefault("key", known["name"])
    return replace(scorer, **known, told=set())


def _key(key: object, name: str) -> str:
    return name if key is None else checked_text(key, f"scorer {name}: key")


def _value_type(value_type: object, output_type: object, name: str) -> ValueType | None:
    if output_type is None:
        return cast("ValueType | None", value_type)
    checked_choice(output_type, OUTPUT_TYPES, f"scorer {name}: output_type")  # pyright: ignore[reportArgumentType]
    if output_type == "score":
        return cast("ValueType | None", value_type)
    if value_type not in {None, "categorical"}:
        raise ConfigError(
            f'scorer {name}: output_type "classification" and value_type {value_type!r} cannot both be. '
            'Write value_type="categorical" alone.'
        )
    return "categorical"


def _messages(messages: object, rubric: object, where: str) -> tuple[Message, ...]:
    if rubric is not None:
        if messages is not None:
            raise ConfigError(f"{where}messages and rubric are both given. Write one of them.")
        system = {"role": "system", "content": checked_text(rubric, f"{where}rubric")}
        return (system, {"role": "user", "content": _RUBRIC_SHOWS})
    if messages is None:
        raise ConfigError(f'{where}it has no prompt. Write messages=[...], or rubric="..." for one instruction.')
    return checked_messages(messages, where)


def checked_messages(messages: object, where: str) -> tuple[Message, ...]:
    """The messages, if each has a role and a content and nothing else."""
    example = 'Write [{"role": "user", "content": "..."}].'
    if not isinstance(messages, (list, tuple)) or not messages:
        raise ConfigError(f"{where}messages: {messages!r} is no list of messages. {example}")
    found: list[Message] = []
    for index, message in enumerate(cast("Sequence[object]", messages)):
        if not isinstance(message, Mapping) or set(cast("Mapping[str, Any]", message)) != {"role", "content"}:
            raise ConfigError(f"{where}messages[{index}]: {message!r} has not a role and a content alone. {example}")
        given = cast("Mapping[str, Any]", message)
        role = checked_choice(given["role"], ROLES, f"{where}messages[{index}].role")
        found.append({"role": role, "content": checked_text(given["content"], f"{where}messages[{index}].content")})
    return tuple(found)
