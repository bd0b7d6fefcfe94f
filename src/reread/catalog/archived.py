"""Which sessions Claude Code has archived: a mark beside a transcript, of the client's own, that its lists go by.

`archived.json` in the folder of a session says whether, and since when. A prompt that was typed after that takes the
session out of the archive again: the client notes it with the next prompt, and reads the transcript for earlier ones.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.base.times import parse_timestamp
from reread.catalog.header import Header
from reread.disk.reverse_lines import open_lines_backwards
from reread.disk.transcript_file import open_transcript
from reread.storage.kept_file import read_whole

if TYPE_CHECKING:
    from reread.records.decode import Record

NAME = "archived.json"
LARGEST = 4096
"""A longer file counts for nothing, as for the client."""
FARTHEST = 1 << 26
"""How many bytes before the end of a transcript a prompt is looked for."""


class Mark(NamedTuple):
    """What the client says of a session."""

    archived: bool
    at: datetime


def mark_path(transcript: str) -> str:
    """Return where the mark of a session is."""
    return os.path.join(os.path.splitext(transcript)[0], NAME)  # noqa: PTH122


def is_archived(header: Header) -> bool:
    """True if a session is archived and nobody has typed a prompt into it since, as far as is known by now."""
    if header.archived or header.captured or header.prompts_only:
        return header.archived
    mark = read_mark(header.path)
    return mark is not None and mark.archived and not is_prompted_since(header, mark)


def is_prompted_since(header: Header, mark: Mark) -> bool:
    """True if somebody has typed a prompt into a session after it was marked."""
    return header.updated is not None and header.updated > mark.at and _was_prompted(header.path, mark.at)


def read_mark(transcript: str) -> Mark | None:
    """Return what the mark of a session says; None if there is none."""
    path = mark_path(transcript)
    if not os.path.isdir(os.path.dirname(path)):  # noqa: PTH120
        return None
    try:
        value = as_dict(jsontext.loads_clean(read_whole(path, LARGEST)))
    except (OSError, ValueError, RecursionError):  # there is none, or it is being written
        return None
    archived, at = value.get("archived"), parse_timestamp(as_str(value.get("at")))
    return Mark(archived, at) if isinstance(archived, bool) and at is not None else None


def _was_prompted(transcript: str, since: datetime) -> bool:
    """True if a prompt was typed after a time; records before it end the search."""
    from reread.records.decode import Record  # loaded late: lists read no records

    try:
        with open_transcript(Path(transcript)) as file:
            for line in open_lines_backwards(file, FARTHEST):
                if b'"timestamp"' not in line:
                    continue
                record = Record(0, 0, line)
                time = parse_timestamp(record.envelope.timestamp)
                if time is not None and time <= since:
                    return False
                if time is not None and _is_prompt(record):
                    return True
    except OSError:
        return False
    return False


def _is_prompt(record: Record) -> bool:
    from reread.model.authors import HUMAN, origin_kind, user_kind
    from reread.model.content import first_text
    from reread.model.record_kinds import TURN_STARTERS

    envelope = record.envelope
    if envelope.isSidechain:
        return False
    if envelope.type == "attachment":
        queued = as_dict(record.native.get("attachment"))
        origin = as_str(as_dict(queued.get("origin")).get("kind"))
        typed = queued.get("commandMode", "prompt") in ("prompt", "bash") and not queued.get("isMeta")
        return queued.get("type") == "queued_command" and typed and origin in (None, HUMAN)
    if envelope.type != "user" or envelope.message is None or origin_kind(envelope.origin) not in (None, HUMAN):
        return False
    text = first_text(envelope.message.content)
    return bool(text) and user_kind(envelope, text) in TURN_STARTERS
