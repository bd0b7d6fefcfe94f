"""A bucket that is a folder, behind the file system interface through which buckets are reached."""

from pathlib import Path
from typing import Any

import pyarrow.fs
import pytest

from reread.storage import bucket_mirror
from reread.storage.bucket import store_at
from reread.storage.services import BY_SCHEME, S3


class FolderSystem:
    """A file system of pyarrow in which folders need not be made, as in a bucket."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self._system: Any = pyarrow.fs.SubTreeFileSystem(str(top), pyarrow.fs.LocalFileSystem())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def open_output_stream(self, path: str, compression: str | None) -> Any:
        (self.top / path).parent.mkdir(parents=True, exist_ok=True)
        return self._system.open_output_stream(path, compression)


def use_folder(monkeypatch: pytest.MonkeyPatch, top: Path, **traits: bool) -> None:
    """Let all buckets of S3 be folders in a folder, on a service with these traits."""
    service = S3._replace(connect=lambda _, __: FolderSystem(top), **traits)
    monkeypatch.setitem(BY_SCHEME, "s3", service)
    monkeypatch.setattr(bucket_mirror, "FRESH_SECONDS", 0.0)
    store_at.cache_clear()


class FolderBucket:
    """A bucket that is a folder, and the folder of Claude Code that is kept in it."""

    def __init__(self, top: Path, name: str, sources: Path) -> None:
        self.top, self.name, self.sources = top / name, name, sources
        self.url = f"s3://{name}/sessions"

    def keys(self, below: str = "") -> list[str]:
        """Return the names of all objects that begin like this."""
        names = (path.relative_to(self.top).as_posix() for path in self.top.rglob("*") if path.is_file())
        return sorted(name for name in names if name.startswith(f"sessions/{below}"))

    def objects(self, below: str = "") -> dict[str, bytes]:
        """Return all objects whose names begin like this."""
        return {key: (self.top / key).read_bytes() for key in self.keys(below)}

    def put(self, key: str, data: bytes) -> None:
        """Put an object."""
        (self.top / key).parent.mkdir(parents=True, exist_ok=True)
        (self.top / key).write_bytes(data)

    def delete(self, key: str) -> None:
        """Delete an object."""
        (self.top / key).unlink()
        store_at.cache_clear()  # an open file can still be read, an object that is gone cannot


def tree(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
