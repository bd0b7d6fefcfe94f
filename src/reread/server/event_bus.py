"""A hub: what threads have to tell, to everyone who listens on the server's loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Generic, TypeVar

from reread.base import jsontext

T = TypeVar("T")
HEARTBEAT_SECONDS = 15.0
"""How long a stream is silent before it says that it is still there."""


class Listener(Generic[T]):
    """Someone who listens, and what they asked about."""

    def __init__(self, about: T) -> None:
        self.about = about
        self.queue: asyncio.Queue[tuple[str, object] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def tell(self, event: str, value: object) -> None:
        """Say something; from any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.queue.put_nowait, (event, value))

    def end(self) -> None:
        """Say that nothing more will come."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.queue.put_nowait, None)


def encoded(event: str, value: object) -> bytes:
    """One server-sent event."""
    return b"event: " + event.encode() + b"\ndata: " + jsontext.dumps(value) + b"\n\n"


class EventBus(Generic[T]):
    """Those who listen."""

    def __init__(self, emptied: Callable[[], None] = lambda: None) -> None:
        self.listeners: set[Listener[T]] = set()
        self._emptied = emptied
        self._closed = False

    def tell(self, event: str, value: object) -> None:
        """Say the same to everyone."""
        for listener in list(self.listeners):
            listener.tell(event, value)

    def close(self) -> None:
        """End every stream."""
        self._closed = True
        for listener in list(self.listeners):
            listener.end()

    async def stream(self, listener: Listener[T]) -> AsyncIterator[bytes]:
        """What a listener hears, as server-sent events."""
        self.listeners.add(listener)
        try:
            while not self._closed:
                try:
                    told = await asyncio.wait_for(listener.queue.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if told is None:
                    return
                yield encoded(*told)
        finally:
            self.listeners.discard(listener)
            if not self.listeners:
                self._emptied()
