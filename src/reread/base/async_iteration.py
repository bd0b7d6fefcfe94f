"""Iterate over what blocks without blocking an event loop, on asyncio or trio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


async def iterate_in_thread(items: Iterator[T], cancel: Callable[[], object]) -> AsyncIterator[T]:
    """Yield the items, each taken in a thread; if the task is cancelled meanwhile, call `cancel` to end the thread."""
    from anyio import CapacityLimiter, to_thread

    end = object()
    limiter = CapacityLimiter(1)  # a thread of its own: the shared ones would run out with many iterations
    while True:
        try:
            item = await to_thread.run_sync(next, items, end, abandon_on_cancel=True, limiter=limiter)
        except BaseException:
            cancel()
            raise
        if item is end:
            return
        yield item  # pyright: ignore[reportReturnType]


async def finish_in_thread(work: Callable[[], object]) -> None:
    """Do something that blocks for a while, to the end even if the task is cancelled."""
    from anyio import CancelScope, to_thread

    with CancelScope(shield=True):
        await to_thread.run_sync(work)
