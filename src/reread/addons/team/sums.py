"""What measures sum of the tables of a team, a month at a time: each response, call and session counts once.

A month has millions of rows; by week, machine and what reports group by they are some thousands. These are kept in the
cache under the names of the files that they were made of, so only months that changed are counted anew, and a report
reads no table. DuckDB reads the files itself, of the months that are asked for only: through Arrow, which unpacks each
text of a column for each of its rows, it would take half as long again, and a small file could fill the memory.

The aggregates of measures are those that the store of facts is asked with: the views have its columns, and `total`,
which only SQLite has, is a macro. What a row cost is the exception: its machine knew the names that decide the price.
"""

from __future__ import annotations

import glob
import hashlib
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC
from functools import partial
from typing import Any, NamedTuple

import msgspec

from reread.accounting.billing import COUNT_NAMES, NANOS_PER_DOLLAR
from reread.addons.team.small_groups import Atom
from reread.addons.team.writers import MOST_TOKENS, TableFileRef, Writers
from reread.base.optional_dependencies import require
from reread.base.text import plural
from reread.base.times import parse_period_ms
from reread.catalog.team_settings import TeamSettings
from reread.dataset.copies import hashed_id
from reread.dataset.figures import FIGURES, ID, RULES, RowMask
from reread.dataset.schema import VERSION
from reread.dataset.sql import SETTINGS
from reread.dataset.sql import TYPES as SQL_TYPES
from reread.disk.cache import CacheFile, CacheTable, Statement
from reread.disk.derived_cache import compressed, decompressed, encoded
from reread.disk.fact_table import BOOLEAN, TEXT, Column
from reread.errors import Misuse, Unreadable
from reread.facts.views import BREAKS, CALLS, RESPONSES
from reread.reports.cache_report import BROKEN
from reread.reports.cache_report import COLUMNS as BREAK_COLUMNS
from reread.reports.report import ReportColumn
from reread.reports.stats_report import CALLED
from reread.reports.stats_report import COLUMNS as CALL_COLUMNS
from reread.reports.tally import Measure
from reread.reports.usage_report import COLUMNS as USED_COLUMNS
from reread.reports.usage_report import COST, REPORTED, USED

duckdb: Any = require("duckdb")

KEPT = CacheTable("team_sums", "name TEXT PRIMARY KEY, used INTEGER, value BLOB", 1)
UNUSED_SECONDS = 30 * 86_400
"""Sums that nobody has read for so long are deleted: each change of a month makes others."""
LARGEST_SUMS = 1 << 30
SESSIONS = "begun"
"""The view of sessions."""
MOST_USD = 10**6
LONGEST = 300
TYPES = {**SQL_TYPES, BOOLEAN: "BOOLEAN"}
STATED = {"usd": "total(usd)", "priced": "count(usd)", "unpriced": "count(*) FILTER (usd IS NULL AND is_billed)"}
"""What rows cost as their machines computed it, and how many have a price and have none."""
WEEK = "date_trunc('week', make_timestamp(1000 * time))::DATE"
Sums = list[list[Any]]


class ReportKind(NamedTuple):
    """Figures of a team that are divided into blocks together."""

    name: str
    """That of a report on one machine with the same figures."""
    measure: Measure
    columns: tuple[str, ...]
    """What they can be grouped by, besides week, person, machine and team, in the order in which they are divided."""
    shown: Sequence[ReportColumn]

    @property
    def figures(self) -> dict[str, str]:
        """What is summed, in SQL."""
        return {**self.measure.figures, **(STATED if self.measure.cost else {})}

    @property
    def query(self) -> str:
        """A query that sums the rows of a month that count."""
        wanted = ", ".join((*self.columns, *self.figures.values()))
        grouped = f"SELECT {WEEK} AS week, machine, {wanted} FROM {self.measure.view} GROUP BY ALL"
        return f"SELECT week::VARCHAR, * EXCLUDE week FROM ({grouped})"


class TeamTable(NamedTuple):
    """Which rows of a table count, and the views that measures ask of them."""

    name: str
    kinds: tuple[ReportKind, ...]
    views: Mapping[str, str]
    """The views by name, of the rows that count: these are in the view `counted`."""
    time: str
    """The column that tells the month of a row."""
    limits: Mapping[str, int]
    """The most that a figure of a row can be, by column."""
    key: str
    """What copies of a row have in common; with other columns of the table of keys."""
    lost: tuple[str, ...]
    """What finds the copies that do not count: the table `lost` has their places."""
    others: tuple[str, ...] = ()
    """Tables that the views read too."""

    @property
    def steps(self) -> tuple[str, ...]:
        """What makes the views.

        Each step reads few columns of the view `every`: to keep all columns of a row until it is known whether it
        counts takes twice the memory.
        """
        repeated = "SELECT k FROM keyed GROUP BY k HAVING count(*) > 1"
        return (
            f"CREATE TEMP TABLE keyed AS SELECT place, {self.key} AS k FROM every",
            f"CREATE TEMP TABLE copied AS SELECT * FROM keyed SEMI JOIN ({repeated}) USING (k)",
            *self.lost,
            f'CREATE TEMP VIEW counted AS SELECT * EXCLUDE ("{self.time}"), {self.moment} AS time FROM every'
            " ANTI JOIN lost USING (place)",
            *(f"CREATE TEMP VIEW {name} AS {query}" for name, query in self.views.items()),
        )

    @property
    def moment(self) -> str:
        """The time of a row in milliseconds since 1970."""
        return f'epoch_ms("{self.time}")'

    @property
    def valid(self) -> str:
        """A condition that a row meets unless its figures cannot be."""
        return " AND ".join(
            f'("{name}" BETWEEN 0 AND {most}' + f' OR "{name}" IS NULL' * (name not in _NEVER_NULL) + ")"
            for name, most in self.limits.items()
        )


def _all_but_first(order: str) -> str:
    """Return the step that leaves out all copies of a row but the first in an order."""
    number = f"row_number() OVER (PARTITION BY k ORDER BY {order}) AS number"
    numbered = f"SELECT place, {number} FROM every JOIN copied USING (place)"
    return f"CREATE TEMP TABLE lost AS SELECT place FROM ({numbered}) WHERE number > 1"


USAGE = ReportKind(
    "usage",
    USED._replace(figures={**USED.figures, "disputed": "count(differs) FILTER (responses > 0)"}),
    ("project", "model"),
    (*USED_COLUMNS, REPORTED, COST),
)
CACHE = ReportKind("cache_breaks", BROKEN, ("cause", "project", "model"), BREAK_COLUMNS)
STATS = ReportKind(
    "stats",
    CALLED,
    ("tool", "failure", "state", "project", "model"),
    [column for column in CALL_COLUMNS if CALLED.figures.keys() >= {*column.figures}],
)
BEGUN = ReportKind(
    "sessions",
    Measure(SESSIONS, {"sessions": "count(*)", "turns": "sum(turns)", "compactions": "sum(compactions)"}),
    ("project", "model"),
    [ReportColumn(name, name.capitalize(), short=name) for name in ("sessions", "turns", "compactions")],
)
_COUNTS = ("responses", *COUNT_NAMES, "unconfirmed_responses", "cache_rewritten_tokens")
_DOLLARS = ("cost_usd", "reported_cost_usd", "cache_rewritten_usd")
_TOKEN_LIST = ", ".join(f'"{name}"' for name in COUNT_NAMES)
_NEVER_NULL = frozenset({"responses", "turns", "compactions"})

_USAGE = TeamTable(
    "usage",
    (USAGE, CACHE),
    {
        RESPONSES: "SELECT *, cost_usd AS usd, responses > 0 AS is_billed,"
        f" reported_cost_usd * {float(NANOS_PER_DOLLAR)} AS reported_nanos"
        " FROM counted LEFT JOIN (SELECT place, differs FROM judged WHERE differs) USING (place)",
        BREAKS: "SELECT *, cache_break_cause AS cause, cache_rewritten_tokens AS tokens, cache_rewritten_usd AS usd,"
        " true AS is_billed FROM counted WHERE cache_rewritten_tokens IS NOT NULL",
    },
    "time",
    {**dict.fromkeys(_COUNTS, MOST_TOKENS), **dict.fromkeys(_DOLLARS, MOST_USD), "responses": 1},
    """hash(machine) AS writer, request IS NULL AND message IS NOT NULL AS bare, hash(
      message, coalesce(request, session), CASE WHEN message IS NULL THEN epoch_ms("time") END,
      CASE WHEN message IS NULL THEN model END
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
        PARTITION BY k, writer, responses, CASE WHEN message IS NULL THEN place
          WHEN responses = 0 THEN hash(model, reported_cost_usd, {_TOKEN_LIST}) END
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
      SELECT hash(message, session, NULL::BIGINT, NULL::VARCHAR) AS k FROM every WHERE request IS NOT NULL
    ) USING (k)
    """,
    ),
)
_CALLS = TeamTable(
    "calls",
    (STATS,),
    {
        CALLS: "SELECT c.* REPLACE (coalesce(c.project, s.project) AS project) FROM counted c LEFT JOIN ("
        "SELECT hash(session) AS hashed, min(project) AS project FROM written.sessions GROUP BY ALL"
        ") s ON s.hashed = hash(c.session)"
    },
    "time",
    {"seconds": MOST_TOKENS, "lines_added": MOST_TOKENS, "lines_removed": MOST_TOKENS},
    "CASE WHEN coalesce(id, uuid) IS NULL THEN hash(machine, path, line) ELSE hash(coalesce(id, uuid)) END",
    (_all_but_first("state = 'running', machine, line"),),
    ("sessions",),
)
_SESSIONS = TeamTable(
    "sessions",
    (BEGUN,),
    {SESSIONS: "SELECT * FROM counted"},
    "started",
    {"turns": MOST_TOKENS, "compactions": MOST_TOKENS},
    "hash(coalesce(session, machine))",
    (_all_but_first("records DESC, machine"),),
)
TABLES = {kind.name: table for table in (_USAGE, _CALLS, _SESSIONS) for kind in table.kinds}
"""The table that has the figures of a kind, by its name."""


class TeamSums:
    """Sums the rows of a team's tables by month, and keeps the sums in the cache."""

    def __init__(self, writers: Writers, key: str | None = None) -> None:
        self.writers = writers
        self._hide = RowMask(TeamSettings(name="-", person="-", key=key or "-"), again=True)
        self._known: dict[str, Sums] = {}

    def months(self, kind: ReportKind) -> list[str | None]:
        """Return the months of which there are rows, in order."""
        found = {month for file in self.writers.files(TABLES[kind.name].name) for month in file.months}
        return sorted(found, key=lambda month: (month is not None, month or ""))

    def atoms(self, kind: ReportKind, month: str | None) -> Generator[Atom]:
        """Yield what each machine did in each week of a month."""
        table = TABLES[kind.name]
        *sums, left_out = self._month(table, month)
        for machine, reason in left_out:
            self.writers.refuse(machine, reason)
        people, manifests, end = self.writers.people, self.writers.manifests, 2 + len(kind.columns)
        for row in sums[table.kinds.index(kind)]:
            machine, person = row[1], people[row[1]]
            group = (person, machine, manifests[machine].team, *row[2:end])
            yield Atom(row[0], person, machine, group, dict(zip(kind.figures, row[end:], strict=True)))

    def _month(self, table: TeamTable, month: str | None) -> Sums:
        """Return the rows of each kind of figures of a table, and at last which machines have what left out."""
        files = list(self.writers.files(table.name, *table.others, month=month))
        how = (VERSION, table.steps, table.valid, [kind.query for kind in table.kinds], self._hide.keyed("sums", ""))
        made_of = (how, month, sorted((file.name, file.sha256) for file in files))
        name = hashlib.sha256(repr(made_of).encode()).hexdigest()
        if name not in self._known:
            found = _kept(name)
            if found is None:
                found, is_whole = self._make(table, month, files)
                if is_whole:  # else a file may still come
                    _keep(name, found)
            self._known[name] = found
        return self._known[name]

    def _make(self, table: TeamTable, month: str | None, files: list[TableFileRef]) -> tuple[Sums, bool]:
        """Return the sums of a month, and whether all of its files could be used."""
        try:
            first, end = parse_period_ms(month, month, UTC)
        except Misuse:
            wrong = [(file.machine, f"{file.name} is of no month that there is") for file in files]
            return [*([] for _ in table.kinds), wrong], True
        within = f"{table.moment} IS NULL" if month is None else f"{table.moment} >= {first} AND {table.moment} < {end}"
        fit = self.writers.fetch(files)
        try:
            made = self._query(table, fit, within)
        except duckdb.Error:  # a file is damaged inside: which one?
            self._scan_each(fit)
            fit = self.writers.fetch(fit)
            try:
                made = self._query(table, fit, within)
            except duckdb.Error as error:
                raise Unreadable(
                    f"Cannot count the figures in {self.writers.place.location('')}: {str(error)[:200]}"
                ) from error
        unfit = [file for file in files if file not in fit]
        made[-1] += [(file.machine, self.writers.reason(file)) for file in unfit]
        return made, not unfit

    def _query(self, table: TeamTable, files: Sequence[TableFileRef], within: str) -> Sums:
        with self._opened((table.name, *table.others), files) as connection:
            connection.execute("CREATE MACRO total(x) AS coalesce(sum(x), 0)::DOUBLE")
            rows, counts = f"FROM written.{table.name}", f"{within} AND {table.valid}"
            moment = f"make_timestamp(1000 * {table.moment})"
            asked = f"SELECT machine, year({moment}), month({moment}), count(*), count(*) FILTER ({table.valid}) {rows}"
            others = connection.sql(f"{asked} WHERE NOT coalesce({counts}, false) GROUP BY ALL ORDER BY ALL").fetchall()
            every = f"{rows} WHERE {counts}" if others else rows  # to ask nothing of each row takes less time
            for step in (f"CREATE TEMP VIEW every AS SELECT * {every}", *table.steps):
                connection.execute(step)
            sums = [
                list(map(partial(self._shown, kind), connection.sql(kind.query).fetchall())) for kind in table.kinds
            ]
        return [*sums, _left_out(table.name, others, files)]

    def _shown(self, kind: ReportKind, row: Sequence[Any]) -> list[Any]:
        """Return a row without words: a hostile machine may have written any text, and an earlier version does."""
        week, machine, *values = row
        for place, name in enumerate(kind.columns):
            values[place] = None if values[place] is None else self._hide.hide(name, values[place])
        return [week, machine, *values]

    @contextmanager
    def _opened(self, tables: Iterable[str], files: Sequence[TableFileRef]) -> Generator[Any]:
        """Provide a connection that has the rows of some files as views of `written`, and can read nothing else."""
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            paths = [self.writers.place.path(file.name) for file in files]
            # DuckDB asks whether it may read a pattern, and then whether it may read what that finds.
            connection.execute("SET allowed_paths = $1", [[*paths, *map(glob.escape, paths)]])
            connection.execute("SET enable_external_access = false")
            connection.execute("SET parquet_metadata_cache = true")
            connection.execute("CREATE SCHEMA written")
            for table in tables:
                connection.execute(f"CREATE VIEW written.{table} AS {self._rows(table, files)}")
            yield connection

    def _rows(self, table: str, files: Sequence[TableFileRef]) -> str:
        """Return a query for the rows of files: earlier versions have fewer columns, and those with words more."""
        columns = FIGURES[table].columns
        groups: dict[tuple[tuple[tuple[str, str], ...], bool], list[str]] = {}
        for file in files:
            if file.table == table:
                key = (tuple(self.writers.columns(file).items()), file.plain_ids)
                groups.setdefault(key, []).append(self.writers.place.path(file.name))
        empty = ", ".join(f'NULL::{TYPES[column.type]} AS "{column.name}"' for column in columns)
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
        return " UNION ALL ".join(queries)

    def _scan_each(self, files: Iterable[TableFileRef]) -> None:
        """Read files to the end, each by itself, and refuse those of which that fails."""
        for file in files:
            try:
                with self._opened([file.table], [file]) as connection:
                    connection.sql(f"SELECT bit_xor(hash(COLUMNS(*))) FROM written.{file.table}").fetchall()
            except duckdb.Error as error:
                self.writers.condemn(file, f"cannot be read ({str(error)[:200]})")


def _bounded(column: Column, called: str, *, hashed: bool) -> str:
    """Return the value of a column; of a text that no machine has reason to write, nothing is kept in memory."""
    name = f'"{called}"'
    if column.type != TEXT:
        return f"{name}::{TYPES[column.type]}"
    value = hashed_id(called) if hashed else f"{name}::VARCHAR"
    return f"CASE WHEN strlen({name}) <= {LONGEST} THEN {value} WHEN {name} IS NOT NULL THEN 'other' END"


def _left_out(table: str, others: Iterable[Sequence[Any]], files: Iterable[TableFileRef]) -> list[Any]:
    """Return how many rows of each machine count in no month, though their files do; `others` are not of this one."""
    own = {(file.machine, month) for file in files if file.table == table for month in file.months}
    reasons = {"with figures that cannot be": dict[str, int](), "of other months": dict[str, int]()}
    impossible, elsewhere = reasons.values()
    for machine, year, month, rows, fit in others:
        impossible[machine] = impossible.get(machine, 0) + rows - fit
        if (machine, f"{year:04}-{month:02}" if year is not None else None) not in own:
            elsewhere[machine] = elsewhere.get(machine, 0) + fit
    return [
        (machine, f"{plural(count, 'row')} of {table} {reason}")
        for reason, counts in reasons.items()
        for machine, count in counts.items()
        if count
    ]


def _kept(name: str) -> Sums | None:
    with closing(CacheFile(KEPT)) as cache:
        for (value,) in cache.read(f"SELECT value FROM {KEPT.name} WHERE name = ?", name):
            cache.write(Statement(f"UPDATE {KEPT.name} SET used = ? WHERE name = ?", [(int(time.time()), name)]))
            try:
                return msgspec.msgpack.decode(decompressed(value, LARGEST_SUMS), type=Sums)
            except (ValueError, TypeError, msgspec.MsgspecError):
                return None
    return None


def _keep(name: str, sums: Sums) -> None:
    """Keep sums, and delete those that nobody has read for long."""
    data, now = encoded(sums), int(time.time())
    with closing(CacheFile(KEPT)) as cache:
        cache.write(
            Statement(f"DELETE FROM {KEPT.name} WHERE used < ?", [(now - UNUSED_SECONDS,)]),
            Statement(f"REPLACE INTO {KEPT.name} VALUES (?, ?, ?)", [(name, now, compressed(data))] if data else []),
        )
