"""Write the rows of transcripts as Parquet: a part for each month, which ends when it is large enough."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from reread.base.optional_dependencies import require
from reread.base.times import month_of
from reread.dataset.arrow import RecordBatch, RowBuffer, Schema, arrow_schema, pyarrow
from reread.dataset.figures import FIGURES, PERSON, RowMask
from reread.dataset.figures import PER_FILE as FIGURES_PER_FILE
from reread.dataset.manifest import TablePart, file_name
from reread.dataset.schema import CALLS, PARTITIONS, PER_FILE, TABLES, USAGE, VERSION, Row, TableSchema, written_version
from reread.dataset.table_files import TableFiles
from reread.dataset.transcripts import TranscriptFile
from reread.errors import Unreadable

parquet: Any = require("pyarrow.parquet")
compute: Any = require("pyarrow.compute")

LARGEST_PART = 64 << 20
"""A part ends with the transcript that makes it larger than this."""
OPEN_PARTS = 4
"""How many months are written at once; transcripts come nearly in the order of time."""
COMPRESSION = "zstd"
SKIP = len(PARTITIONS)


class HashedFile(io.BufferedIOBase):
    """A file that is written from its beginning to its end, and the hash of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


class TableFile:
    """A Parquet file that is being written."""

    def __init__(self, place: TableFiles, name: str, table: str, *, text: bool, figures: RowMask | None = None) -> None:
        self.name = name
        self.rows: int = 0
        self.months: set[str | None] = set()
        """In tables for a team, the months in which its calls began."""
        self._table, self._figures = table, figures
        self._buffer = RowBuffer(FIGURES[table] if figures else TABLES[table], text=text, skip=SKIP)
        self._file = HashedFile(place.write(name))
        self._writer = parquet.ParquetWriter(self._file, self._buffer.schema, compression=COMPRESSION)

    def add(self, row: Row, mask: RowMask | None = None) -> None:
        """Add one row; `mask` takes the words out of it in another way than the file's own."""
        mask = mask or self._figures
        self._buffer.add(row if mask is None else mask.row(self._table, row))
        if self._buffer.is_full:
            self._flush()

    def add_batch(self, batch: RecordBatch) -> None:
        """Add rows that come from another file."""
        self._flush()
        self._write(batch)

    def close(self) -> int:
        """Finish the file and return its size in bytes."""
        try:
            self._flush()
            self._writer.close()
            return self._file.tell()
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Close the file without its rows: only the writer is ended, or it would try to write later."""
        if not self._file.closed:
            with suppress(OSError), self._file:
                self._writer.close()
        self._writer.is_open = False

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.tell()

    @property
    def sha256(self) -> str:
        """The hash of what was written."""
        return self._file.hash.hexdigest()

    def _flush(self) -> None:
        if self._buffer.rows:
            self._write(self._buffer.take())

    def _write(self, batch: RecordBatch) -> None:
        if batch.num_rows:
            self.rows += batch.num_rows
            if self._figures is not None and self._table == CALLS.name:
                began = compute.unique(batch.column("time")).cast(pyarrow.int64()).to_pylist()
                self.months |= {month_of(time if time is None else time // 1000) for time in began}
            self._writer.write_table(pyarrow.Table.from_batches([batch]))


class PartWriter:
    """A part that is being written."""

    def __init__(
        self, place: TableFiles, machine: str, month: str | None, *, text: bool, figures: RowMask | None = None
    ) -> None:
        self.id: str = secrets.token_hex(8)
        self.month = month
        self._place, self._machine, self._text, self._figures = place, machine, text, figures
        self._files: dict[str, TableFile] = {}
        self._transcripts: dict[str, str] = {}

    def add_rows(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Add rows, each with the name of its table."""
        for table, row in rows:
            self._file(table).add(row)

    def add_part(self, part: TablePart, without: Collection[str], mask: RowMask | None = None) -> None:
        """Add what another part has, except for some transcripts; `mask` takes the words out that it still has."""
        left = {path: state for path, state in part.transcripts.items() if path not in without}
        known = TABLES if self._figures is None or mask is not None else FIGURES
        for table, name in part.files(self._machine).items() if left else ():
            if self._figures is not None and table not in FIGURES:
                continue
            skipped = without if len(left) < len(part.transcripts) else ()
            for batch in read_batches(self._place, name, skipped, table=known[table]):
                if mask is None:
                    self._file(table).add_batch(batch)
                    continue
                for row in _rows_of(batch):
                    self._file(table).add((self._machine, part.month, *row), mask)
        self._transcripts |= left if mask is None else {mask.path(path): "" for path in left}

    def add_transcript(self, path: str, state: str) -> None:
        """Note the state of a transcript; without one, its rows are replaced the next time."""
        self._transcripts[path] = state

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return sum(file.size for file in self._files.values())

    def finish(self) -> TablePart:
        """Finish all files; they have no names yet."""
        size = sum(file.close() for file in self._files.values())
        rows = {table: file.rows for table, file in self._files.items()}
        hashes = {table: file.sha256 for table, file in self._files.items()}
        calls = self._files.get(CALLS.name)
        months = sorted(calls.months, key=str) if calls is not None else []
        return TablePart(self.id, self.month, rows, size, self._transcripts, hashes, months)

    def abandon(self) -> None:
        """Close and delete the files."""
        for file in self._files.values():
            file.abandon()
            self._place.delete(file.name)

    def _file(self, table: str) -> TableFile:
        found = self._files.get(table)
        if found is None:
            name = file_name(table, self._machine, self.month, self.id)
            found = self._files[table] = TableFile(self._place, name, table, text=self._text, figures=self._figures)
        return found


class PartsWriter:
    """Writes transcripts into parts by month; as many are open as are needed."""

    def __init__(self, place: TableFiles, machine: str, *, text: bool, figures: RowMask | None = None) -> None:
        self._place, self._machine, self._text, self._figures = place, machine, text, figures
        self._open: dict[str | None, PartWriter] = {}
        self.finished: list[TablePart] = []

    def add_transcript(self, transcript: TranscriptFile, state: str) -> None:
        """Write the rows of a transcript."""
        part = self._part(transcript.origin.month)
        figures, path = self._figures, transcript.origin.path
        path = path if figures is None else figures.path(path)
        part.add_transcript(path, "")
        part.add_rows(transcript.rows(PER_FILE if figures is None else FIGURES_PER_FILE, text=self._text))
        part.add_transcript(path, state)
        self._finish_large(part)

    def add_part(self, part: TablePart, without: Collection[str], mask: RowMask | None = None) -> None:
        """Copy a part, except for some transcripts."""
        writer = self._part(part.month)
        writer.add_part(part, without, mask)
        self._finish_large(writer)

    def finish(self) -> list[TablePart]:
        """Finish all parts and return those with transcripts; their files have no names yet."""
        for month in list(self._open):
            self._finish(month)
        return self.finished

    def abandon(self) -> None:
        """Delete everything that was written."""
        for writer in self._open.values():
            writer.abandon()
        for part in self.finished:
            for name in part.files(self._machine).values():
                self._place.delete(name)

    def _part(self, month: str | None) -> PartWriter:
        found = self._open.pop(month, None)
        if found is None:
            if len(self._open) >= OPEN_PARTS:
                self._finish(next(iter(self._open)))
            found = PartWriter(self._place, self._machine, month, text=self._text, figures=self._figures)
        self._open[month] = found  # the one that was used last comes last
        return found

    def _finish_large(self, part: PartWriter) -> None:
        if part.size >= LARGEST_PART:
            self._finish(part.month)

    def _finish(self, month: str | None) -> None:
        part = self._open[month].finish()
        del self._open[month]
        if part.transcripts:
            self.finished.append(part)


def write_usage(
    place: TableFiles, machine: str, month: str | None, rows: Iterable[Row], figures: RowMask | None = None
) -> TablePart:
    """Write rows of `usage` of one month; the file has no name yet."""
    part = PartWriter(place, machine, month, text=False, figures=figures)
    try:
        part.add_rows((USAGE.name, row) for row in rows)
        return part.finish()
    except BaseException:
        part.abandon()
        raise


def write_result(path: Path, schema: Schema, found: Iterable[RecordBatch]) -> None:
    """Write the rows of a query to a Parquet file; it appears when it is whole."""
    if not path.parent.is_dir() or path.is_dir():
        code = errno.EISDIR if path.is_dir() else errno.ENOENT
        raise OSError(code, os.strerror(code), str(path))
    place, name = TableFiles(path.parent), path.name
    file = place.write(name)
    try:
        with file, parquet.ParquetWriter(file, schema, compression=COMPRESSION) as writer:
            for batch in found:
                writer.write_batch(batch)
        place.publish(name)
    except BaseException:
        place.delete(name)
        raise


def read_batches(
    place: TableFiles, name: str, without: Collection[str] = (), *, table: TableSchema | None = None
) -> Iterator[RecordBatch]:
    """Yield the rows of a file, without those of some transcripts."""
    with place.open(name) as file:
        left_out = pyarrow.array(without, pyarrow.string())
        for batch in file_batches(file, place.location(name), table=table or TABLES[name.partition("/")[0]]):
            if without:
                batch = batch.filter(compute.invert(compute.is_in(batch.column("path"), value_set=left_out)))
            yield batch


def file_batches(
    file: IO[bytes], where: str, columns: Sequence[str] | None = None, *, table: TableSchema
) -> Iterator[RecordBatch]:
    """Yield the rows of an open file, with all columns or some; raise Unreadable if it is damaged, or lacks one.

    What an earlier version wrote may lack columns, and so do tables for a team: they are null.
    """
    try:
        opened = parquet.ParquetFile(file)
        about = opened.schema_arrow
        called = table.names_in(written_version(about.metadata))
        there = {name: found for name, found in called.items() if found in about.names}
        text = any(column.text and column.name in there for column in table.columns)
        names = list(columns) if columns is not None else table.names(text=text)[SKIP:]
        missing = set(names) - there.keys()
        if missing and written_version(about.metadata) >= VERSION and PERSON.name not in about.names:
            raise ValueError(f"it has no column {min(missing)}")
        every = arrow_schema(table, text=True)
        schema = pyarrow.schema([every.field(name) for name in names])
        for batch in opened.iter_batches(columns=[there[name] for name in names if name in there]):
            arrays = [
                batch.column(there[field.name]) if field.name in there else pyarrow.nulls(batch.num_rows, field.type)
                for field in schema
            ]
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        message = f"Cannot read {where}: {error}; delete the folder and write the tables anew."
        raise Unreadable(message, path=where) from error


def _rows_of(batch: RecordBatch) -> Iterator[Row]:
    """Yield rows as they were made: a time is in milliseconds."""
    columns = [
        compute.divide(column.cast(pyarrow.int64()), 1000) if pyarrow.types.is_timestamp(column.type) else column
        for column in batch.columns
    ]
    yield from zip(*(column.to_pylist() for column in columns), strict=True)
