"""The hook on a span's own end(): the last moment at which a span takes attributes.

An SDK that freezes a span before it tells its processors leaves no other place (opentelemetry-python issue 5614).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from time import time_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_chloe.assembly import Tree
    from otel_chloe.processor.marks import SpanMarks


class EndHook:
    """Stands in a span's attribute ``end``, acts once, and calls the real ``end`` whatever happens.

    It holds the span weakly: held by its own attribute, the span would be a cycle that only the garbage collector
    frees. It removes itself only while it is the outermost wrapper.

    Args:
        marks: Writes the marks, given the span and its tree; takes what goes wrong in that.
        span: The span.
        tree: The spans around it.
        inner: What stood in the attribute before; None for the span's own method.
    """

    __slots__ = ("_inner", "_marks", "_span", "_tree")

    def __init__(self, marks: SpanMarks, span: Any, tree: Tree, inner: Callable[..., object] | None) -> None:
        self._marks: SpanMarks | None = marks
        self._span = weakref.ref(span)
        self._tree = tree
        self._inner = inner

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        span = self._span()
        if span is None:
            return
        inner = self._inner
        # Of threads that end the span at the same moment each may write: they write the same.
        marks, self._marks = self._marks, None
        try:
            if marks is not None:
                marks.write(span, self._tree)
        except Exception as error:  # noqa: BLE001 - a guard: the span must end, whatever scoring it does
            if marks is not None:
                marks.failed("end", error)
        finally:
            if span.end is self:
                if inner is None:
                    del span.end
                else:
                    span.end = inner
            if inner is None:
                type(span).end(span, *args, **kwargs)  # pyright: ignore[reportUnknownMemberType] - of any span class
            else:
                inner(*args, **kwargs)


class AskingEndHook(EndHook):
    """The same where scorers of the user's are asked: they take their time, and the span does not last for it."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        given = args[0] if args else kwargs.get("end_time")
        ended_ns = time_ns() if given is None else given
        span, marks, self._marks = self._span(), self._marks, None
        try:
            if marks is not None and span is not None:
                marks.write(span, self._tree, ended_ns=ended_ns)
        except Exception as error:  # noqa: BLE001 - as above
            if marks is not None:
                marks.failed("end", error)
        finally:
            if args:
                super().__call__(ended_ns, *args[1:], **kwargs)
            else:
                super().__call__(**{**kwargs, "end_time": ended_ns})
