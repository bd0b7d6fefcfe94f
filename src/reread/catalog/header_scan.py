"""The header of a session, from the first and the last lines of its file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from reread.base import jsontext
from reread.base.paths import normalize_folder
from reread.base.text import as_title
from reread.base.times import parse_timestamp
from reread.catalog.header import NO_TITLE, Header
from reread.disk.projects import guess_project
from reread.disk.reverse_lines import open_lines_backwards
from reread.disk.transcript_file import open_transcript
from reread.errors import Unreadable
from reread.model.titles import REACH, TitleSearch
from reread.records import dialects
from reread.records.decode import Record
from reread.storage.kept_file import OpenFile, stat_file, status_of
from reread.storage.prompt_history import is_prompts

PEEK = 1 << 14
"""Bytes read at once from the start of a file."""
TAIL = 1 << 16
"""Bytes read from the end of a file."""
LONGEST = 1 << 23
"""A line that begins within `REACH` is read if it ends within this many bytes."""
TITLES = (b'"custom-title"', b'"ai-title"', b'"summary"')
"""A part of every line with a title."""
NODE = b'{"parentUuid":'
"""How nearly every line of the tree begins; such a line has no title."""
STAMP = b'"timestamp"'
"""A part of every line with a time."""
FARTHEST = 1 << 26
"""How many bytes before the end of a file the last record with a time is looked for."""


def scan_header(path: str | Path) -> Header:
    """Read the header of one session file."""
    try:
        with open_transcript(path) as file:
            stat = status_of(file)
            first, last = _HeaderScan(), _HeaderScan()
            begin = chunk = file.read(PEEK)
            while chunk:
                rest = first.scan_forward(chunk)
                if first.titles.prompt is not None or first.position >= REACH:
                    break
                if file.tell() >= min(stat.st_size, LONGEST):
                    break
                chunk = rest + file.read(max(PEEK * 4, len(rest)))
            if stat.st_size > len(begin):
                file.seek(max(0, stat.st_size - TAIL))
                begin = file.read(TAIL)
            last.scan_backward(begin, whole=stat.st_size <= len(begin))
            if last.stamp is None and stat.st_size > len(begin):
                last.stamp = _last_stamp(file)
    except OSError as error:
        raise Unreadable.at(path, error) from error
    return _header(path, stat_file(path).st_size, stat.st_mtime, first, last)


def _last_stamp(file: OpenFile) -> str | None:
    """Return the time of the last record that has one: those after it may be longer than what is read first."""
    for line in open_lines_backwards(file, FARTHEST):
        stamp = Record(0, 0, line).envelope.timestamp if STAMP in line else None
        if parse_timestamp(stamp) is not None:
            return stamp
    return None


def _header(path: str | Path, size: int, modified: float, first: _HeaderScan, last: _HeaderScan) -> Header:
    titles = first.titles
    silent = (titles.prompt or titles.command or titles.rest) is None
    summary = last.summary or (first.summary if silent else None)
    title = last.custom_title or first.custom_title or last.ai_title or first.ai_title or summary or titles.prompt
    guess = "" if title else as_title(first.prompted or "") or titles.command or titles.rest or ""
    cwd = first.cwd or last.cwd
    found = tuple(dict.fromkeys(id for id in (first.session, last.session) if id))
    stem = Path(path).stem  # a resumed or forked session may begin with lines of the one that it continues
    return Header(
        id=first.conversation or (found[0] if found and stem not in found else stem),
        path=str(path),
        title=title or guess or NO_TITLE[size > 0],
        title_guessed=bool(guess),
        project=normalize_folder(cwd) if cwd else guess_project(Path(path)),
        project_guessed=cwd is None,
        git_branch=last.git_branch or first.git_branch,
        version=last.version or first.version,
        model=last.model or first.model,
        started=parse_timestamp(first.stamp),
        # The time of the file is that of its last copy, checkout or download, and says nothing if a record has one.
        updated=parse_timestamp(last.stamp or first.stamp) or datetime.fromtimestamp(modified, UTC),
        size=size,
        captured=first.conversation is not None,
        sessions=found,
        prompts_only=is_prompts(path),
    )


class _HeaderScan:
    """The content of a few lines; the first value of each field counts."""

    def __init__(self) -> None:
        self.conversation: str | None = None
        """The conversation that the first line was captured into."""
        self.session: str | None = None
        self.cwd: str | None = None
        self.git_branch: str | None = None
        self.version: str | None = None
        self.model: str | None = None
        self.stamp: str | None = None
        self.custom_title: str | None = None
        self.ai_title: str | None = None
        self.summary: str | None = None
        self.titles = TitleSearch()
        self.position = 0
        """Where the next line begins that was not scanned whole."""
        self.prompted: str | None = None
        """The prompt of a captured command."""
        self._seen: bytes | None = None

    def scan_forward(self, data: bytes) -> bytes:
        """Scan whole lines from the start and return the rest."""
        at = 0
        while self.titles.prompt is None and (end := data.find(b"\n", at)) >= 0:
            self._note(data[at:end])
            self.position += end + 1 - at
            at = end + 1
        rest = data[at:]
        if self.titles.prompt is None and rest.endswith(b"}"):
            self._note(rest)
        return rest

    def scan_backward(self, data: bytes, *, whole: bool) -> None:
        """Scan lines from the end: all until everything but a title is known, then those that may hold one."""
        self._seen = data
        end, known = len(data), False
        while end > 0 and not (known and self.custom_title):
            start = data.rfind(b"\n", 0, end)
            known = known or self._is_complete()
            if (start >= 0 or whole) and not (known and data.startswith(NODE, start + 1)):
                line = data[start + 1 : end]
                if not known or any(mark in line for mark in TITLES):
                    self._note(line)
            end = start

    def _is_own(self, leaf: str | None) -> bool:
        """True if a summary belongs to this file: files begin with summaries of other sessions."""
        if self._seen is None or leaf is None:
            return self._seen is None
        return any(f'"uuid":{space}"{leaf}"'.encode() in self._seen for space in ("", " "))

    def _is_complete(self) -> bool:
        return None not in (self.session, self.cwd, self.git_branch, self.version, self.model, self.stamp)

    def _note(self, line: bytes) -> None:
        if not line.strip():
            return
        record = Record(0, 0, line)
        envelope = record.envelope
        if record.dialect == dialects.stored.NAME:
            self.conversation = self.conversation or str(record.value.get("conversationId") or "") or None
            self.prompted = self.prompted or dialects.stored.run_prompt(record.value)
        self.session = self.session or envelope.sessionId
        self.cwd = self.cwd or envelope.cwd
        self.git_branch = self.git_branch or envelope.gitBranch
        self.version = self.version or envelope.version
        if self.stamp is None and parse_timestamp(envelope.timestamp) is not None:
            self.stamp = envelope.timestamp
        self.custom_title = self.custom_title or envelope.customTitle
        self.ai_title = self.ai_title or envelope.aiTitle
        if envelope.summary and envelope.type == "summary" and self.summary is None and self._is_own(envelope.leafUuid):
            summary = jsontext.loads_clean(bytes(envelope.summary))
            self.summary = summary if isinstance(summary, str) else None
        model = (envelope.message.model if envelope.message else None) or envelope.model
        if model and not model.startswith("<"):
            self.model = self.model or model
        if self.position < REACH:
            self.titles.read(record)
