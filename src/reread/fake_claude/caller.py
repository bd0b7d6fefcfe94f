"""The program that drives the client through its standard input: prompts, answers, requests and interrupts."""

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
from reread.base.coerce import as_dict
from reread.fake_claude.control_protocol import Message, request_id
from reread.fake_claude.usage_errors import ClaudeUsageError
from reread.records.lines import LineSplitter

CHUNK = 1 << 16


class LineReader:
    """Read the lines of a pipe in the background."""

    def __init__(self, descriptor: int) -> None:
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        pipe = os.fdopen(os.dup(descriptor), "rb", buffering=0)  # the caller may close its own while this one is read
        threading.Thread(target=self._read, args=(pipe,), daemon=True).start()

    def _read(self, pipe: RawIOBase) -> None:
        """Read without the interpreter's buffers, whose locks would delay the exit."""
        splitter = LineSplitter()
        with contextlib.suppress(OSError), pipe:
            while chunk := pipe.read(CHUNK):
                for line in splitter.feed(chunk):
                    self._lines.put(line)
        if tail := splitter.flush():
            self._lines.put(tail)
        self._lines.put(None)

    def next_line(self, timeout: float | None = None) -> bytes | None:
        """Return the next line, None at the end; raises `queue.Empty` after `timeout` seconds."""
        return self._lines.get(timeout=timeout)


class CallerMessages:
    """The messages of the calling program that have not been used yet."""

    def __init__(self, descriptor: int, reply: Callable[[Message], None]) -> None:
        self.is_gone: bool = False
        """True once standard input is closed."""
        self.prompts: deque[Message] = deque()
        self.answers: dict[str, Message] = {}
        """The answers to the client's requests, by request id."""
        self.initialize_request: Message = {}
        self.interrupts: int = 0
        self.answered: list[str] = []
        """The ids of the requests that were answered."""
        self._lines: list[bytes] = []
        """The bytes read so far."""
        self._reader = LineReader(descriptor)
        self._reply = reply

    def receive(self, timeout: float | None = None) -> None:
        """Read one message and sort it in; raises `queue.Empty` after `timeout` seconds."""
        line = self._reader.next_line(timeout)
        if line is None:
            self.is_gone = True
        elif line.strip():
            self._lines.append(line)
            self._accept(_parse(line))

    def forward(self, send: Callable[[bytes], None], close: Callable[[], None]) -> None:
        """Send everything that was read, and what is still to come, to another program in the background."""

        def copy() -> None:
            with contextlib.suppress(OSError):  # the other program has closed its input
                for line in self._lines:
                    send(line)
                while not self.is_gone and (line := self._reader.next_line()) is not None:
                    send(line)
            with contextlib.suppress(OSError):
                close()

        threading.Thread(target=copy, daemon=True).start()

    def _accept(self, message: Message) -> None:
        kind = message.get("type")
        if kind == "user":
            _check_role(message)
            self.prompts.append(message)
        elif kind == "control_response" and isinstance(message.get("response"), dict):
            self.answers[request_id(message["response"])] = message["response"]
        elif kind == "control_request" and isinstance(message.get("request"), dict):
            self._accept_request(message)

    def _accept_request(self, message: Message) -> None:
        subtype = message["request"].get("subtype")
        if subtype == "initialize":
            self.initialize_request = message["request"]
        elif subtype == "interrupt":
            self.interrupts += 1
        self.answered.append(request_id(message))
        self._reply(message)


def _parse(line: bytes) -> Message:
    try:
        value = jsontext.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        text = line.decode("utf-8", "replace").strip()
        raise ClaudeUsageError(f"Error parsing streaming input line (type=unknown, {len(text)} chars): SyntaxError")
    return cast(Message, value)


def _check_role(message: Message) -> None:
    role = as_dict(message.get("message")).get("role")
    if role != "user":
        raise ClaudeUsageError(f"Error: Expected message role 'user', got '{role or 'undefined'}'")
