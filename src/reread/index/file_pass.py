"""One pass over the new bytes of a file: every document in them, with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.base.joined_text import without_escapes
from reread.base.times import timestamp_ms
from reread.disk.agent_files import session_file
from reread.disk.derived_cache import proof_at
from reread.disk.projects import guess_project
from reread.disk.sources import FileSource, Source
from reread.disk.spilled import large_texts_state, spilled_pieces, tool_result_file
from reread.errors import NotFound, Unreadable, naming_file
from reread.index.document import CALL_ID, META_PLACE, MOST_RESULTS, NOTICE, ParseState, SearchDocument, WaitingText
from reread.index.document_reader import FoundDocument, source_origin
from reread.index.documents import (
    QUEUED,
    add_stream_event,
    is_stream_start,
    meta_text,
    partial_documents,
    queued_prints,
    record_documents,
    report_print,
    spilled_place,
)
from reread.index.matching import DocumentFacts, matches
from reread.index.query import Node
from reread.index.store import Cursor, DocumentPosition
from reread.records import dialects
from reread.records.arrays import is_array
from reread.records.decode import NATIVE_TYPES, Decoder, Record, slow_records
from reread.records.lines import LineSplitter

CHUNK = 1 << 20

SNAPSHOT = b'{"type":"file-history-snapshot"'
PROGRESS, AGENT_PROGRESS = b'"progress"', b'"agent_progress"'


MOST_QUEUED, MOST_REPORTS = 64, 64
"""How many queued texts, and reports of running calls, are remembered."""
OUTPUT_REPORTS = ("bash_progress", "powershell_progress")
"""The types of report that have all of the output so far."""


class _Report(msgspec.Struct, gc=False):
    """The field that tells the type of a report."""

    type: str = ""


class _ProgressHead(msgspec.Struct, gc=False):
    """The fields that tell whether a progress record belongs to a call."""

    type: str = ""
    sessionId: str | None = None
    toolUseID: str | None = None
    parentToolUseID: str | None = None
    data: msgspec.Raw = msgspec.Raw()


_decode_head = msgspec.json.Decoder(_ProgressHead).decode
_decode_report = msgspec.json.Decoder(_Report).decode

AddUnit = Callable[[SearchDocument, DocumentPosition], None]
Feed = Callable[[int, bytes], None]
"""Takes the bytes at an offset."""


class FilePass:
    """One pass over the new bytes of a file."""

    def __init__(self, source: Source, cursor: Cursor, add: AddUnit, *, feed: Feed | None = None) -> None:
        """Read a source from a cursor on; `add` is called with each document, and `feed` with all bytes."""
        self._source = source
        self._cursor = cursor
        self._add = add
        self._feed = feed
        self._in_tail = False

    def run(self) -> Iterator[int]:
        """Read everything that is new; yield how many bytes were read, each time the cursor has moved on."""
        cursor, read = self._cursor, self._source.read
        splitter = LineSplitter()
        if cursor.offset == 0 and self._source.path is not None:
            self._add_meta(self._source.path)
        if cursor.offset == 0 and is_array(read(0, 4096)):
            yield self._run_array()
            return
        for data in self._chunks(cursor.offset):
            for line in splitter.feed(data):
                self._add_line(line, cursor.offset)
                cursor.offset += len(line)
                cursor.carry.line += 1
            cursor.proof = proof_at(read, cursor.offset)
            yield len(data)
        self._add_tail(splitter.flush())
        yield 0

    def _run_array(self) -> int:
        """Index a file that is one JSON array, which is read as a whole each time."""
        decoder = Decoder()
        size = 0
        for data in self._chunks(0):
            size += len(data)
            for record in decoder.feed(data):
                self._add_record(record, record.native)
        for record in decoder.flush():
            self._add_record(record, record.native)
        self._cursor.offset, self._cursor.proof, self._cursor.carry = size, b"", ParseState()
        return size

    def _chunks(self, at: int) -> Iterator[bytes]:
        while data := self._source.read(at, CHUNK):
            if self._feed is not None:
                self._feed(at, data)
            yield data
            at += len(data)

    def _add_tail(self, line: bytes) -> None:
        """Index what may still change: a last line without an end, and a response that is still streamed."""
        cursor = self._cursor
        before = msgspec.msgpack.decode(msgspec.msgpack.encode(cursor.carry), type=ParseState)
        self._in_tail = True
        if line.strip():
            self._add_line(line, cursor.offset)
        self._add_partial()
        waiting = [*cursor.carry.queued.values(), *(call.report for call in cursor.carry.calls.values())]
        for one in waiting:
            self._add_waiting(one)
        cursor.carry = before

    def _add_line(self, line: bytes, offset: int) -> None:
        number = self._cursor.carry.line + 1
        if line.startswith(SNAPSHOT):
            return
        if PROGRESS in line and AGENT_PROGRESS not in line and self._has_report(line, offset, number):
            return
        try:
            value = jsontext.decode_strict(line)
        except jsontext.DECODE_ERRORS:
            value = None
        if isinstance(value, dict):
            native = cast(dict[str, Any], value)
            types = dialects.SESSIONLESS if native.get("sessionId") is None else NATIVE_TYPES
            if as_str(native.get("type")) not in types:
                native = dialects.translate(native)[1]
            self._add_record(Record(number, offset, line), native)
        elif line.strip(b" \t\r\n\0"):
            for record in slow_records(line, number, offset):
                self._add_record(record, record.native)

    def _has_report(self, line: bytes, offset: int, number: int) -> bool:
        """True if a line only reports what is known, or will be: a quarter of all lines, which are not decoded."""
        try:
            head = _decode_head(line)
            kind = _decode_report(head.data).type
        except jsontext.DECODE_ERRORS:
            return False
        carry = self._cursor.carry
        ids = [id for id in (head.parentToolUseID, head.toolUseID) if id is not None]
        if head.type != "progress" or head.sessionId is None:
            return False
        call = next((carry.calls[id] for id in ids if id in carry.calls), None)
        if call is None and not any(id.startswith(CALL_ID) for id in ids):
            return False
        if kind in OUTPUT_REPORTS:
            if call is not None:
                call.report = WaitingText(offset, len(line), number, 0, carry.time_ms)
            return True
        print = report_print(bytes(head.data))
        known = print in carry.reports
        if not known:
            carry.reports = [*carry.reports[1 - MOST_REPORTS :], print]
        return known

    def _add_meta(self, path: Path) -> None:
        """Index what the client says of an agent beside its file."""
        text = meta_text(path)
        if text:
            self._add(SearchDocument(NOTICE, text), DocumentPosition(0, 0, 1, META_PLACE, 0))

    def _add_queued(self, record: Record, native: dict[str, Any]) -> None:
        """Remember a text in the queue: it is indexed here if it is not delivered."""
        carry = self._cursor.carry
        for place, print in enumerate(queued_prints(native)):
            if print not in carry.queued:
                position = WaitingText(record.offset, len(record.body), record.line, place, carry.time_ms)
                carry.queued[print] = position
        while len(carry.queued) > MOST_QUEUED:
            self._add_waiting(carry.queued.pop(next(iter(carry.queued))))

    def _add_waiting(self, waiting: WaitingText | None) -> None:
        """Index a text that was not delivered, or what a call without a result reported."""
        if waiting is not None:
            body = self._source.read(waiting.offset, waiting.length)
            documents = record_documents(Record(waiting.line, waiting.offset, body), ParseState())
            position = DocumentPosition(*msgspec.structs.astuple(waiting), in_tail=self._in_tail)
            if waiting.place < len(documents) and documents[waiting.place].text:
                self._add(documents[waiting.place], position)

    def _add_record(self, record: Record, native: dict[str, Any]) -> None:
        carry = self._cursor.carry
        stamp = native.get("timestamp")
        carry.time_ms = (timestamp_ms(stamp) if isinstance(stamp, str) else None) or carry.time_ms
        cwd = native.get("cwd")
        if not self._cursor.cwd and isinstance(cwd, str):
            self._cursor.cwd = cwd
        if native.get("type") == "stream_event":
            if is_stream_start(native):
                self._add_partial()
            add_stream_event(native, carry, record.offset, len(record.body), record.line, carry.time_ms)
            return
        if native.get("type") == QUEUED:
            self._add_queued(record, native)
            return
        if carry.partial and native.get("type") == "result":
            self._add_partial()
        model, branch = as_dict(native.get("message")).get("model"), native.get("gitBranch")
        for place, document in enumerate(record_documents(record, carry, native)):
            if document.text or document.files or document.spilled:
                position = DocumentPosition(
                    record.offset,
                    len(record.body),
                    record.line,
                    place,
                    carry.time_ms,
                    model if isinstance(model, str) else "",
                    branch if isinstance(branch, str) else "",
                    self._in_tail,
                )
                if document.text or document.files:
                    self._add(document, position)
                if document.spilled:
                    self._add_spilled(document, position)

    def _add_spilled(self, document: SearchDocument, position: DocumentPosition) -> None:
        """Index the files that a result was written to, in pieces."""
        path = self._source.path
        if path is None or position.place >= MOST_RESULTS:
            return
        for number, name in enumerate(document.spilled):
            if not self._cursor.awaited:
                now = large_texts_state(path)
                self._cursor.awaited = now if tool_result_file(path, name) is None else 0
            for piece in spilled_pieces(path, name):
                part = msgspec.structs.replace(document, text=without_escapes(piece.text), spilled=())
                self._add(part, position._replace(place=spilled_place(position.place, number, piece.offset)))

    def _add_partial(self) -> None:
        """Index the pieces of a response of which no whole record came."""
        for place, (block, document) in enumerate(partial_documents(self._cursor.carry)):
            position = DocumentPosition(
                block.offset, block.length, block.line, place, block.time_ms, in_tail=self._in_tail
            )
            self._add(document, position)
        self._cursor.carry.partial = {}


def scan(
    node: Node, cursors: Mapping[str, Cursor], failures: list[str], pattern: re.Pattern[str] | None = None
) -> Iterator[FoundDocument]:
    """Yield the documents of some files, each from a cursor on, that match a query, and a pattern if one is given."""
    sources: dict[str, FileSource] = {}
    for path, document, position, cwd in units_after(cursors, failures, sources):
        if pattern is not None and not pattern.search(document.text):
            continue
        main = session_file(path)
        project = cwd or guess_project(Path(main))
        facts = DocumentFacts(position.time_ms, position.model, position.branch, project, main)
        if matches(node, document, facts):
            is_record = position.place != META_PLACE
            origin = source_origin(sources[path], position.line, position.offset) if is_record else None
            yield FoundDocument(
                path, position.offset, position.length, position.line, document, position.time_ms, origin
            )


def units_after(
    cursors: Mapping[str, Cursor], failures: list[str], sources: dict[str, FileSource] | None = None
) -> Iterator[tuple[str, SearchDocument, DocumentPosition, str]]:
    """Yield the documents of some files, each from a cursor on, with path, position and the first folder of the file.

    The cursors are moved to the end. A file whose content makes reading fail is added to the failures. Of `sources`,
    only that of the file which is being read stays.
    """
    found: list[tuple[SearchDocument, DocumentPosition]] = []

    def add(document: SearchDocument, position: DocumentPosition) -> None:
        found.append((document, position))

    for path, cursor in cursors.items():
        try:
            with naming_file(path):
                source = FileSource(Path(path))
                if sources is not None:
                    sources.clear()
                    sources[path] = source
                for _ in FilePass(source, cursor, add).run():
                    yield from ((path, *document, cursor.cwd) for document in found)
                    found.clear()
        except (OSError, NotFound):  # deleted in the meantime
            found.clear()
        except Unreadable as error:
            failures.append(str(error))
            found.clear()
