"""The manifest of a machine: which files its tables consist of, and which transcripts are in them.

Each change is a manifest with the next number. It names a whole, consistent set of files, is written after them, and
never changes. So a reader that takes the highest number sees all of a change or nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from reread.base import jsontext
from reread.dataset.schema import USAGE, VERSION
from reread.dataset.table_files import TableFiles
from reread.disk.machine import is_machine_id
from reread.errors import Unreadable
from reread.storage.manifest import BadManifest, check_size, read_manifest

FOLDER = "_reread"
"""Begins with an underscore, so that engines which read folders leave it out."""
NO_MONTH = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a month, which engines read as null."""
DIGITS = 9
ENDING = ".json"
_ID = re.compile(r"[0-9a-f]{16}")
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_TABLE = re.compile(r"[a-z_]+")


class TablePart(msgspec.Struct, frozen=True):
    """The rows of some transcripts that begin in the same month: a file for each table that has rows."""

    id: str
    month: str | None
    rows: dict[str, int]
    """The number of rows by table."""
    size: int = 0
    """Bytes of all its files."""
    transcripts: dict[str, str] = {}
    """The state of each transcript when it was read, by path; in tables for a team, by the hash of its path."""
    sha256: dict[str, str] = {}
    """The hash of its file by table; earlier versions wrote none."""
    call_months: list[str | None] = []
    """In tables for a team, the months in which its calls began: a session goes on for as long as it is resumed."""

    def files(self, machine: str) -> dict[str, str]:
        """Return the names of its files by table."""
        return {table: file_name(table, machine, self.month, self.id) for table in self.rows}


class TablesManifest(msgspec.Struct, frozen=True):
    """All files of a machine at one time."""

    machine: str
    sequence: int = 0
    version: int = VERSION
    """The version of the tables."""
    text: bool = False
    """True if they have the columns with text."""
    parts: list[TablePart] = []
    usage: list[TablePart] = []
    """The rows of `usage`, by month of the response."""
    usage_state: str = ""
    """A hash of all that they depend on."""
    usage_digests: dict[str, str] = {}
    """A hash of the rows of each part of them."""
    person: str | None = None
    """The person whose machine it is, in tables for a team: then they have no words."""
    team: str | None = None
    shown_alone: bool = False
    """True if the person agrees that figures of them alone are shown."""

    @property
    def figures(self) -> bool:
        """True if the tables are those for a team."""
        return self.person is not None

    @property
    def transcripts(self) -> dict[str, TablePart]:
        """The part in which each transcript is."""
        return {path: part for part in self.parts for path in part.transcripts}

    def files(self) -> Iterator[tuple[str, str | None, str]]:
        """Yield table, month and name of every file."""
        for part in (*self.parts, *self.usage):
            yield from ((table, part.month, name) for table, name in part.files(self.machine).items())

    def names_own_files(self) -> bool:
        """True if all its files are where those of a table are, and have as many rows as there can be."""
        parts = (*self.parts, *self.usage)
        return all(
            _ID.fullmatch(part.id)
            and all(month is None or _MONTH.fullmatch(month) for month in (part.month, *part.call_months))
            and all(map(_TABLE.fullmatch, part.rows))
            and all(0 <= rows < 1 << 53 for rows in part.rows.values())
            for part in parts
        )

    def rows(self, table: str) -> int:
        """Return the number of rows of a table."""
        return sum(part.rows.get(table, 0) for part in (self.usage if table == USAGE.name else self.parts))


def file_name(table: str, machine: str, month: str | None, id: str) -> str:
    """Return the name of a file of a table."""
    return f"{table}/machine={machine}/month={month or NO_MONTH}/{id}.parquet"


def newest_manifest(place: TableFiles, machine: str) -> TablesManifest | None:
    """Return the newest manifest of a machine; None if there is none."""
    for _ in range(100):  # the newest may be replaced by a newer one before it is read
        found = numbers(place, machine)
        if not found:
            return None
        name = numbered_name(machine, found[-1])
        try:
            return read_manifest(place.store, name, machine, _decode)[0]
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Unreadable.at(place.location(name), error) from error
    raise Unreadable(f"Cannot read {place.location(FOLDER)}: its manifests are replaced too fast; try again.")


def _decode(data: bytes) -> TablesManifest:
    try:
        found = msgspec.json.decode(data, type=TablesManifest)
    except jsontext.DECODE_ERRORS as error:
        raise BadManifest(f"it is not a manifest of tables ({error}); delete the folder") from error
    if not found.names_own_files():
        raise BadManifest("it names files that are not of its tables; delete the folder")
    return found


def newest_manifests(place: TableFiles) -> list[TablesManifest]:
    """Return the newest manifest of each machine."""
    names = (name.split("/") for name in place.names(FOLDER))
    machines = sorted({parts[1] for parts in names if len(parts) == 3 and is_machine_id(parts[1])})
    found = [found for machine in machines if (found := newest_manifest(place, machine)) is not None]
    place.forget(name for manifest in found for _, _, name in manifest.files())
    return found


def write_manifest(place: TableFiles, manifest: TablesManifest) -> bool:
    """Write a manifest; False if another writer has written one with its number."""
    name = numbered_name(manifest.machine, manifest.sequence)
    return place.create(name, check_size(msgspec.json.encode(manifest), place.location(name)))


def delete_older(place: TableFiles, manifest: TablesManifest) -> None:
    """Delete the manifests of the machine before this one."""
    for number in numbers(place, manifest.machine):
        if number < manifest.sequence:
            place.delete(numbered_name(manifest.machine, number))


def numbers(place: TableFiles, machine: str, ending: str = ENDING) -> list[int]:
    """Return the numbers of a machine's manifests, or of its files with another ending, ascending."""
    names = (name.rpartition("/")[2] for name in place.names(f"{FOLDER}/{machine}"))
    stems = (name.removesuffix(ending) for name in names if name.endswith(ending))
    return sorted(int(stem) for stem in stems if len(stem) == DIGITS and stem.isascii() and stem.isdigit())


def numbered_name(machine: str, sequence: int, ending: str = ENDING) -> str:
    """Return the name of a machine's manifest, or of its file with another ending."""
    return f"{FOLDER}/{machine}/{sequence:0{DIGITS}}{ending}"
