"""The version of a scorer that declares none: a hash of what defines it, the same in every process."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from types import CodeType
from typing import Any, Final, cast

from otel_chloe.errors import ConfigError

_DEEPEST: Final = 8
_MOST: Final = 5_000
"""Values that are looked at; what a function refers to may be large, or refer to itself."""
_LONGEST: Final = 10_000
"""Bits of a number that can be written in decimal: Python has a limit for that."""
_DATA: Final = (bool, int, float, str, list, tuple, dict)


def hash_of(*parts: Any) -> str:
    """A hash of values and functions: 8 hex digits. Neither addresses nor the order of sets enter it.

    A function enters by its bytecode, so that another minor version of Python gives another hash. It takes its
    defaults and what it closes over along, but not what it finds in its module.
    """
    import hashlib  # it loads OpenSSL: only for who has scorers without a version

    look = _Look()
    text = json.dumps([look.at(part, _DEEPEST) for part in parts], sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def checked_version(version: object, name: str) -> str | None:
    """The version, if it is a text or a whole number; None is none."""
    if version is None:
        return None
    if isinstance(version, bool) or not isinstance(version, (str, int)) or not str(version).strip():
        raise ConfigError(f'scorer {name}: version: {version!r} is no version. Write a text, such as "2".')
    return str(version)


class _Look:
    """One look at values: as JSON can hold them; what stands too deep, or comes too late, by its type alone."""

    def __init__(self) -> None:
        self._left = _MOST

    def at(self, value: object, depth: int) -> Any:
        self._left -= 1
        try:
            return self._at(value, depth)
        except (Exception, SystemExit):  # noqa: BLE001 - what a function closes over may be anything, and raise when it is looked at
            return f"{type(value).__module__}.{type(value).__qualname__}"

    def _at(self, value: object, depth: int) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return value if value.bit_length() <= _LONGEST else hex(value)
        if isinstance(value, (float, bytes)):
            return [type(value).__name__, repr(value)]
        if depth <= 0 or self._left <= 0:
            return _kind(value)
        if isinstance(value, (Mapping, set, frozenset, list, tuple)):
            return self._container(cast("object", value), depth - 1)
        if isinstance(value, CodeType):
            return self._code(value, depth - 1)
        return self._function(value, depth - 1) if callable(value) else _kind(value)

    def _container(self, value: object, depth: int) -> Any:
        if isinstance(value, Mapping):
            items = cast("Mapping[object, object]", value).items()
            pairs = [[self.at(key, depth), self.at(item, depth)] for key, item in islice(items, _MOST)]
            return ["mapping", len(items), _sorted(pairs)]
        held = cast("Collection[object]", value)
        if not isinstance(value, (set, frozenset)):
            return [len(held), *(self.at(item, depth) for item in islice(held, _MOST))]
        return ["set", _sorted(self.at(item, depth) for item in held) if len(held) <= _MOST else len(held)]

    def _function(self, function: Callable[..., Any], depth: int) -> Any:
        if isinstance(function, functools.partial):
            return ["partial", *(self.at(part, depth) for part in (function.func, function.args, function.keywords))]
        if inspect.ismethod(function):
            return ["method", self._function(function.__func__, depth), self._object(function.__self__, depth)]
        code = getattr(function, "__code__", None)
        if not isinstance(code, CodeType):
            call = getattr(type(function), "__call__", None)  # noqa: B004 - not whether it can be called
            own = [self.at(call, depth)] if inspect.isfunction(call) else []
            return ["callable", _kind(function), *own, self._object(function, depth)]
        cells = [self._cell(cell, depth) for cell in getattr(function, "__closure__", None) or ()]
        defaults = getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)
        return ["function", self.at(code, depth), cells, self.at(defaults, depth)]

    def _code(self, code: CodeType, depth: int) -> Any:
        return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), self.at(code.co_consts, depth)]

    def _cell(self, cell: Any, depth: int) -> Any:
        try:
            return self.at(cell.cell_contents, depth)
        except ValueError:  # not filled yet
            return None

    def _object(self, value: Any, depth: int) -> Any:
        """An object by its class and the plain values that it holds."""
        held: dict[str, Any] = getattr(value, "__dict__", None) or {}
        plain = {key: cast("object", item) for key, item in held.items() if isinstance(item, _DATA)}
        return [_kind(value), self.at(plain, depth)]


def _kind(value: object) -> str:
    named: Any = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '')}.{named.__qualname__}"


def _sorted(items: Iterable[Any]) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
