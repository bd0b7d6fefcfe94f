"""The stream of a growing folder: each batch has the rows of the whole lines that are new."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reread.addons.spark.appended import APPENDED
from reread.addons.spark.files import FilePart, root_of
from reread.addons.spark.offsets import FileOffset, FolderProgress, Offset, new_ranges
from reread.addons.spark.query import TableQuery, byte_count, datasource, is_set
from reread.addons.spark.ranges import TASK_BYTES, split_ranges
from reread.dataset.arrow import RecordBatch
from reread.dataset.schema import RECORDS, Row
from reread.disk.machine import machine_id
from reread.disk.sources import FileSource
from reread.errors import Misuse, RereadError, Unreadable

limits: Any = importlib.import_module("pyspark.sql.streaming.datasource")

MOST_BYTES = "maxBytesPerTrigger"
FAIL = "failOnDataLoss"


class NewLines(datasource.InputPartition):
    """The input of one task: ranges of files, each with how far the file was read when they were found."""

    def __init__(self, machine: str, parts: Sequence[tuple[FilePart, FileOffset]]) -> None:
        self.machine: str = machine
        self.parts: Sequence[tuple[FilePart, FileOffset]] = parts


class SessionStream(datasource.DataSourceStreamReader, limits.SupportsTriggerAvailableNow):
    """Reads what was appended to the files of a folder since an offset."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        self.query: TableQuery = TableQuery(options, names)
        if self.query.table.name not in APPENDED:
            raise Misuse(f"Cannot stream {self.query.table.name}; use one of {', '.join(APPENDED)}.")
        self.task_bytes: int = byte_count(options, "taskBytes", TASK_BYTES)
        self.most_bytes: int = byte_count(options, MOST_BYTES, 0)
        self.fail_on_loss: bool = is_set(options, FAIL.lower())
        self.progress: FolderProgress = FolderProgress(root_of(options), fail_on_loss=self.fail_on_loss)

    def initialOffset(self) -> Offset:
        """Return the offset before the first batch."""
        return {}

    def getDefaultReadLimit(self) -> Any:
        """Return the limit of a batch."""
        return limits.ReadMaxBytes(self.most_bytes) if self.most_bytes else limits.ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Read nothing that is written from now on."""
        self.progress.stop_here()

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        """Return how far the next batch reads."""
        return self.progress.latest(start, getattr(limit, "max_bytes", None))

    def partitions(self, start: Offset, end: Offset) -> list[NewLines]:
        """Return the tasks of a batch. Only `records` of a file can be read by several."""
        top, machine, size = self.progress.top, machine_id(), self.task_bytes
        groups: list[list[tuple[FilePart, FileOffset]]] = []
        for name, (first, after) in new_ranges(start, end).items():
            length = after.size - first
            pieces = split_ranges(length, self.task_bytes) if self.query.table is RECORDS else [(0, length)]
            for low, high in pieces:
                if size >= self.task_bytes:
                    groups.append([])
                    size = 0
                groups[-1].append((FilePart.of(os.path.join(top, name), first + low, first + high), after))
                size += high - low
        return [NewLines(machine, group) for group in groups]

    def read(self, partition: NewLines) -> Iterator[RecordBatch]:
        """Yield the rows of a task."""
        yield from self.query.batches(self._rows(partition))

    def _rows(self, partition: NewLines) -> Iterator[Row]:
        make, numbered = APPENDED[self.query.table.name], "line" in self.query.used
        for part, after in partition.parts:
            if self._is_there(part, after):
                yield from make(part, partition.machine, text=self.query.text, numbered=numbered)

    def _is_there(self, part: FilePart, after: FileOffset) -> bool:
        """True if a file still has what is to be read of it; if not, say so, or raise Unreadable if that is asked."""
        reason = _loss(part, after)
        if reason and part.url:  # or the driver saw the bucket later than this worker
            part.refresh()
            reason = _loss(part, after)
        if not reason:
            return True
        message = f"Bytes {part.start} to {part.end} of {part.path} were lost before they were read: {reason}"
        if self.fail_on_loss:
            raise Unreadable(f"{message}; set {FAIL} to false to go on without them.")
        print(f"reread: {message}", file=sys.stderr)
        return False


def _loss(part: FilePart, after: FileOffset) -> str:
    """Return why a file no longer has what is to be read of it; nothing if it has."""
    try:
        return "" if after.is_in(FileSource(part.local()).read) else "it was rewritten"
    except RereadError as error:
        return str(error)
