"""A limit of time on something that is awaited."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def within(work: Awaitable[T], seconds: float) -> T:
    """What ``work`` gives. Raises TimeoutError (before Python 3.11 asyncio's own) after so many seconds.

    ``asyncio.wait_for`` makes a task of what it waits for, a tenth of all that a judgement costs here.
    """
    if sys.version_info < (3, 11):
        return await asyncio.wait_for(work, seconds)
    async with asyncio.timeout(seconds):
        return await work
