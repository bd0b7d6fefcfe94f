"""Tables in a bucket: the rows of the transcripts, several writers and a reader at once, writers that are killed."""

import os
import random
import shutil
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bucket import Bucket, run, start

import reread
from reread.dataset import table_files as files_module
from reread.dataset.manifest import newest_manifest, newest_manifests
from reread.dataset.schema import TABLES
from reread.dataset.sql import Database
from reread.dataset.table_files import table_files
from reread.errors import NotFound, Unreadable, Unwritable
from reread.storage import bucket as bucket_module
from reread.storage.bucket import BucketStore
from reread.storage.byte_store import StoreError


@pytest.fixture
def out(bucket: Bucket) -> str:
    """The address of a folder for tables."""
    return f"{bucket.url}/tables"


def parquet(bucket: Bucket) -> set[str]:
    """Return the names of the Parquet files in the bucket."""
    return {key.removeprefix("sessions/tables/") for key in bucket.keys("tables/") if key.endswith(".parquet")}


def counted(table: Any) -> Counter[str]:
    return Counter(map(repr, table.to_pylist()))


def assert_whole(bucket: Bucket, out: str) -> None:
    """Every file that a manifest names is there, and none else."""
    named = {name for manifest in newest_manifests(table_files(out)) for _, _, name in manifest.files()}
    assert parquet(bucket) == named


def grow(bucket: Bucket, number: int) -> Path:
    """Add a session."""
    source = min(bucket.sources.glob("projects/*/*.jsonl"))
    target = bucket.sources / "projects" / "-more" / f"0000000{number % 10}-0000-0000-0000-{number:012}.jsonl"
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(source, target)
    return target


def test_a_bucket_has_the_rows_of_the_transcripts(bucket: Bucket, out: str) -> None:
    read = reread.tables(root=bucket.sources, text=True)
    report = read.write(out)
    assert_whole(bucket, out)
    written = reread.tables(out, text=True)
    for name in TABLES:
        given, stored = read[name].read_all(), written[name].read_all()
        assert stored.num_rows == report.rows[name] and counted(stored) == counted(given), name


def test_only_what_changed_is_put(bucket: Bucket, out: str) -> None:
    tables = reread.tables(root=bucket.sources)
    tables.write(out)
    before = bucket.objects("tables/")
    assert tables.write(out).read == 0 and bucket.objects("tables/") == before
    grow(bucket, 1)
    assert tables.write(out).read == 1
    kept = parquet(bucket) & {key.removeprefix("sessions/tables/") for key in before}
    assert kept and kept != parquet(bucket)
    assert_whole(bucket, out)
    assert [key for key in bucket.objects("tables/_reread") if "claim" in key] == []


def test_sql_fetches_the_tables_that_it_asks(bucket: Bucket, out: str, tmp_path: Path) -> None:
    reread.tables(root=bucket.sources).write(out)
    shutil.rmtree(tmp_path / "cache")
    query = "select tool, count(*) as n from calls group by all"
    wanted = counted(reread.tables(root=bucket.sources).sql(query).read_all())
    shutil.rmtree(tmp_path / "cache")
    assert counted(reread.tables(out).sql(query).read_all()) == wanted
    fetched = {path.relative_to(tmp_path / "cache").parts[2] for path in (tmp_path / "cache").rglob("*.parquet")}
    assert fetched == {"calls"}
    assert '"n": ' in run("sql", "--from", out, "select count(*) as n from usage", "--json")
    with closing(Database(table_files(out))) as database:
        for name in TABLES:
            [[rows]] = database.query(f"select count(*) from {name.upper()}").rows
            assert rows == reread.tables(out)[name].read_all().num_rows
    with closing(Database(table_files(out))) as database, pytest.raises(reread.Misuse, match="name it in the query"):
        list(database.query("from query_table('ca' || 'lls')").rows)


def test_a_reader_goes_on_after_a_change(bucket: Bucket, out: str, tmp_path: Path) -> None:
    tables = reread.tables(root=bucket.sources)
    tables.write(out)
    shutil.rmtree(tmp_path / "cache")
    with closing(Database(table_files(out))) as database:
        source = grow(bucket, 1)
        tables.write(out)
        source.write_bytes(source.read_bytes() * 2)
        tables.write(out)
        shutil.rmtree(tmp_path / "cache")
        [[found]] = database.query("select count(*) from records").rows
        assert found == tables["records"].read_all().num_rows


def test_one_of_many_creates_a_name(bucket: Bucket, out: str) -> None:
    places = [table_files(out) for _ in range(4)]
    for n in range(3):
        with ThreadPoolExecutor(len(places)) as pool:
            tried = [pool.submit(place.create, f"_reread/m/{n}", b"%d" % i) for i, place in enumerate(places)]
        made = [i for i, attempt in enumerate(tried) if attempt.result()]
        assert len(made) == 1 and places[0].store.read_whole(f"_reread/m/{n}", 99) == b"%d" % made[0]
    assert not places[0].create("_reread/m/0", b"late")
    assert not [name for name in places[0].names("_reread/m") if bucket_module.CLAIM in name]


def test_the_claim_of_a_killed_writer_is_old_after_a_while(
    bucket: Bucket, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_module, "CLAIM_SECONDS", 2.0)
    place = table_files(out)
    bucket.put("sessions/tables/_reread/m/1.claim-left", b"")
    assert place.create("_reread/m/1", b"x")
    assert not [name for name in place.names("_reread/m") if bucket_module.CLAIM in name]


def test_two_writers_with_one_name_and_a_reader_at_once(bucket: Bucket, out: str, tmp_path: Path) -> None:
    """Two machines, each with a cache of its own, and so no lock in common."""
    reread.tables(root=bucket.sources).write(out)
    rows = reread.tables(root=bucket.sources)["calls"].read_all().num_rows
    usage = counted(reread.tables(out)["usage"].read_all())  # copies of a session count once
    for n in range(3):
        grow(bucket, n)
        arguments = ("tables", "--root", str(bucket.sources), "-o", out)
        writers = [start(*arguments, REREAD_CACHE=str(tmp_path / f"cache{i}")) for i in range(2)]
        while any(writer.poll() is None for writer in writers):
            assert reread.tables(out)["calls"].read_all().num_rows >= rows
            assert counted(reread.tables(out)["usage"].read_all()) == usage
        for writer in writers:
            said, errors = writer.communicate(timeout=300)
            assert writer.returncode == 0, (said, errors)
        rows = reread.tables(root=bucket.sources)["calls"].read_all().num_rows
        assert reread.tables(out)["calls"].read_all().num_rows == rows
    reread.tables(root=bucket.sources).write(out)


def test_machines_write_at_once(bucket: Bucket, out: str, tmp_path: Path) -> None:
    arguments = ("tables", "--root", str(bucket.sources), "-o", out)
    names = ("ann", "bob", "carl")
    writers = [start(*arguments, REREAD_MACHINE=name, REREAD_CACHE=str(tmp_path / name)) for name in names]
    for writer in writers:
        said, errors = writer.communicate(timeout=300)
        assert writer.returncode == 0, (said, errors)
    wanted = reread.tables(root=bucket.sources)["calls"].read_all().num_rows
    found = Counter(reread.tables(out)["calls"].read_all()["machine"].to_pylist())
    assert found == {"ann": wanted}, "all have the same sessions, and each call counts once"
    totals = reread.tables(out).sql("select sum(responses), sum(output_tokens) from usage").read_all().to_pylist()[0]
    counted_here = reread.usage(root=bucket.sources).totals
    assert list(totals.values()) == [counted_here.responses, counted_here.output_tokens]
    assert_whole(bucket, out)


def test_a_killed_writer_leaves_a_whole_state(
    bucket: Bucket, out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, chance = reread.tables(root=bucket.sources), random.Random(5)
    tables.write(out)
    rows = tables["calls"].read_all().num_rows
    for n in range(int(os.environ.get("REREAD_KILLS", "8"))):
        grow(bucket, n)
        arguments = ("tables", "--root", str(bucket.sources), "-o", out)
        process = start(*arguments, REREAD_CACHE=str(tmp_path / "killed"))
        put = len(parquet(bucket))
        end = time.monotonic() + 60
        while process.poll() is None and len(parquet(bucket)) == put and time.monotonic() < end:
            time.sleep(0.01)  # until it puts the first file
        time.sleep(chance.random() * 0.3)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        found = reread.tables(out)["calls"].read_all().num_rows
        assert rows <= found <= tables["calls"].read_all().num_rows
        rows = found
    report = tables.write(out)
    assert report.rows["calls"] == tables["calls"].read_all().num_rows
    monkeypatch.setattr(files_module, "ORPHAN_SECONDS", 0.0)
    tables.write(out)
    assert_whole(bucket, out)
    assert list((tmp_path / "cache").rglob(".tmp*")) == []


def test_orphans_stay_for_a_day(bucket: Bucket, out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = reread.tables(root=bucket.sources)
    tables.write(out)
    left = "calls/machine=laptop/month=2026-11/left.parquet"
    other = "calls/machine=other/month=2026-11/theirs.parquet"
    for name in (left, other):
        bucket.put(f"sessions/tables/{name}", b"")
    tables.write(out)
    assert {left, other} <= parquet(bucket)
    monkeypatch.setattr(files_module, "ORPHAN_SECONDS", 0.0)
    tables.write(out)
    assert left not in parquet(bucket) and other in parquet(bucket)


def test_a_connection_that_fails_leaves_what_was_there(
    bucket: Bucket, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = reread.tables(root=bucket.sources)
    tables.write(out)
    before = newest_manifest(table_files(out), "laptop")
    grow(bucket, 1)
    put_whole, calls = BucketStore.put_whole, list[str]()

    def fail(self: BucketStore, name: str, pieces: Any) -> None:
        calls.append(name)
        if len(calls) == 3:
            raise StoreError(111, "no connection", name)
        put_whole(self, name, pieces)

    with monkeypatch.context() as patch:
        patch.setattr(BucketStore, "put_whole", fail)
        with pytest.raises(Unwritable, match="no connection"):
            tables.write(out)
    assert newest_manifest(table_files(out), "laptop") == before
    assert_whole(bucket, out)
    assert tables.write(out).read == 1


def test_what_is_wrong_is_said(bucket: Bucket, out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match="No tables in s3://"):
        reread.tables(out)["calls"].read_all()
    with pytest.raises(Unreadable, match="no such bucket"):
        reread.tables(root=bucket.sources).write("s3://nobody-has-this-bucket/x")
    assert "No tables in s3://" in run("sql", "--from", out, "from usage", code=2)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "no connection; check the network" in run("tables", "-o", out, code=2)
