"""Read documents again from their files: the index has only their places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from reread.base.joined_text import without_escapes
from reread.disk.sources import FileSource
from reread.disk.spilled import spilled_piece
from reread.errors import RereadError
from reread.index.document import (
    INPUT,
    KINDS,
    META_PLACE,
    NOTICE,
    RESULT,
    SPILLED_PLACE,
    TEXT,
    THINKING,
    ParseState,
    SearchDocument,
)
from reread.index.documents import add_stream_event, meta_text, partial_documents, record_documents, split_spilled_place
from reread.index.store import DocumentLocation, IndexReader
from reread.records.decode import Record, RecordOrigin

LONGEST_STREAM = 8 << 20
"""How far the pieces of a streamed response are read."""
OPEN_FILES = 64
"""How many files stay open while documents are read."""
VERBATIM = frozenset(KINDS.index(kind) for kind in (TEXT, THINKING, INPUT, RESULT))
"""The kinds of document whose text is written in the record as it is, apart from JSON's escapes."""
ESCAPED, STREAMED = b"\\u00", b'"stream_event"'
"""A part of a line that may hide literal text: escaped ASCII, or a piece of a response."""


class FoundDocument(NamedTuple):
    """A document that matches, and its record."""

    path: str
    offset: int
    length: int
    line: int
    document: SearchDocument
    time_ms: int
    origin: RecordOrigin | None = None
    """Where its record really is, if the file is read together with earlier states of it."""
    uuid: str = ""
    """The uuid of its record, which copies of the record share."""


class DocumentReader:
    """Reads the documents at places of an index; files stay open for a while."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._sources: dict[str, FileSource] = {}

    def documents(
        self, places: Iterable[DocumentLocation], literals: Collection[bytes] = ()
    ) -> Iterator[FoundDocument]:
        """Yield the documents at some places; those of files that have changed meanwhile are left out.

        Documents that plainly lack one of the literals are left out, too.
        """
        for place in places:
            path = self._index.path_of(place.file)
            found = self._document(path, place, literals) if path is not None else None
            if path is not None and found is not None and found[0] is not None:
                is_record = place.place != META_PLACE
                origin = source_origin(self._source(path), place.line, place.offset) if is_record else None
                where = (path, place.offset, place.length, place.line)
                yield FoundDocument(*where, found[0], place.time_ms, origin, found[1])

    def _document(
        self, path: str, place: DocumentLocation, literals: Collection[bytes]
    ) -> tuple[SearchDocument | None, str] | None:
        """Read a document, and the uuid of its record."""
        try:
            if place.place == META_PLACE:
                return SearchDocument(NOTICE, meta_text(Path(path))), ""
            source = self._source(path)
            line = source.read(place.offset, place.length)
            is_own = place.place < SPILLED_PLACE
            if literals and is_own and place.kind in VERBATIM and _lacks(line, literals):
                return None
            record = Record(place.line, place.offset, line)
            native = record.native
            if native.get("type") == "stream_event":
                return _streamed_document(source, place.offset), ""
        except (OSError, RereadError):
            return None
        documents, uuid = record_documents(record, ParseState(), native), native.get("uuid")
        uuid = uuid if isinstance(uuid, str) else ""
        if place.place >= SPILLED_PLACE:
            return _spilled_document(Path(path), documents, place.place), uuid
        return documents[place.place] if place.place < len(documents) else None, uuid

    def _source(self, path: str) -> FileSource:
        source = self._sources.get(path)
        if source is None:
            if len(self._sources) >= OPEN_FILES:
                del self._sources[next(iter(self._sources))]
            source = self._sources[path] = FileSource(Path(path))
        return source


def _spilled_document(path: Path, documents: list[SearchDocument], place: int) -> SearchDocument | None:
    """Read a piece of a file that a result was written to."""
    result, file, offset = split_spilled_place(place)
    document = documents[result] if result < len(documents) else None
    if document is None or file >= len(document.spilled):
        return None
    text = spilled_piece(path, document.spilled[file], offset)
    return msgspec.structs.replace(document, text=without_escapes(text)) if text is not None else None


def source_origin(source: FileSource, line: int, offset: int) -> RecordOrigin | None:
    """Return where a record really is; None if that is where the source has it."""
    return source.joined.origin(line, offset) if source.joined is not None else None


def _lacks(line: bytes, literals: Collection[bytes]) -> bool:
    """True if a line plainly does not say one of some literals."""
    return any(literal not in line for literal in literals) and ESCAPED not in line and STREAMED not in line


def _streamed_document(source: FileSource, offset: int) -> SearchDocument | None:
    """Read the pieces of a response that begin at an offset."""
    carry = ParseState()
    at = offset
    for line in source.read(offset, LONGEST_STREAM).splitlines(keepends=True):
        native = Record(0, at, line).native
        if native.get("type") == "stream_event":
            add_stream_event(native, carry, at, len(line), 0, 0)
        at += len(line)
    return next((document for block, document in partial_documents(carry) if block.offset == offset), None)
