"""The headers of files, as rows of the store of facts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from reread.base import jsontext
from reread.catalog.header import Header
from reread.disk.cache import FileState, Statement
from reread.disk.derived_cache import FEW_PATHS, Catalogue, FileValue, known_path, row_statements, stored_path
from reread.disk.fact_table import FILE, INTEGER, OF_FILE, STATE, TEXT, Column, FactTable

HEADER = FactTable(
    "header",
    "What the first and the last bytes of a transcript say of its session.",
    (
        Column("file", INTEGER, "The transcript.", f"PRIMARY KEY {OF_FILE}"),
        *STATE,
        Column("id", TEXT, "The id of the session, or of a captured conversation."),
        Column("title", TEXT),
        Column("project", TEXT, "The folder it worked in."),
        Column("project_guessed", INTEGER, "1 if no record names the folder."),
        Column("git_branch", TEXT),
        Column("version", TEXT, "The version of Claude Code."),
        Column("model", TEXT),
        Column("started", INTEGER, "The first time, in microseconds since 1970."),
        Column("updated", INTEGER, "The last time, in microseconds since 1970."),
        Column("bytes", INTEGER, "Its size."),
        Column("title_guessed", INTEGER, "1 if there is neither a title nor a prompt."),
        Column("captured", INTEGER, "1 if it is a captured conversation."),
        Column("sessions", TEXT, "The ids of Claude Code's sessions at its start and its end, as JSON."),
        Column("prompts_only", INTEGER, "1 if only its prompts are left."),
    ),
)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_NAMES = HEADER.names[1 + len(STATE) :]
_COLUMNS = ", ".join(f"h.{name}" for name in HEADER.names[1:])
_KNOWN = f"SELECT f.path, {_COLUMNS} FROM {HEADER.name} h JOIN {FILE.name} f ON f.id = h.file"


class KnownHeader(FileValue, frozen=True):
    """A header, with the state of its file when it was read."""

    header: Header


class HeaderTable(Catalogue[KnownHeader]):
    """The headers of files."""

    def __init__(self) -> None:
        super().__init__(FILE.in_cache, HEADER.in_cache)

    def known(self, paths: Collection[str] | None = None) -> dict[str, tuple[FileState, Sequence[Any]]]:
        """Return the states and the values of some files by path, by default of all."""
        if paths is None or len(paths) > FEW_PATHS:
            rows = self.cache.read(_KNOWN)
        else:
            rows = [row for path in paths for row in self.cache.read(f"{_KNOWN} WHERE f.path = ?", stored_path(path))]
        end = 1 + len(STATE)
        return {known_path(row[0]): (FileState(*row[1:end]), row[end:]) for row in rows}

    def statements(self, values: Sequence[KnownHeader]) -> list[Statement]:
        """Return the statements that store headers."""
        return row_statements(HEADER, ((one.path, *one.state, *_values(one.header)) for one in values))


def header_of(path: str, values: Sequence[Any]) -> Header | None:
    """Return the header of a file from its row; None if that is damaged."""
    found: dict[str, Any] = dict(zip(_NAMES, values, strict=True))
    try:
        for name in ("started", "updated"):
            if found[name] is not None:
                found[name] = _EPOCH + found[name] * _MICROSECOND
        found |= {"path": path, "size": found["bytes"], "sessions": jsontext.decode_strict(found["sessions"])}
        return msgspec.convert(found, Header, strict=False)
    except (TypeError, OverflowError, *jsontext.DECODE_ERRORS):
        return None


def _values(header: Header) -> list[Any]:
    found: Mapping[str, Any] = msgspec.structs.asdict(header)
    changed = {
        "started": _microseconds(header.started),
        "updated": _microseconds(header.updated),
        "bytes": header.size,
        "sessions": jsontext.dumps(header.sessions).decode(),
    }
    return [changed[name] if name in changed else found[name] for name in _NAMES]


def _microseconds(time: datetime | None) -> int | None:
    return None if time is None else (time - _EPOCH) // _MICROSECOND
