"""The history of typed prompts: `history.jsonl` in a configuration folder, which outlives the sessions.

A session of which only prompts are left is read as if it were a file below the history, `history.jsonl/<id>.jsonl`:
its bytes are the lines of the history that name it. Lines of old versions name no session; they are grouped by project.
"""

from __future__ import annotations

import os
import re
import stat
import zlib
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.storage.read_at_file import ReadAtFile
from reread.storage.safe_open import open_no_link

HISTORY = "history.jsonl"
PASTES = "paste-cache"
"""The folder beside a history with long texts that were pasted into prompts."""
SUFFIX = ".jsonl"
LARGEST = 1 << 29
"""A history with more bytes is not read."""
UNNAMED = "prompts"
"""How the names of prompts begin that name no session."""
LATEST_MS = 9e12
"""Later times do not fit into a file's status."""
MOST_HISTORIES = 8
_ID = re.compile(r"\w[\w-]{0,127}", re.ASCII)
_OTHER = re.compile(r"[^A-Za-z0-9]")

HistoryState = tuple[int, int, int, int]
"""Device, inode, size and time of modification of a history."""


class _Prompt(msgspec.Struct, gc=False):
    """The fields of a prompt that tell what it belongs to."""

    display: str
    timestamp: float
    project: str | None = None
    sessionId: str | None = None


class PromptLines(msgspec.Struct, array_like=True):
    """The lines of one session in a history."""

    places: list[int] = []
    """Offset and end of each piece: the lines of a session mostly follow each other."""
    size: int = 0
    last_ms: float = 0.0
    checksum: int = 0

    def add(self, offset: int, line: bytes, prompt: _Prompt) -> None:
        """Add a line."""
        if self.places and self.places[-1] == offset:
            self.places[-1] += len(line)
        else:
            self.places += (offset, offset + len(line))
        self.size += len(line)
        self.last_ms = max(self.last_ms, min(prompt.timestamp, LATEST_MS))
        self.checksum = zlib.crc32(line, self.checksum)


class PromptHistory(msgspec.Struct):
    """A history as it was read."""

    state: HistoryState
    sessions: dict[str, PromptLines] = {}
    """The lines of each session by its id, or a name for those that name none."""


_decode_prompt = msgspec.json.Decoder(_Prompt).decode
_read: OrderedDict[str, PromptHistory] = OrderedDict()
"""The histories that were read last: finding a session's lines means to read all of them."""


class PromptsFile(ReadAtFile):
    """The prompts of a session, open for reading."""

    def __init__(self, path: str, state: HistoryState, lines: PromptLines) -> None:
        self.path = path
        self._status = _status(path, state, lines)
        pieces: list[bytes] = []
        with open(open_no_link(os.path.dirname(path)), "rb") as file:  # noqa: PTH120, PTH123
            for offset, end in zip(lines.places[::2], lines.places[1::2], strict=True):
                file.seek(offset)
                pieces.append(file.read(end - offset))
        self._data = b"".join(pieces)

    @property
    def size(self) -> int:
        return len(self._data)

    def status(self) -> os.stat_result:
        return self._status

    def read_at(self, offset: int, length: int) -> bytes:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return self._data[offset : offset + length]


def is_prompts(path: str | os.PathLike[str]) -> bool:
    """True if a path is that of a session of which only the prompts are left."""
    above, name = os.path.split(str(path))
    return name.endswith(SUFFIX) and os.path.basename(above) == HISTORY


def prompts_path(history: str, name: str) -> str:
    """Return the path of a session in a history."""
    return os.path.join(history, f"{name}{SUFFIX}")


def history_state(history: str) -> HistoryState | None:
    """Return the state of a history; None if there is none, it is no regular file, or it is too large."""
    try:
        status = os.lstat(history)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def known_history(history: str) -> PromptHistory | None:
    """Return a history that was read in its present state."""
    known = _read.get(history)
    return known if known is not None and known.state == history_state(history) else None


def remember_history(history: str, read: PromptHistory) -> None:
    """Remember a history as it was read."""
    _read[history] = read
    while len(_read) > MOST_HISTORIES:
        with suppress(KeyError):  # another thread was faster
            _read.popitem(last=False)


def read_history(history: str, before: PromptHistory | None = None) -> PromptHistory | None:
    """Read a history, or only what was appended to it since it was read before; None if it cannot be read."""
    state = history_state(history)
    if state is None:
        return None
    sessions = before.sessions if before is not None else {}
    try:
        with open(open_no_link(history), "rb") as file:  # noqa: PTH123
            offset = file.seek(before.state[2]) if before is not None else 0
            for line in file:
                if offset + len(line) > state[2]:  # it was appended meanwhile
                    break
                _add_line(sessions, offset, line)
                offset += len(line)
    except OSError:
        return None
    return PromptHistory(state, sessions)


def _add_line(sessions: dict[str, PromptLines], offset: int, line: bytes) -> None:
    try:
        prompt = _decode_prompt(line)
    except jsontext.DECODE_ERRORS:
        return
    name = _name(prompt)
    lines = sessions.get(name)
    if lines is None:
        lines = sessions[name] = PromptLines()
    lines.add(offset, line, prompt)


def _name(prompt: _Prompt) -> str:
    if prompt.sessionId and _ID.fullmatch(prompt.sessionId):
        return prompt.sessionId
    return f"{UNNAMED}{_OTHER.sub('-', prompt.project or '')[:100]}"


def prompt_status(path: str | Path) -> os.stat_result | None:
    """Return the status that a file with the prompts of a session would have; None if the path is not theirs."""
    found = _lines_at(path)
    return None if found is None else _status(os.fspath(path), *found)


def open_prompts(path: str | Path) -> PromptsFile | None:
    """Open the prompts of a session; None if the path is not theirs."""
    found = _lines_at(path)
    return None if found is None else PromptsFile(os.fspath(path), *found)


def _lines_at(path: str | Path) -> tuple[HistoryState, PromptLines] | None:
    if not is_prompts(path):
        return None
    history, name = os.path.split(str(path))
    read = known_history(history)
    if read is None:
        read = read_history(history)
        if read is None:
            return None
        remember_history(history, read)
    lines = read.sessions.get(name.removesuffix(SUFFIX))
    return None if lines is None else (read.state, lines)


def prompts_state(path: str, state: HistoryState, lines: PromptLines) -> HistoryState:
    """Return device, inode, size and time of modification of a file with the prompts of a session."""
    from hashlib import blake2b  # loaded late: it loads OpenSSL

    # A file system may give any number to a file; this one changes if an earlier line does.
    name = f"{path}\0{state[1]}\0{lines.checksum}".encode("utf-8", "surrogateescape")
    inode = int.from_bytes(blake2b(name, digest_size=7).digest())
    return state[0], inode, lines.size, int(lines.last_ms * 1_000_000)


def _status(path: str, state: HistoryState, lines: PromptLines) -> os.stat_result:
    device, inode, size, nanoseconds = prompts_state(path, state, lines)
    seconds = nanoseconds / 1e9
    fields = [stat.S_IFREG | 0o600, inode, device, 1, os.getuid() if hasattr(os, "getuid") else 0, 0, size]
    times = {"st_mtime": seconds, "st_ctime": seconds, "st_atime": seconds}
    return os.stat_result([*fields, *[int(seconds)] * 3], {**times, **{f"{key}_ns": nanoseconds for key in times}})
