"""SQL over tables, with DuckDB: nothing is written, nothing is fetched, and no other file is opened unless allowed."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from reread.dataset.extra import require
from reread.dataset.manifest import TablesManifest, newest_manifests
from reread.dataset.place import TablePlace
from reread.dataset.schema import FLOAT, INTEGER, PARTITIONS, STRING, TABLES, TIME, TableSchema
from reread.disk.regular import NotRegular, open_regular
from reread.errors import Misuse, NotFound, Unreadable

duckdb: Any = require("duckdb")
pyarrow: Any = require("pyarrow")
RecordBatch = RecordBatchReader = Schema = Any
"""The types of pyarrow, which has no type stubs."""

BATCH_ROWS = 8192
ATTEMPTS = 5
"""How often a query is tried if files of it are replaced meanwhile."""
SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",  # a name in a query is no variable of this program
    "temp_directory": "",
}
TYPES = {STRING: "VARCHAR", INTEGER: "BIGINT", FLOAT: "DOUBLE", TIME: "TIMESTAMP WITH TIME ZONE"}
READING = frozenset({"SELECT", "EXPLAIN", "MULTI"})
"""The types of statements that only read; MULTI is a PIVOT."""
_WORD = re.compile(r"\w+")
_RESERVED = re.compile(r'(?<!")\boffset\b')
_MISSING_TABLE = re.compile(r"Catalog Error: Table with name (\S+) does not exist!")
WITH_FILES = READING | {"COPY"}
REPLACED = (FileNotFoundError, duckdb.IOException, duckdb.PermissionException)
"""The errors for a file that is gone, which then is not allowed either."""


class QueryResult(NamedTuple):
    """The rows that one statement gives."""

    schema: Schema
    batches: Iterator[RecordBatch]

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python values."""
        for batch in self.batches:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


class Database:
    """The tables of a folder as views of a database in memory; close it after use."""

    def __init__(self, place: TablePlace, *, text: bool | None = None, allow_files: bool = False) -> None:
        """Open the tables; with text if all have it, unless `text` says otherwise."""
        self.place = place
        self._text, self._allow_files = text, allow_files
        self._connection: Any = None
        self._manifests: list[TablesManifest] = []
        self._asked = set[str]()
        """The tables that queries have named: only their files are fetched."""
        self._open()

    @property
    def text(self) -> bool:
        """True if the tables have the columns with text."""
        return all(manifest.text for manifest in self._manifests) if self._text is None else self._text

    def _open(self) -> bool:
        """Take the newest files from now on; False if they are those that were taken before."""
        manifests = newest_manifests(self.place)
        if not manifests:
            raise NotFound(f"No tables in {self.place.location('')}; write them there with `reread tables -o`.")
        if manifests == self._manifests:
            return False
        self._manifests = manifests
        self.close()
        return True

    def _connect(self) -> None:
        """Make the views; those of tables that were not asked for yet refuse to be read."""
        names = {name: [file for own, file in self._files() if own == name] for name in TABLES}
        self.place.fetch(file for name in self._asked for file in names[name])
        self.close()
        self._connection = duckdb.connect(":memory:", config=SETTINGS)
        files = {name: list(map(self._regular_path, names[name])) for name in self._asked}
        for name, table in TABLES.items():
            try:
                self._connection.execute(_view(table, files.get(name), text=self.text))
            except REPLACED:
                raise
            except duckdb.Error as error:
                where = self.place.location(name)
                raise Unreadable(f"Cannot read {where}: {_sentence(str(error))}", path=where) from None
        if not self._allow_files:
            allowed = ", ".join(_quoted(location) for found in files.values() for location in found)
            self._connection.execute(f"SET allowed_paths = [{allowed}]")
            self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def _files(self) -> Iterator[tuple[str, str]]:
        """Yield table and name of every file."""
        for manifest in self._manifests:
            yield from ((table, name) for table, _, name in manifest.files())

    def _regular_path(self, name: str) -> str:
        """Return the path of a file; raise Unreadable for one that the engine would wait for, such as a pipe."""
        path = self.place.path(name)
        try:
            open_regular(path).close()
        except NotRegular as error:
            raise Unreadable.at(path, error) from error
        except OSError:  # the engine says what is wrong
            pass
        return path

    def _ask_for(self, text: str) -> None:
        """Connect to the tables that a text names, which are fetched, besides those that were named before."""
        more = TABLES.keys() & set(_WORD.findall(text.lower())) - self._asked
        self._asked |= more
        for _ in range(ATTEMPTS):
            if self._connection is not None and not more:
                return None
            try:
                return self._connect()
            except REPLACED as error:
                if not self._open():
                    raise Unreadable(f"Cannot read {self.place.location('')}: {self._message(error)}") from None
        raise self._too_fast()

    def _too_fast(self) -> Unreadable:
        return Unreadable(f"Cannot read {self.place.location('')}: its files are replaced too fast; try again.")

    def statements(self, text: str) -> list[str]:
        """Split a text into its statements; raise Misuse if one is not SQL or does more than read."""
        self._ask_for(text)
        try:
            found = self._connection.extract_statements(text)
        except duckdb.Error as error:
            raise Misuse(self._message(error, text)) from None
        allowed = WITH_FILES if self._allow_files else READING
        for statement in found:
            if statement.type.name not in allowed:
                hint = "; add --allow-files to write with COPY" if statement.type.name == "COPY" else ""
                raise Misuse(f"Cannot run {statement.type.name}: the tables are only read{hint}.")
        return [statement.query.strip() for statement in found]

    def query(self, statement: str) -> QueryResult:
        """Run one statement; its rows are computed while they are read."""
        for _ in range(ATTEMPTS):
            self._ask_for(statement)
            try:
                with _interruptible():
                    return self._run(statement)
            except REPLACED as error:
                if not self._open():
                    raise Misuse(self._message(error)) from None
            except (duckdb.Error, OSError) as error:  # Arrow passes on what DuckDB reports as the latter
                raise Misuse(self._message(error)) from None
        raise self._too_fast()

    def read_all(self, statement: str) -> RecordBatchReader:
        """Run one statement and return its rows, which need the database no longer."""
        result = self.query(statement)
        return pyarrow.RecordBatchReader.from_batches(result.schema, list(result.batches))

    def _run(self, statement: str) -> QueryResult:
        relation = self._connection.sql(statement)
        if relation is None:  # COPY gives no rows
            return QueryResult(pyarrow.schema([]), iter(()))
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
        reader = read(BATCH_ROWS)
        first = next(reader, None)
        return QueryResult(reader.schema, self._rest(first, reader))

    def _rest(self, first: RecordBatch | None, reader: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        try:
            with _interruptible():
                if first is not None:
                    yield first
                    yield from reader
        except duckdb.Error as error:
            raise Misuse(self._message(error)) from None
        except OSError as error:  # how Arrow passes on what DuckDB reports
            raise Misuse(_sentence(str(error))) from None

    def _message(self, error: Exception, statement: str = "") -> str:
        text = str(error)
        hidden = {column.name for table in TABLES.values() for column in table.columns if column.text}
        hint = ""
        if not self.text and any(f'"{name}"' in text for name in hidden):
            hint = " The columns with text need --text."
        elif "disabled by configuration" in text and not self._allow_files:
            hint = " Other files can be read with --allow-files."
        elif "requires the extension" in text:
            hint = " No extension is loaded; --tables s3://… asks tables in a bucket."
        elif "Parser Error" in text and _RESERVED.search(statement):
            hint = ' A word of SQL, such as offset, is a column only in quotes: "offset".'
        elif missing := _MISSING_TABLE.match(text):
            return f"No table {missing[1]}; the tables are {', '.join(TABLES)}."
        elif "Referenced column" in text:
            hint = " Run `reread tables` to list the columns."
        return _sentence(text) + hint

    def close(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def _interruptible() -> Generator[None]:
    """Raise KeyboardInterrupt for what the engine, or Arrow for it, raises after Ctrl-C."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (RuntimeError, OSError) as error:
        if not str(error).startswith(("Query interrupted", "INTERRUPT Error")):
            raise
        raise KeyboardInterrupt from None


def _sentence(text: str) -> str:
    """Return a message of DuckDB without what follows it: a copy of the query, or how to install an extension."""
    said = text.strip().split("\n\n")[0]
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _view(table: TableSchema, files: list[str] | None, *, text: bool) -> str:
    """Return the statement that makes a view of the files of a table, or of no rows if there are none.

    Without a list of files, it is a view that cannot be read.
    """
    columns = table.selected(text=text)
    if not files:
        typed = ", ".join(f'NULL::{TYPES.get(column.type, "BOOLEAN")} AS "{column.name}"' for column in columns)
        rows = "false" if files is not None else f"error('Cannot read {table.name}: name it in the query.')"
        return f'CREATE VIEW "{table.name}" AS SELECT {typed} WHERE {rows}'
    names = ", ".join(f'"{column.name}"' for column in columns)
    listed = ", ".join(map(_quoted, files))
    folders = ", ".join(f"'{column.name}': VARCHAR" for column in PARTITIONS)
    source = f"read_parquet([{listed}], hive_partitioning = true, hive_types = {{{folders}}})"
    return f'CREATE VIEW "{table.name}" AS SELECT {names} FROM {source}'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
