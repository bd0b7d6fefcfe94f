"""A bucket as a byte store, through pyarrow's file systems: S3, Google Cloud Storage and Azure.

An object appears whole or not at all: it is put, or its parts are joined, by one last request. Where a service shows
an object while it is sent, it is put under another name, and the service copies it.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reread.base.optional_dependencies import install_command
from reread.errors import Misuse
from reread.storage.byte_store import TEMPORARY, ObjectState, StoreError
from reread.storage.user_paths import service_of

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

OPEN_OBJECTS = 64
"""Objects that stay open, because opening one takes a request."""
FOLDER_MARK = ".folder"
"""The end of the name of an empty object that says that there is a folder."""
SENT = "sent"
"""The object in a temporary folder whose bytes are still being sent."""
CLAIM = ".claim-"
CLAIM_SECONDS = 30.0
"""An older claim is that of a writer that was killed."""
CLAIM_PAUSE = 0.1
CLAIM_WAIT = 90.0
"""How long to wait for the claims of others."""

_QUOTED = re.compile("'[^']*'")
"""The names in an error, which say nothing of its kind."""


@lru_cache(maxsize=16)
def store_at(url: str) -> BucketStore:
    """Return the store at an address."""
    return BucketStore(url)


class BucketStore:
    """The objects below an address."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._service = service_of(url)
        bucket, _, folder = url.partition("://")[2].partition("/")
        self._bucket: str = bucket.partition("@")[0]  # what follows is the account
        self._top: str = f"{self._bucket}/{folder}" if folder else self._bucket
        fs, self._refusal = _pyarrow_fs()
        self._kinds, self._selector = fs.FileType, fs.FileSelector
        self._system: Any = self._try(self._service.connect, fs, bucket)
        self._open: OrderedDict[str, Any] = OrderedDict()
        self._thread: ThreadPoolExecutor | None = None
        self._can_delete = True

    def list(self, below: str) -> Sequence[ObjectState]:
        return sorted(self._state(info) for info in self._infos(below, True) if info.type == self._kinds.File)

    def folders(self, below: str) -> Sequence[str]:
        infos = self._infos(below, False)
        names = {info.base_name for info in infos if info.type == self._kinds.Directory}
        if not self._service.lists_folders:
            names |= {i.base_name.removesuffix(FOLDER_MARK) for i in infos if i.base_name.endswith(FOLDER_MARK)}
        return sorted(names)

    def mark_folder(self, name: str) -> None:
        """Make sure that `folders` finds a folder."""
        if not self._service.lists_folders:
            self.put_whole(name + FOLDER_MARK, [b""])

    def stat(self, names: Iterable[str]) -> dict[str, ObjectState]:
        paths = [self._path(name) for name in names]
        infos: Sequence[Any] = self._try(self._system.get_file_info, paths) if paths else ()
        found = (self._state(info) for info in infos if info.type == self._kinds.File)
        return {state.name: state for state in found}

    def read(self, name: str, offset: int, length: int) -> bytes:
        file = self._open.get(name)
        if file is None:
            file = self._open[name] = self._try(self._system.open_input_file, self._path(name), name=name)
            while len(self._open) > OPEN_OBJECTS:
                with suppress(KeyError):  # another thread was faster
                    self._open.popitem(last=False)
        try:
            return self._try(file.read_at, length, offset, name=name)
        except (StoreError, ValueError) as error:  # of an object that is gone since, clients say many things
            self._open.pop(name, None)
            if name not in self.stat([name]):
                raise FileNotFoundError(errno.ENOENT, "there is no such object", self.location(name)) from error
            if isinstance(error, StoreError):
                raise
            raise StoreError(errno.EIO, str(error), self.location(name)) from error

    def read_whole(self, name: str, largest: int) -> bytes:
        with self._try(self._system.open_input_file, self._path(name), name=name) as file:
            if self._try(file.size) > largest:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), self.location(name))
            return self._try(file.readall, name=name)

    def put_whole(self, name: str, pieces: Iterable[bytes]) -> None:
        if self._service.puts_whole:
            self._try(self._put, self._path(name), pieces, name=name)
            return
        folder = f"{name}{TEMPORARY}{os.urandom(6).hex()}"  # of its own: Azure deletes folders faster than files
        sent = self._path(f"{folder}/{SENT}")
        try:
            self._try(self._put, sent, pieces, name=name)
            self._try(self._system.copy_file, sent, self._path(name), name=name)
        finally:
            self._drop(self._system.delete_dir, folder)

    def _put(self, path: str, pieces: Iterable[bytes]) -> None:
        """Put an object in a thread of its own, because interrupts reach only the main thread.

        pyarrow cannot abandon a stream: whatever ends it, closing it puts what was written so far.
        """
        from concurrent.futures import ThreadPoolExecutor, wait  # most runs put nothing

        if self._thread is None:
            thread = ThreadPoolExecutor(1)
            thread.submit(int).result()  # an interrupt while a thread starts would lose sight of it
            self._thread = thread
        put = self._thread.submit(self._stream, path, pieces)
        try:
            put.result()
        finally:
            wait([put])

    def _stream(self, path: str, pieces: Iterable[bytes]) -> None:
        out = self._system.open_output_stream(path, compression=None)
        try:
            for piece in pieces:
                out.write(piece)
            out.close()
        except BaseException:
            with suppress(OSError):
                out.close()
                self._system.delete_file(path)
            raise

    def create(self, name: str, data: bytes) -> bool:
        """Put an object and return True; False if there is one with this name.

        pyarrow cannot put an object on the condition that there is none. So a writer puts a claim first, and then looks
        for other claims: of two writers, at least the later one sees the other's, and gives way. That needs a service
        that lists what was just put, as all of these do.
        """
        claim = f"{name}{CLAIM}{os.urandom(8).hex()}"
        end = time.monotonic() + CLAIM_WAIT
        while time.monotonic() < end:
            try:
                self.put_whole(claim, [b"claim"])
                if not self._has_rivals(name, claim):
                    if self.stat([name]):
                        return False
                    self.put_whole(name, [data])
                    return True
            finally:
                self.drop(claim)
            time.sleep(CLAIM_PAUSE * (1 + os.urandom(1)[0] / 32))  # not in step with others
        return False

    def _has_rivals(self, name: str, claim: str) -> bool:
        """True if others claim a name; claims of writers that were killed are deleted."""
        claims = {
            state.name: state.modified
            for state in self.list(name.rpartition("/")[0])
            if CLAIM in state.name.rpartition("/")[2]
        }
        now = claims.pop(claim, None)  # by the clock of the store
        if now is None:
            return True
        old = {other for other, modified in claims.items() if now - modified > CLAIM_SECONDS * 1e9}
        for other in old:
            self.drop(other)
        return any(other.startswith(name + CLAIM) for other in claims.keys() - old)

    def delete(self, name: str) -> None:
        self._open.pop(name, None)
        self._try(self._system.delete_file, self._path(name), name=name)

    def drop(self, name: str) -> None:
        """Delete an object if it is there and nothing prevents it."""
        self._open.pop(name, None)
        self._drop(self._system.delete_file, name)

    def _drop(self, delete: Any, name: str) -> None:
        """Delete, unless that failed before: without a connection it takes long, each time."""
        try:
            if self._can_delete:
                self._try(delete, self._path(name), name=name)
        except FileNotFoundError:
            pass
        except StoreError:
            self._can_delete = False

    def location(self, name: str) -> str:
        return f"{self.url}/{name}" if name else self.url

    def close(self) -> None:
        self._open.clear()
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    def require(self) -> None:
        """Raise StoreError if the bucket does not exist; who may not ask for that may still use it."""
        try:
            found = self._try(self._system.get_file_info, self._bucket)
        except StoreError as error:
            if error.errno != errno.EACCES:
                raise
            return
        if found.type == self._kinds.NotFound:
            raise StoreError(errno.ENOENT, "there is no such bucket; create it, or check the address", self.url)

    def _infos(self, below: str, recursive: bool) -> Sequence[Any]:
        selector = self._selector(self._path(below), recursive=recursive, allow_not_found=True)
        return self._try(self._system.get_file_info, selector)

    def _state(self, info: Any) -> ObjectState:
        return ObjectState(info.path[len(self._top) + 1 :], info.size, info.mtime_ns)

    def _path(self, name: str) -> str:
        return f"{self._top}/{name}" if name else self._top

    def _try(self, call: Any, *arguments: Any, name: str = "") -> Any:
        """Call a function of pyarrow; raise errors that say what to do."""
        try:
            return call(*arguments)
        except (OSError, self._refusal) as error:  # Azure's client without credentials raises no OSError
            said, is_missing = _QUOTED.sub("", str(error)), isinstance(error, FileNotFoundError)
            for words, number, advice in self._service.failures:
                if any(word in said for word in words) and (not is_missing or number == errno.ENOENT):
                    raise StoreError(number, advice, self.location(name)) from error
            if is_missing:
                raise FileNotFoundError(errno.ENOENT, "there is no such object", self.location(name)) from error
            raise StoreError(getattr(error, "errno", None) or errno.EIO, str(error), self.location(name)) from error


def _pyarrow_fs() -> tuple[Any, type[Exception]]:
    """Return pyarrow's module of file systems, which has no types, and the base of its errors."""
    try:
        return importlib.import_module("pyarrow.fs"), importlib.import_module("pyarrow").ArrowException
    except ImportError:
        raise Misuse(f"Buckets need pyarrow; install it with `{install_command('tables')}`.") from None
