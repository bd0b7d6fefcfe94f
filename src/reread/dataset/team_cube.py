"""The figures of a team by day, machine and a few more columns, made of its tables a month at a time.

A month has millions of rows, each response counted once whatever machines have it; by day they are some thousands.
They are kept in the cache under the names of the files that they were made of, so only months that changed are made
anew, and a report reads no table. DuckDB reads the files itself, of the months that are asked for only: through Arrow,
which unpacks each text of a column for each of its rows, it would take half as long again, and a small file could fill
the memory.
"""

from __future__ import annotations

import calendar
import glob
import hashlib
import os
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reread.accounting.billing import COUNT_NAMES
from reread.base.optional_dependencies import require
from reread.base.text import plural
from reread.catalog.team_settings import TeamSettings
from reread.dataset.arrow import pyarrow
from reread.dataset.copies import hashed_id
from reread.dataset.figures import CAUSE, FAILURE, FIGURES, ID, MODEL, PROJECT, RULES, STATE, TOOL, RowMask
from reread.dataset.schema import VERSION
from reread.dataset.sql import SETTINGS
from reread.dataset.team_writers import MOST_TOKENS, TableFileRef, Writers
from reread.disk.fact_table import BOOLEAN, INTEGER, REAL, TEXT, TIME, Column
from reread.errors import Unreadable
from reread.storage.atomic import remove_unfinished, write_atomic
from reread.storage.safe_open import make_private_folder
from reread.storage.user_paths import cache_folder

duckdb: Any = require("duckdb")
parquet: Any = require("pyarrow.parquet")

FORMAT = 8
"""Changes when cubes would be made differently."""
FOLDER = "team"
UNUSED_SECONDS = 30 * 86_400
"""A stored cube that nobody has read for so long is deleted: each change of a month makes another one."""
LEFT_OUT = b"reread.left_out"
"""The metadata of a kept cube that tell what was left out of it."""
MOST = MOST_TOKENS
MOST_USD = 10**6


class Cube(NamedTuple):
    """Which rows of a table count, and what is summed of them."""

    table: str
    keys: dict[str, str]
    """What figures are grouped by, besides day and machine, in SQL."""
    figures: dict[str, str]
    """What is summed, in SQL."""
    time: str
    """The column that tells the month of a row."""
    limits: dict[str, int]
    """The most that a figure of a row can be, by column."""
    rows: str
    """The columns of the rows of all files, besides the place of each and its machine."""
    key: str
    """What copies of a row have in common; with other columns of the table of keys."""
    lost: tuple[str, ...]
    """What finds the copies that do not count: the table `lost` has their places."""
    counted: str = "counted"
    """The rows that count are in the view `counted`; how others are joined to them."""
    others: tuple[str, ...] = ()
    """Tables that the query reads too."""

    @property
    def steps(self) -> tuple[str, ...]:
        """What finds the rows that do not count.

        Each step reads few columns of the view `every`: to keep all columns of a row until it is known whether it
        counts takes twice the memory.
        """
        repeated = "SELECT k FROM keyed GROUP BY k HAVING count(*) > 1"
        return (
            f"CREATE TEMP TABLE keyed AS SELECT place, {self.key} AS k FROM every",
            f"CREATE TEMP TABLE copied AS SELECT * FROM keyed SEMI JOIN ({repeated}) USING (k)",
            *self.lost,
        )

    @property
    def query(self) -> str:
        """A query that sums the rows that count."""
        named = ", ".join(f'{sql} AS "{name}"' for name, sql in (*self.keys.items(), *self.figures.items()))
        return f"SELECT day, machine, {named} FROM {self.counted} GROUP BY ALL"

    @property
    def valid(self) -> str:
        """A condition that a row `r` meets unless its figures cannot be."""
        return " AND ".join(
            f'(r."{name}" BETWEEN 0 AND {most}' + f' OR r."{name}" IS NULL' * (name not in _NEVER_NULL) + ")"
            for name, most in self.limits.items()
        )

    @property
    def all_valid(self) -> str:
        """An aggregate that is true if all rows are valid: cheaper than to ask each of them."""
        return " AND ".join(
            f'coalesce(min("{name}") >= 0 AND max("{name}") <= {most}, true)'
            + f' AND count("{name}") = count(*)' * (name in _NEVER_NULL)
            for name, most in self.limits.items()
        )


def _all_but_first(order: str) -> str:
    """Return the step that leaves out all copies of a row but the first in an order."""
    number = f"row_number() OVER (PARTITION BY k ORDER BY {order}) AS number"
    numbered = f"SELECT place, {number} FROM every JOIN copied USING (place)"
    return f"CREATE TEMP TABLE lost AS SELECT place FROM ({numbered}) WHERE number > 1"


_COUNTS = ("responses", *COUNT_NAMES, "unconfirmed_responses", "cache_rewritten_tokens")
_DOLLARS = ("cost_usd", "reported_cost_usd", "cache_rewritten_usd")
_USAGE_COLUMNS = ", ".join(f'"{name}"' for name in ("time", "cache_break_cause", *_COUNTS, *_DOLLARS))
_TOKEN_LIST = ", ".join(f'"{name}"' for name in COUNT_NAMES)
_NEVER_NULL = frozenset({"responses", "turns", "compactions"})

USAGE = Cube(
    "usage",
    {"project": "project", "model": "model", "cause": "cache_break_cause"},
    {
        **{name: f'sum("{name}")' for name in (*_COUNTS, *_DOLLARS)},
        "unpriced": "count(*) FILTER (cost_usd IS NULL AND responses > 0)",
        "reports": "count(reported_cost_usd)",
        "breaks": "count(cache_rewritten_tokens)",
        "disputed": "count(disputed.place) FILTER (responses > 0)",
    },
    "time",
    {**dict.fromkeys(_COUNTS, MOST), **dict.fromkeys(_DOLLARS, MOST_USD), "responses": 1},
    f"message AS mid, request AS rid, session AS ses, project, model, {_USAGE_COLUMNS}",
    """hash(machine) AS writer, rid IS NULL AND mid IS NOT NULL AS bare, hash(
      mid, coalesce(rid, ses), CASE WHEN mid IS NULL THEN epoch_ms("time") END, CASE WHEN mid IS NULL THEN model END
    )""",
    (
        # of the machine whose copy counts, a response counts once, and so does each thing that was billed apart with it
        f"""
    CREATE TEMP TABLE judged AS
    WITH owners AS (
      SELECT k, arg_min(
        writer, row(-responses, unconfirmed_responses, -output_tokens, -reported_cost_usd, machine)
      ) AS owner,
      count(DISTINCT hash({_TOKEN_LIST})) FILTER (unconfirmed_responses = 0 AND responses > 0) > 1 AS differs
      FROM every JOIN copied USING (place) GROUP BY k
    ), numbered AS (
      SELECT place, k, writer, row_number() OVER (
        PARTITION BY k, writer, responses,
          CASE WHEN mid IS NULL THEN place WHEN responses = 0 THEN hash(model, reported_cost_usd, {_TOKEN_LIST}) END
        ORDER BY unconfirmed_responses, output_tokens DESC, reported_cost_usd DESC, place
      ) AS number
      FROM every JOIN copied USING (place)
    )
    SELECT place, writer <> owner OR number > 1 AS lost, differs FROM numbered JOIN owners USING (k)
    """,
        """
    CREATE TEMP TABLE lost AS
    SELECT place FROM judged WHERE lost
    UNION
    SELECT place FROM (SELECT place, k FROM keyed WHERE bare) SEMI JOIN (
      SELECT hash(mid, ses, NULL::BIGINT, NULL::VARCHAR) AS k FROM every WHERE rid IS NOT NULL
    ) USING (k)
    """,
    ),
    "counted LEFT JOIN (SELECT place FROM judged WHERE differs) disputed USING (place)",
)

CALLS = Cube(
    "calls",
    {
        "project": "coalesce(c.project, p.project)",
        "model": "model",
        "tool": "tool",
        "state": "state",
        "failure": "failure",
    },
    {"calls": "count(*)", "seconds": "sum(seconds)"},
    "time",
    {"seconds": MOST},
    'coalesce(id, uuid) AS own, session, path, line, "time", project, seconds, tool, state, failure, model',
    "CASE WHEN own IS NULL THEN hash(machine, path, line) ELSE hash(own) END",
    (_all_but_first("state = 'running', machine, line"),),
    """(SELECT *, hash(session) AS ses FROM counted) c LEFT JOIN (
      SELECT hash(session) AS ses, min(project) AS project FROM sessions GROUP BY ALL
    ) p USING (ses)""",
    ("sessions",),
)

SESSIONS = Cube(
    "sessions",
    {"project": "project", "model": "model"},
    {"sessions": "count(*)", "turns": "sum(turns)", "compactions": "sum(compactions)"},
    "started",
    {"turns": MOST, "compactions": MOST},
    'session AS ses, "started", project, model, turns, compactions, records',
    "hash(coalesce(ses, machine))",
    (_all_but_first("records DESC, machine"),),
)
CUBES = {cube.table: cube for cube in (USAGE, CALLS, SESSIONS)}
_LABELS = {"project": PROJECT, "model": MODEL, "cause": CAUSE, "tool": TOOL, "state": STATE, "failure": FAILURE}
"""The rule by which each key of a cube is shown: a hostile machine may have written any text, an earlier one words."""


class Cubes:
    """Makes cubes of the tables of a team, and keeps them in the cache."""

    def __init__(self, writers: Writers, key: str | None = None) -> None:
        self.writers = writers
        self._hide = RowMask(TeamSettings(name="-", person="-", key=key or "-"), again=True)
        self._state = self._hide.keyed("cube", "")
        self._folder: Path = cache_folder() / FOLDER
        self._made: dict[str, MadeCube] = {}

    def months(self, table: str) -> list[str | None]:
        """Return the months of which a table has rows, in order."""
        found = {month for file in self.writers.files(table) for month in file.months}
        return sorted(found, key=lambda month: (month is not None, month or ""))

    def read(self, cube: Cube, months: Iterable[str | None]) -> Any:
        """Return the cube of some months as an Arrow table."""
        found = [self._month(cube, month) for month in months]
        found = [table for table in found if table is not None]
        return pyarrow.concat_tables(found) if found else None

    def _month(self, cube: Cube, month: str | None) -> Any:
        files = list(self.writers.files(cube.table, *cube.others, month=month))
        text = repr(
            (
                FORMAT,
                VERSION,
                cube,
                month,
                self._state,
                sorted((file.name, file.sha256) for file in files),
            )
        )
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        if name not in self._made:
            path = self._folder / f"{name}.parquet"
            self._made[name] = _stored(path) or self._make(cube, month, files, path)
        made = self._made[name]
        for machine, reason in made.left_out:
            self.writers.refuse(machine, reason)
        return made.table

    def _make(self, cube: Cube, month: str | None, files: list[TableFileRef], path: Path) -> MadeCube:
        bounds = _bounds(month)
        if bounds is None:
            return MadeCube(None, [(file.machine, f"{file.name} is of no month that there is") for file in files])
        fit = self.writers.fetch(files)
        try:
            made = self._query(cube, fit, bounds)
        except duckdb.Error:  # a file is damaged inside: which one?
            self._scan_each(cube, fit)
            fit = self.writers.fetch(fit)
            try:
                made = self._query(cube, fit, bounds)
            except duckdb.Error as error:
                raise Unreadable(
                    f"Cannot count the figures in {self.writers.place.location('')}: {str(error)[:200]}"
                ) from error
        unfit = [file for file in files if file not in fit]
        made = made._replace(left_out=made.left_out + [(file.machine, self.writers.reason(file)) for file in unfit])
        if not unfit:  # a file may still come
            _store(path, made)
        return made

    def _query(self, cube: Cube, files: Sequence[TableFileRef], bounds: tuple[int | None, int]) -> MadeCube:
        with self._opened(cube, files) as connection:
            first, end = bounds
            moment = f'epoch_ms(r."{cube.time}")'
            within = f"{moment} IS NULL" if first is None else f"{moment} >= {first} AND {moment} < {end}"
            rows = f"(SELECT place, machine, {cube.rows} FROM {cube.table}) r"
            [(sound, near)] = connection.sql(
                f"SELECT {cube.all_valid}, count(*) = count(*) FILTER ({within}) FROM {rows}"
            ).fetchall()
            counting = within if sound else f"{within} AND {cube.valid}"
            connection.execute(f"CREATE TEMP VIEW every AS SELECT * FROM {rows} WHERE {counting}")
            for step in cube.steps:
                connection.execute(step)
            connection.execute(
                f"CREATE TEMP VIEW counted AS SELECT *, make_timestamp(1000 * {moment})::DATE::VARCHAR AS day "
                "FROM every r ANTI JOIN lost USING (place)"
            )
            connection.execute(f"CREATE TEMP TABLE summed AS {cube.query}")
            for name in cube.keys:
                connection.register(f"shown_{name}", self._shown(connection, name))
            labels = ", ".join(
                f"(SELECT shown FROM shown_{name} s WHERE s.value = summed.{name}) AS {name}" for name in cube.keys
            )
            kinds = {name: "DOUBLE" if name in (*_DOLLARS, "seconds") else "BIGINT" for name in cube.figures}
            sums = ", ".join(f"sum({name})::{kind} AS {name}" for name, kind in kinds.items())
            query = f"SELECT day, machine, {labels}, {sums} FROM summed GROUP BY ALL"
            left_out = [] if sound and near else self._left_out(connection, cube, files)
            return MadeCube(connection.sql(query).to_arrow_table(), left_out)

    def _shown(self, connection: Any, name: str) -> Any:
        """Return what each value of a key is shown as."""
        rows = connection.sql(f"SELECT DISTINCT {name} FROM summed WHERE {name} IS NOT NULL").fetchall()
        columns = {"value": [value for (value,) in rows], "shown": [self._hide.hide(_LABELS[name], v) for (v,) in rows]}
        return pyarrow.table({column: pyarrow.array(values, pyarrow.string()) for column, values in columns.items()})

    def _left_out(self, connection: Any, cube: Cube, files: Sequence[TableFileRef]) -> list[tuple[str, str]]:
        """Return how many rows of each machine do not count, though their files do."""
        own = {(file.machine, month) for file in files if file.table == cube.table for month in file.months}
        columns = {
            "machine": pyarrow.array([machine for machine, _ in own], pyarrow.string()),
            "month": pyarrow.array(
                [month and 12 * int(month[:4]) + int(month[5:]) for _, month in own], pyarrow.int64()
            ),
        }
        connection.register("own", pyarrow.table(columns))
        found = connection.sql(
            f"""
            WITH timed AS (SELECT *, make_timestamp(epoch_us("{cube.time}")) AS moment FROM {cube.table}),
            counted AS (
              SELECT machine, 12 * year(moment) + month(moment) AS month,
                count(*) AS rows, count(*) FILTER ({cube.valid}) AS fit
              FROM timed r GROUP BY ALL
            )
            SELECT counted.machine, sum(rows - fit), coalesce(sum(fit) FILTER (own.machine IS NULL), 0)
            FROM counted LEFT JOIN own ON own.machine = counted.machine AND own.month IS NOT DISTINCT FROM counted.month
            GROUP BY ALL ORDER BY ALL
            """
        )
        return [
            (machine, f"{plural(count, 'row')} of {cube.table} {reason}")
            for machine, *counts in found.fetchall()
            for count, reason in zip(counts, ("with figures that cannot be", "of other months"), strict=True)
            if count
        ]

    @contextmanager
    def _opened(self, cube: Cube, files: Sequence[TableFileRef]) -> Generator[Any]:
        """Provide a connection that has the rows of some files as views, and can read nothing else."""
        place = self.writers.place
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            paths = [place.path(file.name) for file in files]
            # DuckDB asks whether it may read a pattern, and then whether it may read what that finds.
            connection.execute("SET allowed_paths = $1", [[*paths, *map(glob.escape, paths)]])
            connection.execute("SET enable_external_access = false")
            connection.execute("SET parquet_metadata_cache = true")
            for table in (cube.table, *cube.others):
                own = [file for file in files if file.table == table]
                connection.execute(f"CREATE VIEW {table} AS {self._rows(table, own)}")
            yield connection

    def _rows(self, table: str, files: Sequence[TableFileRef]) -> str:
        """Return a query for the rows of files: earlier versions have fewer columns, and those with words more."""
        columns = FIGURES[table].columns
        groups: dict[tuple[tuple[tuple[str, str], ...], bool], list[str]] = {}
        for file in files:
            key = (tuple(self.writers.columns(file).items()), file.plain_ids)
            groups.setdefault(key, []).append(self.writers.place.path(file.name))
        names = [column.name for column in columns]
        empty = ", ".join(f'NULL::{_TYPES[column.type]} AS "{column.name}"' for column in columns)
        queries = [f"SELECT NULL::UBIGINT AS place, {empty} WHERE false"]
        for (called, plain), paths in groups.items():
            there = dict(called)
            ids = {name for name, rule in RULES[table].items() if rule == ID and plain}
            chosen = ", ".join(
                _bounded(column, there[column.name], hashed=column.name in ids) if column.name in there else "NULL"
                for column in columns
            )
            listed = ", ".join(f"'{glob.escape(path).replace(chr(39), chr(39) * 2)}'" for path in paths)
            queries.append(
                f"SELECT hash(filename, file_row_number), {chosen} FROM read_parquet([{listed}], "
                "hive_partitioning = true, hive_types_autocast = false, filename = true, file_row_number = true)"
            )
        return f"SELECT * FROM ({' UNION ALL '.join(queries)}) t(place, {', '.join(map(_quoted, names))})"

    def _scan_each(self, cube: Cube, files: Iterable[TableFileRef]) -> None:
        """Read files to the end, each by itself, and refuse those of which that fails."""
        for file in files:
            try:
                with self._opened(cube, [file]) as connection:
                    connection.sql(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {file.table}").fetchall()
            except duckdb.Error as error:
                self.writers.condemn(file, f"cannot be read ({str(error)[:200]})")


def _bounds(month: str | None) -> tuple[int | None, int] | None:
    """Return the first millisecond of a month and that after it, in UTC; None if there is no such month."""
    if month is None:
        return None, 0
    year, number = int(month[:4]), int(month[5:])
    try:
        first = int(datetime(year, number, 1, tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        return None
    return first, first + calendar.monthrange(year, number)[1] * 86_400_000


_TYPES = {TEXT: "VARCHAR", INTEGER: "BIGINT", REAL: "DOUBLE", BOOLEAN: "BOOLEAN", TIME: "TIMESTAMPTZ"}
LONGEST = 300


def _quoted(name: str) -> str:
    return f'"{name}"'


def _bounded(column: Column, called: str, *, hashed: bool) -> str:
    """Return the value of a column; of a text that no machine has reason to write, nothing is kept in memory."""
    name = _quoted(called)
    if column.type != TEXT:
        return f"{name}::{_TYPES[column.type]}"
    value = hashed_id(called) if hashed else f"{name}::VARCHAR"
    return f"CASE WHEN strlen({name}) <= {LONGEST} THEN {value} WHEN {name} IS NOT NULL THEN 'other' END"


class MadeCube(NamedTuple):
    """The cube of a month, and what was left out of it: machines and reasons."""

    table: Any
    left_out: list[tuple[str, str]]


def _stored(path: Path) -> MadeCube | None:
    try:
        table = parquet.read_table(path, partitioning=None)
        left_out = msgspec.json.decode(table.schema.metadata[LEFT_OUT], type=list[tuple[str, str]])
        with suppress(OSError):  # it is read whoever may write it
            os.utime(path)
        return MadeCube(table.replace_schema_metadata(), left_out)
    except (OSError, ValueError, LookupError, TypeError, pyarrow.ArrowException, msgspec.MsgspecError):
        return None


def _store(path: Path, made: MadeCube) -> None:
    sink = pyarrow.BufferOutputStream()
    table = made.table.replace_schema_metadata({LEFT_OUT: msgspec.json.encode(made.left_out)})
    parquet.write_table(table, sink, compression="zstd")
    try:
        make_private_folder(path.parent)
        write_atomic(path, [sink.getvalue().to_pybytes()], follow=False)
        _remove_unused(path.parent)
    except OSError:  # no cache: it is made again the next time
        return


def _remove_unused(folder: Path) -> None:
    remove_unfinished(folder)
    for path in folder.glob("*.parquet"):
        with suppress(FileNotFoundError):  # another process removed it
            if time.time() - path.lstat().st_mtime > UNUSED_SECONDS:
                path.unlink()
