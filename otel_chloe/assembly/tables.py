"""Tables that hooks change without a lock, and that must not stay as large as they once were."""

from __future__ import annotations

import sys
from typing import Final, TypeVar

V = TypeVar("V")

LEAST_BYTES: Final = 4_096
"""A table that is smaller than this is left alone."""
_NO_ID: Final = -1


def give_back(nothing: V, *tables: dict[int, V]) -> None:
    """Give back the room of tables of ids in which nothing is left.

    A dict keeps the room of what was taken out until much more is put in, and ``clear()`` would lose what another
    thread puts in after the look. Joining a small dict to an empty one takes over the small one's room, and to one
    that is not empty after all it only adds: one operation either way. For a moment ``nothing`` is in the table, under
    a number that no span has.
    """
    for table in tables:
        if not table and sys.getsizeof(table) > LEAST_BYTES:
            table.update({_NO_ID: nothing})
            table.pop(_NO_ID, None)
