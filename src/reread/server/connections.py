"""HTTP connections with limits: no number of idle, slow or broken clients keeps others from being answered."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 256
"""Open connections; one more closes one that waits for its request, or whose client does not read its answer."""
REQUEST_SECONDS = 10.0
"""How long a client may take to send a request."""
READ_SECONDS = 30.0
"""How long a client may read nothing while an answer is waiting for it."""
MAX_HEAD = 1 << 14
"""Bytes of a request's line and headers."""


class LimitedProtocol(H11Protocol):
    """One connection."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._close_oldest()
        self._expire_after(REQUEST_SECONDS)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.DONE and self.conn.trailing_data[0]:  # no browser asks on before it is answered
            self.abort()
        elif self.is_idle and self._timer is None:
            self._expire_after(REQUEST_SECONDS)
        elif not self.is_idle:
            self._cancel()

    def pause_writing(self) -> None:
        """Close the connection if the client does not read on."""
        super().pause_writing()
        self._expire_after(READ_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """True if no request is being answered."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    @property
    def expires(self) -> float:
        """The time at which it is closed unless its client does something."""
        return self._timer.when() if self._timer is not None else 0.0

    def abort(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _close_oldest(self) -> None:
        """Close the connection that has been idle longest, else one whose client does not read, else this one."""
        connections = cast(set[LimitedProtocol], self.connections)  # there are no others: it has no web sockets
        others = [other for other in connections if other is not self]
        idle = [other for other in others if other.is_idle]
        unread = [other for other in others if other.flow.write_paused]
        min(idle or unread, key=lambda other: other.expires, default=self).abort()

    def _expire_after(self, seconds: float) -> None:
        self._cancel()
        self._timer = self.loop.call_later(seconds, self.abort)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
