"""Tables committed to an Iceberg catalogue in SQLite: again, by several writers at once, and after a kill."""

import os
import random
import re
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.compute
import pyarrow.parquet
import pytest
from bucket import Bucket, run, start

import reread
from reread.dataset.schema import TABLES
from reread.errors import Misuse
from reread.value_types import Tables

V03 = Path(__file__).parents[1] / "tests" / "fixtures" / "v0.3" / "tables"


@pytest.fixture
def address(bucket: Bucket, tmp_path: Path) -> str:
    """The address of a catalogue that does not exist yet."""
    return f"sqlite:///{tmp_path}/catalog.db"


def load(address: str, table: str) -> Any:
    """Return a table as pyiceberg has it."""
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("default", uri=address)
    try:
        return catalog.load_table(f"reread.{table}")
    finally:
        catalog.close()


def rows(address: str, table: str) -> Counter[tuple[str, ...]]:
    return counted(load(address, table).scan().to_arrow())


def counted(table: Any) -> Counter[tuple[str, ...]]:
    return Counter(tuple(str(row[name]) for name in sorted(row)) for row in table.to_pylist())


def snapshots(address: str) -> dict[str, int]:
    return {name: len(load(address, name).snapshots()) for name in TABLES}


def assert_same(address: str, tables: Tables) -> None:
    """The catalogue has the rows of the library."""
    for name in TABLES:
        assert rows(address, name) == counted(tables[name].read_all()), name


def test_the_rows_are_those_of_the_library(address: str, bucket: Bucket) -> None:
    tables = reread.tables(root=bucket.sources)
    report = tables.write(iceberg=address)
    assert report.commits is not None and report.commits >= len(TABLES)
    assert_same(address, tables)
    usage = load(address, "usage").scan(row_filter="machine = 'laptop'").to_arrow()
    totals = reread.usage(root=bucket.sources).totals
    for name in ("input_tokens", "output_tokens", "cache_read_tokens", "responses"):
        assert sum(usage[name].to_pylist()) == getattr(totals, name)
    assert load(address, "usage").schema().find_field("model").doc


def test_only_what_changed_is_committed(address: str, bucket: Bucket, tmp_path: Path) -> None:
    tables = reread.tables(root=bucket.sources)
    tables.write(iceberg=address)
    before = snapshots(address)
    assert tables.write(iceberg=address).commits == 0
    assert tables.write(tmp_path / "out", iceberg=address).commits == 0
    shutil.rmtree(tmp_path / "cache")
    assert tables.write(iceberg=address).commits == 0 and snapshots(address) == before
    source = min(bucket.sources.glob("projects/*/*.jsonl"))
    with source.open("ab") as file:
        file.write(source.read_bytes()[-3000:].partition(b"\n")[2])
    months = {row["month"] for row in tables["sessions"].read_all().to_pylist() if row["path"] == str(source)}
    assert len(months) == 1
    files = {task.file.file_path for task in load(address, "calls").scan().plan_files()}
    changed = tables.write(iceberg=address).commits
    assert changed is not None and 0 < changed <= len(TABLES) + 1
    kept = {task.file.file_path for task in load(address, "calls").scan().plan_files()} & files
    assert all(f"month={month}" not in path for month in months for path in kept)
    assert_same(address, tables)
    source.unlink()
    tables.write(iceberg=address)
    assert_same(address, tables)


def test_columns_of_earlier_versions_get_their_new_names(address: str, bucket: Bucket, tmp_path: Path) -> None:
    """Another machine has committed what 0.3 wrote, and its rows stay."""
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("default", uri=address, warehouse=(tmp_path / "warehouse").as_uri())
    catalog.create_namespace("reread")
    for name in ("calls", "messages", "usage"):
        [file] = V03.glob(f"{name}/machine=laptop/month=2026-01/*.parquet")
        old = pyarrow.parquet.read_table(file, partitioning=None).replace_schema_metadata()
        for place, (column, value) in enumerate((("machine", "desk"), ("month", "2026-01"))):
            old = old.add_column(place, column, pyarrow.array([value] * old.num_rows))
        catalog.create_table(f"reread.{name}", old.schema).append(old)
    catalog.close()
    reread.tables(root=bucket.sources).write(iceberg=address)
    for name in ("calls", "messages", "usage"):
        found = load(address, name).scan().to_arrow()
        assert {*TABLES[name].names(text=False)} == {*found.column_names}
        desk = found.filter(pyarrow.compute.equal(found["machine"], "desk"))
        assert desk.num_rows and len(found) > desk.num_rows
    calls = load(address, "calls").scan(row_filter="machine = 'desk'").to_arrow()
    assert (calls["tool"].null_count, calls["time"].null_count, calls["branch"].null_count) == (0, 0, len(calls))
    assert {*load(address, "messages").scan(row_filter="machine = 'desk'").to_arrow()["path_number"].to_pylist()} == {0}


def test_text_is_added_and_deleted_transcripts_can_stay(address: str, bucket: Bucket, tmp_path: Path) -> None:
    reread.tables(root=bucket.sources).write(iceberg=address)
    tables = reread.tables(root=bucket.sources, text=True)
    tables.write(tmp_path / "out", iceberg=address)
    assert_same(address, tables)
    before = rows(address, "messages")
    min(bucket.sources.glob("projects/*/*.jsonl")).unlink()
    tables.write(tmp_path / "out", iceberg=address, keep_deleted=True)
    assert rows(address, "messages") == before
    with pytest.raises(Misuse, match="without a folder"):
        tables.write(iceberg=address, keep_deleted=True)


def test_machines_commit_at_once_while_one_reads(address: str, bucket: Bucket, tmp_path: Path) -> None:
    arguments = ("tables", "--root", str(bucket.sources), "--iceberg", address)
    names = ["ann", "ann", "bob", "carl"]  # two of them have one name
    caches = [str(tmp_path / f"cache{n}") for n in range(len(names))]
    writers = [
        start(*arguments, REREAD_MACHINE=name, REREAD_CACHE=cache) for name, cache in zip(names, caches, strict=True)
    ]
    wanted = reread.tables(root=bucket.sources)["calls"].read_all().num_rows
    counts: list[int] = []
    while any(writer.poll() is None for writer in writers):
        time.sleep(0.2)
        if (tmp_path / "catalog.db").exists():
            counts.extend(machines(address, "calls").values())
    for writer in writers:
        said, errors = writer.communicate(timeout=300)
        assert writer.returncode == 0, (said, errors)
    assert max(counts, default=0) <= wanted
    assert machines(address, "calls") == {"ann": wanted, "bob": wanted, "carl": wanted}


def machines(address: str, table: str) -> Counter[str]:
    """Return the number of rows of each machine; nothing if there is no such table yet."""
    from pyiceberg.exceptions import NoSuchTableError
    from sqlalchemy.exc import DBAPIError

    try:
        return Counter(load(address, table).scan().to_arrow()["machine"].to_pylist())
    except (NoSuchTableError, DBAPIError):
        return Counter()


def test_a_killed_writer_leaves_whole_months(address: str, bucket: Bucket, tmp_path: Path) -> None:
    tables = reread.tables(root=bucket.sources)
    tables.write(iceberg=address)
    source, chance = min(bucket.sources.glob("projects/*/*.jsonl")), random.Random(7)
    for _ in range(int(os.environ.get("REREAD_KILLS", "4"))):
        before = {name: machines(address, name)["laptop"] for name in TABLES}
        with source.open("ab") as file:
            file.write(source.read_bytes()[-3000:].partition(b"\n")[2])
        files, more = committed(tmp_path), chance.randint(1, len(TABLES) - 1)
        with start("tables", "--root", str(bucket.sources), "--iceberg", address) as process:
            end = time.monotonic() + 60
            while process.poll() is None and committed(tmp_path) < files + more and time.monotonic() < end:
                time.sleep(0.01)
            process.kill()
            process.communicate()
        for name in TABLES:
            found = machines(address, name)["laptop"]
            assert found in (before[name], tables[name].read_all().num_rows), name
    assert tables.write(iceberg=address).commits is not None
    assert_same(address, tables)


def committed(folder: Path) -> int:
    """Return the number of files that were written, committed or not."""
    return len(list((folder / "warehouse").rglob("*.parquet")))


def test_a_warehouse_in_a_bucket(address: str, bucket: Bucket) -> None:
    said = run("tables", "--root", str(bucket.sources), "--iceberg", address, "--warehouse", f"{bucket.url}/lake")
    assert "commits to sqlite:///" in said
    assert len(bucket.keys("lake/reread")) > len(TABLES)
    from pyiceberg.catalog import load_catalog

    options = {"s3.endpoint": os.environ["AWS_ENDPOINT_URL"], "s3.region": "us-east-1"}
    catalog = load_catalog("default", uri=address, **options)
    found = catalog.load_table("reread.calls").scan().to_arrow()
    catalog.close()
    assert counted(found) == counted(reread.tables(root=bucket.sources)["calls"].read_all())


def test_a_catalogue_by_its_name(bucket: Bucket, address: str, tmp_path: Path) -> None:
    variables = {
        "PYICEBERG_CATALOG__TEAM__URI": address,
        "PYICEBERG_CATALOG__TEAM__WAREHOUSE": (tmp_path / "lake").as_uri(),
    }
    said = run("tables", "--root", str(bucket.sources), "--iceberg", "team", **variables)
    assert "commits to team" in said and len(list((tmp_path / "lake").rglob("*.parquet"))) >= len(TABLES)


def test_the_code_in_the_document_runs(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    document = (Path(__file__).parents[1] / "docs" / "tables.md").read_text()
    [code] = re.findall(r"^```py\n(.*?)^```$", document, re.DOTALL | re.MULTILINE)
    exec(compile(code, "tables.md", "exec"), {})
    _, rows, found = capsys.readouterr().out.split()
    assert int(rows) >= int(found) > 0


def test_what_is_wrong_is_said(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("tables", "--root", str(bucket.sources))
    assert "No Iceberg catalogue 'nobody'" in run(*arguments, "--iceberg", "nobody", code=2)
    assert "No Iceberg catalogue 'ftp://x'" in run(*arguments, "--iceberg", "ftp://x", code=2)
    assert "without --iceberg" in run(*arguments, "--warehouse", "x", code=2)
    assert "without --output" in run(*arguments, "--iceberg", "x", "--keep-deleted", code=2)
    for name in [name for name in sys.modules if name.startswith(("pyiceberg", "reread.addons.iceberg.catalog"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    with pytest.raises(Misuse, match=r"Iceberg needs pyiceberg; install it with `pip install 'reread\[iceberg\]'`"):
        reread.tables(root=bucket.sources).write(iceberg="team")
