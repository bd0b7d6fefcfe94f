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
