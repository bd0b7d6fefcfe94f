"""The manifest of a machine in a bucket: which files it keeps there, and the objects with their frames.

It is written after the objects that it names, and replaced by one request, so whoever reads it finds all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from reread.base import jsontext
from reread.storage.byte_store import ByteStore
from reread.storage.frames import FRAME_SIZE, BadFrame, ZstdFrame, largest_raw, pack, read_frames
from reread.storage.manifest import LARGEST_MANIFEST, BadManifest, read_manifest
from reread.storage.stub import Piece
from reread.storage.user_paths import MACHINES

NAME = "manifest"
FORMAT = 1
LEVEL = 3
LARGEST_RAW = 4 * LARGEST_MANIFEST
"""Raw bytes that a manifest may have: most of it are hashes, which do not get smaller."""
_FRAME_SIZE = 16 << 20
_NUMBER, _HASH = 8, 32
_ENTRY = 2 * (_NUMBER + _HASH)


class ManifestPiece(msgspec.Struct, frozen=True, array_like=True):
    """An object, and its frames as bytes."""

    name: str
    frames: bytes

    @classmethod
    def of(cls, piece: Piece) -> ManifestPiece:
        """Return a piece as it is written."""
        numbers = (b"%b%b" % (_bytes(frame.raw_end), _bytes(frame.packed_end)) for frame in piece.frames)
        hashes = (frame.prefix_hash + frame.packed_hash for frame in piece.frames)
        return cls(piece.name, b"".join(map(bytes.__add__, numbers, hashes)))

    def piece(self) -> Piece:
        """Return the piece that was written."""
        return Piece(self.name, [_frame(self.frames[at : at + _ENTRY]) for at in range(0, len(self.frames), _ENTRY)])


class ManifestFile(msgspec.Struct, frozen=True, array_like=True):
    """One generation of a kept file."""

    name: bytes
    """The path of the original below Claude Code's folder, with `/`; not all names are Unicode."""
    generation: int
    modified: int
    """When the original was modified, in nanoseconds since 1970."""
    pieces: tuple[ManifestPiece, ...]

    @property
    def key(self) -> tuple[bytes, int]:
        """The value that tells it from all others."""
        return self.name, self.generation


class MachineManifest(msgspec.Struct, frozen=True, array_like=True):
    """All files that a machine keeps in a bucket."""

    format: int
    machine: str
    files: tuple[ManifestFile, ...] = ()

    def by_key(self) -> dict[tuple[bytes, int], ManifestFile]:
        """Return the files by name and generation."""
        return {file.key: file for file in self.files}


def _bytes(number: int) -> bytes:
    return number.to_bytes(_NUMBER, "big")


def _frame(data: bytes) -> ZstdFrame:
    raw, packed = (int.from_bytes(data[at : at + _NUMBER], "big") for at in (0, _NUMBER))
    return ZstdFrame(raw, packed, data[2 * _NUMBER : 2 * _NUMBER + _HASH], data[2 * _NUMBER + _HASH :])


def manifest_name(machine: str) -> str:
    """Return the object that is the manifest of a machine."""
    return f"{MACHINES}/{machine}/{NAME}"


def encode_manifest(manifest: MachineManifest) -> bytes:
    """Return the content of a manifest: frames, as of a kept file."""
    data = msgspec.msgpack.encode(manifest)
    return b"".join(pack(data[at : at + _FRAME_SIZE], LEVEL) for at in range(0, len(data), _FRAME_SIZE))


def decode_manifest(data: bytes) -> MachineManifest | None:
    """Return the manifest with this content; None if it is damaged or of another format."""
    raw, most = bytearray(), min(largest_raw(len(data), FRAME_SIZE), LARGEST_RAW)
    try:
        for piece, _ in read_frames(lambda at, length: data[at : at + length], len(data)):
            raw += piece
            if len(raw) > most:
                return None
        found = msgspec.msgpack.decode(raw, type=MachineManifest)
    except (BadFrame, *jsontext.DECODE_ERRORS):
        return None
    if found.format != FORMAT or not all(_is_piece(piece) for file in found.files for piece in file.pieces):
        return None
    return found


def _is_piece(piece: ManifestPiece) -> bool:
    """True if a piece has whole frames, and its name can stand in a line of a stub."""
    return bool(piece.frames) and len(piece.frames) % _ENTRY == 0 and "\n" not in piece.name


def read_kept_manifest(store: ByteStore, machine: str) -> tuple[MachineManifest, bytes]:
    """Return the manifest of a machine with its content; an empty one if there is none."""
    try:
        return read_manifest(store, manifest_name(machine), machine, _decode)
    except FileNotFoundError:
        return MachineManifest(FORMAT, machine), b""


def _decode(data: bytes) -> MachineManifest:
    found = decode_manifest(data)
    if found is None:
        raise BadManifest("it is damaged, or of a newer reread; update reread, or restore an earlier version of it")
    return found


def safe_name(name: bytes) -> str | None:
    """Return the path below a mirror that a name stands for; None for one that could lead elsewhere."""
    parts = os.fsdecode(name).split("/")
    unsafe = ("\\", ":", "\0") if os.name == "nt" else ("\0",)
    if any(not part or part.startswith(".") or any(char in part for char in unsafe) for part in parts):
        return None
    return os.path.join(*parts)


def merged(ours: Iterable[ManifestFile], theirs: Iterable[ManifestFile]) -> list[ManifestFile]:
    """Return the files of two manifests of one machine; what differs under one name becomes another generation."""
    found = {file.key: file for file in theirs}
    for file in ours:
        known = found.get(file.key)
        if known is None or _continues(file, known):
            found[file.key] = file
        elif not _continues(known, file):
            generation = max(number for name, number in found if name == file.name) + 1
            found[file.name, generation] = msgspec.structs.replace(file, generation=generation)
    return list(found.values())


def _continues(file: ManifestFile, earlier: ManifestFile) -> bool:
    return file.pieces[: len(earlier.pieces)] == earlier.pieces
