"""Recordings of the client: what it read and printed, run by run, split into turns. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from reread.base import jsontext
from reread.base.claude_argv import Invocation
from reread.base.coerce import as_dict
from reread.catalog.stored_line import IN, OUT

CONTROL = ("control_request", "control_response")


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One line that the client read or printed."""

    stream: str
    """`out`, `in` or `err`: the client's standard output, input or error output."""
    raw: bytes
    """The exact bytes, line end included."""
    at: float | None = None
    """The time in seconds since 1970."""
    value: dict[str, Any] = field(default_factory=dict[str, Any])
    """The JSON object in it; empty if there is none."""

    @property
    def kind(self) -> str:
        """The type of the message; empty if it is not one."""
        kind = self.value.get("type")
        return kind if isinstance(kind, str) else ""


@dataclass(slots=True, eq=False)
class RecordedTurn:
    """A prompt, and everything read and printed up to the next."""

    name: str
    key: str
    """A name that no other turn has."""
    recording: Recording
    number: int
    prompt: str | None
    """None if it was not recorded: any prompt matches."""
    prompted_at: float | None
    session: str | None
    resumed_session: str | None
    """The id or title of the session that this turn continues; None if it starts one."""
    is_fork: bool
    exit_code: int | None
    """The client's exit code, if this was its last turn and the code is known."""
    uses_control_protocol: bool
    next: RecordedTurn | None = None
    """The next turn of the same client, or of one that resumed it."""

    @property
    def frames(self) -> Sequence[Frame]:
        """Every line except the prompt; read again on each access, since most turns are never played."""
        return _split_turns(self.recording)[self.number].frames

    @property
    def invocation(self) -> Invocation | None:
        """How the client was called, if known."""
        return self.recording.invocation

    @property
    def initialize_request(self) -> dict[str, Any]:
        """The caller's `initialize` request; empty if none was recorded."""
        for frame in self.frames:
            request = as_dict(frame.value.get("request"))
            if frame.stream == IN and frame.kind == "control_request" and request.get("subtype") == "initialize":
                return request
        return {}

    @property
    def result(self) -> Frame | None:
        """The result line; None if the client was killed before it."""
        return next((f for f in reversed(self.frames) if f.stream == OUT and f.kind == "result"), None)


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """One run of the client."""

    name: str
    source: Path
    number: int = 0
    """The index of the run in its file."""
    load: Callable[[], Sequence[Frame]] = tuple
    """Reads its lines."""
    invocation: Invocation | None = None
    exit_code: int | None = None
    started: float | None = None


def frame_of(stream: str, raw: bytes, at: float | None = None) -> Frame:
    """Parse one line."""
    try:
        value = jsontext.loads(raw) if raw[:1] == b"{" else None
    except ValueError:
        value = None
    return Frame(stream, raw, at, as_dict(value))


def frames_of(stream: str, raw: bytes, at: float | None = None) -> Iterator[Frame]:
    """Parse one line; the array that `--output-format json --verbose` prints becomes several."""
    try:
        items = jsontext.loads(raw) if raw[:1] == b"[" else None
    except ValueError:
        items = None
    if not isinstance(items, list):
        yield frame_of(stream, raw, at)
        return
    for item in cast(list[Any], items):
        yield frame_of(stream, jsontext.dumps(item) + b"\n", at)


def prompt_text(message: Any) -> str:
    """Return the text of a prompt, with a hash for each image or file, so that equal prompts have equal texts."""
    content = as_dict(message).get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        return content.strip()
    blocks = cast(list[Any], content) if isinstance(content, list) else []
    return "\n".join(_block_text(block) for block in blocks).strip()


def _block_text(block: Any) -> str:
    text = as_dict(block).get("text")
    return text if isinstance(text, str) else f"[{hashlib.sha256(jsontext.dumps(block)).hexdigest()[:12]}]"


def recorded_turns(recordings: Iterable[Recording]) -> list[RecordedTurn]:
    """Return the turns of recordings in order, each linked to the next of its session."""
    turns: list[RecordedTurn] = []
    last_by_session: dict[str, RecordedTurn] = {}
    for recording in recordings:
        parts = _split_turns(recording)
        for number, part in enumerate(parts):
            session = next((s for f in part.frames if (s := _session_id(f))), None)
            turn = RecordedTurn(
                name=recording.name if number == 0 else f"{recording.name}#{number + 1}",
                key=f"{recording.source.resolve()}:{recording.number}:{number}",
                recording=recording,
                number=number,
                prompt=part.prompt,
                prompted_at=part.at,
                session=session,
                resumed_session=(
                    _resumed_session(recording.invocation, session, last_by_session) if number == 0 else session
                ),
                is_fork=(
                    number == 0 and recording.invocation is not None and recording.invocation.has("--fork-session")
                ),
                exit_code=recording.exit_code if number == len(parts) - 1 else None,
                uses_control_protocol=any(frame.kind in CONTROL for frame in part.frames),
            )
            previous = turns[-1] if number else last_by_session.get(turn.resumed_session or "")
            if previous is not None and not turn.is_fork and previous.next is None:
                previous.next = turn
            turns.append(turn)
            if session:
                last_by_session.pop(session, None)
                last_by_session[session] = turn
    return turns


def _resumed_session(
    invocation: Invocation | None, session: str | None, last_by_session: dict[str, RecordedTurn]
) -> str | None:
    """Return the session that a run resumes by its arguments, or by its session id if those are unknown."""
    if invocation is None:
        return session if session in last_by_session else None
    if invocation.has("--continue") and not invocation.resumed_session:
        return session if session in last_by_session else next(reversed(last_by_session), None)
    return invocation.resumed_session


class _TurnFrames(NamedTuple):
    """A prompt, its time, and the frames up to the next prompt."""

    prompt: str | None
    at: float | None
    frames: list[Frame]


@lru_cache(maxsize=2)
def _split_turns(recording: Recording) -> list[_TurnFrames]:
    """Split a run's frames before every prompt except the first; the prompts themselves are left out."""
    turns: list[_TurnFrames] = []
    before_first: list[Frame] = []
    for frame in _with_prompts(recording):
        if frame.stream == IN and frame.kind == "user":
            prompt = prompt_text(frame.value["message"]) if "message" in frame.value else None
            turns.append(_TurnFrames(prompt, frame.at, [] if turns else before_first))
        else:
            (turns[-1].frames if turns else before_first).append(frame)
    if not turns and any(frame.kind == "result" for frame in before_first):  # a client that rejected its arguments
        turns.append(_TurnFrames(None, None, before_first))
    return turns


def _with_prompts(recording: Recording) -> Sequence[Frame]:
    """Return a run's frames with its prompts among them, however it was recorded."""
    frames, invocation = recording.load(), recording.invocation
    if any(f.stream == IN and f.kind for f in frames):
        return frames
    if invocation is not None and not invocation.reads_messages:
        piped = "\n".join(f.raw.decode("utf-8", "replace").rstrip("\r\n") for f in frames if f.stream == IN)
        prompt = "\n".join(part for part in (invocation.prompt, piped) if part)
        return [prompt_frame({"content": prompt}, recording.started), *(f for f in frames if f.stream != IN)]
    if not any(f.kind in CONTROL for f in frames):
        return [prompt_frame(None), *frames]
    return list(_infer_input(frames))


def _infer_input(frames: Sequence[Frame]) -> Iterator[Frame]:
    """Insert the caller's messages where they must have been, if only the client's output was recorded.

    The client prints an `init` for every prompt, and for a background task that ended; each of its requests waits for
    an answer.
    """
    expects_prompt = True
    for n, frame in enumerate(frames):
        if frame.kind == "system" and frame.value.get("subtype") == "init" and expects_prompt:
            yield prompt_frame(_replayed_prompt(frames[n:]))
            expects_prompt = False
        yield frame
        if frame.kind == "control_request":
            answer = {"type": "control_response", "response": {"request_id": frame.value.get("request_id")}}
            yield Frame(IN, b"", frame.at, answer)
        if frame.kind == "result":
            expects_prompt = True
        elif frame.kind == "system" and frame.value.get("subtype") == "task_notification":
            expects_prompt = False


def _replayed_prompt(frames: Sequence[Frame]) -> Any:
    """Return the prompt that `--replay-user-messages` printed before the next result."""
    for frame in frames:
        if frame.kind == "user" and frame.value.get("isReplay"):
            return frame.value.get("message")
        if frame.kind == "result":
            break
    return None


def prompt_frame(message: Any, at: float | None = None) -> Frame:
    """Return the frame of a prompt; None stands for an unknown one."""
    return Frame(IN, b"", at, {"type": "user"} if message is None else {"type": "user", "message": message})


def _session_id(frame: Frame) -> str | None:
    session = frame.value.get("session_id") if frame.stream == OUT else None
    return session if isinstance(session, str) and session else None
