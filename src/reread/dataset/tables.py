"""Sessions as Arrow tables, from transcripts or from the Parquet files made of them.

pyarrow is imported when a table is asked for: this module has public names, which must be there without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec

from reread.base.addons import named_parts
from reread.base.optional_dependencies import require
from reread.catalog.team_settings import team_settings
from reread.dataset.manifest import TablesManifest, newest_manifests
from reread.dataset.report import Progress, TablesReport
from reread.dataset.schema import PARTITIONS, TABLES, USAGE, Row
from reread.dataset.table_files import TableFiles, table_files
from reread.dataset.transcripts import TranscriptFile
from reread.dataset.usage_rows import settled_rows
from reread.disk.derived_cache import times_forgotten
from reread.disk.file_set import FileSet, find_files
from reread.disk.machine import machine_id
from reread.errors import Misuse, NotFound, RereadError, Unreadable, naming_file

RecordBatch = RecordBatchReader = Any
"""The types of pyarrow, which has no type stubs."""
OpenedFile = tuple[str, str | None, Any]
"""Machine and month of a Parquet file, and the open file."""


def tables(
    folder: str | Path | None = None, *, root: str | Path | Sequence[str | Path] | None = None, text: bool = False
) -> Tables:
    """Return all sessions of this machine, or those below `root`, as tables.

    `tables()["calls"]` is an Arrow `RecordBatchReader`. It reads transcripts while it is read, one at a time. With
    `folder`, or the address of one in a bucket, it reads the Parquet files that `write` or `reread tables -o` wrote
    there, of all machines. `text` adds the columns with what was said.
    """
    require("pyarrow")
    if folder is None:
        return Tables(find_in=[root] if isinstance(root, str | Path) else root, text=text)
    if root is not None:
        raise Misuse("Cannot read the tables of a folder and of a root together; use one of them.")
    return WrittenTables(table_files(folder), text=text)


def _committer(iceberg: str | None, warehouse: str | None) -> Callable[[TableFiles, str], int | None]:
    """Return what commits to a catalogue, which is opened first: nothing is written if it cannot be."""
    if iceberg is None:
        return lambda place, machine: None
    sink = named_parts("sinks").get("iceberg")
    if sink is None:
        raise Misuse("Cannot commit to a catalogue: the add-on `iceberg` is not there; install reread again.")
    return sink.load()(iceberg, warehouse)


class Tables(Mapping[str, RecordBatchReader]):
    """The tables by name, read from transcripts; each time one is asked for, it is read from its beginning."""

    def __init__(self, find_in: Sequence[str | Path] | None = None, *, text: bool = False) -> None:
        self.text = text
        """True if they have the columns with text."""
        self.unread: list[str] = []
        """Transcripts that could not be read, filled while tables are read."""
        self._roots = find_in
        self._place: TableFiles | None = None

    def __getitem__(self, name: str) -> RecordBatchReader:
        from reread.dataset.arrow import arrow_schema, pyarrow

        if name not in TABLES:
            raise KeyError(name)
        schema = arrow_schema(TABLES[name], text=self.text)
        return pyarrow.RecordBatchReader.from_batches(schema, self._batches(name))

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)

    def write(
        self,
        folder: str | Path | None = None,
        *,
        iceberg: str | None = None,
        warehouse: str | None = None,
        figures: bool = False,
        keep_deleted: bool = False,
        progress: Progress | None = None,
    ) -> TablesReport:
        """Write the tables to a folder or bucket as Parquet, or bring them up to date, reading only what changed.

        With `figures`, write those for a team, without words, as the person that the configuration names.

        With `iceberg`, the name or address of a catalogue, commit to its tables what changed; then a folder is not
        needed. The files of a new table go below `warehouse`. Rows of transcripts that are gone are removed, unless
        `keep_deleted`.
        """
        from reread.dataset.figures import RowMask
        from reread.dataset.local_tables import drop_if_forgotten, own_place
        from reread.dataset.update import TableUpdate

        if folder is None and iceberg is None:
            raise Misuse("Cannot write tables without a folder; give one, or an Iceberg catalogue.")
        if folder is None and keep_deleted:
            raise Misuse("Cannot keep the rows of deleted transcripts without a folder that has them; give one.")
        if figures and self.text:
            raise Misuse("Cannot write text for a team; leave out text, or write to a folder without `figures`.")
        own = RowMask(team_settings()) if figures else None
        commit = _committer(iceberg, warehouse)
        before, files, machine = times_forgotten(), find_files(self._roots), machine_id()
        if folder is not None:
            place = table_files(folder)
        else:
            place = own_place(files, text=self.text, team=own.settings.key if own is not None else None)
        options: dict[str, Any] = {
            "text": self.text,
            "keep_deleted": keep_deleted,
            "progress": progress,
            "figures": own,
        }
        try:
            report = TableUpdate(place, machine, files, **options).run()[1]
            return msgspec.structs.replace(report, commits=commit(place, machine))
        finally:
            if folder is None:
                drop_if_forgotten(place, before)

    def sql(self, query: str) -> RecordBatchReader:
        """Return the rows of a query on DuckDB, which reads written tables: those of sessions are kept in the cache."""
        from reread.dataset.sql import open_database

        with open_database(self._place, self._roots, text=self.text) as database:
            return database.read_all(query).to_reader()

    def _batches(self, name: str) -> Iterator[RecordBatch]:
        from reread.dataset.arrow import batches

        machine, files = machine_id(), find_files(self._roots)
        rows = settled_rows(files, machine) if name == USAGE.name else self._rows(name, machine, files)
        yield from batches(TABLES[name], rows, text=self.text)

    def _rows(self, name: str, machine: str, files: FileSet) -> Iterator[Row]:
        for path in sorted(files.states):
            try:
                with naming_file(path):
                    yield from (row for _, row in TranscriptFile(path, machine).rows([name], text=self.text))
            except (RereadError, OSError):
                self.unread.append(path)


class WrittenTables(Tables):
    """Tables read from Parquet files, as the newest manifest of each machine names them."""

    def __init__(self, place: TableFiles, *, text: bool = False) -> None:
        super().__init__(text=text)
        self.place = self._place = place

    def manifests(self) -> list[TablesManifest]:
        """Return the newest manifest of each machine."""
        found = newest_manifests(self.place)
        if not found:
            raise NotFound(f"No tables in {self.place.location('')}; write them there with `reread tables -o`.")
        for manifest in found:
            if self.text and not manifest.text:
                raise Misuse(f"The tables of {manifest.machine} have no text; write them with `reread tables --text`.")
        return found

    def write(self, *_: Any, **__: Any) -> TablesReport:
        """Raise Misuse: these tables are written already."""
        raise Misuse("Cannot write tables that were read from a folder; use `reread.tables()` without one.")

    def _batches(self, name: str) -> Iterator[RecordBatch]:
        """Yield the rows of a table; all its files are opened first, so that later changes do not matter."""
        from reread.dataset.arrow import arrow_schema, pyarrow
        from reread.dataset.parquet import compute

        schema = arrow_schema(TABLES[name], text=self.text)
        with ExitStack() as stack:
            opened = self._open(name, stack)
            left_out = self._copies(name, opened)
            first = 0
            for batch in self._stored_batches(name, schema, opened):
                positions = pyarrow.array(range(first, first := first + batch.num_rows))
                yield batch.filter(compute.invert(compute.is_in(positions, value_set=left_out)))

    def _copies(self, name: str, opened: list[OpenedFile]) -> Any:
        """Return the positions of the rows that do not count, because another machine has them too."""
        from reread.dataset.arrow import arrow_schema, pyarrow
        from reread.dataset.copies import counted

        if len({machine for machine, _, _ in opened}) < 2:
            return pyarrow.array([], pyarrow.int64())
        duckdb: Any = require("duckdb")
        schema = arrow_schema(TABLES[name], text=False)
        batches = self._stored_batches(name, schema, opened)
        with duckdb.connect(":memory:", config={"temp_directory": ""}) as connection:
            connection.register("rows", pyarrow.RecordBatchReader.from_batches(schema, batches))
            connection.execute("CREATE TABLE numbered AS SELECT *, row_number() OVER () - 1 AS position FROM rows")
            query = f"SELECT position FROM numbered WHERE NOT ({counted(name, 'numbered')})"
            return connection.sql(query).to_arrow_table().column(0).combine_chunks()

    def _stored_batches(self, name: str, schema: Any, opened: list[OpenedFile]) -> Iterator[RecordBatch]:
        from reread.dataset.arrow import pyarrow
        from reread.dataset.parquet import file_batches

        for machine, month, file in opened:
            file.seek(0)
            for batch in file_batches(
                file, self.place.location(name), schema.names[len(PARTITIONS) :], table=TABLES[name]
            ):
                own = [pyarrow.array([value] * batch.num_rows, pyarrow.string()) for value in (machine, month)]
                yield pyarrow.RecordBatch.from_arrays([*own, *batch.columns], schema=schema)

    def _open(self, name: str, stack: ExitStack) -> list[OpenedFile]:
        """Open the files of a table; if one is deleted meanwhile, a newer manifest names others."""
        tried: list[TablesManifest] = []
        while (manifests := self.manifests()) != tried:
            tried = manifests
            opened: list[OpenedFile] = []
            with suppress(FileNotFoundError), ExitStack() as attempt:
                named = [
                    (manifest.machine, month, file)
                    for manifest in manifests
                    for table, month, file in manifest.files()
                    if table == name
                ]
                self.place.fetch(file for _, _, file in named)
                for machine, month, file in named:
                    opened.append((machine, month, attempt.enter_context(self.place.open(file))))
                stack.push(attempt.pop_all())
                return opened
        where = self.place.location(name)
        raise Unreadable(f"Cannot read {where}: a file is missing; run `reread tables -o` again to write it.")
