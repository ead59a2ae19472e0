"""Which tools a run called, in what order, with which arguments, and whether only those."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias, cast

from otel_chloe.errors import ConfigError
from otel_chloe.expected import checked_choice
from otel_chloe.mark import Mark, Unscored
from otel_chloe.run import Run, ToolCall
from otel_chloe.scorers.calls import used
from otel_chloe.scorers.names import (
    broken,
    comparable,
    holds,
    is_cut,
    is_named,
    kept,
    listed,
    parsed,
    shown,
    tools_of,
    unknown,
    unseen,
)

Order: TypeAlias = Literal["strict", "subsequence"]
Match: TypeAlias = Literal["exact", "subset"]
Which: TypeAlias = Literal["every", "any"]
Wanted: TypeAlias = Mapping[str, Any] | Callable[[Any], object]

ORDERS: Final[tuple[Order, ...]] = ("strict", "subsequence")
MATCHES: Final[tuple[Match, ...]] = ("exact", "subset")
WHICH: Final[tuple[Which, ...]] = ("every", "any")


def call_order(run: Run, *, tools: Sequence[str], mode: Order = "subsequence") -> Mark | Unscored:
    """Whether the run called these tools in this order: 1 or 0.

    With ``subsequence`` other calls, repeats too, may stand before, between and after; with ``strict`` these are all
    the calls that there are. A call that failed was called.
    """
    name = "call_order"
    wanted = tools_of(tools, name)
    checked_choice(mode, ORDERS, f"{name}: mode")
    hidden = unseen(name, run)
    if mode == "strict":
        return hidden or _strictly(name, run, wanted)
    missing = _after_the_last(run.tool_calls, wanted)
    if not missing:
        return kept(name, used(run.tool_calls))
    done = wanted[: len(wanted) - len(missing)]
    after = f" after {done[-1]}" if done else ""
    return hidden or broken(name, f"never called {missing[0]}{after}. {used(run.tool_calls)}")


def only_tools(run: Run, *, tools: Sequence[str]) -> Mark | Unscored:
    """Whether the run called no other tools than these: 1 or 0. It need not have called any."""
    name = "only_tools"
    allowed = tools_of(tools, name)
    others = [call.name for call in run.tool_calls if not any(is_named(call, tool) for tool in allowed)]
    if others:
        return broken(name, f"called {listed(others)}, which it may not. {used(run.tool_calls)}")
    return unseen(name, run) or kept(name, used(run.tool_calls))


def call_arguments(
    run: Run,
    *,
    arguments: Mapping[str, Wanted],
    match: Match | Mapping[str, Match] = "subset",
    which: Which | Mapping[str, Which] = "every",
) -> Mark | Unscored:
    """Whether the run called these tools with the arguments that it should: 1 or 0.

    Args:
        run: The run.
        arguments: For each tool its arguments, or a function of a call's arguments that is true where they are right.
        match: ``subset``: the call has these arguments and may have more. ``exact``: it has no others. One word for
            all tools, or a mapping from tools to words.
        which: ``every``: each call of the tool, one at least. ``any``: one of them, so that a first try with other
            arguments does not matter. One word for all tools, or a mapping.
    """
    name = "call_arguments"
    rules = [_Rule(name, tool, wanted, match, which) for tool, wanted in _tools(arguments).items()]
    found = [(rule, rule.problem(run)) for rule in rules]
    problems = [problem for _, problem in found if isinstance(problem, str)]
    if problems:
        return broken(name, f"{'; '.join(problems)}. {used(run.tool_calls)}")
    unclear = next((problem for _, problem in found if isinstance(problem, Unscored)), None)
    return unclear or kept(name, used(run.tool_calls))


class _Rule:
    """What the arguments of one tool should be."""

    def __init__(self, name: str, tool: str, wanted: object, match: object, which: object) -> None:
        self._name = name
        self._tool = tool
        self._every = _choice(which, tool, WHICH, "every", f"{name}: which") == "every"
        exact = _choice(match, tool, MATCHES, "subset", f"{name}: match") == "exact"
        self._fits: Callable[[Any], object]
        if callable(wanted):
            self._fits, self._wanted = wanted, "arguments that fit"
        elif isinstance(wanted, Mapping):
            self._fits = partial(_equal if exact else _has, wanted)
            self._wanted = f"{'exactly ' if exact else ''}{shown(cast('object', wanted))}"
        else:
            raise ConfigError(
                f"{name}: arguments: {tool}: {wanted!r} is no mapping of arguments. "
                'Write one, such as {"site": "shop.example"}, or a function of the arguments.'
            )

    def problem(self, run: Run) -> str | Unscored | None:
        """What is wrong, in words; or why that cannot be told."""
        made = [call for call in run.tool_calls if is_named(call, self._tool)]
        told = [self._right(call, cut=is_cut(run)) for call in made]
        hidden = unseen(self._name, run)
        if self._every:
            wrong = [call for call, right in zip(made, told, strict=True) if right is False]
            if wrong:
                return f"called {self._tool} with {shown(parsed(wrong[0].arguments))}, not {self._wanted}"
            if None in told:
                return unknown(self._name, f"cannot tell with which arguments it called {self._tool}")
            return hidden or (None if made else f"never called {self._tool}")
        if True in told:
            return None
        if None in told:
            return unknown(self._name, f"cannot tell with which arguments it called {self._tool}")
        return hidden or f"never called {self._tool} with {self._wanted}"

    def _right(self, call: ToolCall, *, cut: bool) -> bool | None:
        """Whether the call's arguments are right; None where they are not known."""
        given = parsed(call.arguments)
        if given is None or (cut and isinstance(given, str)):
            return None
        return bool(self._fits(given))


def _tools(arguments: object) -> Mapping[str, object]:
    if isinstance(arguments, Mapping) and arguments:
        return cast("Mapping[str, object]", arguments)
    raise ConfigError(
        f"call_arguments: arguments: {arguments!r} is no mapping from tools to arguments. "
        'Write one, such as {"restart_site": {"site": "shop.example"}}.'
    )


def _choice(given: object, tool: str, words: tuple[Any, ...], usual: str, where: str) -> str:
    """The word for a tool, of one for all or of a mapping."""
    word = cast("Mapping[str, object]", given).get(tool, usual) if isinstance(given, Mapping) else given
    return str(checked_choice(word, words, where))


def _equal(wanted: object, given: object) -> bool:
    return comparable(wanted) == comparable(given)


def _has(wanted: object, given: object) -> bool:
    return holds(given, wanted)


def _strictly(name: str, run: Run, wanted: Sequence[str]) -> Mark:
    made = run.tool_calls
    for index, (call, tool) in enumerate(zip(made, wanted, strict=False), 1):
        if not is_named(call, tool):
            return broken(name, f"call {index} is {call.name}, not {tool}. {used(made)}")
    if len(made) < len(wanted):
        return broken(name, f"never came to {', '.join(wanted[len(made) :])}. {used(made)}")
    if len(made) > len(wanted):
        return broken(name, f"went on with {', '.join(call.name for call in made[len(wanted) :])}. {used(made)}")
    return kept(name, used(made))


def _after_the_last(made: Sequence[ToolCall], wanted: Sequence[str]) -> Sequence[str]:
    """The tools that are missing, from the first that did not come in its turn."""
    at = 0
    for call in made:
        if at < len(wanted) and is_named(call, wanted[at]):
            at += 1
    return wanted[at:]
