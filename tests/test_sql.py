"""`reread sql`: the same figures as the library, nothing but reading, and every form of output."""

import csv
import io
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from batches import table
from command import run
from effort import one_in
from limits import PATIENCE
from making import jsonl, reply, use, user
from used import FIGURES, figures

import reread
from reread.base.paths import SAMPLES
from reread.cli.sql import completions
from reread.dataset.local_tables import own_tables
from reread.dataset.manifest import newest_manifest
from reread.dataset.query import QueryRows
from reread.dataset.schema import TABLES
from reread.dataset.sql import Database, duckdb
from reread.dataset.table_files import TableFiles
from reread.disk.machine import machine_id
from reread.errors import Misuse, NotFound, Unreadable
from reread.render.query_table import cell_text, json_rows, query_csv, query_lines
from reread.session.session import threads_of

DOCUMENT = (Path(__file__).parent.parent / "docs" / "tables.md").read_text()
QUESTIONS = re.findall(r"^([^\n`]+\?[^\n]*)\n\n```sql\n((?:[^`]+))```$", DOCUMENT, re.MULTILINE)
REAL = Path(__file__).parent / "real"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples as tables with text."""
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REREAD_MACHINE", "here")
        patch.setenv("REREAD_CACHE", str(folder / "cache"))
        reread.tables(root=SAMPLES, text=True).write(folder / "out")
    return folder / "out"


def ask(folder: Path, query: str, **options: Any) -> list[dict[str, Any]]:
    with closing(Database(TableFiles(folder), **options)) as database:
        [statement] = database.statements(query)
        result = database.query(statement)
        return list(json_rows(result.schema.names, result.rows))


def test_queries_need_no_folder_to_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv("REREAD_MACHINE", raising=False)
    for variable in ("REREAD_HOME", "REREAD_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / "file/none"))
    with own_tables([SAMPLES]) as place, closing(Database(place)) as database:
        assert next(iter(database.query("select count(*), any_value(machine) from sessions").rows)) == (9, "unnamed")


@pytest.mark.parametrize(
    "error",
    [
        duckdb.InterruptException("INTERRUPT Error: Interrupted!"),
        RuntimeError("Query interrupted"),  # after a signal, its Python part says this
        OSError("INTERRUPT Error: Interrupted!"),  # Arrow passes it on like this
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_interrupted_query_ends_as_the_program_does(
    error: Exception, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise error

    with closing(Database(TableFiles(samples))) as database:
        monkeypatch.setattr(database, "_run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            database.query("select 1")


def test_rows_are_a_sequence() -> None:
    found = QueryRows(pyarrow.table({"a": [1, 2, 3], "b": ["x", None, "z"]}))
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": 3, "b": "z"}]
    assert (len(found), found.names, list(found)) == (3, ["a", "b"], rows)
    assert [found[n] for n in (0, 2, -1, -3)] == [rows[n] for n in (0, 2, -1, -3)]
    assert [found[part] for part in (slice(1, None), slice(None, None, -2), slice(5, 9))] == [rows[1:], rows[::-2], []]
    for n in (3, -4):
        with pytest.raises(IndexError):
            found[n]


def test_there_are_twenty_questions() -> None:
    assert len(QUESTIONS) >= 20


def test_every_question_has_an_answer(samples: Path) -> None:
    with closing(Database(TableFiles(samples))) as database:
        found = {question: list(database.query(query).rows) for question, query in QUESTIONS}
    empty = {question for question, rows in found.items() if not rows}
    assert len(empty) <= 2, empty
    assert empty <= {"Which files changed from outside while a session worked on them?", "Which lines cannot be read?"}


@pytest.mark.parametrize("folder", [SAMPLES, REAL / "2.1.76"], ids=lambda path: path.name)
def test_the_figures_are_those_of_the_library(folder: Path, tmp_path: Path) -> None:
    reread.tables(root=folder).write(tmp_path / "out")
    sums = ", ".join(f"sum({name}) as {name}" for name in FIGURES)
    [row] = ask(tmp_path / "out", f"select {sums} from usage")
    for name, value in figures(reread.usage(root=folder, cache=False).totals).items():
        assert row[name] == (pytest.approx(value) if isinstance(value, float) else value), name
    calls = {(str(s.path), call.id) for s in map(reread.open, reread.sessions(root=folder)) for call in _own_calls(s)}
    found = ask(tmp_path / "out", "select path, id from calls where agent is null")
    assert {(row["path"], row["id"]) for row in found} == calls and len(found) == len(calls)


def _own_calls(session: reread.Session) -> list[reread.value_types.Call]:
    threads_of(session).stop_merging()
    return session.calls


def test_odd_bytes_survive(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "p"
    folder.mkdir(parents=True)
    lines = [user("a\0b", sessionId="s"), user("half \ud83d one", sessionId="s"), user("x" * (12 << 20), sessionId="s")]
    lines += [reply(use("toolu_1", command="c\0d"), sessionId="s", usage={"input_tokens": 1 << 70})]
    (folder / "s.jsonl").write_bytes(jsonl(*lines))
    reread.tables(root=tmp_path, text=True).write(tmp_path / "out")
    rows = ask(tmp_path / "out", "select text, length(text) as n from messages order by line")
    assert [row["n"] for row in rows[:3]] == [3, 10, 12 << 20]
    assert rows[0]["text"] == "a\0b" and rows[1]["text"] == "half \ufffd one"
    assert ask(tmp_path / "out", "select input from calls")[0]["input"] == '{"command":"c\\u0000d"}'
    assert ask(tmp_path / "out", "select count(*) as n from records") == [{"n": 4}]


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_text('/etc/hosts')",
        "from '/etc/hosts.csv'",
        "select * from glob('/etc/*')",
        "from query_table(['usage', '/etc/x.parquet'])",
    ],
)
def test_other_files_are_out_of_reach(samples: Path, query: str) -> None:
    with pytest.raises(Misuse, match=r"--allow-files|does not exist"):
        ask(samples, query)


@pytest.mark.parametrize(
    "query",
    [
        "copy usage to '/tmp/x.csv'",
        "create table t as select 1",
        "drop view usage",
        "install httpfs",
        "load httpfs",
        "attach '/tmp/x.db'",
        "set enable_external_access = true",
        "pragma enable_profiling",
        "export database '/tmp/x'",
        "create persistent secret s (type s3)",
        "call enable_logging()",
    ],
)
def test_queries_only_read(samples: Path, query: str) -> None:
    with pytest.raises(Misuse, match="only read"):
        ask(samples, query)


HIDDEN = [
    "explain analyze copy (select 1) to '{0}'",
    "explain copy (select 1) to '{0}'",
    "EXPLAIN (ANALYZE, FORMAT json) COPY (select 1) to '{0}' (format parquet, use_tmp_file false)",
    "explain/* (select 1) */ analyze -- select 1\n copy (select 1) to '{0}'",
    "explain analyse copy (pivot usage on model using count(*)) to '{0}'",
    "copy (pivot usage on model using count(*)) to '{0}'",
    "copy (from usage) to '{0}'",
    "copy usage to '{0}'",
    "copy usage to '/dev/stdout'",
    "create table t as pivot usage on model using count(*)",
    "explain analyze create table t as select 1",
    "explain analyze analyze usage",
    "explain explain analyze copy (select 1) to '{0}'",
    "prepare p as copy usage to '{0}'",
    "execute p",
    "explain analyze execute p",
    "export database '{1}'",
    "import database '{1}'",
    "attach '{1}/new.db'",
    "install httpfs",
    "load '{0}'",
    "pragma enable_profiling",
    "set profiling_output = '{0}'",
    "reset enable_external_access",
    "call enable_logging(storage_path = '{1}')",
    "insert into usage select 1",
    "select 1; copy usage to '{0}'",
    "with q as (copy (select 1) to '{0}') from q",
    "with q as materialized (copy (from usage) to '{0}' (format parquet, use_tmp_file false)) from usage, q",
    "explain analyze with q as (copy (select 1) to '{0}') from q",
    "from (with q as (copy (select 1) to '{1}/new.csv') from q)",
    "with q as (copy (pivot usage on model using count(*)) to '{0}') from q",
    "from read_parquet('{0}')",
    "from '{0}'",
    "from read_text('{0}')",
    "from read_csv('{1}/*')",
    "from glob('{1}/*')",
    "select getenv('HOME')",
    "from query('copy usage to $${0}$$')",
    "from sniff_csv('{0}')",
]


@one_in(4)
@pytest.mark.parametrize("query", HIDDEN)
@pytest.mark.parametrize("is_checked", [True, False], ids=["checked", "slipped through"])
def test_no_statement_reaches_a_file(
    query: str, is_checked: bool, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashes() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in samples.rglob("*") if path.is_file()}

    monkeypatch.chdir(tmp_path)
    before = hashes()
    file = next(path for path in before if path.suffix == ".parquet" and "usage" in path.parts)
    text = query.format(file, samples)
    with closing(Database(TableFiles(samples))) as database, suppress(Misuse):
        for statement in database.statements(text) if is_checked else [text]:
            list(database.query(statement).rows)
            assert "copy" not in text or not is_checked
    assert hashes() == before and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "query",
    [
        "explain select 1",
        "explain analyze /* copy */ from usage",
        "EXPLAIN (ANALYZE, FORMAT json) with q as (select 'é') from q",
        "explain (select 1)",
        "explain ((select 1 limit 1))",
        "explain (format json) (values (1))",
        "pivot usage on model using count(*)",
        "with q as (pivot usage on model using count(*)) from q order by all limit 1 -- end",
        "describe usage",
        "summarize usage",
        "show tables",
        "from usage;",
    ],
)
def test_whatever_reads_may_run(samples: Path, query: str) -> None:
    assert ask(samples, query)


def test_an_earlier_name_of_a_column_is_told_its_new_one(samples: Path) -> None:
    with pytest.raises(Misuse, match=r"It is called seconds now\."):
        ask(samples, "select duration from calls")


def test_the_tables_are_all_that_is_listed(samples: Path) -> None:
    assert {row["name"] for row in ask(samples, "show tables")} == {*TABLES}


def test_files_can_be_allowed(samples: Path, tmp_path: Path) -> None:
    target = tmp_path / "calls.csv"
    ask(samples, f"copy (select tool from calls) to '{target}' (header)", allow_files=True)
    assert ask(samples, f"select count(*) as n from '{target}'", allow_files=True)[0]["n"] > 0
    with pytest.raises(Misuse, match="only read"):
        ask(samples, "install httpfs", allow_files=True)


def test_variables_of_the_program_are_no_tables(samples: Path) -> None:
    secret = pyarrow.table({"a": [1]})
    with pytest.raises(Misuse, match="No table secret"):
        ask(samples, "select * from secret")
    assert secret.num_rows == 1


def test_errors_help(samples: Path, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"need --text"):
        ask(samples, "select text from messages", text=False)
    with pytest.raises(Misuse, match="syntax error"):
        ask(samples, "select from from")
    with pytest.raises(Misuse, match=r"(?s)Candidate bindings.*Run `reread tables`"):
        ask(samples, "select nam from calls")
    with pytest.raises(Misuse, match=r"No table tools; the tables are sessions, records, .*files"):
        ask(samples, "from tools")
    with pytest.raises(Misuse, match='only in quotes: "offset"'):
        ask(samples, "select offset from records")
    assert ask(samples, 'select "offset" from records limit 1 offset 1')
    with pytest.raises(Misuse, match=r"to be loaded\. No extension is loaded; --from s3://"):
        ask(samples, "from 's3://bucket/x.parquet'", allow_files=True)
    with pytest.raises(NotFound, match="reread tables -o"):
        ask(tmp_path / "none", "select 1")


@pytest.mark.parametrize(
    "query",
    [
        "select date '290000-01-01'",
        "select timestamp '250000-01-01'",
        "select 'infinity'::timestamp",
        "select [timestamptz '-infinity']",
        "select time '24:00:00'",
        "select timetz '24:00:00+15:59:59'",
        "select [{'a': time '24:00:00'}]",
        "select array_value(time '10:00', time '24:00')",
        "select map([1], [time '24:00:00'])",
        "select union_value(k := time '24:00:00')",
        "select timestamp_ns '2026-11-10 10:00:00.123456789'",
    ],
)
def test_a_time_that_python_does_not_have_is_an_error(samples: Path, query: str) -> None:
    with pytest.raises(Misuse, match="outside the years 1 to 9999"):
        list(reread.sql(query, tables=samples))
    with closing(Database(TableFiles(samples))) as database, pytest.raises(Misuse, match="::varchar"):
        list(database.query(query).rows)


def test_bits_and_large_numbers_are_text(samples: Path) -> None:
    """Arrow has them as DuckDB packs them into bytes."""
    query = (
        "select '101'::bit, 12::bignum, ['1'::bit], {'a \"b': '01'::bit, 'BIT': 1} as s, map{'1'::bit: 2}, 1 as \"BIT\""
    )
    assert [list(row.values()) for row in reread.sql(query, tables=samples)] == [
        ["101", "12", ["1"], {'a "b': "01", "BIT": 1}, [("1", 2)], 1]
    ]


def test_times_of_a_day_are_pythons_own(samples: Path) -> None:
    noon = (
        "select time '12:00' as it, [{'a': time '23:59:59.999999'}] as some, null::time as none, [null::time] as nones"
    )
    assert ask(samples, noon) == [{"it": "12:00:00", "some": [{"a": "23:59:59.999999"}], "none": None, "nones": [None]}]


@pytest.mark.parametrize("target", ["/", "folder"])
def test_rows_are_not_written_in_place_of_a_folder(tmp_path: Path, target: str) -> None:
    (tmp_path / "folder").mkdir()
    done = run("--demo", "sql", "select 1", "-o", str(tmp_path / target))
    assert (done.returncode, done.stderr) == (2, f"reread: Cannot write {tmp_path / target}: Is a directory.\n")


def test_a_statement_whose_type_has_no_name_is_refused(samples: Path) -> None:
    with pytest.raises(Misuse, match="Cannot run UPDATE"):
        reread.sql("update extensions", tables=samples)


def test_tables_without_rows_have_their_columns(tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    (tmp_path / "projects" / "x").mkdir()
    (tmp_path / "projects" / "x" / "empty.jsonl").write_bytes(b"")
    reread.tables(root=tmp_path).write(tmp_path / "out")
    for name, made in TABLES.items():
        rows = ask(tmp_path / "out", f"describe {name}")
        assert [row["column_name"] for row in rows] == made.names(text=False)


def test_a_query_goes_on_if_its_files_are_replaced(tmp_path: Path) -> None:
    root, out = tmp_path / "claude", tmp_path / "out"
    shutil.copytree(SAMPLES / "projects", root / "projects")
    reread.tables(root=root).write(out)
    with closing(Database(TableFiles(out))) as database:
        for path in sorted(root.rglob("*.jsonl")):
            os.utime(path, (1, 1))
        reread.tables(root=root).write(out)
        [[count]] = database.query("select count(*) from calls").rows
    manifest = newest_manifest(TableFiles(out), machine_id())
    assert manifest is not None and count == manifest.rows("calls")


def test_own_tables_with_and_without_texts_are_kept_beside_each_other(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "projects", tmp_path / "projects", ignore=shutil.ignore_patterns("[a-bd-z]*.jsonl"))
    for again in (False, True):
        for text in (False, True):
            read: list[int] = []
            with own_tables([tmp_path], text=text, progress=read.append) as place:
                assert ("text" in ask(place.folder, "from messages limit 1")[0]) is text
            assert bool(sum(read)) is not again


def test_own_tables_are_kept_and_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "claude"
    shutil.copytree(SAMPLES / "projects", root / "projects")
    read: list[int] = []
    for expected in (len([*root.rglob("*.jsonl"), *root.rglob("*.jsonl.zst")]), 0, 1):
        read.clear()
        if expected == 1:
            path = next(root.glob("projects/*/*.jsonl"))
            path.write_bytes(path.read_bytes() + b"\n")
        with own_tables([root], progress=read.append) as place:
            assert sum(read) == expected
            kept = place.folder
    with monkeypatch.context() as patch:
        patch.setenv("REREAD_MACHINE", "renamed")
        with own_tables([root]) as place:
            assert {row["machine"] for row in ask(place.folder, "from sessions")} == {"renamed"}
    next((kept / "_reread").glob("*/*.json")).write_text("{")
    with own_tables([root], progress=read.append) as place:
        assert ask(place.folder, "select count(*) as n from sessions")[0]["n"] > 0
    for damage in (b"", b"PAR1 and other bytes PAR1"):
        next(kept.glob("sessions/**/*.parquet")).write_bytes(damage)
        with own_tables([root]) as place:
            assert ask(place.folder, "select count(*) as n from sessions")[0]["n"] > 0
    with pytest.raises(Unreadable), own_tables([root]) as place:
        file = next(kept.glob("sessions/**/*.parquet"))
        file.write_bytes(bytes(file.stat().st_size))
        ask(place.folder, "from sessions")
    with own_tables([root]) as place:
        assert ask(place.folder, "from sessions")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "file"))
    with own_tables([root]) as place:
        assert place.folder != kept and ask(place.folder, "from sessions")


def test_the_library_asks_too(samples: Path) -> None:
    assert reread.tables(samples).sql("select count(*) as n from sessions").read_all().to_pylist()[0]["n"] > 0
    assert reread.tables(root=SAMPLES).sql("from usage").read_all().num_rows > 0


def test_the_verb(tmp_path: Path) -> None:
    query = "select tool, count(*) as calls, max(time) as last from calls group by all order by all"
    done = run("sql", "--demo", query, "--json")
    listed = json.loads(done.stdout)
    assert {"tool", "calls", "last"} == set(listed[0]) and isinstance(listed[0]["calls"], int)
    own = {"COLUMNS": "100"}
    table = run("sql", "--demo", query, env=own).stdout.splitlines()
    assert table[0].split() == ["tool", "calls", "last"] and len(table) == len(listed) + 2
    rows = list(csv.DictReader(io.StringIO(run("sql", "--demo", "--csv", query, env=own).stdout)))
    assert [(row["tool"], int(row["calls"])) for row in rows] == [(row["tool"], row["calls"]) for row in listed]
    run("sql", "--demo", "from calls", "-o", str(tmp_path / "calls.parquet"))
    assert pyarrow.parquet.read_table(tmp_path / "calls.parquet").num_rows == sum(row["calls"] for row in listed)
    run("sql", "--demo", "from calls", "-o", str(tmp_path / "calls.csv"))
    assert (tmp_path / "calls.csv").read_text().count("\n") > len(listed)
    queries = b"select 1 as a; select 2 as b;"
    assert json.loads(run("sql", "--demo", "--json", stdin=queries).stdout) == [[{"a": 1}], [{"b": 2}]]
    failed = run("sql", "--demo", stdin=b"selec 1")
    assert failed.returncode == 2 and "syntax error" in failed.stderr and failed.stdout == ""


@table(
    "interval",
    [
        *("87.37 seconds", "-87.37 seconds", "0 seconds", "100 hours", "1 microsecond", "-61 minutes", "59.999999 s"),
        *(
            "1 day",
            "400 days",
            "-1 day 2 hours",
            "1 month",
            "-25 months",
            "14 months 1 day 3 hours",
            "12 months -2 days",
        ),
    ],
)
def test_an_interval_is_written_as_sql_writes_it(samples: Path, interval: str) -> None:
    (row,) = ask(samples, f"select interval '{interval}' as it, [it] as some, it::varchar as written")
    assert row == {"it": row["written"], "some": [row["written"]], "written": row["written"]}


def test_an_interval_reads_well_everywhere(tmp_path: Path) -> None:
    query = "select max(time) - min(time) as span from messages"
    shown = {name: run("--demo", "sql", query, *options).stdout for name, options in FORMS.items()}
    assert json.loads(shown["json"])[0]["span"] in shown["table"]
    assert shown["csv"].splitlines()[1] == json.loads(shown["json"])[0]["span"] and "[" not in shown["table"]


FORMS: dict[str, list[str]] = {"table": [], "json": ["--json"], "csv": ["--csv"]}


def test_values_are_safe_on_a_terminal_and_in_a_spreadsheet() -> None:
    rows = [("\x1b[2Jgone\nline", 1), ("=cmd()", 20)]
    lines = list(query_lines(["text", "n"], rows, 40))
    assert len(lines) == 4 and "\x1b" not in "".join(lines) and lines[2].endswith(" 1")
    assert "'=cmd()" in "".join(query_csv(["text", "n"], rows))
    assert all(len(line) <= 20 for line in list(query_lines(["a", "b"], [("x" * 500, "y" * 500)], 20))[:3])
    assert cell_text(None) == "" and cell_text({"a": [1, None]}) == '{"a":[1,null]}'
    assert list(json_rows(["a", "a"], [(1, 2)])) == [{"a": 1, "a_2": 2}]


def test_of_a_wide_table_the_first_column_is_cut_last_and_those_without_room_are_left_out() -> None:
    names, row = ["session", *"bcdef"], ["5e551017-0000-4000-8000-000000000001", *["x" * 30] * 5]
    for width, shown in ((200, 5), (90, 5), (85, 4), (60, 2), (40, 0)):
        header, rule, cut, *note = query_lines(names, [row], width)
        assert row[0] in cut and max(map(len, (header, rule, cut))) <= width
        assert header.split() == names[: shown + 1]
        assert bool(note) == (shown < 5)
    assert " ".join(note) == "Not shown in this width: 5 columns; select fewer, or use --json."
    assert len(list(query_lines(names, [row], None))) == 3


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
def test_the_prompt_completes_and_answers(tmp_path: Path) -> None:
    assert {"calls", "input_tokens", "select"} <= set(completions(text=False))
    parent, child = pty.openpty()
    environment = {**os.environ, "HOME": str(tmp_path), "TERM": "dumb", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-m", "reread", "--demo", "sql"], stdin=child, stdout=child, stderr=child, env=environment
    )
    os.close(child)
    try:
        shown = _until(parent, b"reread> ")
        assert b"semicolon" in shown
        os.write(parent, b"select 41 + 1\n  as answer from usag\t limit 1;\n")
        assert b"42" in _until(parent, b"reread> ")
        os.write(parent, b"select nothing;\n")
        assert b"not found" in _until(parent, b"reread> ")
        os.write(parent, b"\x04")
        assert process.wait(150) == 0
    finally:
        process.kill()
        process.wait()
        os.close(parent)
    history = Path(os.environ["REREAD_HOME"]) / "sql_history"
    assert "41 + 1" in history.read_text() and history.stat().st_mode & 0o77 == 0


def _until(descriptor: int, expected: bytes) -> bytes:
    """Return what a terminal shows, up to some text."""
    shown, deadline = b"", time.monotonic() + PATIENCE
    while expected not in shown:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, shown
        shown += os.read(descriptor, 4096)
    return shown
