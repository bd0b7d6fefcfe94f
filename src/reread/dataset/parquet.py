"""Write the rows of transcripts as Parquet: a part for each month, which ends when it is large enough."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from reread.base.optional_dependencies import require
from reread.dataset.arrow import RecordBatch, RowBuffer, Schema, arrow_schema, pyarrow
from reread.dataset.manifest import TablePart, file_name
from reread.dataset.schema import PARTITIONS, TABLES, USAGE, VERSION, Row, TableSchema
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


class TableFile:
    """A Parquet file that is being written."""

    def __init__(self, place: TableFiles, name: str, table: str, *, text: bool) -> None:
        self.name = name
        self.rows: int = 0
        self._buffer = RowBuffer(TABLES[table], text=text, skip=SKIP)
        self._file: IO[bytes] = place.write(name)
        self._writer = parquet.ParquetWriter(self._file, self._buffer.schema, compression=COMPRESSION)

    def add(self, row: Row) -> None:
        """Add one row."""
        self._buffer.add(row)
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

    def _flush(self) -> None:
        if self._buffer.rows:
            self._write(self._buffer.take())

    def _write(self, batch: RecordBatch) -> None:
        if batch.num_rows:
            self.rows += batch.num_rows
            self._writer.write_table(pyarrow.Table.from_batches([batch]))


class PartWriter:
    """A part that is being written."""

    def __init__(self, place: TableFiles, machine: str, month: str | None, *, text: bool) -> None:
        self.id: str = secrets.token_hex(8)
        self.month = month
        self._place, self._machine, self._text = place, machine, text
        self._files: dict[str, TableFile] = {}
        self._transcripts: dict[str, str] = {}

    def add_rows(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Add rows, each with the name of its table."""
        for table, row in rows:
            self._file(table).add(row)

    def add_part(self, part: TablePart, without: Collection[str]) -> None:
        """Add what another part has, except for some transcripts."""
        left = {path: state for path, state in part.transcripts.items() if path not in without}
        for table, name in part.files(self._machine).items() if left else ():
            for batch in read_batches(self._place, name, without if len(left) < len(part.transcripts) else ()):
                self._file(table).add_batch(batch)
        self._transcripts |= left

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
        return TablePart(self.id, self.month, rows, size, self._transcripts)

    def abandon(self) -> None:
        """Close and delete the files."""
        for file in self._files.values():
            file.abandon()
            self._place.delete(file.name)

    def _file(self, table: str) -> TableFile:
        found = self._files.get(table)
        if found is None:
            name = file_name(table, self._machine, self.month, self.id)
            found = self._files[table] = TableFile(self._place, name, table, text=self._text)
        return found


class PartsWriter:
    """Writes transcripts into parts by month; as many are open as are needed."""

    def __init__(self, place: TableFiles, machine: str, *, text: bool) -> None:
        self._place, self._machine, self._text = place, machine, text
        self._open: dict[str | None, PartWriter] = {}
        self.finished: list[TablePart] = []

    def add_transcript(self, transcript: TranscriptFile, state: str) -> None:
        """Write the rows of a transcript."""
        part = self._part(transcript.origin.month)
        part.add_transcript(transcript.origin.path, "")
        part.add_rows(transcript.rows(text=self._text))
        part.add_transcript(transcript.origin.path, state)
        self._finish_large(part)

    def add_part(self, part: TablePart, without: Collection[str]) -> None:
        """Copy a part, except for some transcripts."""
        writer = self._part(part.month)
        writer.add_part(part, without)
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
            found = PartWriter(self._place, self._machine, month, text=self._text)
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


def write_usage(place: TableFiles, machine: str, month: str | None, rows: Iterable[Row]) -> TablePart:
    """Write rows of `usage` of one month; the file has no name yet."""
    part = PartWriter(place, machine, month, text=False)
    try:
        part.add_rows((USAGE.name, row) for row in rows)
        return part.finish()
    except BaseException:
        part.abandon()
        raise


def write_result(path: Path, schema: Schema, found: Iterable[RecordBatch]) -> None:
    """Write the rows of a query to a Parquet file; it appears when it is whole."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
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


def read_batches(place: TableFiles, name: str, without: Collection[str] = ()) -> Iterator[RecordBatch]:
    """Yield the rows of a file, without those of some transcripts."""
    with place.open(name) as file:
        left_out = pyarrow.array(without, pyarrow.string())
        for batch in file_batches(file, place.location(name), table=TABLES[name.partition("/")[0]]):
            if without:
                batch = batch.filter(compute.invert(compute.is_in(batch.column("path"), value_set=left_out)))
            yield batch


def file_batches(
    file: IO[bytes], where: str, columns: Sequence[str] | None = None, *, table: TableSchema
) -> Iterator[RecordBatch]:
    """Yield the rows of an open file, with all columns or some; raise Unreadable if it is damaged, or lacks one.

    What an earlier version wrote may lack columns: they are null.
    """
    try:
        opened = parquet.ParquetFile(file)
        there = set(opened.schema_arrow.names)
        text = any(column.text and column.name in there for column in table.columns)
        names = list(columns) if columns is not None else table.names(text=text)[SKIP:]
        missing = set(names) - there
        if missing and not _is_older(opened.schema_arrow):
            raise ValueError(f"it has no column {min(missing)}")
        every = arrow_schema(table, text=True)
        schema = pyarrow.schema([every.field(name) for name in names])
        for batch in opened.iter_batches(columns=[name for name in names if name in there]):
            arrays = [
                batch.column(field.name) if field.name in there else pyarrow.nulls(batch.num_rows, field.type)
                for field in schema
            ]
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        message = f"Cannot read {where}: {error}; delete the folder and write the tables anew."
        raise Unreadable(message, path=where) from error


def _is_older(schema: Schema) -> bool:
    """True if an earlier version of the tables has written a file with this schema."""
    said: dict[bytes, bytes] = schema.metadata or {}
    version = said.get(b"reread.tables_version", b"")
    return version.isdigit() and int(version) < VERSION
