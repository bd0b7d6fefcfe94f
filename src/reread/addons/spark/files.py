"""The files that tasks read: found by the driver, opened by a worker that may be another machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from reread.addons.spark.ranges import head_origin, range_records
from reread.dataset.schema import RECORDS, Row
from reread.dataset.transcripts import TranscriptFile
from reread.disk.cache import FileState
from reread.disk.file_set import FileSet, find_files
from reread.disk.layout import expand_path
from reread.disk.sources import FileSource
from reread.errors import Misuse, NotFound, Unreadable, naming_file
from reread.storage.bucket_mirror import mirrored_folders, refresh_mirror
from reread.storage.user_paths import mirrors_folder, named_url


class FilePart(msgspec.Struct, frozen=True):
    """A range of a file, or all of it, named so that a worker on another machine finds it."""

    path: str
    """The path, or in a bucket the name below its mirror."""
    start: int
    end: int
    url: str = ""
    """The address of the bucket."""

    @classmethod
    def of(cls, path: str, start: int, end: int) -> FilePart:
        """Return a range of a file that the driver found."""
        top = mirrors_folder()
        if not Path(path).is_relative_to(top):
            return cls(path, start, end)
        mirror = top / Path(path).relative_to(top).parts[0]
        return cls(str(Path(path).relative_to(mirror)), start, end, named_url(mirror) or "")

    def local(self) -> Path:
        """Return the file on this machine; of one in a bucket, the stub."""
        if not self.url:
            return Path(self.path)
        mirror = expand_path(self.url)
        mirrored_folders(mirror)
        try:
            is_whole = FileState.at(mirror / self.path).size >= self.end
        except OSError:
            is_whole = False
        if not is_whole:  # the driver saw the bucket later than this worker
            self.refresh()
        return mirror / self.path

    def refresh(self) -> None:
        """Bring what this machine knows of a bucket up to date, however short ago that was done."""
        try:
            if self.url:
                refresh_mirror(expand_path(self.url), self.url)
        except OSError as error:
            raise Unreadable.at(error.filename or self.url, error) from error

    def rows(self, table: str, machine: str, *, text: bool, numbered: bool = True) -> Iterator[Row]:
        """Yield the rows of a table that this range has; only of `records`, a range may be less than the file.

        Unless `numbered`, the lines of records are not counted from the beginning of the file.
        """
        path = self.local()
        with naming_file(path):
            if table != RECORDS.name:
                yield from (row for _, row in TranscriptFile(path, machine).rows([table], text=text))
                return
            source = FileSource(path)
            origin = head_origin(path, machine, source.read)
            if origin is not None:
                records = range_records(source.read, self.start, self.end, numbered=numbered)
            else:  # only the whole file tells
                whole = TranscriptFile(path, machine)
                origin = whole.origin
                records = (one for one in whole.loader.conversation.records if self.start <= one.offset < self.end)
            yield from origin.records(records, text=text)


def root_of(options: Mapping[str, str]) -> str:
    """Return the folder or bucket that a query names."""
    path = options.get("path", "")
    if not path:
        raise Misuse("No folder; pass a folder or the address of a bucket to load().")
    return path.removeprefix("file://")


def transcripts_below(root: str) -> FileSet:
    """Return the transcripts below a folder or bucket, or the one transcript that is named."""
    path = expand_path(root)
    if path.is_file():
        return find_files(paths=[path])
    if not path.is_dir():
        raise NotFound(f"No folder {root}; every worker has to see it under this path.")
    return find_files([root])
