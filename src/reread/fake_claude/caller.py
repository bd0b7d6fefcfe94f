"""Whoever drives a client through its standard input: prompts, answers, requests and interrupts, as they come."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from io import RawIOBase
from typing import cast

from reread.base import jsontext
from reread.fake_claude.control_protocol import Body, id_of_request
from reread.fake_claude.usage_errors import UsageRefused


class LineReader:
    """The lines of a pipe, read in the background; None is its end."""

    def __init__(self, descriptor: int) -> None:
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        own = os.fdopen(os.dup(descriptor), "rb", buffering=0)  # the caller may close its own while this one reads
        threading.Thread(target=self._read, args=(own,), daemon=True).start()

    def _read(self, pipe: RawIOBase) -> None:
        """Read without the interpreter's buffers, whose locks would hold up the exit."""
        rest: list[bytes] = []
        with contextlib.suppress(OSError), pipe:
            while chunk := pipe.read(1 << 16):
                *lines, last = chunk.split(b"\n")
                for line in lines:
                    self._lines.put(b"".join((*rest, line, b"\n")))
                    rest.clear()
                rest.append(last)
        if tail := b"".join(rest):
            self._lines.put(tail)
        self._lines.put(None)

    def listen(self, timeout: float | None = None) -> bytes | None:
        """The next line; `queue.Empty` where none comes in time."""
        return self._lines.get(timeout=timeout)


class Caller:
    """The one who speaks messages: what was said and not yet used."""

    def __init__(self, descriptor: int, reply: Callable[[Body], None]) -> None:
        self.gone = False
        """Whether standard input is closed."""
        self.prompts: deque[Body] = deque()
        self.answers: dict[str, Body] = {}
        """The answers to the client's requests, by request id."""
        self.opening: Body = {}
        """The request that opened the conversation."""
        self.interrupts = 0
        self._ears = LineReader(descriptor)
        self._reply = reply

    def hear(self, timeout: float | None = None) -> None:
        """Take one line and note what it says; `queue.Empty` where none comes in time."""
        line = self._ears.listen(timeout)
        if line is None:
            self.gone = True
        elif line.strip():
            self._note(_message(line))

    def _note(self, message: Body) -> None:
        kind = message.get("type")
        if kind == "user":
            _refuse_other_roles(message)
            self.prompts.append(message)
        elif kind == "control_response" and isinstance(message.get("response"), dict):
            self.answers[id_of_request(message["response"])] = message["response"]
        elif kind == "control_request" and isinstance(message.get("request"), dict):
            self._take_request(message)

    def _take_request(self, message: Body) -> None:
        subtype = message["request"].get("subtype")
        if subtype == "initialize":
            self.opening = message["request"]
        elif subtype == "interrupt":
            self.interrupts += 1
        self._reply(message)


def _message(line: bytes) -> Body:
    try:
        value = jsontext.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        text = line.decode("utf-8", "replace").strip()
        raise UsageRefused(f"Error parsing streaming input line (type=unknown, {len(text)} chars): SyntaxError")
    return cast(Body, value)


def _refuse_other_roles(message: Body) -> None:
    inner = message.get("message")
    role = cast(Body, inner).get("role") if isinstance(inner, dict) else None
    if role != "user":
        raise UsageRefused(f"Error: Expected message role 'user', got '{role or 'undefined'}'")
