"""Speak to the client as its caller: prompts in, answers to its questions, until it has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty, Queue
from typing import Any, NamedTuple

import msgspec

from reread.addons.rerun.scene import TypedPrompt
from reread.base import jsontext
from reread.base.coerce import as_dict, as_str

Object = dict[str, Any]
Decide = Callable[[Object], Object]
END = object()
GRACE_SECONDS = 5.0
LOOK_SECONDS = 0.1
"""How often it is looked whether a command runs that a person interrupted."""


class Interruption(NamedTuple):
    """A person interrupted the client once it had got so many pieces of an answer."""

    pieces: int


class Said(msgspec.Struct):
    """What the client said of itself; empty where it said nothing."""

    start: Object = {}
    """Its first message, with the plug-ins and servers that it has."""
    settings: Object = {}
    """The settings that it took, and what is wrong with those that it did not."""


class PlayFailed(Exception):
    """The client could not be played to the end."""


class Driver:
    """One run of the client."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        decide: Decide,
        *,
        seconds: float,
        is_interrupted: Callable[[], bool] = lambda: False,
        said: Said | None = None,
    ) -> None:
        self.process = process
        self.decide = decide
        self.is_interrupted: Callable[[], bool] = is_interrupted
        """True if a command runs that a person interrupted."""
        self.deadline: float = time.monotonic() + seconds
        self.said: Said = said or Said()
        self.results: list[Object] = []
        """How its turns ended."""
        self.questions: list[Object] = []
        """What it asked its caller."""
        self._lines: Queue[Any] = Queue()
        self._number = 0
        self._writing = threading.Lock()
        self._queued: dict[int, list[TypedPrompt]] = {}
        """What was said while an answer came, by the number of that answer."""
        self._unheard: set[int] = set()
        """The answers in which something was said that no request had yet."""
        self._pieces = 0
        """How many pieces of the current answer the client has got."""
        self._due: int | None = None
        """At how many of them it is to be interrupted."""
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with suppress(OSError, ValueError):
            for line in self.process.stdout:
                self._lines.put(line)
        self._lines.put(END)

    def play(self, prompts: list[TypedPrompt]) -> None:
        """Give it the prompts one after the other, and wait for the end of each turn."""
        for prompt in prompts:
            if prompt.during is not None:
                self._queued.setdefault(prompt.during, []).append(prompt)
        self._ask({"subtype": "initialize", "hooks": None})
        self._request({"subtype": "get_settings"})  # early clients never answer it
        for prompt in prompts:
            if prompt.during is None:
                self._say(prompt)
                self._until("result")
            while self._unheard:  # the client took it up after the end of the turn
                self._until("result")

    def at_answer(self, number: int) -> None:
        """Say what was said while this answer came."""
        self._unheard = {one for one in self._unheard if one >= number}
        for prompt in self._queued.pop(number, ()):
            self._unheard.add(number)
            self._say(prompt)

    def interrupt(self, pieces: int) -> None:
        """Interrupt the client once it has got so many pieces of the answer."""
        self._lines.put(Interruption(pieces))

    def _say(self, prompt: TypedPrompt) -> None:
        message = {"role": "user", "content": prompt.content}
        self._write({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""})

    def finish(self) -> int:
        """Close its input, and return its exit code."""
        with suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        with suppress(PlayFailed):
            for _ in self._messages():
                pass
        try:
            return self.process.wait(timeout=max(GRACE_SECONDS, min(30.0, self.deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            self.kill()
            raise PlayFailed("the client did not end") from None

    def kill(self) -> None:
        """End it and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reading.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()

    def _write(self, value: Object) -> None:
        try:
            assert self.process.stdin is not None
            with self._writing:
                self.process.stdin.write(jsontext.dumps(value) + b"\n")
                self.process.stdin.flush()
        except OSError:
            raise PlayFailed("the client ended") from None

    def _request(self, request: Object) -> None:
        self._number += 1
        self._write({"type": "control_request", "request_id": f"reread-{self._number}", "request": request})

    def _ask(self, request: Object) -> None:
        self._request(request)
        for message in self._messages():
            if message.get("type") == "control_response":
                return
        raise PlayFailed("the client ended before it said anything")

    def _until(self, kind: str) -> None:
        for message in self._messages():
            if message.get("type") == kind:
                return
        raise PlayFailed("the client ended within a turn")

    def _messages(self) -> Iterator[Object]:
        while True:
            if self.is_interrupted() or (self._due is not None and self._pieces >= self._due):
                self._due = None
                self._request({"subtype": "interrupt"})
            try:
                line = self._lines.get(timeout=LOOK_SECONDS)
            except Empty:
                if time.monotonic() < self.deadline:
                    continue
                self.kill()
                raise PlayFailed("the time was up") from None
            if line is END:
                return
            if isinstance(line, Interruption):
                self._due = line.pieces
                continue
            try:
                message = as_dict(jsontext.loads_clean(line))
            except ValueError:
                continue
            if message.get("type") == "control_request":
                self._answer(message)
            elif (message.get("type"), message.get("subtype")) == ("system", "init"):
                self.said.start = message
            elif message.get("type") == "control_response":
                told = as_dict(as_dict(message.get("response")).get("response"))
                self.said.settings = told if "sources" in told else self.said.settings
            elif message.get("type") == "result":
                self.results.append(message)
            elif message.get("type") == "stream_event":
                kind = as_dict(message.get("event")).get("type")
                self._pieces = 0 if kind == "message_start" else self._pieces + (kind == "content_block_delta")
                continue
            yield message

    def _answer(self, message: Object) -> None:
        request = as_dict(message.get("request"))
        self.questions.append(request)
        body: Object = {"subtype": "success", "request_id": as_str(message.get("request_id"))}
        if request.get("subtype") == "can_use_tool":
            body["response"] = self.decide(request)
        else:
            body = {**body, "subtype": "error", "error": "reread has no answer to this"}
        self._write({"type": "control_response", "response": body})
