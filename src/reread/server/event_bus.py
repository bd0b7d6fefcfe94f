"""Send events from worker threads to the browsers that listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from reread.base import jsontext

T = TypeVar("T")
HEARTBEAT_SECONDS = 15.0
"""A stream without events sends a comment this often, so that a closed connection is noticed."""


class Listener(Generic[T]):
    """One event stream and the queue that feeds it."""

    def __init__(self, topic: T) -> None:
        self.topic = topic
        """The topics that the listener wants to hear about."""
        self.queue: asyncio.Queue[tuple[str, object] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def send(self, event: str, value: object) -> None:
        """Queue an event; may be called from any thread."""
        self._put((event, value))

    def close(self) -> None:
        """End the stream after the queued events; may be called from any thread."""
        self._put(None)

    def _put(self, item: tuple[str, object] | None) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self.queue.put_nowait, item)


def encode_event(event: str, value: object) -> bytes:
    """Encode one server-sent event."""
    return b"event: " + event.encode() + b"\ndata: " + jsontext.dumps(value) + b"\n\n"


class EventBus(Generic[T]):
    """The listeners of one source of events."""

    def __init__(self, on_empty: Callable[[], None] = lambda: None) -> None:
        self.listeners: set[Listener[T]] = set()
        self._on_empty = on_empty
        self._closed = False

    def publish(self, event: str, value: object) -> None:
        """Send an event to every listener."""
        for listener in list(self.listeners):
            listener.send(event, value)

    def close(self) -> None:
        """End every stream."""
        self._closed = True
        for listener in list(self.listeners):
            listener.close()

    @contextmanager
    def heard_by(self, listener: Listener[Any]) -> Generator[None]:
        """Send the events to a listener of another bus, too, during the block."""
        self.listeners.add(listener)
        try:
            yield
        finally:
            self.listeners.discard(listener)

    async def stream(self, listener: Listener[T]) -> AsyncIterator[bytes]:
        """Yield the listener's events, encoded, until the listener or the bus is closed."""
        self.listeners.add(listener)
        try:
            while not self._closed:
                try:
                    item = await asyncio.wait_for(listener.queue.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield b": heartbeat\n\n"
                    continue
                if item is None:
                    return
                yield encode_event(*item)
        finally:
            self.listeners.discard(listener)
            if not self.listeners:
                self._on_empty()
