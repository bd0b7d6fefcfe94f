"""Envelopes: the lines of a captured conversation, each with the original line inside, byte for byte. No I/O."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
from msgspec import Raw

from reread.base import jsontext
from reread.base.times import parse_timestamp as timed

OUT, IN, ERR = "out", "in", "err"
NEWLINE = b"\n"
START, END = "start", "end"
DRAWN = 64

_MESSAGE = re.compile(r'"claudeMessage"\s*:\s*')


class StoredLine(msgspec.Struct, frozen=True):
    """One captured line."""

    id: str
    conversation_id: str
    agent_id: str
    timestamp: datetime | None
    raw: bytes
    """Its exact bytes, without the line end."""
    end: bytes = NEWLINE
    """How it ended; empty where the stream ended first."""
    stream: str = OUT
    """`out`, `in` or `err`: what the program printed, was told, or printed aside."""
    run: int = 1
    """Which of the conversation's runs it belongs to, from 1."""
    cost_usd: float | None = None
    """What the turn that it ends cost."""
    duration_ms: float | None = None


class Run(msgspec.Struct):
    """One time that a program was captured."""

    argv: list[str] = []
    cwd: str | None = None
    title: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    """None where the capture was cut off."""
    exit_code: int | None = None
    """As a shell gives it: 128 and the signal's number where one ended it."""
    workspace: str | None = None
    version: str | None = None
    """The version of reread that captured it."""


class RunMarker(msgspec.Struct, frozen=True, rename={"exit_code": "exitCode"}, omit_defaults=True):
    """What a line says of a run."""

    event: str
    """`start` or `end`."""
    argv: list[str] = []
    cwd: str | None = None
    title: str | None = None
    workspace: str | None = None
    version: str | None = None
    exit_code: int | None = None
    timestamp: datetime | None = None


class _LineFields(msgspec.Struct):
    """A line as it stands in the file."""

    id: Any = None
    conversationId: Any = None
    agentId: Any = None
    timestamp: Any = None
    claudeMessage: Raw = Raw()
    raw: Any = None
    end: Any = None
    stream: Any = None
    run: Any = None
    costUSD: Any = None
    durationMs: Any = None


class LineType(msgspec.Struct):
    """What is asked of a line before it is kept."""

    type: Any = None
    subtype: Any = None


_look = msgspec.json.Decoder(LineType).decode
_open = msgspec.json.Decoder(_LineFields).decode


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


_strict = json.JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str)


def line_type(raw: bytes) -> LineType | None:
    """What a line is, or None where it is not exactly one JSON object in sound UTF-8."""
    if raw[:1] != b"{" or raw[-1:] != b"}" or b"\n" in raw:
        return None
    try:
        text = raw.decode()
        return _look(raw)
    except UnicodeDecodeError:
        return None
    except (msgspec.DecodeError, RecursionError):
        text = raw.decode()
    try:  # a lone surrogate or a number out of range is no fault of the text
        value: dict[str, Any] = _strict.decode(text)
    except (ValueError, RecursionError):
        return None
    return LineType(value.get("type"), value.get("subtype"))


class LineEncoder:
    """Puts the lines of one conversation into their envelopes."""

    def __init__(self, conversation: str, agent: str) -> None:
        names = f'"conversationId":{json.dumps(conversation)},"agentId":{json.dumps(agent)}'
        self._middle = f'",{names},"timestamp":"'.encode()
        self._drawn: list[bytes] = []

    def encode(
        self,
        raw: bytes,
        stamp: str,
        *,
        embed: bool,
        end: bytes = NEWLINE,
        stream: str = OUT,
        cost_usd: float | None = None,
        duration_ms: float | None = None,
    ) -> bytes:
        """The line that keeps these bytes; `embed` says that they are one sound JSON object."""
        tail = b""
        if end != NEWLINE:
            tail += b',"end":' + json.dumps(end.decode("latin-1")).encode()
        if stream != OUT:
            tail += b',"stream":"' + stream.encode() + b'"'
        if cost_usd is not None:
            tail += b',"costUSD":' + json.dumps(cost_usd).encode()
        if duration_ms is not None:
            tail += b',"durationMs":' + json.dumps(duration_ms).encode()
        held = raw if embed else b'null,"raw":"' + base64.b64encode(raw) + b'"'
        return self._begin(stamp) + held + tail + b"}\n"

    def mark(self, mark: RunMarker, stamp: str) -> bytes:
        """The line that says that a run began or ended."""
        # by the standard library: an argument may hold what UTF-8 cannot
        said = json.dumps(msgspec.to_builtins(mark), separators=(",", ":")).encode()
        return self._begin(stamp) + b'null,"run":' + said + b"}\n"

    def _begin(self, stamp: str) -> bytes:
        return b'{"id":"%b%b%b","claudeMessage":' % (self._id(), self._middle, stamp.encode())

    def _id(self) -> bytes:
        """A random UUID; many are drawn at once, for one by one they cost more than all else here."""
        if not self._drawn:
            digits = os.urandom(16 * DRAWN).hex().encode()
            self._drawn = [digits[at : at + 32] for at in range(0, len(digits), 32)]
        d = self._drawn.pop()
        return b"%b-%b-4%b-a%b-%b" % (d[:8], d[8:12], d[13:16], d[17:20], d[20:])


def decode_line(line: bytes, run: int = 1) -> StoredLine | RunMarker | None:
    """What a line of the file keeps, or says of a run; None where it is no such line."""
    try:
        sealed = _open(line)
        if not (line.isascii() or line.decode()):
            return None
    except UnicodeDecodeError:
        return None
    except (msgspec.DecodeError, RecursionError):
        sealed = _open_slowly(line)
        if sealed is None:
            return None
    held = bytes(sealed.claudeMessage)
    if not held:
        return None
    when = moment(sealed.timestamp)
    if held == b"null":
        said = sealed.run
        if isinstance(said, dict):
            return _mark(cast(dict[str, Any], said), when)
        if not isinstance(sealed.raw, str):
            return None
        try:
            held = base64.b64decode(sealed.raw, validate=True)
        except (binascii.Error, ValueError):
            return None
    return StoredLine(
        id=_text(sealed.id),
        conversation_id=_text(sealed.conversationId),
        agent_id=_text(sealed.agentId),
        timestamp=when,
        raw=held,
        end=_end(sealed.end),
        stream=sealed.stream if sealed.stream in (IN, ERR) else OUT,
        run=run,
        cost_usd=_number(sealed.costUSD),
        duration_ms=_number(sealed.durationMs),
    )


def _open_slowly(line: bytes) -> _LineFields | None:
    """A line whose message, or name, the fast road refuses: a lone surrogate, a number out of range."""
    text = line.decode("latin-1")
    found = _MESSAGE.search(text)
    if found is None:
        return None
    start = found.end()
    end = jsontext.object_end(text, start) if text[start : start + 1] == "{" else start + len("null")
    if end < 0:
        return None
    try:
        value: Any = jsontext.loads(line[:start] + b"null" + line[end:])
    except ValueError:
        return None
    rest = {k: v for k, v in cast(dict[str, Any], value).items() if k in _LineFields.__struct_fields__}
    return _LineFields(**{**rest, "claudeMessage": Raw(line[start:end])}) if isinstance(value, dict) else None


def _mark(said: dict[str, Any], when: datetime | None) -> RunMarker | None:
    event = said.get("event")
    if event not in (START, END):
        return None
    argv = said.get("argv")
    code = said.get("exitCode")
    return RunMarker(
        event=event,
        argv=[str(part) for part in cast(list[Any], argv)] if isinstance(argv, list) else [],
        cwd=_text(said.get("cwd")) or None,
        title=_text(said.get("title")) or None,
        workspace=_text(said.get("workspace")) or None,
        version=_text(said.get("version")) or None,
        exit_code=code if isinstance(code, int) else None,
        timestamp=when,
    )


def stamp_of(when: datetime | None = None) -> str:
    """A moment, or now, as the lines write it."""
    utc = datetime.now(UTC) if when is None else when.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(stamp: Any) -> datetime | None:
    """A time as written, ISO or milliseconds since 1970, with its zone; None where it is none."""
    if isinstance(stamp, str):
        return timed(stamp)
    try:
        return datetime.fromtimestamp(stamp / 1000, UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def split_end(line: bytes) -> tuple[bytes, bytes]:
    """A line without its end, and the end."""
    for end in (b"\r\n", b"\n"):
        if line.endswith(end):
            return line[: -len(end)], end
    return line, b""


def _end(value: Any) -> bytes:
    return value.encode("latin-1", "replace") if isinstance(value, str) else NEWLINE


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
