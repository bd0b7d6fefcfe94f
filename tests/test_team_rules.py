"""The rules of a team's figures, by small tables with known rows: what counts, where, whose it is, what is refused."""

import hashlib
import io
import itertools
import json
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import msgspec
import pytest
from team_machines import KEY

import reread
from reread.addons.team import reports, small_groups
from reread.addons.team import sums as team_sums
from reread.addons.team import writers as team_writers
from reread.addons.team.reports import (  # pyright: ignore[reportPrivateUsage]
    _last_day,
    _period_name,
    _quarters_of,
    _weeks,
)
from reread.addons.team.small_groups import (  # pyright: ignore[reportPrivateUsage]
    LEAST,
    Atom,
    FigureBlock,
    _has_week,
    _may_have,
    divide,
    join_periods,
    quarter_days,
)
from reread.catalog.team_settings import TeamSettings
from reread.dataset.figures import FIGURES, RowMask
from reread.dataset.manifest import TablePart, TablesManifest
from reread.dataset.schema import TABLES
from reread.dataset.table_files import TableFiles
from reread.disk.cache import CacheFile, Statement
from reread.errors import Misuse, NotFound, Unreadable
from reread.reports.budget_report import Budget, set_budget
from reread.reports.report import Report
from reread.reports.tally import Measure

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
duckdb = pytest.importorskip("duckdb")

from reread.addons.team.sums import BEGUN, CACHE, KEPT, STATS, USAGE, ReportKind, TeamSums  # noqa: E402
from reread.addons.team.writers import MOST_TOKENS, TableFileRef, Writers, _is_possible, _months  # noqa: E402
from reread.dataset.arrow import arrow_schema  # noqa: E402

MONTH = "2026-11"
OPUS = "claude-opus-5-5"
SHOP = f"{1:020x}"
"""The hash of a project."""
Rows = list[dict[str, Any]]
Months = Mapping[str | None, Mapping[str, Rows]]
"""Rows by month and table."""


def at(day: int, month: int = 11, hour: int = 12) -> datetime:
    return datetime(2026, month, day, hour, tzinfo=UTC)


def used(id: str, day: int = 10, **more: Any) -> dict[str, Any]:
    """A row of `usage`."""
    names = {"message": id, "request": f"r{id}", "session": "s1", "project": SHOP, "model": OPUS}
    figures = {"responses": 1, "input_tokens": 1, "output_tokens": 2, "cost_usd": 0.5, "unconfirmed_responses": 0}
    return {**names, **figures, "time": at(day), **more}


def called(id: str | None, day: int = 10, **more: Any) -> dict[str, Any]:
    """A row of `calls`."""
    about = {"id": id, "session": "s1", "path": "a/b", "line": 1, "tool": "Bash", "state": "done", "model": OPUS}
    return {**about, "seconds": 2.5, "time": at(day), **more}


def begun(id: str | None, day: int = 10, **more: Any) -> dict[str, Any]:
    """A row of `sessions`."""
    about = {"session": id, "started": at(day), "project": SHOP, "model": OPUS}
    return {**about, "turns": 3, "compactions": 1, "records": 9, **more}


def write_tables(
    bucket: Path, machine: str, months: Months, *, without: tuple[str, ...] = (), statistics: bool = True, **about: Any
) -> list[Path]:
    """Write tables and a manifest as a machine does, with words if it names no person, and return the files."""
    about = {"person": machine.partition("-")[0], "team": "shop", "shown_alone": True} | about
    made: dict[bool, list[TablePart]] = {False: [], True: []}
    files: list[Path] = []
    for number, (month, tables) in enumerate(months.items()):
        for is_usage, parts in made.items():
            own = {table: rows for table, rows in tables.items() if (table == "usage") is is_usage}
            began = {row["time"] and f"{row['time']:%Y-%m}" for row in own.get("calls", [])}
            part = TablePart(
                f"{2 * number + is_usage:016x}",
                month,
                {table: len(rows) for table, rows in own.items()},
                call_months=sorted(began, key=str),
                sha256={},
            )
            for table, name in part.files(machine).items():
                path = bucket / name
                path.parent.mkdir(parents=True, exist_ok=True)
                schema = arrow_schema((FIGURES if about["person"] else TABLES)[table])
                fields = [field for field in list(schema)[2:] if field.name not in without]
                data = pyarrow.Table.from_pylist(own[table], schema=pyarrow.schema(fields))
                parquet.write_table(data, path, write_statistics=statistics)
                part.sha256[table] = hashlib.sha256(path.read_bytes()).hexdigest()
                files.append(path)
            if own:
                parts.append(part)
    manifest = TablesManifest(machine, 1, parts=made[False], usage=made[True], **about)
    write_manifest(bucket, machine, msgspec.to_builtins(manifest))
    return files


def write_manifest(bucket: Path, machine: str, value: dict[str, Any]) -> Path:
    path = bucket / "_reread" / machine / "000000001.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine, "sequence": 1, **value}))
    return path


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    """A folder with a name that a pattern or a query could take for something else."""
    return tmp_path / "the team's [bucket]"


def opened(bucket: Path, key: str | None = KEY) -> TeamSums:
    writers = Writers(TableFiles(bucket))
    writers.refresh()
    return TeamSums(writers, key)


def rows_of(sums: TeamSums, kind: ReportKind, *months: str | None) -> Rows:
    """What is summed of some months, without figures that are null or zero."""
    atoms = [atom for month in months or [MONTH] for atom in sums.atoms(kind, month)]
    found = [
        {
            "week": atom.week,
            "machine": atom.machine,
            **dict(zip(kind.columns, atom.values[3:], strict=True)),
            **atom.figures,
        }
        for atom in atoms
    ]
    rows = [{name: value for name, value in row.items() if value not in (None, 0)} for row in found]
    return sorted(rows, key=lambda row: [*map(str, row.values())])


def test_rows_are_summed_by_week_machine_and_columns(bucket: Path) -> None:
    cause = {"cache_break_cause": "rewind", "cache_rewritten_tokens": 5000, "cache_rewritten_usd": 0.25}
    write_tables(
        bucket,
        "ann-1",
        {
            MONTH: {
                "usage": [
                    used("1"),
                    used("2", web_searches=4, cache_read_tokens=5, cache_write_5m_tokens=6, cache_write_1h_tokens=7),
                    used("3", day=17, cost_usd=None, reported_cost_usd=0.125, unconfirmed_responses=1),
                    used("4", day=17, project=None, **cause),
                    used("5", day=17, responses=0, cost_usd=None),
                ],
                "calls": [
                    called("1", lines_added=3, lines_removed=1),
                    called("2", seconds=None, is_retry=True),
                    called("3", state="failed", failure="timeout", session="s2"),
                    called(None, line=2, tool="<b>", model="x" * 101),
                ],
                "sessions": [begun("s1"), begun("s1", records=10, turns=7), begun("s2", project=None)],
            }
        },
    )
    sums = opened(bucket)
    week, other = {"week": "2026-11-09", "machine": "ann-1"}, {"week": "2026-11-16", "machine": "ann-1"}
    opus = {"project": SHOP, "model": OPUS}
    first = {"responses": 2, "input_tokens": 2, "output_tokens": 4, "usd": 1.0, "priced": 2, "web_searches": 4}
    cached = {"cache_read_tokens": 5, "cache_write_5m_tokens": 6, "cache_write_1h_tokens": 7}
    unpriced = {"responses": 1, "input_tokens": 2, "output_tokens": 4, "unconfirmed_responses": 1, "unpriced": 1}
    known = {"responses": 1, "input_tokens": 1, "output_tokens": 2, "usd": 0.5, "priced": 1}
    assert rows_of(sums, USAGE) == [
        {**week, **opus, **first, **cached},
        {**other, **opus, **unpriced, "reported_nanos": 125_000_000},
        {**other, "model": OPUS, **known},
    ]
    assert rows_of(sums, CACHE) == [
        {**other, "cause": "rewind", "model": OPUS, "breaks": 1, "tokens": 5000, "usd": 0.25, "priced": 1}
    ]
    bash = {**week, **opus, "tool": "Bash"}
    hide = RowMask(TeamSettings(name="-", person="-", key=KEY))
    hostile = {"model": hide.hide("model", "x" * 101), "tool": hide.hide("tool", "<b>")}
    more = {"retries": 1, "lines_added": 3, "lines_removed": 1}
    failed = {"tool": "Bash", "failure": "timeout", "state": "failed", "calls": 1, "failed": 1, "call_seconds": 2.5}
    found = rows_of(sums, STATS)
    for row in (
        {**week, **hostile, "project": SHOP, "state": "done", "calls": 1, "call_seconds": 2.5},
        {**bash, "state": "done", "calls": 2, "call_seconds": 2.5, **more},
        {**week, "model": OPUS, **failed},
    ):
        found.remove(row)
    assert found == []
    assert rows_of(sums, BEGUN) == [
        {**week, **opus, "sessions": 1, "turns": 7, "compactions": 1},
        {**week, "model": OPUS, "sessions": 1, "turns": 3, "compactions": 1},
    ]
    assert sums.writers.refused == {}


@pytest.mark.parametrize(
    ("ann", "ben", "owners", "disputed"),
    [
        ({}, {}, ["ann-1"], 0),
        ({}, {"output_tokens": 9}, ["ben-1"], 1),
        ({"unconfirmed_responses": 1, "output_tokens": 9}, {}, ["ben-1"], 0),
        ({}, {"unconfirmed_responses": 1}, ["ann-1"], 0),
        ({"responses": 0}, {}, ["ben-1"], 0),
        ({"request": None}, {}, ["ben-1"], 0),
        ({"request": None, "session": "s2"}, {}, ["ann-1", "ben-1"], 0),
        ({"request": "other"}, {}, ["ann-1", "ben-1"], 0),
        ({"message": None, "request": None}, {"message": None, "request": None}, ["ann-1"], 0),
        ({"message": None, "request": None}, {"message": None, "request": None, "model": "m"}, None, 0),
    ],
)
def test_of_copies_of_a_response_one_counts(
    bucket: Path, ann: Any, ben: Any, owners: list[str] | None, disputed: int
) -> None:
    for machine, more in (("ann-1", ann), ("ben-1", ben)):
        write_tables(bucket, machine, {MONTH: {"usage": [{**used("1"), **more}]}})
    found = rows_of(opened(bucket), USAGE)
    assert [row["machine"] for row in found] == (owners or ["ann-1", "ben-1"])
    assert sum(row.get("disputed", 0) for row in found) == disputed


def test_repeated_rows_of_one_machine_count_once(bucket: Path) -> None:
    apart = {"responses": 0, "output_tokens": 30}
    rows = [used("1"), used("1", output_tokens=9), used("1"), *[used("1", **apart)] * 2, used("1", **apart, model="m")]
    unnamed = {"message": None, "request": None, "responses": 0, "reported_cost_usd": 1.0}
    rows += [used("2", request=None), used("2", request=None), used("3", **unnamed), used("3", **unnamed)]
    write_tables(bucket, "ann-1", {MONTH: {"usage": rows}})
    found = rows_of(opened(bucket), USAGE)
    assert sum(row.get("responses", 0) for row in found) == 2 and sum(row.get("disputed", 0) for row in found) == 1
    assert sum(row["output_tokens"] for row in found) == 9 + 30 + 30 + 2 + 2 * 2, "what was billed apart counts, too"
    assert sum(row.get("reported_nanos", 0) for row in found) == 2e9, "what has no id is told by nothing"


@pytest.mark.parametrize("key", [KEY, None])
def test_copies_are_recognised_in_tables_of_earlier_versions(bucket: Path, key: str | None) -> None:
    mask = RowMask(TeamSettings(name="-", person="-", key=KEY))
    plain = {"message": f"msg_01{'a' * 22}", "request": f"req_01{'b' * 22}", "session": str(UUID(int=7))}
    hashed = {name: mask.hide("id", value) for name, value in plain.items()}
    assert all(len(value) == 20 for value in hashed.values()) and mask.hide("id", "a") == mask.keyed("id", "a")
    write_tables(bucket, "ann-1", {MONTH: {"usage": [used("x", **hashed)]}})
    write_tables(bucket, "ben-1", {MONTH: {"usage": [used("m", **plain, model=f"{OPUS}[1m]")]}}, version=3)
    for machine, version in (("old-1", 2), ("new-1", 4)):
        rows = [used("m", **plain, project="/home/x/shop")]
        write_tables(bucket, machine, {MONTH: {"usage": rows}}, person=None, version=version)
    [row] = rows_of(opened(bucket, key=key), USAGE)
    assert (row["machine"], row["responses"], row["model"]) == ("ann-1", 1, OPUS)


def test_of_copies_of_a_call_or_session_one_counts(bucket: Path) -> None:
    calls = {"ann-1": called("1", state="running", line=1), "ben-1": called("1", line=5), "cat-1": called("1", line=2)}
    records = {"ann-1": 4, "ben-1": 6, "cat-1": 6}
    for machine in calls:
        rows = [calls[machine], called(None, uuid="u"), called(None)]
        write_tables(bucket, machine, {MONTH: {"calls": rows, "sessions": [begun("s1", records=records[machine])]}})
    sums = opened(bucket)
    # what has no id of its own is told by its place on its machine
    assert {row["machine"]: row["calls"] for row in rows_of(sums, STATS)} == {"ann-1": 2, "ben-1": 2, "cat-1": 1}
    assert [row["machine"] for row in rows_of(sums, BEGUN)] == ["ben-1"]


BILLION, MILLION = 1_000_000_000, 1_000_000
BOUNDS: list[tuple[str, str, Any, bool]] = [
    ("usage", "responses", 0, True),
    ("usage", "responses", 2, False),
    ("usage", "responses", -1, False),
    ("usage", "responses", None, False),
    ("usage", "input_tokens", None, True),
    ("usage", "input_tokens", BILLION, True),
    ("usage", "input_tokens", BILLION + 1, False),
    ("usage", "cache_rewritten_tokens", -1, False),
    ("usage", "cost_usd", float(MILLION), True),
    ("usage", "cost_usd", MILLION + 0.5, False),
    ("usage", "reported_cost_usd", -0.5, False),
    ("calls", "seconds", None, True),
    ("calls", "seconds", float(BILLION), True),
    ("calls", "seconds", BILLION + 0.5, False),
    ("sessions", "turns", None, False),
    ("sessions", "turns", BILLION, True),
    ("sessions", "compactions", None, False),
    ("sessions", "compactions", BILLION + 1, False),
]


def test_rows_with_figures_that_cannot_be_are_left_out_and_said(bucket: Path) -> None:
    makers = {"usage": used, "calls": called, "sessions": begun}
    for n, (table, name, value, _) in enumerate(BOUNDS):
        row = makers[table](f"x{n}", **{name: value})
        write_tables(bucket, f"m-{n}", {MONTH: {table: [row]}}, statistics=False)
    for kind in (USAGE, STATS, BEGUN):
        sums, name = opened(bucket), team_sums.TABLES[kind.name].name
        counted = {row["machine"] for row in rows_of(sums, kind)}
        own = {f"m-{n}": fits for n, (table, _, _, fits) in enumerate(BOUNDS) if table == name}
        assert counted == {machine for machine, fits in own.items() if fits}
        said = [f"1 row of {name} with figures that cannot be"]
        assert sums.writers.refused == {machine: said for machine, fits in own.items() if not fits}


@pytest.mark.parametrize(
    ("kind", "row"),
    [(USAGE, used("2", responses=None)), (BEGUN, begun("2", turns=None)), (BEGUN, begun("2", compactions=None))],
)
def test_a_count_that_is_missing_is_noticed_among_others_that_fit(bucket: Path, kind: ReportKind, row: Any) -> None:
    good = {"usage": used("1"), "sessions": begun("1")}[kind.name]
    write_tables(bucket, "ann-1", {MONTH: {kind.name: [good, row]}})
    sums = opened(bucket)
    assert [row.get("responses", row.get("sessions")) for row in rows_of(sums, kind)] == [1]
    assert sums.writers.refused == {"ann-1": [f"1 row of {kind.name} with figures that cannot be"]}


def test_rows_count_in_the_months_that_their_files_tell(bucket: Path) -> None:
    write_tables(
        bucket,
        "ann-1",
        {
            "2026-10": {"usage": [used("1", time=at(31, 10, 23)), used("2", time=at(1))], "calls": []},
            MONTH: {"usage": [used("3", time=at(1, hour=0)), used("4", time=at(1, 12, 0)), used("5", time=None)]},
            "2026-12": {"calls": [called(str(day), time=at(day, 12)) for day in (1, 31)]},
        },
    )
    resumed = [called("a", time=at(30, 9)), called("b", time=at(2)), called("c", time=None)]
    write_tables(bucket, "ben-1", {"2026-09": {"calls": resumed}, None: {"usage": [used("6", time=None), used("7")]}})
    sums = opened(bucket)
    assert sums.months(USAGE) == [None, "2026-10", MONTH]
    assert sums.months(STATS) == [None, "2026-09", "2026-10", MONTH, "2026-12"]
    weeks = {month: [row.get("week") for row in rows_of(sums, USAGE, month)] for month in sums.months(USAGE)}
    assert weeks == {None: [None], "2026-10": ["2026-10-26"], MONTH: ["2026-10-26"]}
    said = {month: f"{count} of usage of other months" for month, count in ((None, "1 row"), (MONTH, "2 rows"))}
    assert sums.writers.refused == {"ben-1": [said[None]], "ann-1": ["1 row of usage of other months", said[MONTH]]}
    sums.writers.refused.clear()
    calls = {month: [row.get("week") for row in rows_of(sums, STATS, month)] for month in sums.months(STATS)}
    assert calls == {
        None: [None],
        "2026-09": ["2026-09-28"],
        "2026-10": [],
        MONTH: ["2026-11-02"],
        "2026-12": ["2026-11-30", "2026-12-28"],
    }
    assert sums.writers.refused == {}


def test_a_month_that_there_is_not_is_refused(bucket: Path) -> None:
    write_tables(bucket, "ann-1", {MONTH: {"usage": [used("1")]}})
    write_tables(bucket, "eve-1", {"2026-13": {"usage": [used("2")]}})
    sums = opened(bucket)
    assert [row["machine"] for row in rows_of(sums, USAGE, "2026-13", MONTH)] == ["ann-1"]
    name = f"usage/machine=eve-1/month=2026-13/{1:016x}.parquet"
    assert sums.writers.refused == {"eve-1": [f"{name} is of no month that there is"]}
    assert reread.team(bucket).quarters() == ["2026-Q4"]


@pytest.mark.parametrize("key", [KEY, None])
def test_words_of_earlier_versions_are_hidden_as_the_team_hides_them(bucket: Path, key: str | None) -> None:
    hide = RowMask(TeamSettings(name="-", person="-", key=key or "-"))
    named = {"project": "/home/gus/shop", "model": "my-model"}
    tables = {
        "usage": [used("1", **named)],
        "calls": [called("1", tool="mcp__harbor__book", model="my-model"), called("2", model=None)],
        "sessions": [begun("s1", **named, title="secret")],
    }
    without = ("cache_break_cause", "cache_rewritten_tokens", "cache_rewritten_usd", "agent_type")
    write_tables(bucket, "gus-1", {MONTH: tables}, person=None, team=None, without=without)
    sums = opened(bucket, key=key)
    shown = {"project": hide.project("shop"), "model": hide.hide("model", "my-model")}
    assert [row.items() >= shown.items() for row in rows_of(sums, USAGE) + rows_of(sums, BEGUN)] == [True] * 2
    calls = [(row["project"], row["tool"], row.get("model")) for row in rows_of(sums, STATS)]
    assert calls == [
        (shown["project"], "Bash", None),
        (shown["project"], hide.hide("tool", "mcp__harbor__book"), shown["model"]),
    ] or calls == [
        (shown["project"], hide.hide("tool", "mcp__harbor__book"), shown["model"]),
        (shown["project"], "Bash", None),
    ]
    assert sums.writers.refused == {} and sums.writers.people == {"gus-1": "(unknown)"}


def test_texts_that_no_machine_has_reason_to_write_are_not_read(bucket: Path) -> None:
    write_tables(bucket, "ann-1", {MONTH: {"usage": [used("1", session="s" * 300), used("2", session="s" * 301)]}})
    sums = opened(bucket)
    files = sums.writers.fetch(sums.writers.files("usage"))
    with sums._opened(["usage"], files) as connection:
        found = connection.sql('SELECT session, agent, epoch_ms("time") FROM written.usage ORDER BY 1').fetchall()
        moment = int(at(10).timestamp() * 1000)
        assert found == [("other", None, moment), ("s" * 300, None, moment)]
        with pytest.raises(duckdb.Error, match="Permission Error"):
            connection.sql(f"SELECT * FROM read_text('{__file__}')").fetchall()


def refuse(*_: object, **__: object) -> Any:
    raise AssertionError("it is known")


def kept() -> Rows:
    """The sums in the cache."""
    with closing(CacheFile(KEPT)) as cache:
        return [
            dict(zip(("name", "used", "value"), row, strict=True)) for row in cache.read(f"SELECT * FROM {KEPT.name}")
        ]


def change_kept(sql: str) -> None:
    with closing(CacheFile(KEPT)) as cache:
        cache.write(Statement(sql))


def test_sums_are_made_once_and_kept(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tables(bucket, "ann-1", {MONTH: {"usage": [used("1"), used("2", responses=2)]}})
    first = opened(bucket)
    rows = rows_of(first, USAGE)
    [row] = kept()
    change_kept(f"UPDATE {KEPT.name} SET used = 0")
    said = {"ann-1": ["1 row of usage with figures that cannot be"]}
    with monkeypatch.context() as patch:
        patch.setattr(TeamSums, "_make", refuse)
        later = opened(bucket)
        assert rows_of(later, USAGE) == rows and later.writers.refused == said
        assert rows_of(later, CACHE) == [], "they are of the same rows"
        assert kept()[0]["used"] > 0, "they are in use"
        change_kept(f"UPDATE {KEPT.name} SET value = x'00'")
        assert rows_of(later, USAGE) == rows == rows_of(first, USAGE), "what is in the memory is not read again"
    assert rows_of(opened(bucket), USAGE) == rows and kept()[0]["value"] == row["value"]
    for key in ("another key", None):
        with monkeypatch.context() as patch, pytest.raises(AssertionError, match="known"):
            patch.setattr(TeamSums, "_make", refuse)
            rows_of(opened(bucket, key=key), USAGE)


def test_sums_that_were_not_read_for_a_month_are_deleted(bucket: Path) -> None:
    write_tables(bucket, "ann-1", {MONTH: {"usage": [used("1")], "calls": [called("1")]}})
    first = opened(bucket)
    rows_of(first, USAGE)
    for age, left in ((30 * 86_400 + 60, 1), (30 * 86_400 - 60, 2)):
        change_kept(f"DELETE FROM {KEPT.name} WHERE used > 1")
        change_kept(f"INSERT OR IGNORE INTO {KEPT.name} VALUES ('x', {int(time.time()) - age}, x'00')")
        rows_of(opened(bucket), STATS)
        assert len(kept()) == left
        change_kept(f"DELETE FROM {KEPT.name}")


def damage(path: Path) -> None:
    """Change the first pages of a file, and leave its footer whole."""
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes(byte ^ 0x5A for byte in data[40:400]) + data[400:])


@pytest.mark.parametrize("person", ["eve", None])
def test_a_file_that_is_damaged_inside_is_left_out(bucket: Path, person: str | None) -> None:
    write_tables(bucket, "ann-1", {MONTH: {"usage": [used("1")], "calls": [called("1")]}})
    [broken, _] = write_tables(bucket, "eve-1", {MONTH: {"calls": [called("2")], "usage": [used("2")]}}, person=person)
    damage(broken)
    value = json.loads((bucket / "_reread/eve-1/000000001.json").read_bytes())
    value["parts"][0]["sha256"] = {}
    write_manifest(bucket, "eve-1", value)
    sums = opened(bucket)
    assert [row["machine"] for row in rows_of(sums, STATS)] == ["ann-1"]
    [reason] = sums.writers.refused["eve-1"]
    assert reason.startswith(f"{broken.relative_to(bucket)} cannot be read (") and len(reason) < 400
    assert sums.writers.refused.keys() == {"eve-1"}
    assert [row["machine"] for row in rows_of(sums, USAGE)] == ["ann-1", "eve-1"]


def test_figures_that_cannot_be_counted_are_an_error(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tables(bucket, "ann-1", {MONTH: {"usage": [used("1")]}})

    def fail(*_: object) -> Any:
        raise duckdb.Error("no memory" * 100)

    monkeypatch.setattr(TeamSums, "_query", fail)
    with pytest.raises(Unreadable, match=r"Cannot count the figures in .*: no memory") as error:
        rows_of(opened(bucket), USAGE)
    assert len(str(error.value)) < 400


def test_a_file_that_comes_later_counts_then(bucket: Path) -> None:
    for machine in ("ann-1", "eve-1"):
        [path] = write_tables(bucket, machine, {MONTH: {"usage": [used(machine)]}})
    data = path.read_bytes()
    name = str(path.relative_to(bucket))
    for change, reason in (
        (lambda: path.write_bytes(data + b"x"), "was changed after it was written"),
        (lambda: path.write_bytes(b""), "is missing"),
        (path.unlink, "is missing"),
    ):
        change()
        sums = opened(bucket)
        assert [row["machine"] for row in rows_of(sums, USAGE)] == ["ann-1"]
        assert sums.writers.refused == {"eve-1": [f"{name} {reason}"]}
    path.write_bytes(data)
    assert [row["machine"] for row in rows_of(opened(bucket), USAGE)] == ["ann-1", "eve-1"]


# Which files fit


def fault_of(bucket: Path, data: Any, **about: Any) -> str | None:
    """Say why a file of `usage` cannot be used."""
    name = f"usage/machine=ann-1/month={MONTH}/{1:016x}.parquet"
    path = bucket / name
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(data, path)
    given = {"machine": "ann-1", "table": "usage", "months": (MONTH,), "name": name, "rows": data.num_rows}
    writers = Writers(TableFiles(bucket))
    file = TableFileRef(**{**given, "sha256": "", "words": False, **about})
    fit = writers.fetch([file])
    assert [file.name for file in fit] == ([] if writers._faults[name] else [name])
    if not writers._faults[name]:
        known = (TABLES if file.words else FIGURES)[file.table].names(text=True)
        assert writers.columns(file).keys() == {"machine", "month", *data.column_names} & {*known}
    return writers._faults[name]


def test_a_file_has_the_columns_of_its_table(bucket: Path) -> None:
    ids, numbers = pyarrow.array(["a"]), pyarrow.array([1])
    good = {"message": ids, "output_tokens": numbers, "unknown": ids}
    for more, about, fault in (
        ({}, {}, None),
        ({}, {"rows": 2}, "has other rows than its manifest says"),
        ({}, {"sha256": "0" * 64}, "was changed after it was written"),
        ({"person": ids}, {}, None),
        ({"branch": ids}, {"words": True}, None),
        ({"person": numbers}, {}, "has a column 'person' of another type"),
        ({"branch": numbers}, {"words": True}, "has a column 'branch' of another type"),
        ({"output_tokens": ids}, {}, "has a column 'output_tokens' of another type"),
        ({"Session": ids}, {}, "has a column 'Session' of another type"),
        ({"Unknown": ids}, {}, "has a column 'message' of another type"),
        ({"machine": ids}, {}, "has a column 'machine' of another type"),
        ({"filename": ids, "month": ids}, {}, "has a column 'filename' of another type"),
        ({"output_tokens": pyarrow.array([-1])}, {}, "has figures that cannot be"),
        ({"output_tokens": pyarrow.array([-1])}, {"table": "sessions"}, None),
    ):
        assert fault_of(bucket, pyarrow.table(good | more), **about) == fault, (more, about)
    whole = pyarrow.table(good)
    digest = hashlib.sha256(next(bucket.rglob("*.parquet")).read_bytes()).hexdigest()
    assert "was changed" in (fault_of(bucket, whole, sha256=digest) or "")
    digest = hashlib.sha256(next(bucket.rglob("*.parquet")).read_bytes()).hexdigest()
    assert fault_of(bucket, whole, sha256=digest) is None


@pytest.mark.parametrize(
    ("rows", "groups", "size", "fits"),
    [
        (1 << 24, 1, 1, True),
        ((1 << 24) + 1, 1, 1, False),
        (1, 1 << 14, 1, True),
        (1, (1 << 14) + 1, 1, False),
        (1, 2, 1 << 31, True),
        (1, 2, (1 << 31) + 1, False),
    ],
)
def test_a_file_has_a_largest_size_unpacked(
    bucket: Path, monkeypatch: pytest.MonkeyPatch, rows: int, groups: int, size: int, fits: bool
) -> None:
    table = pyarrow.table({"session": ["a"]})
    group = SimpleNamespace(total_byte_size=size, num_columns=0, column=None)
    about = SimpleNamespace(num_rows=rows, num_row_groups=groups, row_group=lambda _: group)
    opened = SimpleNamespace(metadata=about, schema_arrow=table.schema)
    monkeypatch.setattr(team_writers.parquet, "ParquetFile", lambda _: opened)
    assert fault_of(bucket, table, rows=rows) == (None if fits else "is too large")


def test_a_file_has_a_largest_size(bucket: Path) -> None:
    name = f"usage/machine=ann-1/month={MONTH}/{1:016x}.parquet"
    (bucket / name).parent.mkdir(parents=True)
    for size, fault in ((1, "cannot be read"), (1 << 30, "cannot be read"), ((1 << 30) + 1, "is too large")):
        with (bucket / name).open("wb") as file:
            file.truncate(size)
        writers = Writers(TableFiles(bucket))
        assert writers.fetch([TableFileRef("ann-1", "usage", (MONTH,), name, 1, "", False)]) == []
        assert (writers._faults[name] or "").startswith(fault), size


def test_files_that_are_gone_while_they_are_fetched_keep_no_other_back(
    bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for machine in ("ann-1", "ben-1", "cat-1"):
        write_tables(bucket, machine, {MONTH: {"usage": [used(machine)]}})
    writers = opened(bucket).writers
    fetched: list[list[str]] = []

    def fetch(names: Any) -> None:
        fetched.append([name.split("/")[1] for name in names])
        if "machine=ben-1" in fetched[-1]:
            raise FileNotFoundError

    monkeypatch.setattr(writers.place, "fetch", fetch)
    files = list(writers.files("usage"))
    assert [file.machine for file in writers.fetch(files)] == ["ann-1", "cat-1"]
    names = ["machine=ann-1", "machine=ben-1", "machine=cat-1"]
    assert fetched[:4] == [names, *([name] for name in names)]
    assert writers.reason(files[1]) == f"{files[1].name} is missing"
    fetched.clear()
    assert [file.machine for file in writers.fetch(files)] == ["ann-1", "cat-1"]
    assert fetched == [["machine=ann-1", "machine=cat-1"]], "what is missing is not asked for again"


# The machines


def test_manifests_are_found_and_checked(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for machine, about in {
        "ann-1": {"person": "ann", "team": "shop"},
        "ben-1": {"person": "ben", "team": "No Team"},
        "cat-1": {"person": "Nobody!"},
        "dan-1": {},
    }.items():
        write_manifest(bucket, machine, about)
    (bucket / "_reread" / "eve-1").mkdir()
    (bucket / "_reread" / "eve-1" / "000000001.json").write_text("{")
    for name in ("fay-1/000000001.entry", "not a machine/000000001.json", "gus-1/more/000000001.json", "lock.json"):
        path = bucket / "_reread" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    (bucket / "_reread" / "ivy-1").mkdir()
    (bucket / "_reread" / "ivy-1" / "another.json").write_text("{}")
    writers = Writers(TableFiles(bucket))
    writers.refresh()
    assert writers.manifests.keys() == {"ann-1", "dan-1"}
    assert writers.people == {"ann-1": "ann", "dan-1": "(unknown)"} and writers.shown_alone == frozenset()
    wrong = ["its manifest names no person or team that could be one"]
    assert writers.refused.keys() == {"ben-1", "cat-1", "eve-1"}
    assert writers.refused["ben-1"] == writers.refused["cat-1"] == wrong
    assert writers.refused["eve-1"][0].startswith("its manifest cannot be read (")
    assert all(one.written and abs(datetime.now(UTC) - one.written) < timedelta(hours=1) for one in writers.listed())
    assert [(one.machine, one.person, one.team, one.words, one.refused) for one in writers.listed()] == [
        ("ann-1", "ann", "shop", False, ()),
        ("ben-1", None, None, False, tuple(wrong)),
        ("cat-1", None, None, False, tuple(wrong)),
        ("dan-1", None, None, True, ()),
        ("eve-1", None, None, False, tuple(writers.refused["eve-1"])),
    ]
    writers.refuse("zoe-1", "a")
    writers.refuse("zoe-1", "a")
    writers.refuse("zoe-1", "b")
    assert writers.refused["zoe-1"] == ["a", "b"] and writers.listed()[-1].written is None
    writers.refresh()
    assert writers.changes == 1 and "zoe-1" in writers.refused, "nothing is new"
    shutil.rmtree(bucket / "_reread" / "dan-1")
    writers.refresh()
    assert writers.changes == 2 and writers.manifests.keys() == {"ann-1"} and "zoe-1" not in writers.refused
    writers.manifests.clear()
    writers.refresh()
    assert writers.manifests.keys() == {"ann-1"}
    shutil.rmtree(bucket / "_reread")
    with pytest.raises(NotFound, match=r"No tables in .*bucket"):
        writers.refresh()


def test_the_newest_manifest_of_a_machine_tells_when_it_wrote(bucket: Path) -> None:
    for number, modified in ((1, 5), (2, 7), (3, 6)):
        path = write_manifest(bucket, "ann-1", {"person": "ann", "sequence": number})
        path = path.rename(path.with_name(f"{number:09}.json"))
        os.utime(path, (modified, modified))
    path.with_name("000000003.entry").touch()
    found = reread.team(bucket)
    assert [writer.written for writer in found.writers()] == [datetime.fromtimestamp(7, UTC)]


def test_more_than_ten_thousand_machines_are_refused(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_writers, "newest_manifest", lambda _, machine: TablesManifest(machine, person="ann"))
    writers = Writers(TableFiles(bucket))
    states = [SimpleNamespace(name=f"_reread/m-{n:05}/000000001.json", modified=1) for n in range(10_001)]
    monkeypatch.setattr(writers.place.store, "list", lambda _: states)
    writers.refresh()
    assert len(writers.manifests) == 10_000
    assert writers.refused == {"m-10000": ["there are more than 10,000 machines"]}


def test_files_of_a_month_are_those_whose_first_table_may_have_rows_of_it(bucket: Path) -> None:
    late = {"calls": [called("1", time=at(2, 12))], "sessions": [begun("s1")]}
    write_tables(bucket, "ann-1", {MONTH: late, "2026-09": {"sessions": [begun("s2", started=at(1, 9))]}})
    write_tables(bucket, "gus-1", {MONTH: late}, person=None, team=None)
    writers = opened(bucket).writers

    def files(*tables: str, **options: Any) -> list[tuple[str, str, bool, int]]:
        found = list(writers.files(*tables, **options))
        assert all(len(file.sha256) == 64 for file in found)
        return sorted((file.machine, file.table, file.words, file.rows) for file in found)

    both = [("ann-1", "calls", False, 1), ("ann-1", "sessions", False, 1)]
    words = [("gus-1", "calls", True, 1), ("gus-1", "sessions", True, 1)]
    assert files("calls", "sessions", month="2026-12") == both + words
    assert files("calls", "sessions", month=MONTH) == words, "earlier versions do not tell when calls began"
    assert files("sessions", month=MONTH) == [both[1], words[1]]
    assert files("sessions") == [both[1], both[1], words[1]] and files("usage") == []


def atoms_of(*groups: tuple[str, ...], week: str | None = "2026-11-02") -> list[Atom]:
    """Atoms of people, each named by a letter, in groups: the last of each tuple are the people."""
    return [
        Atom(week, person, f"{person}-1", tuple(values), {"n": 1.0}) for *values, people in groups for person in people
    ]


def test_few_people_are_merged() -> None:
    def cells(*groups: tuple[str, ...]) -> dict[Any, str]:
        blocks = divide(("2026-11-02",), atoms_of(*groups))
        assert sum(block.figures["n"] for block in blocks) == sum(len(group[-1]) for group in groups)
        assert all(len(block.people) >= LEAST for block in blocks)
        assert all((block.group in block.merged) is False for block in blocks)
        return {
            block.group[0] if len(block.group) == 1 else block.group: "".join(sorted(block.people)) for block in blocks
        }

    assert cells(("a", "xyz"), ("b", "uvw")) == {"a": "xyz", "b": "uvw"}
    assert cells(("a", "xyz"), ("b", "u"), ("c", "vw")) == {"a": "xyz", "(others)": "uvw"}
    assert cells(("a", "wxyz"), ("b", "uvw"), ("c", "u")) == {"a": "wxyz", "(others)": "uvw"}, "the total less that"
    assert cells(("a", "xyz"), ("b", "u")) == {"(others)": "uxyz"}
    assert cells(("a", "m", "xyz"), ("a", "n", "x"), ("b", "m", "uvw"), ("b", "n", "uvw")) == {
        ("a", "(others)"): "xyz",
        ("b", "m"): "uvw",
        ("b", "n"): "uvw",
    }, "the total of a is whole, whatever its models"


def test_weeks_with_few_people_are_joined() -> None:
    def joined(weeks: dict[str | None, str], *asked: str) -> list[Any]:
        quarters: dict[str, dict[str | None, str]] = {}
        for week, people in weeks.items():
            quarters.setdefault(f"{week[:4]}-Q{(int(week[5:7]) + 2) // 3}" if week else "", {})[week] = people
        read: list[str] = []
        found = join_periods(sorted(quarters), lambda one: (read.append(one), quarters[one])[1], asked or quarters)
        assert all(len({who for week in period for who in weeks[week]}) >= LEAST for period in found)
        return [found, set(read)] if asked else found

    weeks = {"2026-01-05": "x", "2026-01-12": "yz", "2026-01-19": "xyz", "2026-01-26": "x"}
    assert joined(weeks) == [("2026-01-05", "2026-01-12"), ("2026-01-19", "2026-01-26")]
    assert joined({"2026-01-05": "xy"}) == joined({}) == []
    first = {"2026-01-05": "xyz", "2026-03-30": "x", "2026-04-06": "xyz"}
    assert joined(first) == [("2026-01-05", "2026-03-30"), ("2026-04-06",)], "in their quarter"
    small = {**first, "2026-07-06": "x", "2026-10-05": "xyz", None: "y"}
    rest = (None, "2026-07-06", "2026-01-05", "2026-03-30")
    assert joined(small) == [rest, ("2026-04-06",), ("2026-10-05",)], "nothing is left out of a whole"
    assert joined(small, "2026-Q4") == [[("2026-10-05",)], {"2026-Q2", "2026-Q3", "2026-Q4"}], "others are not read"
    assert joined(small, "2026-Q1")[0][0] == rest, "the same, whatever is asked for"
    assert joined({**small, "2027-01-04": "z"})[-1] == (None, "2026-07-06", "2027-01-04"), "three in small quarters"


def test_who_agrees_on_each_machine_is_shown_alone_and_names_tell_whose_one_is(tmp_path: Path) -> None:
    writers = Writers(TableFiles(tmp_path))
    agreed = {"ann": (True, False), "bob": (False, True), "cid": (True, True)}
    for person, answers in agreed.items():
        for n, answer in enumerate(answers):
            writers.manifests[f"{person}-{n}"] = TablesManifest(f"{person}-{n}", person=person, shown_alone=answer)
    writers.manifests["old"] = TablesManifest("old", shown_alone=True)
    assert writers.shown_alone == {"cid", "(unknown)"}
    names = {"ann": True, "ann-1": True, "ann.lan": True, "annie": False, "bob": False}
    writers.manifests = {name: TablesManifest(name, person="ann") for name in names}
    writers.manifests["None-1"] = TablesManifest("None-1")
    assert {one.machine: one.named_for_person for one in writers.listed()} == {**names, "None-1": False}


FIRST, LAST_DAY = date(2026, 11, 2), date(2026, 11, 15)


@pytest.mark.parametrize(
    ("week", "within"),
    [("2026-10-26", False), ("2026-11-02", True), ("2026-11-09", True), ("2026-11-16", False), (None, False)],
)
def test_a_week_is_within_a_period(week: str | None, within: bool) -> None:
    assert _has_week((FIRST, LAST_DAY), week) is within
    assert _has_week((None, LAST_DAY), week) is (week is not None and week <= "2026-11-09")
    assert _has_week((FIRST, None), week) is (week is not None and week >= "2026-11-02")
    assert _has_week((None, None), week)


def test_quarters_are_read_that_may_have_weeks_of_a_time() -> None:
    assert _quarters_of("2026-11") == {"2026-Q4"} and _quarters_of(None) == {""}
    assert _quarters_of("2026-10") == {"2026-Q3", "2026-Q4"} and _quarters_of("2026-01") == {"2025-Q4", "2026-Q1"}
    known = ["", "2026-Q1", "2026-Q3", "2026-Q4"]
    for span, quarters in (
        ((None, None), known),
        ((date(2026, 7, 6), date(2026, 10, 4)), ["2026-Q3", "2026-Q4"]),
        ((FIRST, None), ["2026-Q4"]),
        ((None, date(2026, 7, 5)), ["", "2026-Q1", "2026-Q3"]),
    ):
        assert [quarter for quarter in known if _may_have(quarter, span)] == quarters


def test_periods_have_names() -> None:
    assert _period_name(("2026-11-02",)) == "2026-11-02" and _period_name((None,)) is None
    assert _period_name(("2026-11-02", "2026-11-09")) == "2026-11-02 to 2026-11-15"
    assert _period_name((None, "2026-11-02")) == _period_name(("2026-07-06", "2026-11-02")) == "(others)"
    assert (_last_day("2026-11-09"), _last_day("9999-12-31"), _last_day("x")) == ("2026-11-15", "9999-12-31", "x")


@pytest.mark.parametrize(
    ("since", "until", "weeks"),
    [
        ("2026-11-04", "2026-11-10", (date(2026, 11, 2), date(2026, 11, 15))),
        ("2026-11-02", "2026-11-08", (date(2026, 11, 2), date(2026, 11, 8))),
        ("2026-11-09", None, (date(2026, 11, 9), None)),
        (None, "2026-11-09T00:30+02:00", (None, date(2026, 11, 8))),
        (None, "9999-12-19", (None, date(9999, 12, 19))),
        (None, "9999-12-20", (None, None)),
        (None, None, (None, None)),
    ],
)
def test_a_period_has_whole_weeks_of_utc(since: str | None, until: str | None, weeks: Any) -> None:
    assert _weeks(since, until) == weeks


REPORTED = ReportKind("usage", Measure("responses", {"n": "count(*)", "usd": "total(usd)"}), ("project",), ())


def test_a_report_has_each_group_its_people_and_the_others_last() -> None:
    weeks = ("2026-11-02", "2026-11-09", "2026-11-16")

    def blocks(n: int, *groups: tuple[str, str, float]) -> list[FigureBlock]:
        atoms = [
            Atom(weeks[n], person, f"{person}-1", (person, f"{person}-1", "t", project), {"n": 1.0, "usd": cost})
            for project, people, cost in groups
            for person in people
        ]
        return divide((weeks[n],), atoms)

    first, second = (
        blocks(0, ("b", "xyz", 2.0)),
        blocks(1, ("b", "xyz", 8.0), ("a", "xyzuvw", 16.0), ("c", "uvw", 32.0)),
    )
    few = blocks(1, ("b", "xyz", 8.0), ("a", "xyzuvw", 16.0), ("c", "u", 32.0))
    labels = {"a": "shop", weeks[1]: "no project"}

    def report(by: tuple[str, ...], blocks: list[FigureBlock]) -> Any:
        about = {"weeks_left_out": 2, "refused": {"eve": ["junk"]}}
        found = reports._made(REPORTED, by, {}, blocks, labels, dict, about)
        assert found.refused == {"eve": ["junk"]} and found.weeks_left_out == 2 and found.by == by
        shown = [(*row.group.values(), row["n"], row["usd"], row.people, row.partial) for row in found.rows]
        return shown, dict(found.totals), (found.since, found.until, found.withheld, found.partial)

    assert report(("week", "project"), first + second) == (
        [
            (weeks[0], "b", 3.0, 6.0, 3, False),
            (weeks[1], "shop", 6.0, 96.0, 6, False),
            (weeks[1], "b", 3.0, 24.0, 3, False),
            (weeks[1], "c", 3.0, 96.0, 3, False),
        ],
        {"n": 15.0, "usd": 222.0, "people": 6, "machines": 6},
        (weeks[0], "2026-11-15", False, False),
    )
    shown, totals, _ = report(("project",), first + few)
    assert shown == [("shop", 6.0, 96.0, 6, False), ("b", 3.0, 6.0, 3, True), ("(others)", 4.0, 56.0, 4, False)]
    assert report((), first + few)[:2] == ([], totals)
    assert report(("person",), first)[0] == [("(others)", 3.0, 6.0, 3, False)]
    assert report(("project",), []) == ([], {}, (None, None, True, False))


@pytest.mark.parametrize("by", [("week",), ("week", "project"), ("project", "week"), ("team", "week", "project")])
def test_weeks_that_are_joined_have_one_name_wherever_it_stands(bucket: Path, by: tuple[str, ...]) -> None:
    shown = {"a": f"{1:020x}", None: None}
    for person, days in {"x": "a2 -9", "y": "a2 -9", "z": "a9 -9"}.items():
        rows = [
            used(f"{person}{n}", int(day[1:]), project=shown.get(day[0]), cost_usd=1.0)
            for n, day in enumerate(days.split())
        ]
        write_tables(bucket, f"{person}-1", {MONTH: {"usage": rows}}, team="t", shown_alone=False)
    found = reread.team(bucket).usage(by=by)
    joined = {"week": "2026-11-02 to 2026-11-15", "team": "t"}
    groups = [(None, 3.0), (shown["a"], 3.0)] if "project" in by else [(None, 6.0)]
    assert [(row.group, row["cost_usd"], row.people, row.partial) for row in found.rows] == [
        ({name: {**joined, "project": project}[name] for name in by}, cost, 3, False) for project, cost in groups
    ]
    assert (found.by, found.totals["cost_usd"], found.withheld) == (by, 6.0, False)


def test_a_part_tells_the_months_of_its_rows() -> None:
    part = TablePart("1", "2026-11", {}, call_months=["2026-12"])
    later = [None, "2026-11", "2026-12", *(f"2027-{month:02}" for month in range(1, 11))]
    for one, table, words, months in (
        (part, "usage", False, ["2026-11"]),
        (part, "calls", False, ["2026-12"]),
        (TablePart("1", "2026-11", {}), "calls", False, ["2026-11"]),
        (TablePart("1", None, {}), "calls", True, [None]),
        (part, "calls", True, later),
        (TablePart("1", "9999-11", {}), "calls", True, [None, "9999-11", "9999-12"]),
    ):
        assert list(_months(one, table, words=words)) == months, (one, table, words)


def test_figures_of_single_responses_have_bounds() -> None:
    def is_possible(rows: dict[str, list[Any]], **options: Any) -> bool:
        sink = io.BytesIO()
        parquet.write_table(pyarrow.table(rows), sink, row_group_size=1, **options)
        return _is_possible(parquet.ParquetFile(sink).metadata)

    assert is_possible({"output_tokens": [0, MOST_TOKENS], "line": [-1, MOST_TOKENS + 1], "cost_usd": [None, 0.5]})
    for wrong in (
        {"line": [1, 1], "output_tokens": [0, MOST_TOKENS + 1]},
        {"cost_usd": [0, -0.5]},
        {"responses": [-1]},
    ):
        assert not is_possible(wrong) and is_possible(wrong, write_statistics=False)


def test_too_many_machines_are_refused_and_manifests_are_read_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(machine: str, **more: Any) -> None:
        path = tmp_path / "_reread" / machine / "000000001.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"machine": machine, "sequence": 1, "person": "ann", **more}))

    writers = Writers(TableFiles(tmp_path))
    with pytest.raises(NotFound, match="No tables"):
        writers.refresh()
    monkeypatch.setattr(team_writers, "MOST_MACHINES", 2)
    for machine in ("a-1", "b-2", "c-3"):
        write(machine, usage=[{"id": f"{1:016x}", "month": "2026-11", "rows": {"usage": 7}}])
    writers.refresh()
    writers.refresh()
    assert writers.manifests.keys() == {"a-1", "b-2"} and writers.changes == 1
    assert writers.refused == {"c-3": ["there are more than 2 machines"]}
    write("c-3", person="<b>")
    os.utime(tmp_path / "_reread" / "c-3" / "000000001.json", (0, 0))
    monkeypatch.setattr(team_writers, "MOST_MACHINES", 9)
    writers.refresh()
    assert writers.changes == 2 and writers.manifests.keys() == {"a-1", "b-2"} and writers.refused.keys() == {"c-3"}
    listed = [
        (one.machine, one.person, one.team, one.responses, one.named_for_person, one.words) for one in writers.listed()
    ]
    assert listed == [
        ("a-1", "ann", None, 7, False, False),
        ("b-2", "ann", None, 7, False, False),
        ("c-3", *[None] * 2, 0, *[False] * 2),
    ]
    assert writers.listed()[2].written == datetime.fromtimestamp(0, UTC)
    files = list(writers.files("usage", month="2026-11"))
    assert [(file.machine, file.rows, file.months, file.words) for file in files] == [
        (name, 7, ("2026-11",), False) for name in ("a-1", "b-2")
    ]
    assert [*writers.files("usage", month="2026-10")] == [*writers.files("calls")] == []


def test_no_block_is_of_too_few_people() -> None:
    for size in range(1, 4):
        for owners in itertools.combinations_with_replacement(["u", "vw", "vwx", "uvwxyz", "yz", "uxy"], size):
            if len(set("".join(owners))) < LEAST:
                continue
            blocks = divide((None,), atoms_of(*((str(n), str(n % 2), own) for n, own in enumerate(owners)), week=None))
            assert all(len(block.people) >= LEAST for block in blocks), owners
            assert sum(block.figures["n"] for block in blocks) == sum(len(own) for own in owners)


# Subtraction


SECOND = "claude-sonnet-5"


def small_team(bucket: Path, alone: set[str]) -> list[str]:
    """Write a team of four, each of whom is alone with a week, quarter, project, model, team, tool, cause or nothing.

    Each row has a power of two as its figure, so a figure tells which rows are in it. Returns whose each row is.
    """
    lives: dict[str, list[tuple[datetime | None, int, str]]] = {
        "ann": [(at(8, 3), 0, OPUS), (at(2), 0, OPUS), (at(3), 1, OPUS), (at(9), 0, OPUS), (at(17), 0, SECOND)],
        "ben": [(at(2), 0, OPUS), (at(10), 0, OPUS), (at(16), 2, SECOND), (at(25), 0, OPUS)],
        "cat": [(at(2), 0, OPUS), (at(9), 1, SECOND), (at(12), 0, SECOND), (at(16), 0, SECOND), (None, 0, OPUS)],
        "dan": [(at(1), 0, OPUS), (at(4), 0, OPUS), (at(29, hour=23), 2, OPUS), (at(5, 6), 0, OPUS), (at(9), 0, OPUS)],
    }
    owners: list[str] = []
    for person, rows in lives.items():
        months: dict[str | None, dict[str, Rows]] = {}
        for n, (moment, project, model) in enumerate(rows):
            id, power, about = f"{person}{n}", 2 ** len(owners), {"project": f"{project:020x}", "model": model}
            usage = {"cost_usd": float(power), "cache_rewritten_tokens": power, "session": id}
            cause = {"cache_break_cause": ("rewind", "compaction")[n % 2]}
            state = {"state": ("failed", "done", "denied")[n % 3], "failure": "timeout" if n % 3 == 0 else None}
            call = {"seconds": float(power), "tool": ("Bash", "Edit")[n % 2], "model": model, "session": id}
            own = months.setdefault(f"{moment:%Y-%m}" if moment else None, {"usage": [], "calls": [], "sessions": []})
            own["usage"].append(used(id, time=moment, **about, **usage, **cause))
            own["calls"].append(called(id, time=moment, **call, **state))
            own["sessions"].append(begun(id, started=moment, **about, turns=power))
            owners.append(person)
        team = "lab" if person == "dan" else "shop"
        write_tables(bucket, f"{person}-1", months, team=team, shown_alone=person in alone)
    return owners


CHOSEN: dict[str, Any] = {
    "person": ("ann", "dan", ["ann", "ben", "cat"]),
    "machine": ("cat-1", "[!d]*"),
    "project": [f"{n:020x}" for n in range(3)],
    "model": (OPUS, SECOND),
    "tool": ("Bash", "Edit"),
    "state": ("failed", "done"),
}
"""What reports choose, by what."""


@pytest.mark.parametrize("alone", [set(), {"ann"}])
def test_no_difference_of_two_answers_is_of_fewer_than_three_people(bucket: Path, alone: set[str]) -> None:
    """Every report by some columns or on some values of two, in every time between some weeks, and every budget."""
    owners, found = small_team(bucket, alone), reread.team(bucket)
    mondays = (None, "2026-03-02", "2026-06-01", "2026-10-26", "2026-11-09", "2026-11-16")
    times = [{"since": a, "until": b} for a in mondays for b in mondays if not (a and b) or a <= b]
    for quarter in found.quarters():
        first, last = quarter_days(quarter)
        times.append({"since": str(first), "until": str(last)})
    for per, team in itertools.product(("week", "month"), ("shop", "lab")):
        set_budget(Budget(amount_usd=1.0, per=per, team=team))
    kinds = {
        "cost_usd": (found.usage, USAGE),
        "tokens": (found.cache_breaks, CACHE),
        "call_seconds": (found.stats, STATS),
        "turns": (found.sessions, BEGUN),
    }
    compared = 0
    for figure, (report, kind) in kinds.items():
        names = ("week", "person", "machine", "team", *kind.columns)
        groupings = [by for size in (0, 1, 2, len(names)) for by in itertools.combinations(names, size)]
        reports = [report(by=by, **time) for time, by in itertools.product(times, groupings)]
        filters = [{}, *({name: value} for name, values in CHOSEN.items() if name in names for value in values)]
        pairs = [one | other for one, other in itertools.combinations(filters, 2) if one.keys().isdisjoint(other)]
        reports += [report(by=by, **only, **time) for time in times[::7] for only in pairs for by in ((), "model")]
        figures = [row for made in reports for row in (made.totals, *made.rows) if row]
        answers = {0, *(int(row[figure]) for row in figures)}
        if figure == "cost_usd":
            answers |= {int(state.spent_usd) for day in range(1, 31, 7) for state in found.budgets(now=at(day))}
        for one, other in itertools.combinations(answers, 2):
            people = {owner for place, owner in enumerate(owners) if (one ^ other) >> place & 1} - alone
            assert not people or len(people) >= LEAST, (figure, f"{one:b}", f"{other:b}", people)
            compared += 1
        assert max(answers) == 2 ** len(owners) - 1, "nothing is left out of all"
        assert len(answers) > 4, "something is shown"
    assert compared > 100


# Reports


def test_reports_have_their_figures_by_group(bucket: Path) -> None:
    again = {"cache_break_cause": "rewind", "cache_rewritten_tokens": 3000, "cache_rewritten_usd": 0.75}
    write_tables(
        bucket,
        "ann-1",
        {
            MONTH: {
                "usage": [used("1", 2), used("2", 9, cost_usd=None, **again)],
                "calls": [
                    called("1", 3),
                    called("2", 3, state="failed", failure="timeout"),
                    called("3", 3, state="denied", seconds=None),
                    called("4", 3, state="interrupted", tool="Edit", seconds=None),
                ],
                "sessions": [begun("s1", 3)],
            }
        },
    )
    write_tables(bucket, "ben-1", {MONTH: {"usage": [used("3", 3, project=None)]}}, team=None)
    found = reread.team(bucket)

    def rows(report: Report) -> dict[Any, dict[str, float]]:
        assert not report.withheld and report.weeks_left_out == 0 and report.refused == {}
        keys = [tuple(row[name] for name in report.by) for row in report.rows]
        return {
            key[0] if len(key) == 1 else key: {
                name: row[name]
                for name in row
                if row[name] and name not in (*report.by, "people", "machines", "tokens", "share")
            }
            for key, row in zip(keys, report.rows, strict=True)
        }

    one = {"responses": 1, "input_tokens": 1, "output_tokens": 2, "cost_usd": 0.5}
    unpriced = {"responses": 1, "input_tokens": 1, "output_tokens": 2, "unpriced_models": [OPUS]}
    two = {"responses": 2, "input_tokens": 2, "output_tokens": 4, "cost_usd": 1.0}
    both = {"responses": 2, "input_tokens": 2, "output_tokens": 4, "cost_usd": 0.5, "unpriced_models": [OPUS]}
    assert rows(found.usage()) == {"2026-11-02": two, "2026-11-09": unpriced}
    by_project = found.usage(by="project,week")
    assert rows(by_project) == {
        (None, "2026-11-02"): one,
        (SHOP, "2026-11-02"): one,
        (SHOP, "2026-11-09"): unpriced,
    }
    assert (by_project.since, by_project.until, by_project.totals.people, by_project.totals.machines) == (
        "2026-11-02",
        "2026-11-15",
        2,
        2,
    )
    assert rows(found.usage(by=["person", "person"])) == {"ann": both, "ben": one}
    assert rows(found.usage(by="team")) == {None: one, "shop": both}
    assert rows(found.usage(by="machine", since="2026-11-11")) == {"ann-1": unpriced}
    assert rows(found.usage(by="model", until="2026-11-08")) == {OPUS: two}
    assert rows(found.cache_breaks()) == {"rewind": {"breaks": 1, "cost_usd": 0.75}}
    assert found.cache_breaks().totals.tokens == 3000
    assert rows(found.stats()) == {
        "Bash": {"calls": 3, "failed": 1, "denied": 1, "call_seconds": 5.0},
        "Edit": {"calls": 1, "interrupted": 1},
    }
    assert rows(found.stats(by="failure"))["timeout"] == {"calls": 1, "failed": 1, "call_seconds": 2.5}
    assert rows(found.stats(by="state,project"))["denied", SHOP] == {"calls": 1, "denied": 1}
    assert rows(found.sessions()) == {"2026-11-02": {"sessions": 1, "turns": 3, "compactions": 1}}
    nothing = found.usage(since="2030-01-01")
    assert (nothing.rows, dict(nothing.totals), nothing.withheld, nothing.since) == ([], {}, False, None)
    for report, known in ((found.usage, "project, model"), (found.cache_breaks, "cause, project, model")):
        text = f"Cannot group a team by 'tool'; use week, person, machine, team, {known}, or several"
        with pytest.raises(Misuse, match=text):
            report(by=("week", "tool"))
    assert [finding.machine for finding in found.verify()] == ["ann-1", "ben-1"], "nobody wrote a chain"


def test_blocks_are_made_once_until_a_machine_writes(bucket: Path) -> None:
    write_tables(bucket, "ann-1", {MONTH: {"usage": [used("1")]}})
    found = reread.team(bucket)
    assert found.quarters() == ["2026-Q4"] and [writer.machine for writer in found.writers()] == ["ann-1"]
    reports = (found.usage(), found.usage(by="person"), found.stats())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TeamSums, "atoms", refuse)
        patch.setattr(small_groups, "divide", refuse)
        assert (found.usage(), found.usage(by="person"), found.stats()) == reports
    write_tables(bucket, "ben-1", {MONTH: {"usage": [used("2")]}, "2025-01": {"usage": [used("3", time=None)]}})
    assert found.usage().totals["responses"] == 2
    assert found.quarters() == ["2026-Q4", "2025-Q1"] and len(found.writers()) == 2


def test_the_names_of_projects_are_those_that_this_machine_knows(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = RowMask(TeamSettings(name="-", person="-", key=KEY)).project("harbor")
    write_tables(bucket, "ann-1", {MONTH: {"usage": [used("1", project=hashed), used("2", project=SHOP)]}})
    for key, names in ((None, [hashed, SHOP]), (KEY, ["harbor", SHOP])):
        settings = TeamSettings(key=key, projects=("harbor", "lantern"))
        monkeypatch.setattr(reports, "team_settings", lambda settings=settings: settings)
        report = reread.team(bucket).usage(by="project")
        assert sorted(str(row["project"]) for row in report.rows) == sorted(names)


def test_a_team_needs_what_reads_tables(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed: list[str] = []
    monkeypatch.setattr(reports, "require", needed.append)
    assert isinstance(reread.team(bucket), reports.Team) and needed == ["pyarrow", "duckdb"]


def test_budgets_of_teams_count_the_weeks_that_begin_in_their_period(bucket: Path) -> None:
    days = [used(str(n), time=moment) for n, moment in enumerate((at(1), at(2, hour=0), at(30, hour=23)))]
    write_tables(bucket, "ann-1", {MONTH: {"usage": days}})
    more = {"2026-12": {"usage": [used("8", time=at(6, 12)), used("11", time=at(7, 12))]}}
    write_tables(bucket, "ben-1", {**more, MONTH: {"usage": [used("9", cost_usd=None)]}})
    write_tables(bucket, "cat-1", {MONTH: {"usage": [used("7")]}}, team=None)
    write_tables(bucket, "dan-1", {MONTH: {"usage": [used("6")]}}, team="lab", shown_alone=False)
    for amount, per, team in (
        (5.0, "month", "shop"),
        (2.0, "week", "lab"),
        (3.0, "month", None),
        (1.0, "week", "shop"),
    ):
        set_budget(Budget(amount_usd=amount, per=per, team=team))
    found = reread.team(bucket)

    def figures(now: datetime) -> list[Any]:
        return [
            (one.team, one.per, one.spent_usd, one.left_usd, one.forecast_usd, one.lower_bound)
            for one in found.budgets(now=now)
        ]

    assert figures(at(6, hour=0)) == [
        ("shop", "month", 1.5, 3.5, 1.5 / (4 / 35), True),
        ("shop", "week", 0.5, 0.5, 0.5 / (4 / 7), False),
    ], "a team of one is left out"
    assert figures(at(5, hour=11))[0][4] is None, "a tenth of the time is over"
    assert figures(at(7, 12, hour=9)) == [
        ("shop", "month", 0.5, 4.5, None, False),
        ("shop", "week", 0.5, 0.5, None, False),
    ]
    assert figures(at(24)) == [("shop", "month", 1.5, 3.5, 1.5 / (22.5 / 35), True)], "no figures in a week"
    budget = found.budgets(now=at(1, 12))[0]
    assert (budget.start, budget.end) == (at(2, hour=0), at(7, 12, 0)), "the last week of November goes on"
    now = datetime.now(UTC)
    write_tables(bucket, "eve-1", {f"{now:%Y-%m}": {"usage": [used("5", time=now)]}}, team="new")
    set_budget(Budget(amount_usd=1.0, per="week", team="new"))
    set_budget(Budget(amount_usd=1.0, per="day", team="new"))
    assert [(one.per, one.spent_usd) for one in found.budgets() if one.team == "new"] == [("week", 0.5)]


def test_a_budget_of_which_some_is_among_the_others_is_a_lower_bound(bucket: Path) -> None:
    for n, (person, team) in enumerate(
        zip("abcdefg", ("shop", "shop", "shop", "shop", "lab", "lab", "lab"), strict=True)
    ):
        days = (10, 17) if n < 2 or n > 3 else (10,)
        rows = [used(f"{person}{day}", day) for day in days]
        write_tables(bucket, f"{person}-1", {MONTH: {"usage": rows}}, team=team, shown_alone=False)
    set_budget(Budget(amount_usd=5.0, per="month", team="shop"))
    [budget] = reread.team(bucket).budgets(now=at(25))
    assert (budget.spent_usd, budget.lower_bound) == (2.0, True)


def test_a_digest_is_of_one_week_and_compares_it_with_the_one_before(bucket: Path) -> None:
    again = {"cache_break_cause": "rewind", "cache_rewritten_tokens": 3000}
    usage = [used(str(n), day, output_tokens=10**n, **again) for n, day in enumerate((1, 2, 8, 9, 15, 16))]
    calls = [called(str(day), day, state="failed", failure="timeout") for day in (1, 2, 9, 15, 15, 16)]
    write_tables(bucket, "ann-1", {MONTH: {"usage": usage, "calls": calls}})
    found, counts = reread.team(bucket), {"usage": "responses", "cache_breaks": "breaks", "stats": "calls"}
    for options in (
        {"week": date(2026, 11, 9)},
        {"week": date(2026, 11, 15), "now": at(3)},
        {"now": at(16, hour=0)},
        {"now": at(22, hour=23)},
    ):
        digest = found.digest(**options)
        assert (digest.since, digest.until, digest.budgets) == ("2026-11-09", "2026-11-15", []), options
        assert (digest.usage.since, digest.usage.until) == (digest.since, digest.until)
        assert (digest.usage.totals["output_tokens"], digest.before.totals["output_tokens"]) == (11_000, 110)
        assert digest.usage.by == digest.before.by == ()
        about = {
            title: (report.by, report.totals[counts[report.kind]], [[*row.group.values()] for row in report.rows])
            for title, report in digest.tables.items()
        }
        assert about == {
            "By project": (("project",), 2, [[SHOP]]),
            "By model": (("model",), 2, [[OPUS]]),
            "By team": (("team",), 2, [["shop"]]),
            "Written to the cache again": (("cause",), 2, [["rewind"]]),
            "Failures": (("failure",), 2, [["timeout"]]),
        }
    assert found.digest().usage.rows == []
    assert found.digest(now=at(15, hour=23)).since == "2026-11-02", "the clock is that of UTC"
