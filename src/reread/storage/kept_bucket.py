"""Write frames into a bucket: an object for what each run adds, and then a manifest that names it.

Objects are never changed: their names have the offset and a hash of the content. One that a killed run has left is
named by no manifest, and put again, under the same name, by the next.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec

from reread.storage.bucket import BucketStore
from reread.storage.bucket_mirror import remember_manifest, show_manifest, write_stub
from reread.storage.frames import ZstdFrame
from reread.storage.kept_copy import KeptCopy, Write
from reread.storage.kept_file import read_stub
from reread.storage.kept_manifest import (
    FORMAT,
    MachineManifest,
    ManifestFile,
    ManifestPiece,
    encode_manifest,
    manifest_name,
    merged,
    read_kept_manifest,
)
from reread.storage.kept_names import parse_kept_name
from reread.storage.manifest import check_size
from reread.storage.stub import Piece
from reread.storage.user_paths import MACHINES

PIECE_SIZE = 32 << 20
"""An object is put when it has this many bytes; they are held in memory."""
SAVE_SECONDS = 30.0
"""How often the manifest is put during a long run."""
LONGEST_NAME = 800
"""A longer name is left out of the names of its objects; S3 allows 1,024 bytes in all."""
OBJECTS = "objects"
UNNAMED_NS = 24 * 3600 * 1_000_000_000
"""An object that no manifest has named for so long was left by a run that was killed."""


class KeptBucket:
    """Writes the kept files of one machine into a bucket, each by the path of its stub in the mirror."""

    def __init__(self, store: BucketStore, mirror: Path, machine: str) -> None:
        self._store, self._mirror, self._machine = store, mirror, machine
        self.top: Path = mirror / machine
        manifest, self._content = read_kept_manifest(store, machine)
        show_manifest(mirror, store.url, manifest, self._content)
        self._files = manifest.by_key()
        self._put: list[tuple[str, int]] = []
        """The objects of the file that is being written, and where each ends."""
        self._changed = False
        self._saved = time.monotonic()

    @property
    def files(self) -> list[ManifestFile]:
        """All files that are kept."""
        return list(self._files.values())

    def examine(self, path: str, generation: int) -> KeptCopy:
        stub = read_stub(path)
        if stub is None:
            return KeptCopy(path, generation, [], 0, False, "its stub is missing")
        return KeptCopy(path, generation, stub.frames, stub.packed_size, True)

    def append(self, copy: KeptCopy) -> AbstractContextManager[Write]:
        return self._writing(copy.path, copy.packed_size)

    def create(self, path: str) -> AbstractContextManager[Write]:
        return self._writing(path, 0)

    @contextmanager
    def _writing(self, path: str, offset: int) -> Generator[Write]:
        """Collect frames and put them as objects; after an exception no manifest names them."""
        self._put, pending, start = [], bytearray(), offset

        def put() -> None:
            nonlocal start
            name = self._object_name(path, start, pending)
            self._store.put_whole(name, [bytes(pending)])
            start += len(pending)
            self._put.append((name, start))
            pending.clear()

        def write(frame: bytes) -> None:
            pending.extend(frame)
            if len(pending) >= PIECE_SIZE:
                put()

        yield write
        if pending:
            put()

    def _object_name(self, path: str, offset: int, content: bytes | bytearray) -> str:
        name, generation = self._key(path)
        digest = hashlib.sha256(content).hexdigest()
        readable = quote(name, safe="/-_.~")
        if len(readable) > LONGEST_NAME:
            readable = hashlib.sha256(name).hexdigest()
        return f"{MACHINES}/{self._machine}/{OBJECTS}/{readable}/{generation}-{offset:012d}-{digest[:24]}.zst"

    def _key(self, path: str) -> tuple[bytes, int]:
        folder, kept = os.path.split(os.path.relpath(path, self.top))
        parsed = parse_kept_name(kept)
        name, generation = parsed if parsed is not None else (kept, 1)
        return os.fsencode(os.path.join(folder, name).replace(os.sep, "/")), generation

    def finish(self, path: str, frames: Sequence[ZstdFrame], appended: int) -> None:
        key = self._key(path)
        before = self._files.get(key)
        pieces = list(before.pieces) if before is not None else []
        known = pieces[-1].piece().packed_end if pieces else 0
        for name, end in self._put:
            own = [frame for frame in frames if known < frame.packed_end <= end]
            pieces.append(ManifestPiece.of(Piece(name, own)))
            known = end
        self._put = []
        self._files[key] = ManifestFile(*key, 0, tuple(pieces))

    def set_time(self, path: str, modified: int) -> None:
        key = self._key(path)
        file = self._files[key]
        if file.modified != modified:
            self._files[key] = msgspec.structs.replace(file, modified=modified)
            write_stub(self.top, self._store.url, self._files[key], None)
            self._changed = True

    def repack(self, path: str, generation: int) -> None:
        """Do nothing: objects are not changed."""

    def save(self) -> None:
        if time.monotonic() - self._saved >= SAVE_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Put the manifest if something has changed; what another process put meanwhile is kept."""
        if not self._changed:
            return
        alone = self._rebase()
        manifest = self._put_manifest()
        if alone:
            remember_manifest(self._mirror, self._machine, self._content)
        else:
            show_manifest(self._mirror, self._store.url, manifest, self._content)
        self._saved = time.monotonic()

    def _rebase(self) -> bool:
        """Join what is there now with what this process knows; False if another has put a manifest since.

        What is missing there was deleted if its objects are gone. If they are not, both have put a manifest at once.
        """
        theirs, content = read_kept_manifest(self._store, self._machine)
        if content == self._content:
            return True
        known = theirs.by_key()
        wanted = {piece.name for key, file in self._files.items() if key not in known for piece in file.pieces}
        there = self._store.stat(wanted)
        ours = [file for file in self.files if file.key in known or all(piece.name in there for piece in file.pieces)]
        self._files = {file.key: file for file in merged(ours, theirs.files)}
        return False

    def _put_manifest(self) -> MachineManifest:
        files = sorted(self._files.values(), key=lambda file: file.key)
        manifest = MachineManifest(FORMAT, self._machine, tuple(files))
        name, is_first = manifest_name(self._machine), not self._content
        self._content = check_size(encode_manifest(manifest), self._store.location(name))
        if is_first:
            self._store.mark_folder(f"{MACHINES}/{self._machine}")
        self._store.put_whole(name, [self._content])
        self._changed = False
        return manifest

    def delete(self, chosen: Iterable[str]) -> None:
        """Delete kept files by the paths of their stubs, and then the objects that no file needs any more.

        An object that no manifest names may be one that another process of this machine's name has just put: of those,
        only old ones are deleted.
        """
        if not self._rebase():
            raise OSError(errno.EBUSY, "another process has changed it since; try again", self._store.url)
        gone = {self._key(path) for path in chosen}
        unnamed = {piece.name for key in gone & self._files.keys() for piece in self._files[key].pieces}
        self._files = {key: file for key, file in self._files.items() if key not in gone}
        show_manifest(self._mirror, self._store.url, self._put_manifest(), self._content)
        self.delete_unnamed(unnamed)

    def delete_unnamed(self, objects: Collection[str]) -> None:
        """Delete those of some objects that no file needs, and all others that nobody has named for long."""
        there = self._store.list(f"{MACHINES}/{self._machine}")
        now, _ = read_kept_manifest(self._store, self._machine)
        needed = {piece.name for file in now.files for piece in file.pieces} | {manifest_name(self._machine)}
        old = time.time_ns() - UNNAMED_NS
        for found in there:
            if found.name not in needed and (found.name in objects or found.modified < old):
                self._store.delete(found.name)
