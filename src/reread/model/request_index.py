"""Where the messages, system prompts and tools of a conversation's API requests are, by the hashes that name them.

Claude Code notes each request as a change to an earlier one: how many of its messages stay (`keep`), and the hashes of
those that follow (`tail`). A hash names a note of its own (`api-request-blob`), or a run of rows: user rows without an
answer between them, or the rows of one answer, each joined with those before it.

Nothing is read before a request is asked for. Rows are then hashed backwards from that request, because the messages
of a request are mostly the last ones, and only until all are found: one request of a large session costs its own size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeVar, cast

import msgspec

from reread.base import jsontext
from reread.base.canonical_json import canonical
from reread.base.coerce import as_dict, as_int, as_list, as_str
from reread.model.metadata import Metadata
from reread.records.decode import Records

ROWS = ("user", "assistant")
NO_BASE = -1
NOT_NOTED = "?"
"""Stands for the hash of a message that only an earlier request has, which is gone."""
MOST_MESSAGES = 10_000
"""A note may claim to keep any number of messages of an earlier request."""
T = TypeVar("T")


class RunningDigest(Protocol):
    """A hash that goes on."""

    def update(self, data: bytes, /) -> None: ...
    def copy(self) -> Self: ...
    def hexdigest(self) -> str: ...


class RequestNote(msgspec.Struct):
    """The content of one `api-request` record, with the request that it continues found."""

    record: int
    id: str = ""
    base_id: str | None = None
    base: int = NO_BASE
    """The number of the request that it continues, which is always an earlier one."""
    keep: int = 0
    tail: list[str] = []


class RowRun(NamedTuple):
    """The first rows of a run: a message of a request."""

    rows: list[int]
    size: int


class _RowMessage(msgspec.Struct):
    role: str | None = None
    id: str | None = None
    content: Any = None


class _Row(msgspec.Struct):
    type: str = ""
    message: _RowMessage | None = None


class _PartName(msgspec.Struct):
    hash: str | None = None
    shapeHash: str | None = None


_decode_row = msgspec.json.Decoder(_Row).decode
_decode_name = msgspec.json.Decoder(_PartName).decode


class RequestIndex:
    """The notes of one conversation's requests, and the places of their parts."""

    def __init__(self, records: Records, metadata: Metadata, others: Callable[[], Iterable[RequestIndex]]) -> None:
        self._records = records
        self._metadata = metadata
        self._others = others
        """The indexes of the session's other threads: an agent can continue what another thread began."""
        self._notes: list[RequestNote] = []
        self._numbers: dict[str, int] = {}
        self._parts: dict[str, int] = {}
        """The records that hold a message, or a system prompt with tools, by its hash."""
        self._parts_read = 0
        self._runs: dict[str, RowRun] = {}
        self._scanned = 0
        """How many records were looked at in search of rows."""
        self._whole = 0
        """How many records were hashed from the start; 0 if they were not."""
        self._digested: tuple[bytes, list[str], list[RunningDigest]] = (b"", [], [])
        """The opening of the request digested last, its hashes, and the digest after each of its first messages."""
        self._shape: tuple[str, dict[str, Any] | None] = ("", None)
        self._texts: tuple[object, list[Any], dict[str, bytes]] = (None, [], {})
        self._last: tuple[int, list[str], bool] = (NO_BASE, [], True)

    @property
    def notes(self) -> list[RequestNote]:
        """The notes of all requests, in file order."""
        for record in self._metadata.requests[len(self._notes) :]:
            note = self._note(record)
            note.base = self._numbers.get(note.base_id or "", NO_BASE)
            self._numbers[note.id] = len(self._notes)
            self._notes.append(note)
        return self._notes

    def value(self, record: int) -> dict[str, Any]:
        """Return the object of a record as written."""
        return as_dict(self._records[record].value)

    def _note(self, record: int) -> RequestNote:
        value = self.value(record)
        tail = [item if isinstance(item, str) else "" for item in as_list(value.get("tail"))]
        keep = min(max(0, as_int(value.get("keep")) or 0), MOST_MESSAGES)
        return RequestNote(record, as_str(value.get("id")) or "", as_str(value.get("base")), NO_BASE, keep, tail)

    def hashes(self, number: int) -> tuple[list[str], bool]:
        """Return the hashes of a request's messages, and whether the requests that it continues have all of them.

        Those that they do not have are NOT_NOTED, so that each message has its place.
        """
        notes = self.notes
        pieces: list[tuple[int, list[str]]] = []
        out: list[str] = []
        complete, wanted, at = True, sys.maxsize, number
        while wanted and at != NO_BASE:
            if at == self._last[0]:
                out, complete = self._last[1][:wanted], self._last[2]
                break
            note = notes[at]
            if wanted > note.keep:
                pieces.append((note.keep, note.tail[: wanted - note.keep]))
                wanted = note.keep
            at = note.base
        for keep, tail in reversed(pieces):
            complete = complete and len(out) == keep
            out += [NOT_NOTED] * (keep - len(out)) + tail
        self._last = (number, out, complete)
        return list(out), complete

    def find(self, hashes: Iterable[str], before: int) -> None:
        """Look for the messages with these hashes, in the records before one, then everywhere."""
        self._read_parts()
        missing = {hash for hash in hashes if hash not in self._parts and hash not in self._runs}
        start = 0
        if missing and self._whole < len(self._records) and self._scanned <= len(self._records):
            start = self._scan_back(missing, before)
        if missing and self._whole < len(self._records):
            self._whole = len(self._records)
            for run in self._forward(start):
                self._runs |= _hashed(run)

    def home(self, hash: str) -> RequestIndex | None:
        """Return the index of the thread that has a message, or a system prompt with tools; None if none has it."""
        if hash == NOT_NOTED:
            return None
        if self._has(hash):
            return self
        for other in self._others():
            if other is not self:
                other.find([hash], 0)
                if other._has(hash):
                    return other
        return None

    def _has(self, hash: str) -> bool:
        self._read_parts()
        return hash in self._parts or hash in self._runs

    def messages(self, hashes: Sequence[str]) -> list[dict[str, Any] | None]:
        """Return messages, each read once: equal ones share their content, and so do runs of the same rows."""
        read: dict[RequestIndex, dict[int, _RowMessage | None]] = {}
        known: dict[str, dict[str, Any] | None] = {}
        for hash in dict.fromkeys(hashes):
            home = self.home(hash)
            known[hash] = home.message(hash, read.setdefault(home, {})) if home is not None else None
        return [message and {**message} for message in map(known.__getitem__, hashes)]

    def sizes(self, hashes: Sequence[str]) -> tuple[int, int]:
        """Return the bytes of messages, and of the records that they are read from."""
        sizes: dict[str, int] = {}
        read: dict[tuple[RequestIndex, int], int] = {}
        for hash in dict.fromkeys(hashes):
            home = self.home(hash)
            lengths = home._lengths(hash) if home is not None else {}
            sizes[hash] = sum(lengths.values())
            read |= {(cast(RequestIndex, home), record): length for record, length in lengths.items()}
        return sum(map(sizes.__getitem__, hashes)), sum(read.values())

    def _lengths(self, hash: str) -> dict[int, int]:
        records = (self._parts[hash],) if hash in self._parts else self.rows(hash)
        return {record: self._records.position(record)[2] for record in records}

    def message(self, hash: str, read: dict[int, _RowMessage | None]) -> dict[str, Any] | None:
        """Return a message; its content is always a list of blocks. `read` has the rows read so far, and gets more."""
        if hash in self._parts:
            message = as_dict(self.value(self._parts[hash]).get("message"))
            return {**message, "content": _blocks(message.get("content"))} if message else None
        found = self.rows(hash)
        read |= {index: self._row(index) for index in found if index not in read}
        rows = [row for index in found if (row := read[index])]
        blocks = [block for row in rows for block in _blocks(row.content)]
        return {"role": rows[0].role, "content": blocks} if rows else None

    def rows(self, hash: str) -> Sequence[int]:
        """Return the records that a message was made of; none if it stands in no row."""
        run = self._runs.get(hash) if hash not in self._parts else None
        return run.rows[: run.size] if run is not None else ()

    def shape(self, hash: str) -> dict[str, Any] | None:
        """Return a system prompt with tools; most requests have that of the request before."""
        if self._shape[0] != hash:
            self._read_parts()
            found = self._parts.get(hash)
            shape = self.value(found).get("shape") if found is not None else None
            self._shape = (hash, cast(dict[str, Any], shape) if isinstance(shape, dict) else None)
        return self._shape[1]

    def field_texts(
        self, shape: dict[str, Any], marks: list[Any], put: Callable[[], dict[str, Any]]
    ) -> dict[str, bytes]:
        """Return each field of a system prompt with tools as it is digested, with its marks as `put` sets them."""
        if self._texts[0] is not shape or self._texts[1] != marks:
            self._texts = (shape, marks, {name: canonical(value) for name, value in put().items()})
        return self._texts[2]

    def digest_messages(
        self, opening: bytes, hashes: list[str], marks: Mapping[int, list[T]], put: Callable[[Any, list[T]], Any]
    ) -> RunningDigest | None:
        """Return the digest of a request up to its last message; None if one is missing.

        The digest after each message that no mark changes is kept for the request that follows, which mostly begins
        with the same messages: to prove all requests costs what they added, not what they sent.
        """
        from hashlib import sha256  # loaded late: it loads OpenSSL

        first_mark = min(marks, default=len(hashes))
        start, known, states = self._digested
        same = 0
        if start == opening:
            limit = min(first_mark, len(states) - 1, len(hashes))
            same = next((n for n in range(limit) if known[n] != hashes[n]), limit)
            states = states[: same + 1]
        else:
            states = [cast(RunningDigest, sha256(opening))]
        digest = states[same].copy()
        for n in range(same, len(hashes)):
            home = self.home(hashes[n])
            message = home.message(hashes[n], {}) if home is not None else None
            if message is None:
                return None
            digest.update((b"," if n else b"") + canonical(put(message, marks[n]) if n in marks else message))
            if n < first_mark:
                states.append(digest.copy())
        self._digested = (opening, hashes, states)
        return digest

    def _read_parts(self) -> None:
        for record in self._metadata.request_parts[self._parts_read :]:
            body = self._records.body(record)
            try:
                name = _decode_name(body)
            except jsontext.DECODE_ERRORS:
                value = self.value(record)
                name = _PartName(as_str(value.get("hash")), as_str(value.get("shapeHash")))
            hash = name.hash or name.shapeHash
            if hash:
                self._parts.setdefault(hash, record)
            self._parts_read += 1

    def _row(self, record: int) -> _RowMessage | None:
        """Return the message of a row; None if the record is none."""
        body = self._records.body(record)
        try:
            row = _decode_row(body)
        except jsontext.DECODE_ERRORS:
            value = self.value(record)
            message = as_dict(value.get("message"))
            fields = _RowMessage(as_str(message.get("role")), as_str(message.get("id")), message.get("content"))
            row = _Row(as_str(value.get("type")) or "", fields)
        return row.message if row.type in ROWS else None

    def _scan_back(self, missing: set[str], before: int) -> int:
        """Hash the runs before a record, the last one first, until nothing is missing; return where that one starts.

        It may go on after the record.
        """
        run: list[tuple[int, _RowMessage]] = []
        last: int | None = None
        for record in range(before - 1, -1, -1):
            self._scanned += 1
            row = self._row(record)
            if row is None:
                continue
            if run and not _continues(row, run[-1][1]):
                self._add_earlier(run, missing)
                last = run[-1][0] if last is None else last
                run = []
            if not missing:
                break
            run.append((record, row))
        self._add_earlier(run, missing)
        return last if last is not None else run[-1][0] if run else 0

    def _forward(self, start: int) -> Iterator[list[tuple[int, _RowMessage]]]:
        run: list[tuple[int, _RowMessage]] = []
        for record in range(start, len(self._records)):
            row = self._row(record)
            if row is None:
                continue
            if run and not _continues(run[-1][1], row):
                yield run
                run = []
            run.append((record, row))
        yield run

    def _add_earlier(self, run: list[tuple[int, _RowMessage]], missing: set[str]) -> None:
        """Add a run, given with its last row first; of two alike, the later one stays."""
        found = _hashed(run[::-1])
        missing.difference_update(found)
        self._runs |= {hash: rows for hash, rows in found.items() if hash not in self._runs}


def _hashed(run: Sequence[tuple[int, _RowMessage]]) -> dict[str, RowRun]:
    """Hash a run after each of its rows."""
    from hashlib import sha256  # loaded late: it loads OpenSSL

    found: dict[str, RowRun] = {}
    rows: list[int] = []
    content = sha256(b'{"content":[')
    separator = b""
    for record, row in run:
        if row.role is None or row.content is None:
            break
        try:
            for block in _blocks(row.content):
                content.update(separator + canonical(block, marks=False))
                separator = b","
        except ValueError:
            break
        rows.append(record)
        whole = content.copy()
        whole.update(b'],"role":' + canonical(row.role) + b"}")
        found[whole.hexdigest()] = RowRun(rows, len(rows))
    return found


def _continues(before: _RowMessage, row: _RowMessage) -> bool:
    """True if a row belongs to the same message as the row before it."""
    return before.role == row.role and (row.role == "user" or (row.id is not None and row.id == before.id))


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast(list[Any], content) if isinstance(content, list) else [content]
