"""The search indexes on disk: tantivy's segments, and in the same commit how far each file was read.

There is an index, and a lock, for each set of folders that was searched: nobody waits for an index of other folders.
Locks are beside the folder of all indexes of a format, so that who deletes that folder can hold them meanwhile.

Nothing that a file says is stored, only where it says it. The index can always be built again, so one that is broken,
of another format or of another user is replaced.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reread.base import jsontext
from reread.disk.cache import FileState, cache_folder
from reread.disk.file_set import OWN
from reread.errors import Unwritable
from reread.index.document import KINDS, ParseState, SearchDocument
from reread.index.engine import tantivy
from reread.index.segments import CHECKED, META, damaged_file, deleted_share, make_private, remove_orphans
from reread.index.terms import LONGEST, prepare, word_pieces
from reread.storage.lock import lock
from reread.storage.safe_open import PRIVATE_FOLDER, is_own, make_own_folder, open_own

FORMAT = 8
"""Change it when documents are made or indexed differently: the index is then built anew."""
NAME = "search"
HEAP = 48 << 20
"""Memory for documents that are not yet in a segment."""
TAIL_BIT = 1 << 62
"""Marks the documents of what follows the last whole line of a file; they are replaced whenever the file grows."""
LEDGER = "ledger"
KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
PLACE_FIELDS = ("file", "offset", "length", "line", "place", "kind", "time")
"""The fields that say where a document is; they are read by column."""
MOST_DELETED = 0.34
"""If a larger part of the index was deleted, it is built anew."""
FEW_DOCUMENTS = 1000
MOST_VALUES = 65_000
"""How many values of a field the engine counts at once."""
FORGET_SECONDS = 120.0
"""How long to wait for it before something is deleted for good."""
REQUEST_SECONDS = 60.0
"""A request for one's turn that is older is no longer of interest."""
LOCK_SECONDS = 10.0
"""How long to wait for another process that updates the index."""
UNUSED_SECONDS = 30 * 86_400.0
"""An index of folders that somebody named is deleted if it was not updated for so long."""


class Cursor(msgspec.Struct, array_like=True):
    """How far a file was read."""

    state: FileState
    offset: int
    """Number of bytes in whole lines that are indexed."""
    proof: bytes
    """The last bytes before the offset; empty if the file can only be read as a whole."""
    carry: ParseState
    cwd: str = ""
    """The first folder that a record names."""
    awaited: int = 0
    """The state of the folders beside the file when a text that a record names was in none; 0 if all were there."""


class DocumentLocation(NamedTuple):
    """Where a document is."""

    file: int
    offset: int
    length: int
    line: int
    place: int
    """Index of the document within its record."""
    kind: int
    """Position in `documents.KINDS`."""
    time_ms: int


class DocumentPosition(NamedTuple):
    """The fields of a document in the index besides its text."""

    offset: int
    length: int
    line: int
    place: int
    time_ms: int
    model: str = ""
    branch: str = ""
    in_tail: bool = False
    """True if the file may still change here: its last line has no end, or a response is still streamed."""


def file_id(path: str) -> int:
    """Return the number that stands for a file in the index."""
    digest = hashlib.blake2b(os.fsencode(path), digest_size=8).digest()
    return int.from_bytes(digest, "big") & (TAIL_BIT - 1)


def indexes_folder() -> Path:
    """Return the folder of all indexes."""
    return cache_folder() / f"{NAME}-{FORMAT}"


def index_folder(name: str = OWN) -> Path:
    """Return the folder of the index of the sessions with a name, see `FileSet`."""
    return indexes_folder() / name


def has_older_index() -> bool:
    """True if there is an index of another format, which the next update replaces, and none of this one."""
    folder = indexes_folder()
    return not folder.exists() and any(other.is_dir() for other in folder.parent.glob(f"{NAME}-*"))


def is_available() -> bool:
    """True if this platform has a search engine."""
    return tantivy is not None


def _schema() -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="words", index_option="position")
    builder.add_text_field("pieces", tokenizer_name="words", index_option="basic")
    for name in ("path", "tool", "model", "branch"):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    builder.add_unsigned_field("file", fast=True, indexed=True)
    builder.add_unsigned_field("kind", fast=True, indexed=True)
    builder.add_unsigned_field("error", indexed=True)
    for name in ("offset", "length", "line", "place"):
        builder.add_unsigned_field(name, fast=True)
    builder.add_integer_field("time", fast=True)
    builder.add_text_field("role", tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field(LEDGER, stored=True)
    return builder.build()


def _analyzer() -> Any:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.lowercase())
    return builder.filter(tantivy.Filter.remove_long(LONGEST + 1)).build()


def _open(folder: Path) -> Any:
    """Open the index in a folder, or create it there; raise ValueError or OSError if it is broken."""
    index = tantivy.Index(_schema(), str(folder), reuse=True)
    index.register_tokenizer("words", _analyzer())
    return index


_decode_ledger = msgspec.msgpack.Decoder(dict[bytes, Cursor]).decode
"""Paths are bytes: a file's name need not be Unicode."""


class BrokenIndex(Exception):
    """The index cannot be read; it is to be dropped and built anew."""


PANIC = "PanicException"
"""The engine's error for what should not happen, which is no Exception; it has no other name."""


class _Raising:
    """Raises another error for those of the engine; a class, since a text is added in less time than a generator."""

    def __init__(self, kind: Callable[[BaseException], Exception]) -> None:
        self._kind = kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, type: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, _ENGINE_ERRORS) or error.__class__.__name__ == PANIC:
            assert error is not None
            raise self._kind(error) from error


_ENGINE_ERRORS = (ValueError, OSError, *jsontext.DECODE_ERRORS)
_reading = _Raising(BrokenIndex)
_writing = _Raising(lambda error: Unwritable(f"Cannot write the search index: {error}.", path=str(indexes_folder())))


def _is_own(folder: Path) -> bool:
    """True if an index has only regular files, and all of it belongs to this user."""
    try:
        found = [os.lstat(folder), *(entry.stat(follow_symlinks=False) for entry in os.scandir(folder))]
    except OSError:
        return False
    is_regular = stat.S_ISDIR(found[0].st_mode) and all(stat.S_ISREG(one.st_mode) for one in found[1:])
    return is_regular and all(map(is_own, found))


class IndexReader:
    """The index as of its last commit; every method may raise BrokenIndex."""

    def __init__(self, folder: Path) -> None:
        if not _is_own(folder):
            raise BrokenIndex(f"{folder} is not a folder of files that belong to this user")
        with _reading:
            damaged = damaged_file(folder)
            if damaged is not None:
                raise BrokenIndex(f"{folder / damaged} is not as it was written")
            self._open(folder)

    def _open(self, folder: Path) -> None:
        self.index: Any = _open(folder)
        self.index.reload()
        self.schema: Any = self.index.schema
        self.searcher: Any = self.index.searcher()
        self.cursors: dict[str, Cursor] = self._ledger()
        self.paths: dict[int, str] = {file_id(path): path for path in self.cursors}

    def _ledger(self) -> dict[str, Cursor]:
        query = tantivy.Query.term_query(self.schema, "role", LEDGER)
        hits = self.searcher.search(query, 1, count=False).hits
        stored = self.searcher.doc(hits[0][1]).get_first(LEDGER) if hits else None
        ledger = _decode_ledger(bytes(stored)) if stored else {}
        return {os.fsdecode(path): cursor for path, cursor in ledger.items()}

    def path_of(self, file: int) -> str | None:
        """Return the path of the file with this number."""
        return self.paths.get(file & (TAIL_BIT - 1))

    def places(self, addresses: list[Any]) -> list[DocumentLocation]:
        """Return where some documents are."""
        if not addresses:
            return []
        with _reading:
            columns = [self.searcher.fast_field_values(name, addresses) for name in PLACE_FIELDS]
            places = [DocumentLocation(*values) for values in zip(*columns, strict=True)]
        if max(place.kind for place in places) >= len(KINDS):
            raise BrokenIndex("a text of an unknown kind")
        return places

    def search(self, query: Any, count: int, **options: Any) -> Any:
        """Return the documents that a query finds."""
        with _reading:
            return self.searcher.search(query, max(1, min(count, self.searcher.num_docs)), **options)

    def count(self, query: Any, field: str, most: int, *, last: bool = False) -> list[dict[str, Any]]:
        """Return how many documents of a query have each value of a field, and the `last` time of each if asked for."""
        values = {"terms": {"field": field, "size": max(1, min(most, MOST_VALUES))}}
        return self._aggregate(query, {**values, "aggs": {"last": {"max": {"field": "time"}}}} if last else values)

    def count_between(self, query: Any, bounds: Sequence[int]) -> list[int]:
        """Return how many documents of a query are of a time between each of some bounds and the next."""
        ranges = [{"from": start, "to": end} for start, end in pairwise(bounds)]
        found = self._aggregate(query, {"range": {"field": "time", "ranges": ranges}})
        counts = {(one.get("from"), one.get("to")): int(one["doc_count"]) for one in found}
        return [counts[span] for span in pairwise(bounds)]

    def time_span(self, query: Any) -> tuple[int, int] | None:
        """Return the times of the oldest and the newest document of a query; None if it finds none."""
        orders = (tantivy.Order.Asc, tantivy.Order.Desc)
        ends = [self.search(query, 1, order_by_field="time", order=order).hits for order in orders]
        return (ends[0][0][0], ends[1][0][0]) if all(ends) else None

    def _aggregate(self, query: Any, by: dict[str, Any]) -> list[dict[str, Any]]:
        with _reading:
            return self.searcher.aggregate(query, {"values": by})["values"]["buckets"]


def open_reader(name: str = OWN) -> IndexReader | None:
    """Open an index for searching; None if there is none, or it is broken."""
    folder = index_folder(name)
    if tantivy is None or not os.path.exists(folder / META):
        return None
    for _ in range(3):  # files may be swept away between reading the list of segments and opening them
        try:
            return IndexReader(folder)
        except BrokenIndex:
            continue
    return None


def drop_index(name: str = OWN) -> None:
    """Delete an index, unless another process is changing it, which notices itself that it is broken."""
    folder = index_folder(name)
    with _locked(folder, 0.0) as is_locked:
        if is_locked:
            _remove(folder)


def drop_indexes_with(is_meant: Callable[[str], bool]) -> None:
    """Delete the indexes that know one of some files, and those of other formats: no word of these files is left.

    It happens under the lock of each, so that none is committed later by a process that has read the files before.
    """
    for other in _other_formats():
        if not _remove_format(other, FORGET_SECONDS):
            raise _busy(other)
    for folder in sorted(indexes_folder().glob("*/")):
        with _locked(folder, FORGET_SECONDS) as is_locked:
            if not is_locked:
                raise _busy(folder)
            reader = open_reader(folder.name)
            if reader is None or any(map(is_meant, reader.cursors)):
                _remove(folder)


def _busy(folder: Path) -> Unwritable:
    reason = "another process is writing there; try again when it is done"
    return Unwritable(f"Cannot delete from the search index {folder}: {reason}.", path=str(folder))


def _other_formats() -> list[Path]:
    """Return the folders of indexes of other formats."""
    folder = indexes_folder()
    return [other for other in folder.parent.glob(f"{NAME}-*") if other != folder and other.is_dir()]


def _remove_format(folder: Path, wait: float = 0.0) -> bool:
    """Delete the indexes of another format under all of their locks; False if another version of reread has one.

    Those of 0.2 were one index, with a lock beside it.
    """
    locks = [*folder.parent.glob(f"{folder.name}-*.lock"), *folder.parent.glob(f"{folder.name}.lock")]
    with ExitStack() as held, _writing:
        for path in sorted({*locks, *folder.glob("*.lock")}):
            descriptor = open_own(path, os.O_RDWR)
            held.callback(os.close, descriptor)
            if not lock(descriptor, wait=wait):
                return False
        _remove(folder)
    return True


def _beside(folder: Path, suffix: str) -> Path:
    """Return a file that belongs to an index, beside the folder of all of its format."""
    return folder.parent.with_name(f"{folder.parent.name}-{folder.name}{suffix}")


@contextmanager
def _locked(folder: Path, wait: float) -> Generator[bool]:
    """Be the only one who changes an index; False if another process does not end, or yield, within the wait."""
    with _writing:
        make_own_folder(cache_folder())
        make_own_folder(folder.parent)
        descriptor = open_own(_beside(folder, ".lock"), os.O_RDWR | os.O_CREAT)
    try:
        yield lock(descriptor, wait=wait, waiting=lambda: _ask_for_turn(folder))
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> None:
    """Delete a folder, or whatever is in its place."""
    if os.path.isdir(folder) and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
    else:
        with suppress(OSError):
            folder.unlink(missing_ok=True)


class IndexUpdate:
    """A change of the index: documents are added and deleted, and all of it is committed at once.

    Every method may raise Unwritable; then only `abandon` may be called.
    """

    def __init__(self, folder: Path) -> None:
        self.reader: IndexReader = IndexReader(folder)
        self.cursors: dict[str, Cursor] = self.reader.cursors
        self.folder = folder
        self._writer: Any = None

    @property
    def writer(self) -> Any:
        """The writer, opened when first needed."""
        if self._writer is None:
            with _writing:
                self._writer = self.reader.index.writer(HEAP, 1)
        return self._writer

    def add(self, file: int, document: SearchDocument, position: DocumentPosition) -> None:
        """Add a document of a file."""
        entry = tantivy.Document()
        text = prepare(document.text)
        entry.add_text("text", text)
        pieces = word_pieces(text)
        if pieces:
            entry.add_text("pieces", " ".join(pieces))
        for name, value in (("tool", document.tool), ("model", position.model), ("branch", position.branch)):
            if value:
                entry.add_text(name, prepare(value))
        for path in document.files:
            entry.add_text("path", prepare(path))
        if document.error:
            entry.add_unsigned("error", 1)
        entry.add_unsigned("file", file | TAIL_BIT if position.in_tail else file)
        entry.add_unsigned("kind", KIND_NUMBERS[document.kind])
        entry.add_unsigned("offset", position.offset)
        entry.add_unsigned("length", position.length)
        entry.add_unsigned("line", position.line)
        entry.add_unsigned("place", position.place)
        entry.add_integer("time", position.time_ms)
        with _writing:
            self.writer.add_document(entry)

    def delete(self, file: int, *, tail_only: bool = False) -> None:
        """Delete the documents of a file, or those of its last incomplete line."""
        for number in (file | TAIL_BIT,) if tail_only else (file | TAIL_BIT, file):
            # deleting by term does nothing for numbers (tantivy-py 0.27)
            query = tantivy.Query.term_query(self.reader.schema, "file", number)
            with _writing:
                self.writer.delete_documents_by_query(query)

    def commit(self) -> None:
        """Make the changes visible, with the cursors that vouch for them."""
        entry = tantivy.Document()
        entry.add_text("role", LEDGER)
        ledger = {os.fsencode(path): cursor for path, cursor in self.cursors.items()}
        entry.add_bytes(LEDGER, msgspec.msgpack.encode(ledger))
        with _writing:
            self.writer.delete_documents_by_term("role", LEDGER)
            self.writer.add_document(entry)
            self.writer.commit()

    def close(self) -> None:
        """Finish merging and release the writer."""
        if self._writer is not None:
            with _writing:
                self._writer.wait_merging_threads()
            self._writer = None
            remove_orphans(self.folder)
            damaged_file(self.folder)  # notes the checksums of what was just written
            make_private(self.folder)

    def abandon(self) -> None:
        """Give up after a failure: the last commit stays, unless there is room on the disk, so that it is broken."""
        self._writer = None
        remove_orphans(self.folder)
        if shutil.disk_usage(self.folder).free > HEAP:
            _remove(self.folder)


@contextmanager
def open_update(name: str = OWN, wait: float = LOCK_SECONDS) -> Generator[IndexUpdate | None]:
    """Open an index for a change; None if another process is changing it. Raises Unwritable if it cannot be."""
    folder = index_folder(name)
    if tantivy is None:
        raise Unwritable("Cannot write the search index: there is no search engine for this platform.")
    with _locked(folder, wait) as is_locked:
        update = _begin(folder) if is_locked else None
        try:
            yield update
            if update is not None:
                update.close()
        except Unwritable:
            if update is not None:
                update.abandon()
            raise


def _waiting_file(folder: Path) -> Path:
    return _beside(folder, ".waiting")


def _ask_for_turn(folder: Path) -> None:
    """Say that this process waits: whoever updates the index for long lets others go first in between."""
    with _writing:
        os.close(open_own(_waiting_file(folder), os.O_RDWR | os.O_CREAT))
        os.utime(_waiting_file(folder))


def take_request(folder: Path) -> bool:
    """True if another process has asked for its turn lately; asking this takes the request."""
    try:
        asked = _waiting_file(folder).stat().st_mtime
        _waiting_file(folder).unlink()
    except OSError:
        return False
    return time.time() - asked < REQUEST_SECONDS


def _begin(folder: Path) -> IndexUpdate:
    """Begin a change of the index; one that is broken is built anew, and those of no more use are removed."""
    for other in _other_formats():
        _remove_format(other)  # one in use is left for the next time
    _remove_unused(folder)
    if not _is_own(folder) or deleted_share(folder, FEW_DOCUMENTS) > MOST_DELETED:
        _remove(folder)
    remove_orphans(folder)
    with suppress(BrokenIndex):
        return _opened(folder)
    _remove(folder)
    try:
        return _opened(folder)
    except BrokenIndex as error:
        raise Unwritable(f"Cannot write the search index: {error}.", path=str(folder)) from error


def _remove_unused(folder: Path) -> None:
    """Delete indexes of folders that nobody has searched for long."""
    for other in folder.parent.glob("*/"):
        if other not in (folder, index_folder()) and _age(other) > UNUSED_SECONDS:
            with _locked(other, 0.0) as is_locked:
                if is_locked and _age(other) > UNUSED_SECONDS:
                    _remove(other)


def _age(folder: Path) -> float:
    """Return for how many seconds an index was not updated, or its checksums compared."""
    with suppress(OSError):
        return time.time() - (folder / CHECKED).stat().st_mtime
    return 0.0


def _opened(folder: Path) -> IndexUpdate:
    with _writing, suppress(FileExistsError):
        folder.mkdir(mode=PRIVATE_FOLDER)
    return IndexUpdate(folder)
