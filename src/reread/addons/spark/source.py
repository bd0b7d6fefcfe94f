"""The data source: tables of sessions, a task for some files or for a range of a large one, as Arrow batches."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reread.addons.spark.files import FilePart, root_of, transcripts_below
from reread.addons.spark.query import TableQuery, byte_count, datasource, is_set, spark_schema
from reread.addons.spark.ranges import TASK_BYTES, head_origin, split_ranges
from reread.addons.spark.usage_tasks import GROUPS, link_schema, links_of, parts_below, usage_tasks
from reread.dataset.arrow import RecordBatch
from reread.dataset.schema import RECORDS, USAGE, Row
from reread.dataset.usage_rows import settled_rows
from reread.disk.file_set import find_files
from reread.disk.machine import machine_id
from reread.disk.sources import FileSource
from reread.errors import Misuse


class SessionPartition(datasource.InputPartition):
    """The input of one task: some files or ranges of them, or for `usage` everything below a root."""

    def __init__(self, machine: str, parts: Sequence[FilePart], root: str | None = None) -> None:
        self.machine: str = machine
        self.parts: Sequence[FilePart] = parts
        self.root: str | None = root


class SessionSource(datasource.DataSource):
    """Sessions below a folder or bucket as one of the tables of `reread tables`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "reread"

    def schema(self) -> Any:
        """Return the columns of the table."""
        return link_schema() if is_set(self.options, "links") else spark_schema(self.options)

    def reader(self, schema: Any) -> SessionReader:
        """Return what reads the table once."""
        reader = LinkReader if is_set(self.options, "links") else SessionReader
        return reader(dict(self.options), schema.names)

    def streamReader(self, schema: Any) -> Any:
        """Return what reads the lines that are appended; raise Misuse if this Spark cannot limit a batch."""
        try:
            importlib.import_module("pyspark.sql.streaming.datasource")
        except ModuleNotFoundError:
            raise Misuse("Streams need Spark 4.2; install it with `pip install 'pyspark>=4.2'`.") from None
        from reread.addons.spark.stream import SessionStream

        return SessionStream(dict(self.options), schema.names)


class SessionReader(datasource.DataSourceReader):
    """Reads partitions into batches of the wanted columns."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        self.query: TableQuery = TableQuery(options, names)
        self.root: str = root_of(options)
        self.task_bytes: int = byte_count(options, "taskBytes", TASK_BYTES)
        self.options: Mapping[str, str] = options

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Note the filters that tasks can apply; Spark evaluates all of them again."""
        self.query.push(filters)
        return filters

    def partitions(self) -> list[SessionPartition]:
        """Return the tasks: `usage` has one unless it is known which files have something in common."""
        machine = machine_id()
        if self.query.table is USAGE:
            if GROUPS not in self.options:
                return [SessionPartition(machine, [], self.root)]
            tasks = usage_tasks(parts_below(self.root), self.options, self.task_bytes)
            return [SessionPartition(machine, task) for task in tasks or [[]]]
        return self._by_size(machine)

    def _by_size(self, machine: str) -> list[SessionPartition]:
        groups: list[list[FilePart]] = []
        size = self.task_bytes
        for path, state in sorted(transcripts_below(self.root).states.items()):
            if not self.query.may_match(path, state):
                continue
            for start, end in self._ranges(path, state.size, machine):
                if size >= self.task_bytes:
                    groups.append([])
                    size = 0
                groups[-1].append(FilePart.of(path, start, end))
                size += end - start
        return [SessionPartition(machine, group) for group in groups or [[]]]  # without any, Spark makes one up

    def _ranges(self, path: str, size: int, machine: str) -> list[tuple[int, int]]:
        """Return the ranges that tasks read of a file: only of `records`, and if its first bytes tell whose it is."""
        ranges = split_ranges(size, self.task_bytes) if self.query.table is RECORDS else [(0, size)]
        if len(ranges) > 1 and head_origin(Path(path), machine, FileSource(Path(path)).read) is None:
            return [(0, size)]
        return ranges

    def read(self, partition: SessionPartition) -> Iterator[RecordBatch]:
        """Yield the rows of a partition."""
        yield from self.query.batches(self._rows(partition))

    def _rows(self, partition: SessionPartition) -> Iterator[Row]:
        if partition.root is not None:
            yield from settled_rows(transcripts_below(partition.root), partition.machine)
            return
        if self.query.table.name == USAGE.name:  # this may be a copy in a worker
            files = [part.local() for part in partition.parts]
            yield from settled_rows(find_files(paths=files), partition.machine) if files else ()
            return
        numbered = "line" in self.query.used
        for part in partition.parts:
            yield from part.rows(self.query.table.name, partition.machine, text=self.query.text, numbered=numbered)


class LinkReader(SessionReader):
    """Reads what files may have in common: the first step of `reread.spark.count_usage`."""

    def partitions(self) -> list[SessionPartition]:
        """Return the tasks, by size."""
        return self._by_size(machine_id())

    def read(self, partition: SessionPartition) -> Iterator[RecordBatch]:
        """Yield the links of each file."""
        for part in partition.parts:
            yield from links_of(part)
