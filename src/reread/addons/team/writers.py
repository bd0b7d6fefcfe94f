"""The machines that write to the bucket of a team, and which of their files can be used.

Whoever may write there may write anything: so nothing that a machine wrote keeps the others from being read. What is
too large, is not a table, or has other types or rows than its manifest says is left out, and the machine is named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import IO, Any

import msgspec

from reread.addons.team.values import Writer
from reread.base.optional_dependencies import require
from reread.catalog.team_settings import is_team_name
from reread.dataset.arrow import arrow_schema, pyarrow
from reread.dataset.figures import FIGURES
from reread.dataset.manifest import FOLDER, TablePart, TablesManifest, newest_manifest
from reread.dataset.schema import CALLS, PARTITIONS, TABLES, written_version
from reread.dataset.table_files import TableFiles
from reread.disk.machine import is_machine_id
from reread.errors import NotFound, RereadError, Unreadable

parquet: Any = require("pyarrow.parquet")

MOST_MACHINES = 10_000
LARGEST_FILE = 1 << 30
"""Bytes of a file that is fetched; a machine writes files of about 64 MB."""
LARGEST_RAW = 4 << 30
"""Bytes that the columns of a file may have, unpacked."""
MOST_ROWS = 1 << 24
"""Rows of a file; equal ones take no space."""
MOST_GROUPS = 1 << 14
CHUNK = 1 << 20
CHECKS = 4
"""How many files are hashed and checked at once."""
MOST_TOKENS = 10**9
"""No response has more."""
_FOLDERS = frozenset(column.name for column in PARTITIONS)
_ADDED = _FOLDERS | {"filename", "file_row_number"}
"""Columns that DuckDB adds to those of a file: one that has them would stand in for another."""
ANY_MONTH = ""
SPAN = 12
"""For so many months, the calls of a session are looked for in tables that do not name theirs."""
HASHED_IDS = 4
"""The first version of the tables that hashes ids for a team."""
UNKNOWN = "(unknown)"
"""The person of a machine whose tables are of an earlier version, which names none."""


class TableFileRef(msgspec.Struct, frozen=True):
    """A file of a machine that its manifest names."""

    machine: str
    table: str
    months: tuple[str | None, ...]
    """The months that its rows may be of."""
    name: str
    rows: int
    sha256: str
    words: bool
    plain_ids: bool = False
    """True if its ids are not hashed, as in tables with words and in those of earlier versions."""


class Writers:
    """The machines of a bucket at one time."""

    def __init__(self, place: TableFiles) -> None:
        self.place = place
        self.manifests: dict[str, TablesManifest] = {}
        self.refused: dict[str, list[str]] = {}
        """The reasons, by machine."""
        self._written: dict[str, int] = {}
        self.changes: int = 0
        """How often the manifests were others than before."""
        self._faults: dict[str, str | None] = {}
        """Why a file cannot be used, or None, by name: files never change."""
        self._columns: dict[str, dict[str, str]] = {}

    def refresh(self) -> None:
        """Take the newest manifest of each machine; raise NotFound if there is none at all."""
        states = [state for state in self.place.store.list(FOLDER) if state.name.count("/") == 2]
        written: dict[str, int] = {}
        for state in states:
            machine = state.name.split("/")[1]
            if state.name.endswith(".json") and is_machine_id(machine):
                written[machine] = max(state.modified, written.get(machine, 0))
        if written == self._written and self.manifests:
            return
        if not written:
            raise NotFound(f"No tables in {self.place.location('')}; write them with `reread tables --to`.")
        self._written, self.manifests, self.refused = written, {}, {}
        self.changes += 1
        for machine in sorted(written)[:MOST_MACHINES]:
            try:
                found = newest_manifest(self.place, machine)
            except (Unreadable, OSError) as error:
                self.refuse(machine, f"its manifest cannot be read ({error})")
                continue
            if found is None:
                continue
            if not all(name is None or is_team_name(name) for name in (found.person, found.team)):
                self.refuse(machine, "its manifest names no person or team that could be one")
                continue
            self.manifests[machine] = found
        for machine in sorted(written)[MOST_MACHINES:]:
            self.refuse(machine, f"there are more than {MOST_MACHINES:,} machines")

    def refuse(self, machine: str, reason: str) -> None:
        """Note that something of a machine is left out."""
        reasons = self.refused.setdefault(machine, [])
        if reason not in reasons:
            reasons.append(reason)

    @property
    def people(self) -> dict[str, str]:
        """The person of each machine."""
        return {machine: found.person or UNKNOWN for machine, found in self.manifests.items()}

    @property
    def shown_alone(self) -> frozenset[str]:
        """The people who agree that figures of them alone are shown: on all their machines."""
        all_machines: dict[str, bool] = {}
        for found in self.manifests.values():
            person = found.person or UNKNOWN
            all_machines[person] = all_machines.get(person, True) and found.shown_alone
        return frozenset(person for person, agrees in all_machines.items() if agrees)

    def listed(self) -> list[Writer]:
        """Return all machines, also those of which nothing can be used."""
        rows: list[Writer] = []
        for machine in sorted(self.manifests.keys() | self.refused.keys()):
            found = self.manifests.get(machine)
            person = found.person if found is not None else None
            modified = self._written.get(machine)
            rows.append(
                Writer(
                    machine,
                    person,
                    found.team if found is not None else None,
                    datetime.fromtimestamp(modified / 1e9, UTC) if modified is not None else None,
                    found.rows("usage") if found is not None else 0,
                    person is not None and (machine == person or machine.startswith((f"{person}-", f"{person}."))),
                    found is not None and not found.figures,
                    tuple(self.refused.get(machine, ())),
                )
            )
        return rows

    def files(self, *tables: str, month: str | None = ANY_MONTH) -> Iterator[TableFileRef]:
        """Yield the files of tables, of all parts or of those whose rows of the first table may be of a month."""
        for machine, found in self.manifests.items():
            for part in (*found.parts, *found.usage):
                months = _months(part, tables[0], words=not found.figures)
                if tables[0] in part.rows and month in (ANY_MONTH, *months):
                    for table in part.rows.keys() & set(tables):
                        name, hashed = part.files(machine)[table], part.sha256.get(table, "")
                        plain = not found.figures or found.version < HASHED_IDS
                        yield TableFileRef(
                            machine, table, months, name, part.rows[table], hashed, not found.figures, plain
                        )

    def fetch(self, files: Iterable[TableFileRef]) -> list[TableFileRef]:
        """Bring files to this machine, and return those that can be used."""
        wanted = list(files)
        unknown = [file for file in wanted if file.name not in self._faults]
        sizes = {name: state.size for name, state in self.place.store.stat(file.name for file in unknown).items()}
        for file in unknown:
            size = sizes.get(file.name, 0)
            if not 0 < size <= LARGEST_FILE:
                self._faults[file.name] = "is too large" if size else "is missing"
        self._fetch([file for file in wanted if self._faults.get(file.name) is None])
        unread = [file for file in unknown if file.name not in self._faults]
        with ThreadPoolExecutor(CHECKS) as pool:
            faults = list(pool.map(self._fault, unread))
        self._faults.update(zip((file.name for file in unread), faults, strict=True))
        return [file for file in wanted if self._faults[file.name] is None]

    def _fetch(self, files: list[TableFileRef]) -> None:
        try:
            self.place.fetch(file.name for file in files)
        except FileNotFoundError:  # one is gone since: each by itself, so that the others come
            for file in files:
                try:
                    self.place.fetch([file.name])
                except FileNotFoundError:
                    self._faults[file.name] = "is missing"

    def _fault(self, file: TableFileRef) -> str | None:
        """Return why a file is not what its manifest says, or has other columns than the table; None if it is fit."""
        try:
            with self.place.open(file.name) as data:
                if file.sha256 and _sha256(data) != file.sha256:
                    return "was changed after it was written"
                opened = parquet.ParquetFile(data)
                about = opened.metadata
                groups = (about.row_group(n) for n in range(about.num_row_groups))
                if about.num_rows != file.rows:
                    return "has other rows than its manifest says"
                if (
                    about.num_rows > MOST_ROWS
                    or about.num_row_groups > MOST_GROUPS
                    or sum(group.total_byte_size for group in groups) > LARGEST_RAW
                ):
                    return "is too large"
                table = TABLES[file.table] if file.words else FIGURES[file.table]
                called = table.names_in(written_version(opened.schema_arrow.metadata))
                schema = arrow_schema(table, text=True)
                wanted = {called[field.name]: field.type for field in schema if field.name in called}
                found = {one.name.lower(): one for one in opened.schema_arrow}  # engines ignore the case of names
                others = [
                    one.name
                    for name, one in found.items()
                    if name in wanted and (one.name, one.type) != (name, wanted[name])
                ]
                others += sorted(found.keys() & _ADDED)
                if others or len(found) < len(opened.schema_arrow):
                    return f"has a column {(others or [*found])[0]!r} of another type"
                there = {name: own for name, own in called.items() if own in found}
                self._columns[file.name] = there | {name: name for name in _FOLDERS}
                return "has figures that cannot be" if file.table == "usage" and not _is_possible(about) else None
        except (OSError, ValueError, RereadError, pyarrow.ArrowException) as error:
            return f"cannot be read ({str(error)[:200]})"

    def columns(self, file: TableFileRef) -> dict[str, str]:
        """Return the columns that a file has which can be used, each with its name there."""
        return self._columns[file.name]

    def reason(self, file: TableFileRef) -> str:
        """Return why a file cannot be used."""
        return f"{file.name} {self._faults[file.name]}"

    def condemn(self, file: TableFileRef, reason: str) -> None:
        """Note that a file cannot be used after all."""
        self._faults[file.name] = reason


def _months(part: TablePart, table: str, *, words: bool) -> tuple[str | None, ...]:
    """Return the months that the rows of a part may be of."""
    if table != CALLS.name or part.month is None:
        return (part.month,)
    if not words:
        return tuple(part.call_months) or (part.month,)
    first = 12 * int(part.month[:4]) + int(part.month[5:]) - 1  # earlier versions do not tell
    later = range(first + 1, min(first + SPAN, 12 * 10_000))
    return (None, part.month, *(f"{month // 12:04}-{month % 12 + 1:02}" for month in later))


def _is_possible(about: Any) -> bool:
    """True if what a file says of its columns allows that all its figures are those of single responses."""
    for n in range(about.num_row_groups):
        group = about.row_group(n)
        for column in map(group.column, range(group.num_columns)):
            said = column.statistics
            is_figure = column.path_in_schema.endswith(("_tokens", "_usd", "responses"))
            if is_figure and said is not None and said.has_min_max and (said.min < 0 or said.max > MOST_TOKENS):
                return False
    return True


def _sha256(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while piece := file.read(CHUNK):
        digest.update(piece)
    return digest.hexdigest()
