"""Ways to the same figures: the library, Parquet, DuckDB, Iceberg and Spark, on real transcripts and strange ones."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.dataset
import pytest
from making import answer, encode, jsonl, reply, result, told, use, user
from used import FIGURES, figures

import reread
from reread.dataset.schema import TABLES
from reread.dataset.sql import Database
from reread.dataset.table_files import TableFiles
from reread.session.session import threads_of

OWN = sorted(path for path in (Path(__file__).parents[1] / "tests" / "real").iterdir() if path.is_dir())
REAL = Path(os.environ.get("REREAD_REAL_CLIENT", "")) / "data"
FOLDERS = sorted(REAL.iterdir()) if os.environ.get("REREAD_REAL_CLIENT") and REAL.is_dir() else OWN
LONG = Random(9).randbytes(6 << 20).hex()
"""12 MB that no compression makes smaller than half."""

Read = Callable[[str, Sequence[str]], Any]
"""Reads some columns of a table as an Arrow table."""


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine, a store and a cache of the test's own."""
    for name, value in {"REREAD_MACHINE": "laptop", "REREAD_HOME": "store", "REREAD_CACHE": "cache"}.items():
        monkeypatch.setenv(name, value if name == "REREAD_MACHINE" else str(tmp_path / value))
    yield


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """Sessions with NUL bytes, half characters and lines of 12 MB, a fork of one, and one that is torn."""
    project = tmp_path / "strange" / "projects" / "-shop"
    project.mkdir(parents=True)
    texts = ["a\0b", "half \ud800 character \udc00\ud800", "\U0001f600", "line\u2028end", LONG, "\ufeff", "plain"]
    whole = b""
    for n, text in enumerate(texts):
        more = {"sessionId": f"s{n}", "timestamp": f"2026-0{n + 1}-02T10:00:00.000Z", "cwd": f"/{text[:9]}"}
        usage = {"input_tokens": 10 + n, "output_tokens": 3 * n + 1, "cache_read_input_tokens": 1000 * n}
        call = use(f"toolu_{n}", command=text, description=text[:50])
        records = told(
            user(text, **more),
            reply(call, text, id=f"msg_{n}", requestId=f"req_{n}", usage=usage, **more),
            answer(result(f"toolu_{n}", text, is_error=n % 2 == 1), **more),
        )
        lines = b"".join(encode(record, ascii_only=n % 2 == 0) + b"\n" for record in records)
        (project / f"s{n}.jsonl").write_bytes(lines)
        whole += lines if text is not LONG else b""
    (project / "fork.jsonl").write_bytes(whole)
    (project / "torn.jsonl").write_bytes(b"\0" * 4096 + b"\n\xff\xfe{\n" + whole[: len(whole) * 2 // 3])
    (project / "empty.jsonl").write_bytes(b"")
    (project / "last.jsonl").write_bytes(jsonl({"type": "summary", "summary": "x\0y"}))
    return tmp_path / "strange"


def library(root: Path) -> Read:
    tables = reread.tables(root=root, text=True)
    return lambda name, columns: tables[name].read_all().select(columns)


def duckdb(folder: Path) -> Read:
    def read(name: str, columns: Sequence[str]) -> Any:
        with closing(Database(TableFiles(folder))) as database:
            quoted = ", ".join(f'"{column}"' for column in columns)  # `offset` is a word of SQL
            return database.read_all(f"select {quoted} from {name}").read_all()

    return read


def parquet(folder: Path) -> Read:
    """Read the folder as any program does that knows Parquet and nothing of reread."""

    def read(name: str, columns: Sequence[str]) -> Any:
        if not (folder / name).exists():
            return pyarrow.table({column: [] for column in columns})
        partitions = pyarrow.schema([("machine", pyarrow.string()), ("month", pyarrow.string())])
        hive = pyarrow.dataset.partitioning(partitions, flavor="hive")
        return pyarrow.dataset.dataset(folder / name, partitioning=hive).to_table(list(columns))

    return read


def iceberg(address: str) -> Read:
    from pyiceberg.catalog import load_catalog

    def read(name: str, columns: Sequence[str]) -> Any:
        with closing(load_catalog("default", uri=address)) as catalog:
            return catalog.load_table(f"reread.{name}").scan(selected_fields=tuple(columns)).to_arrow()

    return read


def counted(table: Any, columns: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Return the rows as text, because not every kind of UTC is equal to every other."""
    return Counter(tuple(str(row[name]) for name in columns) for row in table.to_pylist())


def assert_usage(read: Read, root: Path) -> None:
    """The sums of `usage` are those of the report, to the token."""
    wanted = figures(reread.usage(root=root, cache=False).totals)
    table = read("usage", FIGURES)
    for name in FIGURES:
        values = [value for value in table.column(name).to_pylist() if value is not None]
        assert sum(values) == wanted[name] or sum(values) == pytest.approx(wanted[name] or 0), name
    assert wanted["responses"] > 0


def assert_calls(read: Read, root: Path) -> None:
    """The rows of `calls` are the calls of the sessions, to the row."""
    columns = ("path", "id", "tool", "state")
    wanted: Counter[tuple[str, ...]] = Counter()
    for header in reread.sessions(root=root):
        session = reread.open(header)
        threads_of(session).stop_merging()
        wanted.update((str(session.path), call.id, call.name, call.state) for call in session.calls)
    table = read("calls", [*columns, "agent"])
    assert counted(table.filter(pyarrow.compute.is_null(table.column("agent"))), columns) == wanted
    assert wanted


def assert_same(root: Path, tmp_path: Path) -> None:
    """The library, Parquet, DuckDB and Iceberg have the same rows of all tables, and the figures of the reports."""
    address = f"sqlite:///{tmp_path}/catalog.db"
    given = library(root)
    report = reread.tables(root=root, text=True).write(tmp_path / "out", iceberg=address)
    assert report.unread == ()
    ways = {"parquet": parquet(tmp_path / "out"), "duckdb": duckdb(tmp_path / "out"), "iceberg": iceberg(address)}
    for name, table in TABLES.items():
        columns = table.names(text=True)
        wanted = counted(given(name, columns), columns)
        assert wanted.total() == report.rows[name]
        for way, read in ways.items():
            assert counted(read(name, columns), columns) == wanted, (way, name)
    for read in (given, *ways.values()):
        assert_usage(read, root)
        assert_calls(read, root)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_ways_agree_on_real_transcripts(folder: Path, tmp_path: Path) -> None:
    assert_same(folder, tmp_path)


def test_ways_agree_on_strange_transcripts(strange: Path, tmp_path: Path) -> None:
    assert_same(strange, tmp_path)
    messages = library(strange)("messages", ["text"]).column("text").to_pylist()
    assert {"a\0b", LONG} <= set(messages)
    assert any(text.startswith("half \ufffd") for text in messages)


def test_spark_agrees_on_strange_transcripts(spark: Any, strange: Path) -> None:
    assert_spark(spark, strange)


def test_spark_agrees_on_real_transcripts(spark: Any) -> None:
    assert_spark(spark, FOLDERS[-1])


def assert_spark(spark: Any, root: Path) -> None:
    """Spark has the rows of the library, and the figures of the reports."""

    def read(name: str, columns: Sequence[str]) -> Any:
        frame = spark.read.format("reread").options(table=name, text="true").load(str(root))
        return frame.select(*columns).toArrow()

    given = library(root)
    for name in ("usage", "calls", "messages"):
        columns = TABLES[name].names(text=True)
        assert counted(read(name, columns), columns) == counted(given(name, columns), columns), name
    assert_usage(read, root)
    assert_calls(read, root)
