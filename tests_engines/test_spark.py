"""Spark with two workers: the same rows as the library, from folders, kept files and buckets."""

import datetime
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bucket import Bucket
from team_machines import Machine

import reread
from reread.addons.spark.ranges import MOST_RANGES
from reread.dataset.schema import TABLES

REPOSITORY = Path(__file__).parents[1]
REAL = Path(os.environ.get("REREAD_REAL_CLIENT", REPOSITORY / "tests" / "real"))

STRANGE = "5f1b8f40-0c5e-4c5e-9d43-0d1f6f2f5a10"


def strange_lines(session: str) -> Iterator[bytes]:
    """Yield lines with NUL bytes, lone surrogates, torn JSON and one of 12 MB."""
    start = b'{"type":"user","sessionId":"%s","timestamp":"2026-11-10T10:00:00.000Z","uuid":' % session.encode()
    yield start + b'"1","message":{"role":"user","content":"a\\u0000b \\ud800 c"}}\n\0\0\n{"torn\n'
    long = random.Random(4).randbytes(6 << 20).hex()
    yield start + b'"2","message":{"role":"user","content":"' + long.encode() + b'"}}\n'
    for number in range(3, 500):
        yield start + b'"%d","message":{"role":"user","content":"\xed\xa0\x80 \0 \\udfff"}}\r\n' % number
    yield start + b'"500"}'


@pytest.fixture
def sources(bucket: Bucket) -> Path:
    """A folder with samples, real sessions and strange ones."""
    target = bucket.sources / "projects" / "-real"
    for number, path in enumerate(sorted(REAL.rglob("*.jsonl"))[:60]):
        (target / f"p{number}").mkdir(parents=True)
        shutil.copyfile(path, target / f"p{number}" / path.name)
    (target / "strange.jsonl").write_bytes(b"".join(strange_lines("no-such-name")))
    (target / f"{STRANGE}.jsonl").write_bytes(b"".join(strange_lines(STRANGE)))
    return bucket.sources


def load(spark: Any, table: str, where: object, **options: str) -> Any:
    return spark.read.format("reread").options(table=table, **options).load(str(where))


def rows_of(frame: Any) -> Counter[tuple[str, ...]]:
    return _counted(frame.toArrow())


def expected(table: str, root: object, **options: bool) -> Counter[tuple[str, ...]]:
    return _counted(reread.tables(root=str(root), **options)[table].read_all())


def _counted(table: Any) -> Counter[tuple[str, ...]]:
    """Return the rows as text, because not every kind of UTC is equal to every other."""
    return Counter(tuple(map(str, row.values())) for row in table.to_pylist())


def test_a_folder_has_the_rows_of_the_library(spark: Any, sources: Path) -> None:
    for table in TABLES:
        frame = load(spark, table, sources, text="true", taskBytes="1000000")
        wanted = expected(table, sources, text=True)
        assert sum(wanted.values()) > 3, table
        assert rows_of(frame) == wanted, table
        assert table == "usage" or frame.rdd.getNumPartitions() > 1


def test_a_large_file_is_split_into_ranges_of_lines(spark: Any, sources: Path) -> None:
    path = sources / "projects" / "-real" / f"{STRANGE}.jsonl"
    wanted = [
        row
        for row in reread.tables(root=str(sources), text=True)["records"].read_all().to_pylist()
        if row["path"] == str(path)
    ]
    frame = load(spark, "records", path, text="true", taskBytes="1000000")
    assert frame.rdd.getNumPartitions() == MOST_RANGES
    found = sorted(frame.toArrow().to_pylist(), key=lambda row: row["offset"])
    assert [{**row, "time": None} for row in found] == [{**row, "time": None} for row in wanted]
    assert [row["time"] is None for row in found] == [row["time"] is None for row in wanted]
    parts = load(spark, "records", path, columns="offset,type", taskBytes="1000000")
    assert rows_of(parts) == Counter((str(row["offset"]), row["type"]) for row in wanted)
    whole = load(spark, "records", path.with_name("strange.jsonl"), taskBytes="1000000")
    assert whole.rdd.getNumPartitions() == 1, "its first lines do not tell which session it is"


def test_kept_files_and_buckets_have_the_same_rows(spark: Any, sources: Path, bucket: Bucket, tmp_path: Path) -> None:
    reread.keep(to=tmp_path / "kept")
    reread.keep(to=bucket.url)
    for table, addresses in {
        "usage": (bucket.url, tmp_path / "kept"),
        "calls": (bucket.url.replace("s3://", "s3a://"),),
        "records": (bucket.url, tmp_path / "kept"),
    }.items():
        names = [name for name in TABLES[table].names(text=False) if name != "path"]
        wanted = _counted(reread.tables(root=str(sources))[table].read_all().select(names))
        for where in addresses:
            frame = load(spark, table, where, columns=",".join(names), taskBytes="1000000")
            assert table != "records" or frame.rdd.getNumPartitions() > MOST_RANGES
            assert rows_of(frame) == wanted, (table, where)


def test_usage_adds_up_to_the_report(spark: Any, sources: Path) -> None:
    report = reread.usage(root=sources).totals
    load(spark, "usage", sources).createOrReplaceTempView("usage")
    figures = ("responses", "input_tokens", "output_tokens", "cache_read_tokens")
    (row,) = spark.sql(f"select {', '.join(f'sum({name})' for name in figures)} from usage").collect()
    assert tuple(row) == tuple(getattr(report, name) for name in figures)


def test_usage_is_counted_by_many_tasks(spark: Any, bucket: Bucket, sources: Path, tmp_path: Path) -> None:
    machines = [Machine(tmp_path / "team", n) for n in range(8)]
    for machine in machines:  # neighbours have copies of each other's sessions, and of some only the beginning
        shutil.copytree(machine.root / "projects", sources / "projects" / machine.name)
    wanted = expected("usage", sources)
    frame = reread.spark.count_usage(spark, str(sources), task_bytes=300_000)
    assert rows_of(frame) == wanted and sum(wanted.values()) > 300
    assert frame.rdd.getNumPartitions() > 4
    reread.keep(to=bucket.url)
    names = [name for name in TABLES["usage"].names(text=False) if name != "path"]
    kept = reread.spark.count_usage(spark, bucket.url, task_bytes=300_000).select(names)
    assert rows_of(kept) == _counted(reread.tables(root=str(sources))["usage"].read_all().select(names))


def test_filters_are_pushed_down_and_change_nothing(spark: Any, sources: Path) -> None:
    from pyspark.sql import functions

    frame = load(spark, "records", sources)
    middle = datetime.datetime(2026, 11, 9, tzinfo=datetime.UTC)
    wanted = [
        row
        for row in reread.tables(root=str(sources))["records"].read_all().to_pylist()
        if row["time"] is not None and row["time"] >= middle and row["type"] == "assistant"
    ]
    found = frame.where((functions.col("time") >= functions.lit(middle)) & (functions.col("type") == "assistant"))
    assert "assistant" in found._jdf.queryExecution().toString()
    assert found.count() == len(wanted) > 0
    old = datetime.datetime(2001, 1, 1).timestamp()
    for path in sources.rglob("*.jsonl"):
        os.utime(path, (old, old))
    assert found.count() == len(wanted), "a copy may have lost its time; its records have not"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"table": "call"}, "one of sessions, records"),
        ({"table": "calls", "columns": "nam"}, "No column 'nam' in calls"),
        ({"table": "calls"}, "No folder /nowhere"),
    ],
)
def test_what_is_wrong_is_said(spark: Any, options: dict[str, str], words: str) -> None:
    with pytest.raises(Exception, match=words):
        spark.read.format("reread").options(**options).load("/nowhere").count()


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_the_example_can_be_submitted(bucket: Bucket, tmp_path: Path) -> None:
    import pyspark

    home = Path(pyspark.__file__).parent
    options = ["--master", "local-cluster[2,1,1024]"]
    for name in ("PYTHONPATH", "REREAD_CACHE", "REREAD_MACHINE"):
        options += ["--conf", f"spark.executorEnv.{name}={os.environ.get(name, '')}"]
    command = [home / "bin" / "spark-submit", *options, REPOSITORY / "examples" / "spark_tables.py"]
    done = subprocess.run(
        [*command, bucket.sources, tmp_path / "out", "--tables", "sessions", "usage"],
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = reread.tables(root=str(bucket.sources))["sessions"].read_all().num_rows
    assert f"sessions {rows} rows" in done.stdout and "output_tokens" in done.stdout
