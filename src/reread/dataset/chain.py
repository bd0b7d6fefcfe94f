"""The chain of a machine's changes to the tables of a team: who wrote what, and when.

Each change has an entry beside the manifest. It names the files that came, with their SHA-256, and those that went, the
SHA-256 of the manifest, and that of the entry before. Entries are small, never change, and stay when manifests and
files are replaced: so whoever has noted an entry's hash can tell later that nothing before it was changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from reread.base import jsontext
from reread.dataset.manifest import (
    TablesManifest,
    newest_manifest,
    numbered_name,
    numbers,
)
from reread.dataset.table_files import TableFiles
from reread.errors import Unreadable
from reread.storage.byte_store import StoreError
from reread.storage.manifest import LARGEST_MANIFEST

ENDING = ".entry"
LARGEST_ENTRY = 16 << 20
CHUNK = 1 << 20


class ChainEntry(msgspec.Struct, frozen=True):
    """One change that a machine made."""

    machine: str
    sequence: int
    person: str | None
    team: str | None
    time: datetime
    """When it was made, by the clock of that machine."""
    manifest: str
    """The SHA-256 of the manifest."""
    previous: str
    """The SHA-256 of the entry before; empty in the first one."""
    added: dict[str, str]
    """The SHA-256 of each file that came, by its name."""
    removed: list[str]


class ChainFinding(msgspec.Struct, frozen=True):
    """Something in a bucket that is not as its machine wrote it."""

    machine: str
    text: str
    file: str | None = None


def write_entry(place: TableFiles, before: TablesManifest | None, after: TablesManifest) -> None:
    """Write the entry of a change whose manifest was just written."""
    earlier = numbers(place, after.machine, ENDING)
    previous = _hash(_read(place, after.machine, earlier[-1], ENDING)) if earlier else ""
    old, new = hashes(before) if before is not None else {}, hashes(after)
    entry = ChainEntry(
        after.machine,
        after.sequence,
        after.person,
        after.team,
        datetime.now(UTC),
        _hash(msgspec.json.encode(after)),
        previous,
        {name: found for name, found in new.items() if name not in old},
        sorted(old.keys() - new.keys()),
    )
    place.create(numbered_name(after.machine, after.sequence, ENDING), msgspec.json.encode(entry))


def hashes(manifest: TablesManifest) -> dict[str, str]:
    """Return the SHA-256 of each file by name, as far as the manifest has them."""
    parts = (*manifest.parts, *manifest.usage)
    return {name: part.sha256.get(table, "") for part in parts for table, name in part.files(manifest.machine).items()}


def check_chain(place: TableFiles, machine: str, *, files: bool = True) -> Iterator[ChainFinding]:
    """Yield what is not as the machine wrote it: an entry, the manifest, or with `files` a file."""
    try:
        last: ChainEntry | None = None
        previous = ""
        named: dict[str, str] = {}
        for number in numbers(place, machine, ENDING):
            data = _read(place, machine, number, ENDING)
            entry = msgspec.json.decode(data, type=ChainEntry)
            if (entry.machine, entry.sequence, entry.previous) != (machine, number, previous):
                yield ChainFinding(machine, f"entry {number} does not follow the one before")
            named = {name: found for name, found in named.items() if name not in entry.removed} | entry.added
            last, previous = entry, _hash(data)
        manifest = newest_manifest(place, machine)
        if manifest is None or last is None:
            yield ChainFinding(machine, "it has no manifest" if manifest is None else "an earlier version wrote it")
            return
        if (last.sequence, last.manifest) != (manifest.sequence, _hash(_read(place, machine, manifest.sequence))):
            yield ChainFinding(machine, f"the manifest {manifest.sequence} is not that of the last entry")
        expected = hashes(manifest)
        if {name: named.get(name, found) for name, found in expected.items()} != expected:
            yield ChainFinding(machine, "the manifest has other files than the entries")
        for name, wanted in expected.items() if files else ():
            if wanted and (found := stored_hash(place, name)) != wanted:
                yield ChainFinding(machine, "it is gone" if found is None else "its content was changed", name)
    except (OSError, Unreadable, *jsontext.DECODE_ERRORS) as error:
        yield ChainFinding(machine, f"it cannot be read ({error})")


def stored_hash(place: TableFiles, name: str) -> str | None:
    """Return the SHA-256 of a file as it is in the folder or bucket now; None if it is gone."""
    digest, offset = hashlib.sha256(), 0
    try:
        while piece := place.store.read(name, offset, CHUNK):
            digest.update(piece)
            offset += len(piece)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def _read(place: TableFiles, machine: str, number: int, ending: str = ".json") -> bytes:
    name = numbered_name(machine, number, ending)
    try:
        return place.store.read_whole(name, LARGEST_ENTRY if ending == ENDING else LARGEST_MANIFEST)
    except StoreError as error:
        raise Unreadable.at(place.location(name), error) from error


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
