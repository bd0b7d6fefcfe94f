"""Objects in a bucket, through pyarrow's S3: listed, read by range, written whole, deleted.

An object appears whole or not at all: it is put, or its parts are joined, by one last request.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from reread.base.extras import install_command
from reread.disk.user_paths import ENDPOINT_VARIABLE
from reread.errors import Misuse

CONNECT_SECONDS = 5.0
ATTEMPTS = 3
"""How often a request is tried."""

_FAILURES = (
    (("NO_SUCH_BUCKET", "NoSuchBucket"), errno.ENOENT, "there is no such bucket; create it, or check the address"),
    (
        ("ACCESS_DENIED", "InvalidAccessKeyId", "INVALID_ACCESS_KEY_ID", "SIGNATURE", "UNRECOGNIZED_CLIENT", "403"),
        errno.EACCES,
        "access denied; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, and check what they may do",
    ),
    (("NETWORK_CONNECTION", "curlCode"), errno.ECONNREFUSED, "no connection; check the network and AWS_ENDPOINT_URL"),
)
"""What an error of the service says, its kind, and what to do."""


class StoreError(OSError):
    """A bucket did not answer, or refused; it concerns all objects in it."""


class ObjectState(NamedTuple):
    """An object in a listing."""

    name: str
    """Its name below the address of the store."""
    size: int
    modified: int
    """Nanoseconds since 1970."""


class ObjectStore:
    """The objects below an address."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._top = url.removeprefix("s3://")
        self._system = _file_system(self._top.split("/")[0])
        self._kinds = _pyarrow_fs().FileType

    def folders(self, below: str) -> list[str]:
        """Return the names of the folders in a folder; none if it does not exist."""
        return sorted(info.base_name for info in self._infos(below, False) if info.type == self._kinds.Directory)

    def objects(self, below: str) -> list[ObjectState]:
        """Return all objects below a folder, in the order of their names."""
        infos = (info for info in self._infos(below, True) if info.type == self._kinds.File)
        return sorted(ObjectState(self._name(info.path), info.size, info.mtime_ns) for info in infos)

    def states(self, names: Iterable[str]) -> dict[str, ObjectState]:
        """Return the state of each of some objects that exists."""
        paths = [self._path(name) for name in names]
        infos: list[Any] = self._try(self._system.get_file_info, paths) if paths else []
        found = (info for info in infos if info.type == self._kinds.File)
        return {state.name: state for state in (ObjectState(self._name(i.path), i.size, i.mtime_ns) for i in found)}

    def open(self, name: str) -> OpenObject:
        """Open an object to read parts of it."""
        return OpenObject(self, name, self._try(self._system.open_input_file, self._path(name)))

    def read(self, name: str) -> bytes:
        """Return an object; raise FileNotFoundError if there is none."""
        with self._try(self._system.open_input_file, self._path(name)) as file:
            return self._try(file.readall)

    def write(self, name: str, data: bytes) -> None:
        """Put an object, instead of one that has the same name."""
        self._try(self._write, self._path(name), data)

    def _write(self, path: str, data: bytes) -> None:
        with self._system.open_output_stream(path, compression=None) as out:
            out.write(data)  # all at once, so that no interrupt can end it in the middle

    def write_pieces(self, name: str, pieces: Iterable[bytes]) -> None:
        """Put an object that consists of pieces; after an exception there is none."""
        out = self._try(self._system.open_output_stream, self._path(name), None)
        try:
            for piece in pieces:
                self._try(out.write, piece)
            self._try(out.close)
        except BaseException:
            with suppress(OSError):  # pyarrow cannot abandon a stream: to close it puts what was written
                out.close()
                self._system.delete_file(self._path(name))
            raise

    def delete(self, name: str) -> None:
        """Delete an object."""
        self._try(self._system.delete_file, self._path(name))

    def require(self) -> None:
        """Raise StoreError unless the bucket exists and may be read."""
        bucket = self._top.split("/")[0]
        if self._try(self._system.get_file_info, bucket).type == self._kinds.NotFound:
            raise StoreError(errno.ENOENT, _FAILURES[0][2], self.url)

    def _infos(self, below: str, recursive: bool) -> list[Any]:
        selector = _pyarrow_fs().FileSelector(self._path(below), recursive=recursive, allow_not_found=True)
        return self._try(self._system.get_file_info, selector)

    def _path(self, name: str) -> str:
        return f"{self._top}/{name}" if name else self._top

    def _name(self, path: str) -> str:
        return path[len(self._top) + 1 :]

    def _try(self, call: Any, *arguments: Any) -> Any:
        """Call a function of pyarrow; raise errors that say what to do."""
        try:
            return call(*arguments)
        except FileNotFoundError as error:
            if "bucket" in str(error).lower().split("key")[0] and "NO_SUCH_BUCKET" in str(error):
                raise _store_error(error, self.url) from error
            raise FileNotFoundError(errno.ENOENT, "there is no such object", self.url) from error
        except OSError as error:
            raise _store_error(error, self.url) from error


class OpenObject:
    """An object of which parts are read."""

    def __init__(self, store: ObjectStore, name: str, file: Any) -> None:
        self._store, self._name, self._file = store, name, file

    def read_at(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset; fewer at the end."""
        try:
            return self._file.read_at(length, offset)
        except OSError as error:
            raise _store_error(error, f"{self._store.url}/{self._name}") from error


def has_connected() -> bool:
    """True if this process has threads of pyarrow's S3, which a forked process would lack."""
    return "pyarrow._s3fs" in sys.modules


def _pyarrow_fs() -> Any:
    """Return pyarrow's module of file systems, which has no types."""
    try:
        return importlib.import_module("pyarrow.fs")
    except ImportError:
        raise Misuse(f"Buckets need pyarrow; install it with `{install_command('tables')}`.") from None


def _file_system(bucket: str) -> Any:
    """Return pyarrow's file system for a bucket, with the usual variables of the environment."""
    fs = _pyarrow_fs()
    if not hasattr(fs, "S3FileSystem"):
        raise Misuse("This pyarrow cannot read S3; install the wheel: `pip install --force-reinstall pyarrow`.")
    options: dict[str, Any] = {}
    endpoint = os.environ.get(ENDPOINT_VARIABLE, "").strip()
    if endpoint:
        scheme, _, address = endpoint.rpartition("://")
        options = {"endpoint_override": address.rstrip("/"), "scheme": scheme or "https"}
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region or endpoint:
        options["region"] = region or "us-east-1"
    else:
        try:
            options["region"] = fs.resolve_s3_region(bucket)
        except OSError as error:
            raise _store_error(error, f"s3://{bucket}") from error
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    return fs.S3FileSystem(**options, connect_timeout=CONNECT_SECONDS, retry_strategy=retries, background_writes=False)


def _store_error(error: OSError, where: str) -> StoreError:
    text = str(error)
    for words, number, advice in _FAILURES:
        if any(word in text for word in words):
            return StoreError(number, advice, where)
    return StoreError(error.errno or errno.EIO, text, where)
