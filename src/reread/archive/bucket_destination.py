"""Write frames into a bucket: an object for what each run adds, and then a manifest that names it.

Objects are never changed: their names have the offset and a hash of the content. One that a killed run has left is
named by no manifest, and put again, under the same name, by the next.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec

from reread.archive.kept_copy import KeptCopy, Write
from reread.disk.frames import ZstdFrame
from reread.disk.kept import parse_kept_name, read_stub
from reread.disk.manifest import (
    FORMAT,
    MachineManifest,
    ManifestFile,
    ManifestPiece,
    encode_manifest,
    manifest_name,
    merged,
    read_manifest,
)
from reread.disk.mirror import remember_manifest, show_manifest, write_stub
from reread.disk.object_store import ObjectStore
from reread.disk.stub import Piece
from reread.disk.user_paths import MACHINES

PIECE_SIZE = 32 << 20
"""An object is put when it has this many bytes; they are held in memory."""
SAVE_SECONDS = 30.0
"""How often the manifest is put during a long run."""
LONGEST_NAME = 800
"""A longer name is left out of the names of its objects; S3 allows 1,024 bytes in all."""
OBJECTS = "objects"


class BucketDestination:
    """The files of one machine in a bucket, and the stubs of them in its mirror."""

    def __init__(self, store: ObjectStore, mirror: Path, machine: str) -> None:
        self._store, self._mirror, self._machine = store, mirror, machine
        self.top: Path = mirror / machine
        manifest, self._content = read_manifest(store, machine)
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
            self._store.write(name, bytes(pending))
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
        theirs, content = read_manifest(self._store, self._machine)
        alone = content == self._content
        if not alone:
            self._files = {file.key: file for file in merged(self.files, theirs.files)}
        manifest = self._put_manifest()
        if alone:
            remember_manifest(self._mirror, self._machine, self._content)
        else:
            show_manifest(self._mirror, self._store.url, manifest, self._content)
        self._saved = time.monotonic()

    def _put_manifest(self) -> MachineManifest:
        files = sorted(self._files.values(), key=lambda file: file.key)
        manifest = MachineManifest(FORMAT, self._machine, tuple(files))
        self._content = encode_manifest(manifest)
        self._store.write(manifest_name(self._machine), self._content)
        self._changed = False
        return manifest

    def delete(self, chosen: Iterable[str]) -> None:
        """Delete kept files by the paths of their stubs, and the objects that no file needs any more."""
        gone = {self._key(path) for path in chosen}
        kept: dict[tuple[bytes, int], ManifestFile] = {}
        numbers: dict[bytes, int] = {}
        for key, file in sorted(self._files.items()):
            if key not in gone:
                numbers[file.name] = numbers.get(file.name, 0) + 1
                kept[file.name, numbers[file.name]] = msgspec.structs.replace(file, generation=numbers[file.name])
        self._files = kept
        show_manifest(self._mirror, self._store.url, self._put_manifest(), self._content)
        needed = {piece.name for file in self._files.values() for piece in file.pieces}
        for found in self._store.objects(f"{MACHINES}/{self._machine}/{OBJECTS}"):
            if found.name not in needed:
                self._store.delete(found.name)
