"""A rules file as it was written: its value, and the line and column of each part of it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from otel_chloe.errors import ConfigError
from otel_chloe.expected import nearest

if TYPE_CHECKING:
    import yaml

Key: TypeAlias = Hashable
"""One step of a path: a mapping's key or a list's index."""


@dataclass(frozen=True, slots=True)
class Document:
    """``value`` is the content; ``root`` holds the marks, and is None where the content came from no file."""

    name: str
    value: object
    root: yaml.Node | None = None

    def place(self, path: tuple[Key, ...], *, at_key: bool = False) -> tuple[int, int] | None:
        """The line and column, from 1, of the value at the path, or of its key; of what is above, if it is missing."""
        node, key = self.root, self.root
        for step in path:
            found = None if node is None else _step(node, step)
            if found is None:
                break
            key, node = found
        if node is None or key is None:
            return None
        empty = node.start_mark.index == node.end_mark.index
        mark = key.start_mark if at_key or empty else node.start_mark
        return mark.line + 1, mark.column + 1

    def at(self, place: tuple[int, int] | None) -> str:
        """The name, line and column, to begin a message with."""
        return self.name if place is None else f"{self.name}:{place[0]}:{place[1]}"


def read_document(path: str | PathLike[str]) -> Document:
    """Read a YAML or JSON file. Any trouble is a ConfigError that says where."""
    name = fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{name}: {_not_there(Path(path))}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: not UTF-8 ({error.reason}). Save the rules file as UTF-8.") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{name}: cannot be read ({why}). Write the path of a rules file in YAML or JSON.") from None
    if not text.strip():
        raise ConfigError(f"{name}: the file is empty. Write agents:, and the rules of each below it.")
    return _from_json(name, text) or _from_yaml(name, text)


def _not_there(path: Path) -> str:
    """Where a file was looked for, and which one there may be meant."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"there is no folder {folder}. Write the path of a rules file in YAML or JSON."
    names: list[str] = []
    with suppress(OSError):  # a folder that may not be listed
        names = sorted(each.name for each in folder.iterdir() if each.suffix in {".yaml", ".yml", ".json"})
    close = nearest(path.name, names)
    meant = f"Did you mean {close}?" if close else "Write the path of a rules file in YAML or JSON."
    return f"there is no such file in {folder}. {meant}"


def _from_json(name: str, text: str) -> Document | None:
    """The document if it is JSON; None if it may be YAML."""
    certain = name.endswith(".json")
    if not certain and not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except RecursionError:
        raise ConfigError(f"{name}: nested too deeply for a rules file.") from None
    except json.JSONDecodeError as error:
        if certain:
            raise ConfigError(f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}.") from None
        return None
    # YAML reads JSON and keeps the places, but for tabs, which stand only between JSON's values.
    return Document(name, value, _composed(name, text.replace("\t", " "), must=False))


def _from_yaml(name: str, text: str) -> Document:
    import yaml

    root = _composed(name, text, must=True)
    if root is None:
        raise ConfigError(f"{name}: there is nothing but comments. Write agents:, and the rules of each below it.")
    try:
        value: object = _loader("").construct_document(root)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(name, error) from None
    except (ValueError, RecursionError) as error:  # such as the date 2026-13-45
        raise ConfigError(f"{name}: a value cannot be read ({error}). Write texts in quotes.") from None
    # Composed again: reading the value moved what `<<` merges.
    return Document(name, value, _composed(name, text, must=True))


def _composed(name: str, text: str, *, must: bool) -> yaml.Node | None:
    import yaml

    try:
        root: yaml.Node | None = _loader(text).get_single_node()
    except yaml.YAMLError as error:
        if must:
            raise _not_yaml(name, error) from None
        return None
    except RecursionError:
        raise ConfigError(f"{name}: nested too deeply for a rules file.") from None
    for key in _repeated_keys(root, set()):
        place = f"{key.start_mark.line + 1}:{key.start_mark.column + 1}"
        raise ConfigError(f"{name}:{place}: the key {key.value!r} is here for the second time. Write it once.")
    return root


def _not_yaml(name: str, error: yaml.YAMLError) -> ConfigError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
    alias = "alias" in (getattr(error, "context", None) or "")
    return ConfigError(f"{name}{place}: not YAML: {what}." + (' Write "*" in quotes.' if alias else ""))


def _repeated_keys(node: yaml.Node | None, seen: set[int]) -> Iterator[yaml.Node]:
    """Keys that stand twice in one mapping. YAML readers keep the last one and say nothing."""
    import yaml

    if node is None or id(node) in seen:  # an anchor may stand for what it is in
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in cast("list[yaml.Node]", node.value):
            yield from _repeated_keys(item, seen)
    if isinstance(node, yaml.MappingNode):
        keys: set[tuple[str, str]] = set()
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            spelled = (str(key.tag), str(key.value))
            if spelled in keys:
                yield key
            keys.add(spelled)
            yield from _repeated_keys(value, seen)


def _step(node: yaml.Node, step: Key) -> tuple[yaml.Node, yaml.Node] | None:
    """The key and the value one step below; an item of a list is its own key."""
    import yaml

    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item: yaml.Node = node.value[step]
        return item, item
    if isinstance(node, yaml.MappingNode):
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            # `yes:` is read as True, and is found by it
            if isinstance(key, yaml.ScalarNode) and _loader("").construct_object(key) == step:
                return key, value
    return None


def _loader(text: str) -> Any:
    """The safe loader, which makes plain values only. Any: its methods have no types of their own."""
    import yaml

    return yaml.SafeLoader(text)
