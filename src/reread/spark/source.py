"""The data source: tables of sessions, one task for some files, as Arrow batches."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reread.dataset.arrow import RecordBatch, batches, pyarrow
from reread.dataset.extra import require
from reread.dataset.schema import BOOLEAN, FLOAT, INTEGER, STRING, TABLES, TIME, USAGE, Row, TableSchema
from reread.dataset.settled import settled_rows
from reread.dataset.transcripts import TranscriptFile
from reread.disk.cache import FileState
from reread.disk.file_set import FileSet, find_files
from reread.disk.layout import expand_path
from reread.disk.machine import machine_id
from reread.disk.mirror import mirrored_folders
from reread.disk.user_paths import mirrors_folder, named_url
from reread.errors import Misuse, NotFound, naming_file

datasource: Any = importlib.import_module("pyspark.sql.datasource")
types: Any = importlib.import_module("pyspark.sql.types")
compute: Any = require("pyarrow.compute")

TASK_BYTES = 32 << 20
"""A task reads files of about this many raw bytes, or one larger file."""
LATEST = timedelta(days=1)
"""A record's time is at most so much later than the time at which its file was modified."""

_TYPES = {
    STRING: types.StringType,
    INTEGER: types.LongType,
    FLOAT: types.DoubleType,
    BOOLEAN: types.BooleanType,
    TIME: types.TimestampType,
}
_COMPARED = {
    datasource.EqualTo: "equal",
    datasource.GreaterThan: "greater",
    datasource.GreaterThanOrEqual: "greater_equal",
    datasource.LessThan: "less",
    datasource.LessThanOrEqual: "less_equal",
}
"""Filters that a task applies before it hands rows over, and the function that does."""
_FROM = (datasource.EqualTo, datasource.GreaterThan, datasource.GreaterThanOrEqual)
"""Filters after which no earlier time is wanted."""


class FilePart:
    """A file to read, named so that a worker on another machine finds it."""

    def __init__(self, path: str) -> None:
        self.path: str = path
        self.url: str = ""
        top = mirrors_folder()
        if Path(path).is_relative_to(top):
            mirror = top / Path(path).relative_to(top).parts[0]
            self.url = named_url(mirror) or ""
            self.path = str(Path(path).relative_to(mirror))

    def local(self) -> Path:
        """Return the file on this machine; of one in a bucket, the stub."""
        if not self.url:
            return Path(self.path)
        mirror = expand_path(self.url)
        mirrored_folders(mirror)
        return mirror / self.path


class SessionPartition(datasource.InputPartition):
    """What one task reads: some files, or for `usage` everything below a root."""

    def __init__(self, machine: str, files: Sequence[FilePart], root: str | None = None) -> None:
        self.machine: str = machine
        self.files: Sequence[FilePart] = files
        self.root: str | None = root


class SessionSource(datasource.DataSource):
    """Sessions below a folder or bucket as one of the tables of `reread tables`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "reread"

    def schema(self) -> Any:
        """Return the columns of the table."""
        table, text = _table(self.options), _flag(self.options, "text")
        wanted = [name.strip() for name in self.options.get("columns", "").split(",") if name.strip()]
        columns = {column.name: column for column in table.selected(text=text)}
        unknown = [name for name in wanted if name not in columns]
        if unknown:
            raise Misuse(f"No column {unknown[0]!r} in {table.name}; use some of {', '.join(columns)}.")
        chosen = [columns[name] for name in wanted] or list(columns.values())
        return types.StructType([types.StructField(column.name, _TYPES[column.type]()) for column in chosen])

    def reader(self, schema: Any) -> SessionReader:
        """Return what reads the table once."""
        return SessionReader(dict(self.options), schema.names)


class SessionReader(datasource.DataSourceReader):
    """Reads partitions into batches of the wanted columns."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        self.table: TableSchema = _table(options)
        self.root: str = _root(options)
        self.names: list[str] = list(names)
        columns = {column.name: column for column in self.table.columns}
        self.text: bool = _flag(options, "text") or any(columns[name].text for name in names if name in columns)
        self.task_bytes: int = int(options.get("taskbytes", TASK_BYTES))
        self.filters: list[tuple[str, str, Any]] = []
        self._since: datetime | None = None

    def read(self, partition: SessionPartition) -> Iterator[RecordBatch]:
        """Yield the rows of a partition."""
        for batch in batches(self.table, self._rows(partition), text=self.text):
            kept = self._kept(batch)
            if kept.num_rows:
                yield kept.select(self.names)

    def _rows(self, partition: SessionPartition) -> Iterator[Row]:
        if partition.root is not None:
            yield from settled_rows(_files(partition.root), partition.machine)
        for file in partition.files:
            path = file.local()
            with naming_file(path):
                transcript = TranscriptFile(path, partition.machine)
                yield from (row for _, row in transcript.rows([self.table.name], text=self.text))

    def _kept(self, batch: RecordBatch) -> RecordBatch:
        """Return the rows of a batch that the filters keep; Spark applies them again."""
        for name, function, value in self.filters:
            column = batch.column(name)
            mask = compute.call_function(function, [column, pyarrow.scalar(value, column.type)])
            batch = batch.filter(mask)
        return batch

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Note the filters that tasks can apply; Spark evaluates all of them again."""
        columns = {column.name: column.type for column in self.table.selected(text=self.text)}
        for one in filters:
            name = one.attribute[0] if len(getattr(one, "attribute", ())) == 1 else None
            if type(one) not in _COMPARED or name not in columns or one.value is None:
                continue
            value = one.value
            if columns[name] == TIME:
                if not isinstance(value, datetime) or value.tzinfo is None:
                    continue
                if isinstance(one, _FROM):
                    self._since = max(value, self._since or value)
            self.filters.append((name, _COMPARED[type(one)], value))
        return filters

    def partitions(self) -> list[SessionPartition]:
        """Return the tasks: `usage` has one, because copies of a response may be in any file."""
        machine = machine_id()
        if self.table is USAGE:
            return [SessionPartition(machine, [], self.root)]
        groups: list[list[FilePart]] = []
        size = self.task_bytes
        for path, state in sorted(_files(self.root).states.items()):
            if self._is_too_old(state):
                continue
            if size >= self.task_bytes:
                groups.append([])
                size = 0
            groups[-1].append(FilePart(path))
            size += state.size
        return [SessionPartition(machine, group) for group in groups or [[]]]  # without any, Spark makes one up

    def _is_too_old(self, state: FileState) -> bool:
        if self._since is None:
            return False
        return datetime.fromtimestamp(state.modified / 1e9, UTC) + LATEST < self._since


def _table(options: Mapping[str, str]) -> TableSchema:
    name = options.get("table", "")
    if name not in TABLES:
        raise Misuse(f"No table {name!r}; set the option table to one of {', '.join(TABLES)}.")
    return TABLES[name]


def _root(options: Mapping[str, str]) -> str:
    path = options.get("path", "")
    if not path:
        raise Misuse("No folder; pass a folder or the address of a bucket to load().")
    return path.removeprefix("file://")


def _flag(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "false").lower() in ("true", "1", "yes")


def _files(root: str) -> FileSet:
    """Return the transcripts below a folder or bucket, or the one transcript that is named."""
    path = expand_path(root)
    if path.is_file():
        return find_files(paths=[path])
    if not path.is_dir():
        raise NotFound(f"No folder {root}; every worker has to see it under this path.")
    return find_files([root])
