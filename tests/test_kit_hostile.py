"""The scorer kit against values, exceptions and functions that raise when they are looked at."""

from __future__ import annotations

import asyncio
import functools
import threading
from numbers import Real

import pytest

from otel_chloe import DeferredScore, Mark, Pending, Run, Score, Scorer, ToolCall, Unscored, ascore, score
from otel_chloe.kit.returns import LONGEST_LABEL, LONGEST_NAME, MOST_SCORES

RUN = Run(prompt="P", output="o", tool_calls=[ToolCall("look", {"site": "a"})], trace_id="1" * 32, span_id="2" * 16)


class Raises:
    """An object that raises wherever it is looked at."""

    def __getattr__(self, name):
        raise RuntimeError("it is outside of its context")

    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__

    def __eq__(self, other):
        raise RuntimeError("not equal to anything")

    __hash__ = None  # type: ignore[assignment]

    @property
    def __class__(self):
        raise RuntimeError("of no class")


class NoText(str):
    __slots__ = ()

    def __str__(self):
        raise RuntimeError("no text")

    def strip(self, *args):
        raise RuntimeError("no text")


class NoNumber(float):
    def __float__(self):
        raise RuntimeError("no number")


class Items(dict):
    def __contains__(self, key):
        raise RuntimeError("no items")


class Elements(list):
    def __iter__(self):
        raise SystemExit(3)


class Lazy(Real):  # type: ignore[misc]
    """A number by its class alone."""

    def __getattribute__(self, name):
        raise RuntimeError("it is outside of its context")


Lazy.__abstractmethods__ = frozenset()


class Silent(BaseException):
    """An exception that cannot say what it is."""

    def __str__(self):
        raise SystemExit("in the middle of it")


def good(output):
    return True


def of(said):
    return Scorer.code(lambda ctx: said, name="s")


# Made by functions: pytest looks at what it is given.
SPOILED = [
    pytest.param(lambda: Score("bad", 1, comment=Raises()), "RuntimeError", id="a comment"),
    pytest.param(lambda: Score("bad", Raises()), "RuntimeError", id="a value"),
    pytest.param(lambda: Score("bad", NoNumber(0.5)), "RuntimeError", id="a number"),
    pytest.param(lambda: Score("bad", 10**5000), "OverflowError", id="a number that is too large to be written"),
    pytest.param(lambda: DeferredScore("bad", reason=Raises()), "RuntimeError", id="a reason"),
    pytest.param(lambda: Mark(0.5, 7, name="bad"), "TypeError", id="a mark's reason"),
    pytest.param(lambda: Mark(0.5, "r", name="bad", passed="yes"), "TypeError", id="a mark's verdict"),
    pytest.param(lambda: Mark(None, "r", name="bad"), "TypeError", id="a mark of nothing"),
    pytest.param(lambda: Unscored(None, name="bad"), "TypeError", id="unscored for no reason"),
    pytest.param(lambda: Unscored("r", name="bad", error=5), "TypeError", id="an error that is no word"),
    pytest.param(lambda: Pending(5, name="bad"), "TypeError", id="pending for a number"),
]


@pytest.mark.parametrize(("bad", "error"), SPOILED)
def test_a_score_that_raises_when_it_is_looked_at_spoils_no_other(bad, error):
    first, wrong, last = score(RUN, [of([Score("a", 1), bad(), Score("b", 1)])])

    assert (first.name, first.state, last.name, last.state) == ("a", "scored", "b", "scored")
    assert (wrong.name, wrong.state, wrong.error, wrong.key) == ("bad", "failed", error, "s")


@pytest.mark.parametrize("said", [Raises, lambda: Items(a=1), lambda: Elements([Score("a", 1)]), Lazy])
def test_a_return_value_that_raises_when_it_is_looked_at_makes_its_scorer_fail_alone(said):
    failed, other = score(RUN, [of(said()), good])

    assert (failed.name, failed.state, failed.key) == ("s", "failed", "s")
    assert other.passed is True


def test_names_and_words_become_plain_text_that_can_be_sent():
    named, worded = score(RUN, [of([Score(NoText("a"), NoText("b")), Score("x\ud800", 1, comment="\ud83d!")])])

    assert (named.name, named.label) == ("a", "b")
    assert type(named.name) is str
    assert (worded.name, worded.reason) == ("x?", "?!")


def test_a_name_has_an_end_and_so_has_a_label():
    long, label = score(RUN, [of([Score("n" * (LONGEST_NAME + 1), 1), Score("label", "x" * 5_000)])])

    assert (long.name, long.state) == ("s", "failed")
    assert "201 characters" in long.reason
    assert (len(label.label), len(label.value)) == (LONGEST_LABEL, 5_000)


@pytest.mark.parametrize("kind", [list, dict])
def test_more_scores_than_anybody_reads_are_left_out_and_that_is_said(kind):
    pairs = [(f"n{number}", number) for number in range(MOST_SCORES + 5)]
    said = dict(pairs) if kind is dict else [Score(*pair) for pair in pairs]

    *kept, last = score(RUN, [of(said)])

    assert len(kept) == MOST_SCORES - 1
    assert (last.name, last.state) == ("s", "failed")
    assert "more than 1,000 scores" in last.reason


def test_a_mark_may_be_a_label_alone():
    [mark] = score(RUN, [of(Mark(None, "It says so.", value="kind"))])

    assert (mark.score, mark.label, mark.state) == (None, "kind", "scored")


# --- exceptions ------------------------------------------------------------------------------------------------------


class UnsaidError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def test_an_exception_that_cannot_say_what_it_is_fails_its_scorer_alone():
    def bad(output):
        raise UnsaidError

    for outcomes in (score(RUN, [bad, good]), asyncio.run(ascore(RUN, [bad, good]))):
        failed, other = outcomes
        assert (failed.state, failed.reason) == ("failed", "UnsaidError")
        assert other.passed is True


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, Silent])
def test_ascore_asks_on_a_thread_of_its_own_where_nothing_raised_is_meant_for_the_program(error):
    def bad(output):
        raise error

    failed, other = asyncio.run(ascore(RUN, [bad, good]))

    assert (failed.state, failed.error) == ("failed", error.__name__)
    assert other.passed is True


def test_ctrl_c_ends_score():
    def bad(output):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score(RUN, [bad, good])


def test_an_async_scorer_that_cancels_itself_fails_alone():
    async def bad(output):
        raise asyncio.CancelledError

    for outcomes in (score(RUN, [bad, good]), asyncio.run(ascore(RUN, [bad, good]))):
        assert [(one.state, getattr(one, "error", None)) for one in outcomes] == [
            ("failed", "CancelledError"),
            ("scored", None),
        ]


def test_who_cancels_ascore_cancels_its_scorers():
    ended: list[str] = []

    async def cancelled() -> None:
        began = asyncio.Event()
        task = asyncio.ensure_future(ascore(RUN, [functools.partial(waits, began)]))
        await began.wait()
        task.cancel()
        await task

    async def waits(began, output):
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert ended == ["waits"]


def test_a_gateway_that_raises_what_cannot_be_said_is_an_answer_too():
    def complete(model, messages):
        raise Silent

    judge = Scorer.llm_judge(name="j", model="m", rubric="Is it?", complete=complete)
    [failed] = score(RUN, [judge])

    assert (failed.state, failed.error, failed.reason) == ("failed", "Silent", "complete= raised Silent")


# --- functions -------------------------------------------------------------------------------------------------------


def passes_on(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def takes_the_context(function):
    @functools.wraps(function)
    def wrapper(ctx):
        return function(ctx.output)

    return wrapper


class Doctor:
    @passes_on
    def method(self, output):
        return output == "o"


def is_o(output):
    return output == "o"


DECORATED = [passes_on(is_o), takes_the_context(is_o), functools.lru_cache(is_o), Doctor().method]


@pytest.mark.parametrize("function", DECORATED, ids=["passes on", "takes the context", "in C", "method"])
def test_a_decorated_function_is_called_with_what_its_wrapper_takes(function):
    [mark] = score(RUN, [Scorer.code(function)])

    assert mark.passed is True, mark.reason


@pytest.mark.parametrize("held", [Raises, lambda: 10**5000, lambda: functools.singledispatch(is_o), threading.Lock])
def test_what_a_function_closes_over_is_its_own_business(held):
    held = held()

    def closes_over(output):
        return held is not None

    [mark] = score(RUN, [closes_over])

    assert (mark.passed, len(mark.version)) == (True, 8)
