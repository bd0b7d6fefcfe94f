"""Mirrors of buckets: folders with a stub for each file that is kept there, so that everything reads them as folders.

A mirror has a folder for each machine that keeps sessions in the bucket. It can be deleted: it is made again from the
manifests. The bytes stay in the bucket until somebody reads them.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reread.base import jsontext
from reread.errors import Unreadable
from reread.storage.atomic import write_all, write_atomic
from reread.storage.byte_store import ObjectState, StoreError
from reread.storage.kept_file import read_whole
from reread.storage.kept_manifest import (
    MachineManifest,
    ManifestFile,
    decode_manifest,
    manifest_name,
    read_kept_manifest,
    safe_name,
)
from reread.storage.kept_names import generation_path
from reread.storage.lock import lock
from reread.storage.safe_open import make_private_folder, open_descriptor, open_no_link
from reread.storage.stub import stub_bytes
from reread.storage.user_paths import MACHINES, MIRROR_STATE, is_machine_id, named_url

if TYPE_CHECKING:
    from reread.storage.bucket import BucketStore

FRESH_SECONDS = 10.0
"""A mirror that was brought up to date so recently is taken as it is."""
SETTLED = 2_000_000_000
"""A manifest may be replaced so many nanoseconds later and have the same time."""
WAIT_SECONDS = 120.0

_refreshed: dict[Path, float] = {}


class SeenManifest(msgspec.Struct, frozen=True, array_like=True):
    """The manifest that a mirror shows."""

    size: int
    modified: int
    content: bytes


def mirrored_folders(mirror: Path) -> list[Path]:
    """Return the folder of each machine in a mirror, after bringing it up to date."""
    url = named_url(mirror)
    if url is not None and time.monotonic() - _refreshed.get(mirror, -FRESH_SECONDS) >= FRESH_SECONDS:
        try:
            refresh_mirror(mirror, url)
        except OSError as error:
            raise Unreadable.at(error.filename or url, error) from error
        _refreshed[mirror] = time.monotonic()
    found = sorted(mirror.iterdir()) if os.path.isdir(mirror) else []
    return [folder for folder in found if folder.name != MIRROR_STATE]


def refresh_mirror(mirror: Path, url: str) -> None:
    """Bring a mirror up to date with the manifests in the bucket."""
    from reread.storage.bucket import store_at  # loaded late: few keep in a bucket

    store = store_at(url)
    machines = [name for name in store.folders(MACHINES) if is_machine_id(name)]
    if not machines:
        store.require()
    states = _readable(store, [manifest_name(machine) for machine in machines])
    for machine in machines:
        state = states.get(manifest_name(machine))
        if state is None or _is_seen(mirror, machine, state):
            continue
        with _locked(mirror, machine) as is_ours:
            if is_ours and not _is_seen(mirror, machine, state):
                show_manifest(mirror, url, *read_kept_manifest(store, machine), state)


def _readable(store: BucketStore, names: list[str]) -> dict[str, ObjectState]:
    """Return the states of some objects, without those that one may not read; raise StoreError if that is all."""
    try:
        return store.stat(names)
    except StoreError as error:
        if error.errno != errno.EACCES or len(names) < 2:
            raise
    found: dict[str, ObjectState] = {}
    denied: StoreError | None = None
    for name in names:
        try:
            found |= store.stat([name])
        except StoreError as error:
            if error.errno != errno.EACCES:
                raise
            denied = error
    if denied is not None and not found:
        raise denied
    return found


def machine_state(mirror: Path, machine: str) -> Path:
    """Return the folder with what a mirror knows of a machine."""
    return mirror / MIRROR_STATE / machine


def keeping_note(mirror: Path, machine: str) -> Path:
    """Return the file that exists while this machine keeps sessions, which can take long."""
    return machine_state(mirror, machine) / "keeping"


def open_lock(mirror: Path, machine: str) -> int:
    """Open the file to lock while the stubs of a machine are changed."""
    folder = machine_state(mirror, machine)
    make_private_folder(folder)
    return open_descriptor(folder / "lock", os.O_RDWR | os.O_CREAT)


@contextmanager
def _locked(mirror: Path, machine: str) -> Generator[bool]:
    """Be the only one to change the stubs of a machine; yield False if it is this one, and is keeping sessions."""
    descriptor = open_lock(mirror, machine)
    keeping = keeping_note(mirror, machine)
    deadline = time.monotonic() + WAIT_SECONDS
    try:
        while not (is_ours := lock(descriptor, wait=0.2)):
            if os.path.exists(keeping) or time.monotonic() > deadline:
                break
        if is_ours:
            keeping.unlink(missing_ok=True)  # left by a run that was killed
        yield is_ours
    finally:
        os.close(descriptor)


def _is_seen(mirror: Path, machine: str, state: ObjectState) -> bool:
    seen = _seen(mirror, machine)
    return seen is not None and (seen.size, seen.modified) == (state.size, state.modified)


def _seen(mirror: Path, machine: str) -> SeenManifest | None:
    try:
        return msgspec.msgpack.decode(read_whole(machine_state(mirror, machine) / "seen"), type=SeenManifest)
    except (OSError, *jsontext.DECODE_ERRORS):
        return None


def show_manifest(
    mirror: Path, url: str, manifest: MachineManifest, content: bytes, state: ObjectState | None = None
) -> None:
    """Give a mirror exactly the stubs of a manifest, and remember it; without a state, it is read again next time."""
    seen = _seen(mirror, manifest.machine)
    before = decode_manifest(seen.content) if seen is not None else None
    known = before.by_key() if before is not None else {}
    files, top = manifest.by_key(), mirror / manifest.machine
    make_private_folder(top)
    for file in files.values():
        with suppress(OSError, OverflowError):  # a name or a time that this system cannot have
            write_stub(top, url, file, known.get(file.key))
    wanted = {path for path in (stub_path(top, file) for file in files.values()) if path is not None}
    _remove_others(top, wanted)
    remember_manifest(mirror, manifest.machine, content, state)


def remember_manifest(mirror: Path, machine: str, content: bytes, state: ObjectState | None = None) -> None:
    """Note which manifest the stubs of a machine show."""
    settled = state is not None and time.time_ns() - state.modified > SETTLED
    size, modified = (state.size, state.modified) if state is not None and settled else (-1, -1)
    folder = machine_state(mirror, machine)
    make_private_folder(folder)
    write_atomic(folder / "seen", [msgspec.msgpack.encode(SeenManifest(size, modified, content))], follow=False)


def stub_path(top: Path, file: ManifestFile) -> str | None:
    """Return where the stub of a file is; None if it can have none."""
    name = safe_name(file.name)
    return generation_path(top / name, file.generation) if name is not None else None


def write_stub(top: Path, url: str, file: ManifestFile, before: ManifestFile | None) -> None:
    """Write the stub of a file, or append to it what is new since an earlier state that it shows."""
    path = stub_path(top, file)
    if path is None or (before == file and os.path.lexists(path)):
        return
    pieces = [piece.piece() for piece in file.pieces]
    content = stub_bytes(url, pieces)
    there = _content(path)
    if there is not None and content.startswith(there):
        descriptor = open_no_link(path, os.O_WRONLY | os.O_APPEND)
        try:
            write_all(descriptor, content[len(there) :])
        finally:
            os.close(descriptor)
    else:
        make_private_folder(Path(path).parent)
        write_atomic(Path(path), [content], follow=False)
    os.utime(path, ns=(file.modified, file.modified))


def _content(path: str) -> bytes | None:
    """Return the bytes of a stub; None if there is none."""
    try:
        descriptor = open_no_link(path)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _remove_others(top: Path, wanted: set[str]) -> None:
    """Delete what a mirror has of a machine besides its stubs."""
    for folder, folders, names in os.walk(top, topdown=False):
        for name in names:
            if (path := os.path.join(folder, name)) not in wanted:
                os.unlink(path)  # noqa: PTH108
        if not names and not folders:
            with suppress(OSError):
                os.rmdir(folder)  # noqa: PTH106
