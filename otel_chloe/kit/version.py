"""The version of a scorer that declares none: a hash of what defines it, the same in every process."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any, Final, cast

from otel_chloe.errors import ConfigError

_DEEPEST: Final = 8
_DATA: Final = (bool, int, float, str, list, tuple, dict)


def hash_of(*parts: Any) -> str:
    """A hash of values and functions: 8 hex digits. Neither addresses nor the order of sets enter it.

    A function enters by its bytecode, so that another minor version of Python gives another hash.
    """
    import hashlib  # it loads OpenSSL: only for who has scorers without a version

    text = json.dumps([_plain(part, _DEEPEST) for part in parts], sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def checked_version(version: object, name: str) -> str | None:
    """The version, if it is a text or a whole number; None is none."""
    if version is None:
        return None
    if isinstance(version, bool) or not isinstance(version, (str, int)) or not str(version).strip():
        raise ConfigError(f'scorer {name}: version: {version!r} is no version. Write a text, such as "2".')
    return str(version)


def _plain(value: object, depth: int) -> Any:
    """A value as JSON can hold it; what stands too deep by its type alone."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, bytes)):
        return [type(value).__name__, repr(value)]
    if depth <= 0:
        return _kind(value)
    if isinstance(value, (Mapping, set, frozenset, list, tuple)):
        return _container(cast("object", value), depth - 1)
    if isinstance(value, CodeType):
        return _code(value, depth - 1)
    return _function(value, depth - 1) if callable(value) else _kind(value)


def _container(value: object, depth: int) -> Any:
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return ["mapping", _sorted([_plain(key, depth), _plain(item, depth)] for key, item in items)]
    plain = [_plain(item, depth) for item in cast("Iterable[object]", value)]
    return ["set", _sorted(plain)] if isinstance(value, (set, frozenset)) else plain


def _function(function: Callable[..., Any], depth: int) -> Any:
    if isinstance(function, functools.partial):
        return ["partial", *(_plain(part, depth) for part in (function.func, function.args, function.keywords))]
    if inspect.ismethod(function):
        return ["method", _function(function.__func__, depth), _object(function.__self__, depth)]
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        call = getattr(type(function), "__call__", None)  # noqa: B004 - not whether it can be called
        own = [_plain(call, depth)] if inspect.isfunction(call) else []
        return ["callable", _kind(function), *own, _object(function, depth)]
    cells = [_cell(cell, depth) for cell in getattr(function, "__closure__", None) or ()]
    defaults = getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)
    return ["function", _plain(code, depth), cells, _plain(defaults, depth)]


def _code(code: CodeType, depth: int) -> Any:
    return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), _plain(code.co_consts, depth)]


def _cell(cell: Any, depth: int) -> Any:
    try:
        return _plain(cell.cell_contents, depth)
    except ValueError:  # not filled yet
        return None


def _object(value: Any, depth: int) -> Any:
    """An object by its class and the plain values that it holds."""
    held: dict[str, Any] = getattr(value, "__dict__", None) or {}
    plain = {key: cast("object", item) for key, item in held.items() if isinstance(item, _DATA)}
    return [_kind(value), _plain(plain, depth)]


def _kind(value: object) -> str:
    named: Any = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '')}.{named.__qualname__}"


def _sorted(items: Iterable[Any]) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
