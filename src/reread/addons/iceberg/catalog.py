"""Commit tables to an Iceberg catalogue: the rows of each machine and month as a whole, and only if they changed.

A property of each Iceberg table says of what state of the transcripts the rows of a machine and month were made. It
changes in the same commit as the rows, so a run that is repeated or was killed neither loses rows nor doubles them.
"""

from __future__ import annotations

import hashlib
import os
import random
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reread.base.optional_dependencies import require
from reread.dataset.arrow import arrow_schema, pyarrow
from reread.dataset.figures import FIGURES
from reread.dataset.manifest import FOLDER, TablePart, TablesManifest, newest_manifest
from reread.dataset.parquet import read_batches
from reread.dataset.schema import PARTITIONS, RENAMED, TABLES, USAGE, VERSION, TableSchema
from reread.dataset.table_files import TableFiles
from reread.disk.layout import expand_path
from reread.errors import Misuse, Unwritable
from reread.storage.safe_open import make_private_folder
from reread.storage.services import S3
from reread.storage.user_paths import is_bucket_url, service_of

pyiceberg_catalog: Any = require("pyiceberg.catalog", "iceberg", "Iceberg needs")
exceptions: Any = require("pyiceberg.exceptions", "iceberg", "Iceberg needs")
expressions: Any = require("pyiceberg.expressions", "iceberg", "Iceberg needs")
Catalog = IcebergTable = Any
"""The types of pyiceberg, which is not always installed."""

NAMESPACE = "reread"
CATALOG_NAME = "default"
"""The name of a catalogue that is given by its address; an SQL catalogue has its tables under it."""
WAREHOUSE = "warehouse"
NO_MONTH = "none"
ATTEMPTS = 100
"""How often a commit is tried while others commit to the same table."""
LONGEST_WAIT = 2.0
WAIT_SECONDS = 600.0
CHUNK_BYTES = 128 << 20
"""The rows that are in memory at once."""
NEW_TABLE = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}
"""Properties of a new table: without them, a file of metadata stays for every commit."""


def open_catalog(name: str, warehouse: str | None = None) -> Catalog:
    """Return the catalogue with this name in the configuration of pyiceberg, or at this address."""
    options = {"warehouse": _warehouse(warehouse)} if warehouse else {}
    if "://" in name:
        options = {"uri": name, **_default_options(name, warehouse), **options}
    try:
        return _again(lambda: pyiceberg_catalog.load_catalog(CATALOG_NAME if "://" in name else name, **options))
    except Unwritable:
        raise
    except Exception as error:  # whatever the library of that kind of catalogue raises
        advice = "name one of your .pyiceberg.yaml, or give its address, such as sqlite:///catalog.db"
        raise Misuse(f"No Iceberg catalogue {name!r} ({_first_line(error)}); {advice}.") from error


def _warehouse(given: str) -> str:
    return given if "://" in given else expand_path(given).absolute().as_uri()


def _default_options(uri: str, warehouse: str | None) -> dict[str, str]:
    """Return where the files of a catalogue in SQLite are, and how to reach a bucket."""
    options: dict[str, str] = {}
    scheme, _, path = uri.partition(":///")
    if scheme == "sqlite" and path and warehouse is None:
        folder = Path(path).absolute().parent / WAREHOUSE
        make_private_folder(folder)
        options["warehouse"] = folder.as_uri()
    if warehouse is not None and is_bucket_url(warehouse) and service_of(warehouse) is S3:
        for name, variable in (("s3.endpoint", S3.endpoint), ("s3.region", "AWS_REGION")):
            if os.environ.get(variable):
                options[name] = os.environ[variable]
    return options


def commit_tables(place: TableFiles, machine: str, catalog: Catalog) -> int:
    """Bring the tables of a catalogue up to date with what a machine has written; return the number of commits."""
    with place.locked(machine, WAIT_SECONDS) as alone:
        manifest = newest_manifest(place, machine)
        if not alone or manifest is None:
            where = place.location(FOLDER)
            raise Unwritable(f"Cannot read {where}: another process is writing there; try again when it is done.")
        try:
            _again(lambda: catalog.create_namespace_if_not_exists(NAMESPACE))
            return sum(_commit_table(place, manifest, catalog, name) for name in _known(manifest))
        except OSError as error:
            raise Unwritable.at(f"{NAMESPACE} of {catalog.name}", error) from error
        except exceptions.NoSuchPropertyException as error:
            raise Misuse(f"Cannot create Iceberg tables ({_first_line(error)}); give a --warehouse.") from error


def _commit_table(place: TableFiles, manifest: TablesManifest, catalog: Catalog, name: str) -> int:
    """Bring the months of one table up to date; return the number of commits."""
    table = _again(lambda: _open_table(catalog, name, manifest))
    months: dict[str, list[TablePart]] = {}
    for part in manifest.usage if name == USAGE.name else manifest.parts:
        if part.rows.get(name):
            months.setdefault(part.month or NO_MONTH, []).append(part)
    known = {key.removeprefix(_key(manifest, "")) for key in table.properties if key.startswith(_key(manifest, ""))}
    return sum(
        _again(lambda month=month: _commit_month(place, manifest, catalog, name, month, months.get(month, [])))
        for month in sorted(months.keys() | known)
    )


def _open_table(catalog: Catalog, name: str, manifest: TablesManifest) -> IcebergTable:
    """Return a table, made if it does not exist; columns of earlier versions get their new names, others are added."""
    identifier = f"{NAMESPACE}.{name}"
    wanted = _schema(name, manifest)
    try:
        table = catalog.load_table(identifier)
    except exceptions.NoSuchTableError:
        new = catalog.create_table_transaction(identifier, schema=wanted, properties=NEW_TABLE)
        with new as transaction, transaction.update_spec() as spec:
            for column in PARTITIONS:
                spec.add_identity(column.name)
        return catalog.load_table(identifier)
    there = {field.name for field in table.schema().fields}
    called = _known(manifest)[name].names_in(RENAMED - 1)
    renamed = {own: new for new, own in called.items() if own != new and own in there and new not in there}
    if set(wanted.names) <= there and not renamed:
        return table
    if renamed:
        with table.update_schema() as update:
            for own, new in renamed.items():
                update.rename_column(own, new)
        table = catalog.load_table(identifier)
    with table.update_schema() as update:
        update.union_by_name(wanted)
    return catalog.load_table(identifier)


def _schema(name: str, manifest: TablesManifest) -> Any:
    """Return the Arrow schema of a table, with the comments of columns where pyiceberg looks for them."""
    table = _known(manifest)[name]
    schema = arrow_schema(table, text=manifest.text)
    docs = {column.name: column.doc for column in table.columns}
    return pyarrow.schema([field.with_metadata({"doc": docs[field.name]}) for field in schema])


def _known(manifest: TablesManifest) -> dict[str, TableSchema]:
    """Return the tables of a machine by name: all, or those for a team."""
    return FIGURES if manifest.figures else TABLES


def _commit_month(
    place: TableFiles, manifest: TablesManifest, catalog: Catalog, name: str, month: str, parts: list[TablePart]
) -> int:
    """Replace the rows of a machine and month, unless they are there already; return the number of commits."""
    table = catalog.load_table(f"{NAMESPACE}.{name}")
    key, state = _key(manifest, month), _state(manifest, name, parts)
    before = table.properties.get(key)
    if before == state:
        return 0
    # pyiceberg would append to whatever others committed meanwhile, be it the same rows: this has to be decided anew.
    table.metadata.properties["commit.retry.num-retries"] = "0"
    is_month = expressions.IsNull("month") if month == NO_MONTH else expressions.EqualTo("month", month)
    with warnings.catch_warnings(), table.transaction() as transaction:
        warnings.simplefilter("ignore")  # of rows that a commit before the last has removed
        if before is not None:
            transaction.delete(expressions.And(expressions.EqualTo("machine", manifest.machine), is_month))
        for rows in _chunks(place, manifest, name, parts):
            transaction.append(rows)
        if state is None:
            transaction.remove_properties(key)
        else:
            transaction.set_properties({key: state})
    return 1


def _key(manifest: TablesManifest, month: str) -> str:
    return f"{NAMESPACE}/{manifest.machine}/{month}"


def _state(manifest: TablesManifest, name: str, parts: list[TablePart]) -> str | None:
    """Return a hash of what the rows of some parts were made of; None if there are no rows."""
    if not parts:
        return None
    if name == USAGE.name:
        made_of = sorted(manifest.usage_digests[part.id] for part in parts)
    else:
        made_of = sorted(item for part in parts for item in part.transcripts.items())
    return hashlib.blake2b(repr((VERSION, manifest.text, made_of)).encode(), digest_size=8).hexdigest()


def _chunks(place: TableFiles, manifest: TablesManifest, name: str, parts: list[TablePart]) -> Iterator[Any]:
    """Yield the rows of some parts as Arrow tables of bounded size, with the columns that are folders in Parquet."""
    schema = _schema(name, manifest)
    pending: list[Any] = []
    for part in parts:
        for batch in read_batches(place, part.files(manifest.machine)[name], table=_known(manifest)[name]):
            values = (manifest.machine, part.month)
            own = [pyarrow.array([value] * batch.num_rows, pyarrow.string()) for value in values]
            pending.append(pyarrow.RecordBatch.from_arrays([*own, *batch.columns], schema=schema))
            if sum(found.nbytes for found in pending) >= CHUNK_BYTES:
                yield pyarrow.Table.from_batches(pending, schema=schema)
                pending.clear()
    if pending:
        yield pyarrow.Table.from_batches(pending, schema=schema)


def _again(action: Callable[[], Any]) -> Any:
    """Do something that fails if others commit at the same time, until it succeeds."""
    for attempt in range(ATTEMPTS):
        try:
            return action()
        except Exception as error:
            if not _is_conflict(error):
                raise
            time.sleep(random.uniform(0.05, min(LONGEST_WAIT, 0.1 * (attempt + 2))))
    raise Unwritable("Cannot write to Iceberg: others commit to the same table all the time; try again later.")


def _is_conflict(error: Exception) -> bool:
    """True if another writer was faster, or has the database of the catalogue locked."""
    if isinstance(error, exceptions.CommitFailedException | exceptions.TableAlreadyExistsError):
        return True
    if type(error).__name__ in ("CommitStateUnknownException", "ValidationException"):
        return True
    text = str(error)
    is_database = any(base.__name__ == "DBAPIError" for base in type(error).__mro__)
    return is_database and any(words in text for words in ("locked", "already exists", "UNIQUE", "duplicate key"))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
