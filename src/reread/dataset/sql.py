"""SQL over tables, with DuckDB: nothing is written, nothing is fetched, and no other file is opened unless allowed.

The engine knows no path of a file: Arrow reads the tables for it. An engine that may open a file for reading may open
it for writing too, and a query can write in more ways than one would list: COPY in an EXPLAIN ANALYZE, or in a WITH.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from reread.base.optional_dependencies import require
from reread.dataset.arrow import arrow_schema, python_values
from reread.dataset.copies import counted
from reread.dataset.local_tables import own_tables
from reread.dataset.manifest import TablesManifest, newest_manifests
from reread.dataset.report import Progress
from reread.dataset.schema import PARTITIONS, RENAMED, TABLES, TableSchema, written_version
from reread.dataset.table_files import TableFiles
from reread.disk.fact_table import INTEGER, REAL, TEXT, TIME, Column
from reread.errors import Misuse, NotFound, Unreadable
from reread.storage.safe_open import NotRegular, open_plain

duckdb: Any = require("duckdb")
pyarrow: Any = require("pyarrow")
arrow_dataset: Any = require("pyarrow.dataset")
arrow_fs: Any = require("pyarrow.fs")
RecordBatch = Schema = Any
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
TYPES = {TEXT: "VARCHAR", INTEGER: "BIGINT", REAL: "DOUBLE", TIME: "TIMESTAMP WITH TIME ZONE"}
READS, EXPLAINS, SEVERAL, WRITES = "SELECT", "EXPLAIN", "MULTI", "COPY"
"""Types of statements; one is SEVERAL if it has a PIVOT anywhere."""
_WORD = re.compile(r"\w+")
_PACKED = re.compile(r"\b(?:BIT|BIGNUM)\b(?=[\[,)]|$)")
"""The types of values that Arrow has only as bytes, in the name of a type."""
_UNKNOWN = re.compile(r'Referenced column "(\w+)"')
_RESERVED = re.compile(r'(?<!")\boffset\b')
_MISSING_TABLE = re.compile(r"Catalog Error: Table with name (\S+) does not exist!")
IDS = frozenset({"uuid", "parent_uuid", "id", "message", "request", "call", "sha"})
"""Columns of which nearly every row has another value."""


class QueryResult(NamedTuple):
    """The rows that one statement gives."""

    schema: Schema
    batches: Iterator[RecordBatch]

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python values."""
        for batch in self.batches:
            yield from zip(*map(python_values, batch.columns), strict=True)


class Database:
    """The tables of a folder as views of a database in memory; close it after use."""

    def __init__(self, place: TableFiles, *, text: bool | None = None, allow_files: bool = False) -> None:
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
        for name, table in TABLES.items():
            try:
                rows = self._rows(table, names[name]) if name in self._asked else None
                self._connection.execute(_view(table, rows, text=self.text, copies=len(self._manifests) > 1))
            except FileNotFoundError:
                raise
            except (duckdb.Error, OSError, pyarrow.ArrowException) as error:
                where = self.place.location(name)
                raise Unreadable(f"Cannot read {where}: {_sentence(str(error))}", path=where) from None
        if not self._allow_files:
            self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def _rows(self, table: TableSchema, names: list[str]) -> list[str]:
        """Return queries for the rows of some files of a table, those of earlier versions apart.

        The names of their folders say some columns; those that files of an earlier version lack are null.
        """
        kinds = pyarrow.schema([(column.name, pyarrow.string()) for column in PARTITIONS])
        folders = arrow_dataset.HivePartitioning(kinds)
        # what is repeated is handed over as it is in the file, each value once: queries take half the time or less
        parquet = arrow_dataset.ParquetFileFormat(dictionary_columns=_repeated())
        files, fragments = arrow_fs.LocalFileSystem(), defaultdict[bool, list[Any]](list)
        for name in names:
            values = folders.parse(name)
            path = self._regular_path(name)
            fragment = parquet.make_fragment(path, files, partition_expression=values)
            found = fragment.physical_schema
            version = written_version(found.metadata)
            if set(found.names).isdisjoint(table.names_in(version).values()):  # its rows would be null
                raise Unreadable(f"Cannot read {path}: it has none of the columns of its table.", path=path)
            fragments[version < RENAMED].append(fragment)
        return [self._query(table, parquet, found, is_older) for is_older, found in sorted(fragments.items())]

    def _query(self, table: TableSchema, parquet: Any, fragments: list[Any], is_older: bool) -> str:
        """Return a query for the rows of files that call their columns alike."""
        called = table.names_in(RENAMED - is_older)
        schema = arrow_schema(table, text=self.text)
        there = pyarrow.schema([field.with_name(called[field.name]) for field in schema if field.name in called])
        source = f"{'earlier ' * is_older}files of {table.name}"
        self._connection.register(
            source, arrow_dataset.FileSystemDataset(fragments, there, parquet, arrow_fs.LocalFileSystem())
        )
        columns = ", ".join(
            f'"{called[column.name]}" AS "{column.name}"' if column.name in called else _null(column)
            for column in table.selected(text=self.text)
        )
        return f'SELECT {columns} FROM "{source}"'

    def _files(self) -> Iterator[tuple[str, str]]:
        """Yield table and name of every file."""
        for manifest in self._manifests:
            yield from ((table, name) for table, _, name in manifest.files())

    def _regular_path(self, name: str) -> str:
        """Return the path of a file; raise Unreadable for one that the engine would wait for, such as a pipe."""
        path = self.place.path(name)
        try:
            open_plain(path).close()
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
            except FileNotFoundError as error:
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
        for statement in found:
            kind = self._kind(statement.query)
            if kind != READS and not (kind == WRITES and self._allow_files):
                hint = "; add --allow-files to write with COPY" if kind == WRITES else ""
                raise Misuse(f"Cannot run {kind}: the tables are only read{hint}.")
        return [statement.query.strip() for statement in found]

    def _kind(self, statement: str) -> str:
        """Return the type of a statement, or of the one that it explains; what only reads is a SELECT."""
        [parsed] = self._connection.extract_statements(statement)
        words = _words(statement)
        first, _ = next(words)
        if first == EXPLAINS:
            for word, rest in words:  # what follows ANALYZE, or options in parentheses, is the first rest that is SQL
                if word not in ("ANALYZE", "ANALYSE"):
                    with suppress(duckdb.Error, ValueError):
                        return self._kind(rest)
        try:
            kind = parsed.type.name
        except ValueError:  # a type that its Python package does not name yet, such as UPDATE EXTENSIONS
            return first
        if kind != SEVERAL:
            return kind
        with suppress(duckdb.Error):
            self._connection.extract_statements(f"FROM (\n{statement}\n)")  # only what reads can be a subquery
            return READS
        return first

    def query(self, statement: str) -> QueryResult:
        """Run one statement; its rows are computed while they are read."""
        for _ in range(ATTEMPTS):
            self._ask_for(statement)
            try:
                with _interruptible():
                    return self._run(statement)
            except (duckdb.Error, OSError) as error:  # Arrow passes on what DuckDB reports as the latter
                if not self._open():  # else a file may have been replaced
                    raise Misuse(self._message(error)) from None
        raise self._too_fast()

    def read_all(self, query: str) -> Any:
        """Run the one statement of a text and return its rows as an Arrow table, which needs the database no longer."""
        statements = self.statements(query)
        if len(statements) != 1:
            raise Misuse(f"Cannot run {len(statements)} queries at once; give one query.")
        result = self.query(statements[0])
        return pyarrow.Table.from_batches(list(result.batches), result.schema)

    def _run(self, statement: str) -> QueryResult:
        relation = self._connection.sql(statement)
        if relation is None:  # COPY gives no rows
            return QueryResult(pyarrow.schema([]), iter(()))
        relation = _readable(relation)
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
            hint = " No extension is loaded; --from s3://… asks tables in a bucket."
        elif "Parser Error" in text and _RESERVED.search(statement):
            hint = ' A word of SQL, such as offset, is a column only in quotes: "offset".'
        elif missing := _MISSING_TABLE.match(text):
            return f"No table {missing[1]}; the tables are {', '.join(TABLES)}."
        elif unknown := _UNKNOWN.search(text):
            renamed = {column.earlier: column.name for table in TABLES.values() for column in table.columns}
            new = renamed.get(unknown[1])
            hint = f" It is called {new} now." if new else " Run `reread tables` to list the columns."
        return _sentence(text) + hint

    def close(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def open_database(
    place: TableFiles | None = None,
    roots: Sequence[str | Path] | None = None,
    *,
    text: bool | None = None,
    allow_files: bool = False,
    progress: Progress | None = None,
) -> Generator[Database]:
    """Open the tables of a folder or bucket, or without one those of all sessions, brought up to date."""
    with ExitStack() as stack:
        place = place or stack.enter_context(own_tables(roots, text=bool(text), progress=progress))
        yield stack.enter_context(closing(Database(place, text=text, allow_files=allow_files)))


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


def _readable(relation: Any) -> Any:
    """Return the rows of a query with text for values that Arrow would hand over as DuckDB packs them."""
    if not any(_PACKED.search(str(kind)) for kind in relation.types):
        return relation
    types = (_PACKED.sub("VARCHAR", str(kind)) for kind in relation.types)
    names = (name.replace('"', '""') for name in relation.columns)
    columns = (f'#{place}::{kind} AS "{name}"' for place, (kind, name) in enumerate(zip(types, names, strict=True), 1))
    return relation.project(", ".join(columns))


def _sentence(text: str) -> str:
    """Return a message of DuckDB without what follows it: a copy of the query, or how to install an extension."""
    said = text.strip().split("\n\n")[0]
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _view(table: TableSchema, rows: list[str] | None, *, text: bool, copies: bool) -> str:
    """Return the statement that makes a view of the rows of a table, which some queries give together.

    Without a list of queries, it is a view that cannot be read. If there may be copies of rows, each counts once.
    """
    if not rows:
        nothing = "false" if rows is not None else f"error('Cannot read {table.name}: name it in the query.')"
        rows = [f"SELECT {', '.join(map(_null, table.selected(text=text)))} WHERE {nothing}"]
    query = " UNION ALL ".join(rows)
    if copies:
        query = f"WITH every AS NOT MATERIALIZED ({query}) FROM every WHERE {counted(table.name, 'every')}"
    return f'CREATE VIEW "{table.name}" AS {query}'


def _null(column: Column) -> str:
    return f'NULL::{TYPES.get(column.type, "BOOLEAN")} AS "{column.name}"'


def _repeated() -> set[str]:
    """Return the columns of which many rows have the same text."""
    columns = [column for table in TABLES.values() for column in table.columns if column.type == TEXT]
    return {column.name for column in columns} - {column.name for column in columns if column.text} - IDS


def _words(statement: str) -> Iterator[tuple[str, str]]:
    """Yield every word of a statement that is in no comment, in capitals, empty for a sign, and what begins with it."""
    data = statement.encode()
    for offset, kind in duckdb.tokenize(statement):
        if kind.name != "comment":
            rest = data[offset:].decode()
            yield "".join(takewhile(str.isalpha, rest)).upper(), rest
