"""Encode and decode the lines of a captured conversation; each embeds the original line byte for byte. No I/O."""

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
from reread.base.coerce import as_dict, as_list
from reread.base.times import parse_json_time
from reread.records.dialects.stored import STAND_IN

OUT, IN, ERR = "out", "in", "err"
"""The stream a line belongs to: the command's standard output, input or error output."""
NEWLINE = b"\n"
START, END = "start", "end"
IDS_PER_BATCH = 64

_MESSAGE = re.compile(r'"claudeMessage"\s*:\s*')


class StoredLine(msgspec.Struct, frozen=True):
    """One captured line."""

    id: str
    conversation_id: str
    agent_id: str
    timestamp: datetime | None
    raw: bytes
    """The exact bytes, without the line end."""
    end: bytes = NEWLINE
    """The line end; empty if the stream ended before one."""
    stream: str = OUT
    """`out`, `in` or `err`."""
    run: int = 1
    """The number of the run within the conversation, from 1."""
    cost_usd: float | None = None
    """The cost of the turn that this line ends."""
    duration_ms: float | None = None


class CaptureRun(msgspec.Struct):
    """One captured execution of a command."""

    argv: list[str] = []
    cwd: str | None = None
    title: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    """None if the capture was killed."""
    exit_code: int | None = None
    """As a shell reports it: 128 plus the signal's number if a signal ended the command."""
    workspace: str | None = None
    version: str | None = None
    """The version of reread that captured it."""


class RunMarker(msgspec.Struct, frozen=True, rename={"exit_code": "exitCode"}, omit_defaults=True):
    """The start or end of a run, as a line of the conversation."""

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
    """The JSON fields of a stored line."""

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
    """The type of a message."""

    type: Any = None


_decode_type = msgspec.json.Decoder(LineType).decode
_decode_strictly = msgspec.json.Decoder(_LineFields).decode


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_strict = json.JSONDecoder(parse_constant=_reject_constant, parse_int=str, parse_float=str)


def line_type(raw: bytes) -> LineType | None:
    """Return the type of a line; None if the line is not exactly one JSON object in valid UTF-8."""
    if raw[:1] != b"{" or raw[-1:] != b"}" or b"\n" in raw:
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    try:
        return _decode_type(raw)
    except jsontext.DECODE_ERRORS:  # lone surrogates and numbers out of range, which msgspec rejects, are valid JSON
        pass
    try:
        value: dict[str, Any] = _strict.decode(text)
    except (ValueError, RecursionError):
        return None
    return LineType(value.get("type"))


class LineEncoder:
    """Encode the lines of one conversation."""

    def __init__(self, conversation: str, agent: str) -> None:
        ids = f'"conversationId":{json.dumps(conversation)},"agentId":{json.dumps(agent)}'
        self._after_id = f'",{ids},"timestamp":"'.encode()
        self._unused_ids: list[bytes] = []

    def encode(
        self,
        raw: bytes,
        timestamp: str,
        *,
        embed: bool,
        end: bytes = NEWLINE,
        stream: str = OUT,
        cost_usd: float | None = None,
        duration_ms: float | None = None,
    ) -> bytes:
        """Return the stored form of a line; `embed` if `line_type` has found it to be one JSON object."""
        tail = b""
        if end != NEWLINE:
            tail += b',"end":' + json.dumps(end.decode("latin-1")).encode()
        if stream != OUT:
            tail += b',"stream":"' + stream.encode() + b'"'
        if cost_usd is not None:
            tail += b',"costUSD":' + json.dumps(cost_usd).encode()
        if duration_ms is not None:
            tail += b',"durationMs":' + json.dumps(duration_ms).encode()
        message = raw if embed else STAND_IN + b',"raw":"' + base64.b64encode(raw) + b'"'
        return self._head(timestamp) + message + tail + b"}\n"

    def encode_marker(self, marker: RunMarker, timestamp: str) -> bytes:
        """Return the stored form of a run's start or end."""
        # with the standard library, because an argument may contain a lone surrogate
        run = json.dumps(msgspec.to_builtins(marker), separators=(",", ":")).encode()
        return self._head(timestamp) + STAND_IN + b',"run":' + run + b"}\n"

    def _head(self, timestamp: str) -> bytes:
        return b'{"id":"%b%b%b","claudeMessage":' % (self._new_id(), self._after_id, timestamp.encode())

    def _new_id(self) -> bytes:
        """Return a random UUID; they are made in batches, since one by one they cost more than the rest of encoding."""
        if not self._unused_ids:
            digits = os.urandom(16 * IDS_PER_BATCH).hex().encode()
            self._unused_ids = [digits[at : at + 32] for at in range(0, len(digits), 32)]
        d = self._unused_ids.pop()
        return b"%b-%b-4%b-a%b-%b" % (d[:8], d[8:12], d[13:16], d[17:20], d[20:])


def decode_line(line: bytes, run: int = 1) -> StoredLine | RunMarker | None:
    """Decode a line of a conversation file; None if it is not one."""
    fields = _decode_fields(line)
    if fields is None:
        return None
    message = bytes(fields.claudeMessage)
    if not message:
        return None
    timestamp = parse_json_time(fields.timestamp)
    if message == b"null" or (message == STAND_IN and (fields.raw is not None or fields.run is not None)):
        marker = fields.run
        if isinstance(marker, dict):
            return _run_marker(cast(dict[str, Any], marker), timestamp)
        if not isinstance(fields.raw, str):
            return None
        try:
            message = base64.b64decode(fields.raw, validate=True)
        except (binascii.Error, ValueError):
            return None
    return StoredLine(
        id=_text(fields.id),
        conversation_id=_text(fields.conversationId),
        agent_id=_text(fields.agentId),
        timestamp=timestamp,
        raw=message,
        end=fields.end.encode("latin-1", "replace") if isinstance(fields.end, str) else NEWLINE,
        stream=fields.stream if fields.stream in (IN, ERR) else OUT,
        run=run,
        cost_usd=_number(fields.costUSD),
        duration_ms=_number(fields.durationMs),
    )


def _decode_fields(line: bytes) -> _LineFields | None:
    if not _is_utf8(line):
        return None
    try:
        return _decode_strictly(line)
    except jsontext.DECODE_ERRORS:
        return _decode_leniently(line)


def _is_utf8(data: bytes) -> bool:
    """True if the bytes are valid UTF-8, which msgspec does not check in the message it skips."""
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _decode_leniently(line: bytes) -> _LineFields | None:
    """Decode a line that msgspec rejects: with a lone surrogate, or a number out of range."""
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
    known = {key: item for key, item in as_dict(value).items() if key in _LineFields.__struct_fields__}
    return _LineFields(**{**known, "claudeMessage": Raw(line[start:end])}) if isinstance(value, dict) else None


def _run_marker(fields: dict[str, Any], timestamp: datetime | None) -> RunMarker | None:
    event = fields.get("event")
    if event not in (START, END):
        return None
    exit_code = fields.get("exitCode")
    return RunMarker(
        event=event,
        argv=[str(word) for word in as_list(fields.get("argv"))],
        cwd=_text(fields.get("cwd")) or None,
        title=_text(fields.get("title")) or None,
        workspace=_text(fields.get("workspace")) or None,
        version=_text(fields.get("version")) or None,
        exit_code=exit_code if isinstance(exit_code, int) else None,
        timestamp=timestamp,
    )


def format_timestamp(time: datetime | None = None) -> str:
    """Format a time, by default now, as stored lines have it."""
    utc = datetime.now(UTC) if time is None else time.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def split_line_end(line: bytes) -> tuple[bytes, bytes]:
    """Split a line into its content and its line end."""
    for end in (b"\r\n", b"\n"):
        if line.endswith(end):
            return line[: -len(end)], end
    return line, b""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
