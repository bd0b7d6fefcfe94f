"""Hits: where in which session a query matches, with the text around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec

from reread.base.times import parse_json_time
from reread.catalog.header import Header
from reread.catalog.headers import DesktopTitles, read_header
from reread.disk.agent_files import main_file
from reread.disk.filenames import unicode_stem
from reread.errors import RereadError, naming_file
from reread.index.document_reader import FoundDocument
from reread.index.documents import named_files
from reread.index.hit_locations import HitLocation, LocationsTable, SavedLocations
from reread.index.matching import Snippet
from reread.index.ranking import ALL, RankedText

if TYPE_CHECKING:
    from reread.index.hit_locator import OpenedSession

LONGEST_MARK = 100
"""Longer matches are not marked in the reader."""
OPEN_SESSIONS = 8
"""How many sessions stay open while hits are located."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A place where a query matches."""

    session: str
    """The id of the session."""
    title: str
    project: str
    path: str
    """The file: that of the session, or of an agent."""
    line: int
    """The line; of what the file has dropped, that in an earlier state of it."""
    turn: int | None = None
    """The turn of the main thread, counted from 1; None if the text is in no turn."""
    agent: str | None = None
    """The id of the agent; None in the main thread."""
    call: str | None = None
    """The id of the call, of an input or a result."""
    kind: str
    """prompt, text, thinking, input, result, notice, title or request."""
    tool: str | None = None
    time: datetime | None = None
    before: str
    match: str
    after: str
    link: str
    """The address of the place in the reader, after the server's own."""
    file: str | None = None
    """The file that the call is about, if its input or result names one."""
    branch: int | None = None
    """The branch, if the session continued on another."""
    key: str = ""
    """The name of the session in the reader."""
    dropped: bool = False
    """True if the file no longer has it, and only an earlier state of it does."""
    marks: tuple[tuple[int, int], ...] = ()
    """Where the words are in `before`, `match` and `after` together: the beginning and end of each."""
    stage: str = ALL
    """How many of the words the session has near each other: all, most or any."""
    score: float = 0.0
    """How well the session matches, compared to others of the same search."""
    copies: int = 0
    """How many other sessions have the same text, such as forks."""


class HitBuilder:
    """Makes hits of documents that match; sessions stay open for a while, since hits of one come together."""

    def __init__(self, keys: Mapping[str, str] | None = None) -> None:
        """Make hits; `keys` has the names of sessions in links, by path."""
        self._keys = keys or {}
        self._sessions: dict[str, OpenedSession] = {}
        self._headers: dict[str, Header | None] = {}
        self._titles = DesktopTitles()
        self._places: dict[str, SavedLocations | None] = {}
        self._table: LocationsTable | None = None

    def hit(self, found: FoundDocument, snippet: Snippet, ranked: RankedText | None = None) -> Hit | None:
        """Return the hit of a document; None if its session cannot be read."""
        ranked = ranked or RankedText(found)
        main = main_file(found.path)
        header = self.header(main)
        if header is None:
            return None
        place = self._place(found, main)
        call = place.call
        line = found.line if found.origin is None else found.origin.line
        key = self._keys.get(main) or unicode_stem(Path(main))
        return Hit(
            session=header.id,
            title=header.title,
            project=header.project,
            path=found.path,
            line=line,
            turn=place.turn,
            agent=place.agent,
            call=call.id if call is not None else found.document.call or None,
            kind=found.document.kind,
            tool=found.document.tool or (call.name if call is not None else None),
            time=parse_json_time(found.time_ms) if found.time_ms else None,
            before=snippet.before,
            match=snippet.match,
            after=snippet.after,
            link=_link(key, place, line, snippet.match),
            file=next(iter(found.document.files or (named_files(call.read_input()) if call is not None else ())), None),
            branch=place.branch,
            key=key,
            dropped=found.origin is not None and found.origin.state is not None,
            marks=snippet.marks,
            stage=ranked.stage,
            score=ranked.score,
            copies=ranked.copies,
        )

    def header(self, path: str) -> Header | None:
        """Return the header of a session's file; None if it cannot be read."""
        if path not in self._headers:
            self._headers[path] = None
            with suppress(RereadError, OSError), naming_file(path):
                self._headers[path] = self._titles.add(read_header(path))
        return self._headers[path]

    def close(self) -> None:
        """Close the catalogue."""
        if self._table is not None:
            self._table.close()
            self._table = None

    def _place(self, found: FoundDocument, main: str) -> HitLocation:
        """Return the place of a document, from the catalogue if it is known there, else from the opened session."""
        table = self._table = self._table or LocationsTable()
        known = self._places.pop(found.path, None) or table.read(found.path, main)
        if len(self._places) >= OPEN_SESSIONS:
            del self._places[next(iter(self._places))]
        self._places[found.path] = known
        place = known.place(found.offset, found.length, found.document.call) if known is not None else None
        if place is not None:
            return place
        opened = self._open(main)
        if opened is None:
            return HitLocation()
        place = opened.place(found)
        in_same_file = place.agent is not None and found.path == main
        if known is None or in_same_file:
            opened.save_places(found.path, table, agents=in_same_file)
        return place

    def _open(self, path: str) -> OpenedSession | None:
        opened = self._sessions.pop(path, None)
        if opened is None:
            from reread.index.hit_locator import OpenedSession  # most searches open none

            try:
                with naming_file(path):
                    opened = OpenedSession(path)
            except (RereadError, OSError):
                return None
            if len(self._sessions) >= OPEN_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        self._sessions[path] = opened
        return opened


def _link(key: str, place: HitLocation, line: int, match: str) -> str:
    """Return the address of a place in the reader, which marks the match there."""
    params: dict[str, Any] = {"branch": place.branch} if place.branch is not None else {}
    if place.call is not None:
        params["call"] = place.call.id
    elif place.message is not None:
        params["at"] = place.message
    else:
        params["line"] = line
    if match and len(match) <= LONGEST_MARK and "\n" not in match:
        params["q"] = match
    agent = f"/a/{quote(place.agent, safe='')}" if place.agent is not None else ""
    return f"#/s/{quote(key, safe='')}{agent}?{urlencode(params)}"


JSON_FIELDS = (
    "session",
    "title",
    "project",
    "path",
    "line",
    "turn",
    "agent",
    "call",
    "kind",
    "tool",
    "time",
    "before",
    "match",
    "after",
    "link",
    "dropped",
    "marks",
    "stage",
    "score",
    "copies",
)


def hit_value(hit: Hit) -> dict[str, Any]:
    """Return a hit as a JSON value."""
    return {name: getattr(hit, name) for name in JSON_FIELDS}


def group_by_session(hits: Sequence[Hit]) -> dict[str, list[Hit]]:
    """Return hits by session, in the order of each session's first hit."""
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.key, []).append(hit)
    return groups
