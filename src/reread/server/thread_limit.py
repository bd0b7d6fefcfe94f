"""Work in threads, shared out so that no kind of it can take them all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

T = TypeVar("T")


class ThreadLimit:
    """Threads for one purpose: more work than `most` waits, and work for other purposes does not wait for it."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, function: Callable[..., T], *args: object) -> T:
        """Call a function in a thread and return its result."""
        async with self._free:
            return await run_in_threadpool(function, *args)
