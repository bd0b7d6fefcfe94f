"""Recordings: what the real client was told and what it said, run by run, cut into turns. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from reread.base import jsontext
from reread.base.claude_argv import Invocation
from reread.catalog.stored_line import IN, OUT

CONTROL = ("control_request", "control_response")


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One line that went over a pipe."""

    stream: str
    """`out`, `in` or `err`: what the client printed, was told, or printed aside."""
    raw: bytes
    """Its exact bytes, line end included."""
    at: float | None = None
    """When, in seconds since 1970."""
    value: dict[str, Any] = field(default_factory=dict[str, Any])
    """The JSON object in it; empty where it is none."""

    @property
    def kind(self) -> str:
        """Its type; empty where it is no message."""
        kind = self.value.get("type")
        return kind if isinstance(kind, str) else ""


@dataclass(slots=True, eq=False)
class RecordedTurn:
    """A prompt, and all that went to and fro until the next."""

    name: str
    key: str
    """A name that no other turn has."""
    recording: Recording
    number: int
    prompt: str | None
    """None where it was not recorded: any prompt will do."""
    asked_at: float | None
    session: str | None
    follows: str | None
    """The session that this turn goes on with, by id or title; None where it begins one."""
    forks: bool
    exit_code: int | None
    """How the client ended, where this was the last turn and that is known."""
    converses: bool
    """Whether the control protocol was spoken in it."""
    next: RecordedTurn | None = None
    """The turn that the same client, or one that resumed it, took next."""

    @property
    def frames(self) -> Sequence[Frame]:
        """Every line of it but the prompt; read again when asked for, as most turns never are."""
        return _parts(self.recording)[self.number].frames

    @property
    def call(self) -> Invocation | None:
        """How the client was called, where that is known."""
        return self.recording.call

    @property
    def opening(self) -> dict[str, Any]:
        """The caller's `initialize` request; empty where none was recorded."""
        found = (f.value["request"] for f in self.frames if f.stream == IN and _asks(f.value) == "initialize")
        return next(found, dict[str, Any]())

    @property
    def result(self) -> Frame | None:
        """The line that ends it; None where the client was cut off."""
        return next((f for f in reversed(self.frames) if f.stream == OUT and f.kind == "result"), None)


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """One run of the client."""

    name: str
    source: Path
    number: int = 0
    """Which run it is of those in its file."""
    load: Callable[[], Sequence[Frame]] = tuple
    """Reads its lines."""
    call: Invocation | None = None
    exit_code: int | None = None
    started: float | None = None


def frame_of(stream: str, raw: bytes, at: float | None = None) -> Frame:
    """A line, read."""
    try:
        value = jsontext.loads(raw) if raw[:1] == b"{" else None
    except ValueError:
        value = None
    return Frame(stream, raw, at, cast(dict[str, Any], value) if isinstance(value, dict) else {})


def frames_of(stream: str, raw: bytes, at: float | None = None) -> Iterator[Frame]:
    """A line, or the lines of the array that `--output-format json --verbose` prints in one."""
    try:
        items = jsontext.loads(raw) if raw[:1] == b"[" else None
    except ValueError:
        items = None
    if not isinstance(items, list):
        yield frame_of(stream, raw, at)
        return
    for item in cast(list[Any], items):
        yield frame_of(stream, jsontext.dumps(item) + b"\n", at)


def prompt_of(message: Any) -> str:
    """The words of a prompt, with a mark for each picture and file in it: equal where the prompts are."""
    content = cast(dict[str, Any], message).get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        return content.strip()
    blocks = cast(list[Any], content) if isinstance(content, list) else []
    return "\n".join(_words(block) for block in blocks).strip()


def _words(block: Any) -> str:
    if isinstance(block, dict) and isinstance(cast(dict[str, Any], block).get("text"), str):
        return cast(dict[str, Any], block)["text"]
    return f"[{hashlib.sha256(jsontext.dumps(block)).hexdigest()[:12]}]"


def recorded_turns(recordings: Iterable[Recording]) -> list[RecordedTurn]:
    """The turns of recordings, in order, each knowing what it follows."""
    turns: list[RecordedTurn] = []
    last: dict[str, RecordedTurn] = {}
    for recording in recordings:
        parts = _parts(recording)
        for number, part in enumerate(parts):
            session = next((s for f in part.frames if (s := _session(f))), None)
            turn = RecordedTurn(
                name=recording.name if number == 0 else f"{recording.name}#{number + 1}",
                key=f"{recording.source.resolve()}:{recording.number}:{number}",
                recording=recording,
                number=number,
                prompt=part.prompt,
                asked_at=part.at,
                session=session,
                follows=_follows(recording.call, session, last) if number == 0 else session,
                forks=number == 0 and recording.call is not None and recording.call.has("--fork-session"),
                exit_code=recording.exit_code if number == len(parts) - 1 else None,
                converses=any(frame.kind in CONTROL for frame in part.frames),
            )
            before = turns[-1] if number else last.get(turn.follows or "")
            if before is not None and not turn.forks and before.next is None:
                before.next = turn
            turns.append(turn)
            if session:
                last.pop(session, None)
                last[session] = turn
    return turns


def _follows(call: Invocation | None, session: str | None, last: dict[str, RecordedTurn]) -> str | None:
    """The session that a run goes on with, as it was called, or, where that is unknown, as its id tells."""
    if call is None:
        return session if session in last else None
    if call.has("--continue") and not call.resumes:
        return session if session in last else next(reversed(last), None)
    return call.resumes


class _Part(NamedTuple):
    """What belongs to one prompt."""

    prompt: str | None
    at: float | None
    frames: list[Frame]


@lru_cache(maxsize=2)
def _parts(recording: Recording) -> list[_Part]:
    """A run's frames, cut before every prompt but the first; the prompts themselves are left out."""
    parts: list[_Part] = []
    ahead: list[Frame] = []
    for frame in _with_prompts(recording):
        if frame.stream == IN and frame.kind == "user":
            said = prompt_of(frame.value["message"]) if "message" in frame.value else None
            parts.append(_Part(said, frame.at, [] if parts else ahead))
        else:
            (parts[-1].frames if parts else ahead).append(frame)
    if not parts and any(frame.kind == "result" for frame in ahead):  # a client that refused its call
        parts.append(_Part(None, None, ahead))
    return parts


def _with_prompts(recording: Recording) -> Sequence[Frame]:
    """A run's frames with its prompts among them, however it was recorded."""
    frames, call = recording.load(), recording.call
    if any(f.stream == IN and f.kind for f in frames):
        return frames
    if call is not None and not call.converses:
        told = "\n".join(f.raw.decode("utf-8", "replace").rstrip("\r\n") for f in frames if f.stream == IN)
        asked = "\n".join(part for part in (call.prompt, told) if part)
        return [prompt_frame({"content": asked}, recording.started), *(f for f in frames if f.stream != IN)]
    if not any(f.kind in CONTROL for f in frames):
        return [prompt_frame(None), *frames]
    return list(_guessed(frames))


def _guessed(frames: Sequence[Frame]) -> Iterator[Frame]:
    """Where the caller must have spoken, in a conversation of which only one side was recorded.

    Every prompt is answered by a new `init`, and so is a task that ended in the background; a request waits for its
    answer.
    """
    open_for_prompt = True
    for n, frame in enumerate(frames):
        if frame.kind == "system" and frame.value.get("subtype") == "init" and open_for_prompt:
            yield prompt_frame(_replayed(frames[n:]))
            open_for_prompt = False
        yield frame
        if frame.kind == "control_request":
            heard = {"type": "control_response", "response": {"request_id": frame.value.get("request_id")}}
            yield Frame(IN, b"", frame.at, heard)
        if frame.kind == "result":
            open_for_prompt = True
        elif frame.kind == "system" and frame.value.get("subtype") == "task_notification":
            open_for_prompt = False


def _replayed(frames: Sequence[Frame]) -> Any:
    """The prompt that `--replay-user-messages` echoed before the next result."""
    for frame in frames:
        if frame.kind == "user" and frame.value.get("isReplay"):
            return frame.value.get("message")
        if frame.kind == "result":
            break
    return None


def prompt_frame(message: Any, at: float | None = None) -> Frame:
    """A prompt that was said, or, where nothing is known of it, any."""
    said = {"type": "user"} if message is None else {"type": "user", "message": message}
    return Frame(IN, b"", at, said)


def _session(frame: Frame) -> str | None:
    session = frame.value.get("session_id") if frame.stream == OUT else None
    return session if isinstance(session, str) and session else None


def _asks(value: dict[str, Any]) -> str:
    request = value.get("request") if value.get("type") == "control_request" else None
    return str(cast(dict[str, Any], request).get("subtype")) if isinstance(request, dict) else ""
